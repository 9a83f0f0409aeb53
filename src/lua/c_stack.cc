// SPDX-License-Identifier: Apache-2.0
#include "lua/c_stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mayfly {
namespace {

constexpr std::size_t kReserved = std::size_t{5} << 20;

// The lowest address that may be reached when has_c_stack() says yes. Of the 8 MB that threads
// usually have, 5 are kept free; of a smaller stack, that part of it.
std::uintptr_t lowest_address() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* begin = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(begin) + std::min(kReserved, size / 8 * 5);
}

}  // namespace

bool has_c_stack() {
  thread_local const std::uintptr_t lowest = lowest_address();
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > lowest;
}

}  // namespace mayfly
