// SPDX-License-Identifier: Apache-2.0
// Messages: why the last call of a thread on a handle failed, for kvstore_errmsg().
//
// A thread sees its own, so that the call and the question need no lock around them. They are kept
// with the thread, as errno is, and end with it: those of the handles that failed last.

#pragma once

#include <cstdint>
#include <string_view>

#include "capi/thread_number.h"

namespace mayfly {

class Messages {
 public:
  // Of this thread. Without memory the old one stays.
  void set(std::string_view text) const noexcept;

  // Of this thread; null if it has none. Valid until the thread sets another, on any handle.
  const char* get() const noexcept;

 private:
  const std::uint64_t handle_ = new_number();
};

}  // namespace mayfly
