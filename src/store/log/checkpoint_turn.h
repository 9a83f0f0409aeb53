// SPDX-License-Identifier: Apache-2.0
// CheckpointTurn: that this thread has the checkpoint lock. It is given back when the object is
// destroyed, in whichever way its owner is left.
//
// Busy: that a writer is between "before the record" and "after the tail". If it is left there,
// the next writer settles its work.

#pragma once

#include <utility>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "store/log/session.h"

namespace mayfly::internal {

class RedoLog;

class CheckpointTurn {
 public:
  // Waits as long as a thread of this process makes a checkpoint. If another process does, which
  // may have been stopped: for `patience`, then Code::busy.
  static Result<CheckpointTurn> take(RedoLog& log, Millis patience);

  CheckpointTurn(CheckpointTurn&& other) noexcept : log_(std::exchange(other.log_, nullptr)) {}
  CheckpointTurn& operator=(CheckpointTurn&&) = delete;
  ~CheckpointTurn() { end(); }

  void end() noexcept;
  void keep() { log_ = nullptr; }  // for another, who calls RedoLog::end_direct()

 private:
  explicit CheckpointTurn(RedoLog& log) : log_(&log) {}

  RedoLog* log_;
};

class Busy {
 public:
  explicit Busy(SharedWords& words) : words_(words), before_(words.busy.load()) {
    if (before_ == SharedWords::kIdle) words_.busy.store(SharedWords::kWriting);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  // All that belongs together is written, or nothing of it.
  void done() { words_.busy.store(before_, std::memory_order_release); }

 private:
  SharedWords& words_;
  const std::uint32_t before_;
};

}  // namespace mayfly::internal
