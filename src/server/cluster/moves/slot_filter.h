// SPDX-License-Identifier: Apache-2.0
// SlotFilter: the writes of some hash slots, out of all that a server propagates, as the requests
// that another server needs to have the same keys.
//
//   SlotFilter filter(commands, slots, limit, kExpiryLogKey);
//   propagation.add_sink(filter);
//   link.send(filter.take_bytes());     // whole units only
//   if (!filter.failure().empty()) ...  // the other server cannot follow any more: begin anew
//
// It takes what is about database 0. A unit is filtered command by command and wrapped anew, so
// that the other server never sees half of it. Commands without keys (PUBLISH) are left out.
// What a server removes by itself may be about keys of several slots: the removals of other slots
// are left out of DEL and UNLINK, and XEXPIRED becomes a removal for each key.
//
// Every command is parsed: it is there only while slots move.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/slot_set.h"
#include "commands/command.h"
#include "resp/request.h"
#include "server/replication/propagation.h"

namespace mayfly {

class SlotFilter final : public PropagationSink {
 public:
  // The table must outlive it. It fails when more than `bytes_max` wait. The key `left_out` never
  // moves.
  SlotFilter(const CommandTable& commands, const SlotSet& slots, std::size_t bytes_max,
             std::string_view left_out);

  unsigned target() const override { return propagate_to::replicas; }
  void take(int database, std::string_view command) override;

  // Whether this key moves.
  bool wants(std::string_view key) const {
    return key != left_out_ && slots_.contains(hash_slot(key));
  }

  std::size_t size() const { return bytes_.size(); }
  std::string take_bytes();

  // Commands that were kept, ever.
  std::uint64_t count() const { return count_; }

  // Why the other server cannot follow any more; empty if it can.
  const std::string& failure() const { return failure_; }

 private:
  void end_unit();
  void take_words(Words words, std::string_view command);
  void take_removal(Words words);                                  // DEL and UNLINK
  void take_expired(std::string_view id, std::string_view block);  // XEXPIRED
  void keep(std::string_view command);
  void fail(std::string why);

  const CommandTable& commands_;
  const SlotSet slots_;
  const std::size_t bytes_max_;
  const std::string left_out_;
  RequestParser parser_;
  bool in_unit_ = false;  // between MULTI and EXEC
  std::size_t unit_count_ = 0;
  std::string unit_;
  std::string bytes_;
  std::uint64_t count_ = 0;
  std::string failure_;
};

}  // namespace mayfly
