// SPDX-License-Identifier: Apache-2.0
// WrittenSlots: where in the replication log the last write of each hash slot ends, and so up to
// where the log must be safe before a reply may show a read of that slot.
//
//   WrittenSlots written(parts);
//   written.begin();                               // this server notes its writes from now on
//   written.needed_by(command, words);             // the end of the last write that it may read
//
// It sees all propagated commands, so it misses no write of any origin: requests, scripts, sweeps,
// evictions and moves of slots. A write without keys, such as FLUSHALL, is one of every slot.
// Libraries of functions are apart: they belong to no slot.
//
//   memory            128 KiB
//   a write           its words are read once more, and its keys hashed
//   a read            its keys are hashed

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/hash_slot.h"
#include "commands/command.h"
#include "resp/request.h"
#include "server/core/server_call.h"
#include "server/replication/propagation.h"

namespace mayfly {

// Whether the command reads or changes the libraries of functions. It reads no keys itself.
inline bool uses_functions(const Command& command) {
  if (command.parent != "function") return command.name.starts_with("fcall");
  return command.name != "kill" && command.name != "help";
}

class WrittenSlots final : public PropagationSink {
 public:
  explicit WrittenSlots(const ServerParts& parts) : parts_(parts) {}

  // All slots, data and functions count as written up to the end of the log.
  void begin();
  void end();  // nothing is noted any more

  // The end of the last write that the command may read. A script reads nothing itself: the
  // commands that it calls do.
  std::uint64_t needed_by(const Command& command, Words words);
  std::uint64_t needed_by(HashSlot slot);
  std::uint64_t needed_by_data();  // of any slot

  // The slots of its keys, in no order.
  static std::vector<HashSlot> slots_of(const Command& command, Words words);

  // The number of writes noted: a request during which it stays the same has changed nothing.
  std::uint64_t count() const { return count_; }

  // ---- PropagationSink ----
  unsigned target() const override { return propagate_to::replicas; }
  void take(int database, std::string_view command) override;

 private:
  void settle();
  void take_keys(const Command& command, Words words);
  void take_expired(Words words);
  std::uint64_t needed_by_debug(Words words) const;

  const ServerParts& parts_;
  RequestParser parser_;
  std::vector<std::uint64_t> ends_;  // by slot
  std::uint64_t everywhere_ = 0;     // where the last write of every slot ends
  std::uint64_t data_ = 0;           // of any slot
  std::uint64_t functions_ = 0;
  std::uint64_t count_ = 0;

  // Noted since settle(): where they end is known when their unit is in the log.
  std::vector<HashSlot> new_slots_;
  bool is_everywhere_ = false;
  bool has_functions_ = false;
};

}  // namespace mayfly
