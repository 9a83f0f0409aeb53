// SPDX-License-Identifier: Apache-2.0
// ProcessMark: remembers which process made it, so that the child of a fork() can tell that an
// object is its parent's.
//
// The child has a copy of all memory, but neither the parent's threads nor its locks. A store that
// the parent has open must not be used, and not even be closed there. Forks are counted by a
// handler (pthread_atfork): to ask the kernel for the process id with each call would cost as much
// as a look-up.

#pragma once

#include <atomic>
#include <cstdint>

#include "mayfly/result.h"

namespace mayfly {

class ProcessMark {
 public:
  ProcessMark();

  // Whether this process is a child of the one that made the mark.
  bool is_foreign() const noexcept { return forks_ != forks.load(std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint32_t> forks;  // between the first process and this one

  std::uint32_t forks_;
};

// What every call on a store of the parent returns.
Error foreign_error();

}  // namespace mayfly
