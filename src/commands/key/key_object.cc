// SPDX-License-Identifier: Apache-2.0
// OBJECT: how a value is kept and how it is used, in the words that clients of Valkey expect.

#include <array>

#include "commands/key/key_handlers.h"
#include "keyspace/eviction.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kEmbeddedMax = 44;  // longer strings are "raw" in Valkey

// The key that the command is about; if it is not there, null has been said. It is not used by
// being looked at, and nobody is told that it was missed.
Slot subject(Call& call) {
  const Slot slot = call.database().find(call.word(2));
  call.host().count_lookup(slot != kNoSlot);
  if (slot == kNoSlot) call.reply().null();
  return slot;
}

std::string_view encoding_of_string(const KeyNode& node) {
  if (node.is_raw) return "raw";
  if (parse_integer(node.value())) return "int";
  return node.value_size <= kEmbeddedMax ? "embstr" : "raw";
}

}  // namespace

void object_encoding(Call& call) {
  const Slot slot = subject(call);
  if (slot == kNoSlot) return;
  Database& database = call.database();
  if (database.is_string(slot)) return call.reply().bulk(encoding_of_string(database.node(slot)));
  const HashRef hash = database.hash(slot);
  call.reply().bulk(hash.encoding());
}

void object_freq(Call& call) {
  const Slot slot = subject(call);
  if (slot == kNoSlot) return;
  if (!call.keyspace().options().uses_lfu) {
    return call.fail(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note "
        "that when switching between policies at runtime LRU and LFU data will take some time to "
        "adjust.");
  }
  call.reply().integer(lfu_frequency(call.database().node(slot).access, call.now()));
}

void object_idletime(Call& call) {
  const Slot slot = subject(call);
  if (slot == kNoSlot) return;
  if (call.keyspace().options().uses_lfu) {
    return call.fail(
        "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when "
        "switching between policies at runtime LRU and LFU data will take some time to adjust.");
  }
  const std::uint64_t idle = idle_seconds(call.database().node(slot).access, call.now());
  call.reply().integer(static_cast<std::int64_t>(idle));
}

// Values are not shared.
void object_refcount(Call& call) {
  if (subject(call) != kNoSlot) call.reply().integer(1);
}

void object_help(Call& call) {
  constexpr std::array<std::string_view, 11> kLines = {
      "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "ENCODING <key>",
      "    Tells how the value of <key> is kept in memory.",
      "FREQ <key>",
      "    Tells how often <key> is used, on a logarithmic scale.",
      "IDLETIME <key>",
      "    Tells for how many seconds <key> has not been used.",
      "REFCOUNT <key>",
      "    Tells how often the value of <key> is referred to, which is once.",
      "HELP",
      "    Prints this help.",
  };
  call.reply().array(kLines.size());
  for (const std::string_view line : kLines) call.reply().simple(line);
}

}  // namespace mayfly
