// SPDX-License-Identifier: Apache-2.0
#include "server/monitoring/debug_keys.h"

#include <fmt/format.h>

#include <string>

#include "keyspace/eviction.h"
#include "keyspace/value.h"
#include "server/core/server_call.h"
#include "server/persistence/digest.h"

namespace mayfly {
namespace {

// The lines that Valkey shows for a hash table.
std::string table_stats(std::size_t places, std::size_t entries) {
  constexpr std::string_view kTitle = "Hash table 0 stats (main hash table):\n";
  if (entries == 0) return fmt::format("{}No stats available for empty hash tables\n", kTitle);
  return fmt::format("{} table size: {}\n number of entries: {}\n", kTitle, places, entries);
}

// The key's slot, also if it is due; kNoSlot after an error reply.
Slot key_argument(Call& call) {
  ExecContext context = call.context();
  context.policy = Policy::show;
  const Slot slot = call.database().find(context, call.word(2));
  if (slot == kNoSlot) call.fail("ERR no such key");
  return slot;
}

// What Valkey says about the nodes of a quicklist. Nothing is ever compressed.
std::string chunks_text(Call& call, const ChunkedList& list) {
  const double average = static_cast<double>(list.count()) / static_cast<double>(list.chunks());
  const Config& config = parts_of(call).config;
  return fmt::format(
      " ql_nodes:{} ql_avg_node:{:.2f} ql_listpack_max:{} ql_compressed:{} "
      "ql_uncompressed_size:{}",
      list.chunks(), average, config.list_max_listpack_size, config.list_compress_depth > 0 ? 1 : 0,
      list.bytes());
}

}  // namespace

void debug_object(Call& call) {
  const Slot slot = key_argument(call);
  if (slot == kNoSlot) return;
  const KeyNode& node = call.database().node(slot);
  std::string text = fmt::format(
      "Value at:{} refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{}",
      fmt::ptr(&node), encoding_name(node), value_bytes(node), std::uint32_t{node.access},
      idle_seconds(node.access, call.now()));
  if (form_of(node) == ValueForm::chunks) text += chunks_text(call, node.chunked_list());
  call.reply().simple(text);
}

void debug_digest(Call& call) {
  call.reply().simple(digest_of(call.context(), call.keyspace()).text());
}

void debug_digest_value(Call& call) {
  const Words keys = call.words().subspan(2);
  call.reply().array(keys.size());
  for (const std::string_view key : keys) {
    const Slot slot = call.find(key);
    const Digest digest =
        slot == kNoSlot ? Digest() : digest_of_value(call.context(), call.database(), slot);
    call.reply().simple(digest.text());
  }
}

// DEBUG HTSTATS database [FULL]
//
// Deadlines are not in a hash table, but in an order. It has no empty places.
void debug_htstats(Call& call) {
  const auto number = call.integer(2, 0, call.keyspace().count() - 1, "ERR Out of range database");
  if (!number) return;
  const Database& database = call.keyspace()[static_cast<int>(*number)];
  const std::size_t deadlines = database.deadline_count();
  call.reply().verbatim(
      "txt", fmt::format("[Dictionary HT]\n{}[Expires HT]\n{}"
                         "[Keys]\n stored: {}\n alive: {}\n table bytes: {}\n"
                         "[Deadlines]\n of keys: {}\n keys whose fields have some: {}\n",
                         table_stats(database.table_places(), database.stored()),
                         table_stats(deadlines, deadlines), database.stored(),
                         database.size(call.context()), database.table_bytes(), deadlines,
                         database.member_deadline_count()));
}

void debug_htstats_key(Call& call) {
  const Slot slot = key_argument(call);
  if (slot == kNoSlot) return;
  if (form_of(call.database().node(slot)) != ValueForm::table) {
    return call.fail(
        "ERR The value stored at the specified key is not represented using an hash table");
  }
  const MemberTable& hash = call.database().node(slot).member_table();
  call.reply().verbatim(
      "txt", fmt::format("{}[Fields]\n stored: {}\n due: {}\n with deadlines: {}\n bytes: {}\n",
                         table_stats(hash.table_places(), hash.count()), hash.count(),
                         hash.count_due(call.now()), hash.deadline_count(), hash.bytes()));
}

void debug_listpack(Call& call) {
  const Slot slot = key_argument(call);
  if (slot == kNoSlot) return;
  const KeyNode& node = call.database().node(slot);
  const bool is_list = form_of(node) == ValueForm::packed_list;
  if (!is_list && form_of(node) != ValueForm::packed) {
    return call.fail("ERR Not a listpack encoded object.");
  }
  const std::size_t count =
      is_list ? PackedListView(node.value()).count() : call.members(slot).stored();
  call.reply().simple(
      fmt::format("{} {} in {} bytes", count, is_list ? "elements" : "fields", value_bytes(node)));
}

// DEBUG QUICKLIST key [0|1]
void debug_quicklist(Call& call) {
  const Slot slot = key_argument(call);
  if (slot == kNoSlot) return;
  const KeyNode& node = call.database().node(slot);
  if (form_of(node) != ValueForm::chunks) {
    return call.fail("ERR Not a quicklist encoded object.");
  }
  const ChunkedList& list = node.chunked_list();
  call.reply().simple(fmt::format("{} elements in {} chunks of {} bytes in all", list.count(),
                                  list.chunks(), list.bytes()));
}

}  // namespace mayfly
