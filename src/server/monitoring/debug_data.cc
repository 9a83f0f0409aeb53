// SPDX-License-Identifier: Apache-2.0
// DEBUG's views of keys and tables.

#include <fmt/format.h>

#include "keyspace/eviction.h"
#include "keyspace/value.h"
#include "server/core/server.h"
#include "server/monitoring/debug_handlers.h"
#include "server/persistence/digest.h"

namespace mayfly {
namespace {

// The lines that Valkey tells of a hash table, by its words.
std::string table_stats(std::size_t places, std::size_t entries) {
  constexpr std::string_view kTitle = "Hash table 0 stats (main hash table):\n";
  if (entries == 0) return fmt::format("{}No stats available for empty hash tables\n", kTitle);
  return fmt::format("{} table size: {}\n number of entries: {}\n", kTitle, places, entries);
}

// The key's slot; if it is not there, that has been said.
Slot subject(Call& call) {
  const Slot slot = call.find(call.word(2));
  if (slot == kNoSlot) call.fail("ERR no such key");
  return slot;
}

}  // namespace

// DEBUG OBJECT key
void debug_object(Call& call) {
  const Slot slot = subject(call);
  if (slot == kNoSlot) return;
  const KeyNode& node = call.database().node(slot);
  call.reply().simple(fmt::format(
      "Value at:{} refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{}",
      fmt::ptr(&node), encoding_name(node), value_bytes(node), std::uint32_t{node.access},
      idle_seconds(node.access, call.now())));
}

// DEBUG DIGEST
void debug_digest(Call& call) {
  call.reply().simple(digest_of(call.context(), call.keyspace()).text());
}

// DEBUG DIGEST-VALUE key [key ...]
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

// DEBUG HTSTATS-KEY key [FULL]
void debug_htstats_key(Call& call) {
  const Slot slot = subject(call);
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

// DEBUG LISTPACK key
void debug_listpack(Call& call) {
  const Slot slot = subject(call);
  if (slot == kNoSlot) return;
  if (form_of(call.database().node(slot)) != ValueForm::packed) {
    return call.fail("ERR Not a listpack encoded object.");
  }
  call.reply().simple(fmt::format("{} fields in {} bytes", call.members(slot).stored(),
                                  value_bytes(call.database().node(slot))));
}

// DEBUG POPULATE count [prefix] [size]: keys that are there stay as they are.
void debug_populate(Call& call) {
  constexpr std::int64_t kSizeMax = std::int64_t{512} << 20;
  const auto count = call.integer(2, 0, INT64_MAX, "ERR value is out of range, must be positive");
  if (!count) return;
  std::size_t size = 0;
  if (call.count() == 5) {
    const auto given = call.integer(4, 0, kSizeMax, "ERR value is out of range, must be positive");
    if (!given) return;
    size = static_cast<std::size_t>(*given);
  }
  const std::string_view prefix = call.count() > 3 ? call.word(3) : "key";
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::string key = fmt::format("{}:{}", prefix, i);
    if (call.find(key) != kNoSlot) continue;
    std::string value = fmt::format("value:{}", i);
    if (size > 0) value.resize(size);
    call.put_string(key, value);
    call.changed(key);
  }
  call.reply().ok();
}

}  // namespace mayfly
