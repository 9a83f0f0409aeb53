// SPDX-License-Identifier: Apache-2.0
#include "capi/thread_number.h"

#include <atomic>

namespace mayfly {

// That it changes is all its purpose: no number twice.
std::uint64_t new_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t thread_number() noexcept {
  thread_local const std::uint64_t number = new_number();
  return number;
}

}  // namespace mayfly
