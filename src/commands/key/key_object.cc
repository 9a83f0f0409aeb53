// SPDX-License-Identifier: Apache-2.0
// OBJECT: how a value is stored and how often it is used, in the terms of Valkey.

#include <array>

#include "commands/call.h"
#include "commands/command.h"
#include "keyspace/eviction.h"

namespace mayfly {
namespace {

// The key; if it does not exist, the reply is null. This is no use of the key, and there is no
// `keymiss`.
Slot object_key(Call& call) {
  const Slot slot = call.find(call.word(2));
  call.host().count_lookup(slot != kNoSlot);
  if (slot == kNoSlot) call.reply().null();
  return slot;
}

void object_encoding(Call& call) {
  const Slot slot = object_key(call);
  if (slot == kNoSlot) return;
  call.reply().bulk(encoding_name(call.database().node(slot)));
}

void object_freq(Call& call) {
  const Slot slot = object_key(call);
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
  const Slot slot = object_key(call);
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
  if (object_key(call) != kNoSlot) call.reply().integer(1);
}

void object_help(Call& call) {
  constexpr std::array<std::string_view, 11> kLines = {
      "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "ENCODING <key>",
      "    Returns how the value of <key> is stored in memory.",
      "FREQ <key>",
      "    Returns how often <key> is used, on a logarithmic scale.",
      "IDLETIME <key>",
      "    Returns for how many seconds <key> has not been used.",
      "REFCOUNT <key>",
      "    Returns the number of references to the value of <key>, which is 1.",
      "HELP",
      "    Prints this help.",
  };
  call.reply().array(kLines.size());
  for (const std::string_view line : kLines) call.reply().simple(line);
}

}  // namespace

std::span<const Command> key_object_commands() {
  static constexpr KeyRange kKey = {2, 2, 1, access::ro};
  // clang-format off
  static constexpr Command kSubcommands[] = {
      {"encoding", object_encoding, 3, flag::readonly, kKey, "generic", "2.2.3",
       "key", "Returns how a value is stored in memory.", {}, "object"},
      {"freq", object_freq, 3, flag::readonly, kKey, "generic", "4.0.0",
       "key", "Returns how often a key is used, on a logarithmic scale.", {}, "object"},
      {"idletime", object_idletime, 3, flag::readonly, kKey, "generic", "2.2.3",
       "key", "Returns for how many seconds a key has not been used.", {}, "object"},
      {"refcount", object_refcount, 3, flag::readonly, kKey, "generic", "2.2.3",
       "key", "Returns the number of references to a value, which is 1.", {}, "object"},
      {"help", object_help, 2, flag::loading | flag::stale, {}, "generic", "6.2.0",
       "", "Lists the subcommands of OBJECT.", {}, "object"},
  };
  static constexpr Command kRows[] = {
      {"object", nullptr, -2, 0, {}, "generic", "2.2.3",
       "", "A container for commands about how values are stored.", kSubcommands},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
