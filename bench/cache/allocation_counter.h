// SPDX-License-Identifier: Apache-2.0
// How many bytes of the heap are in use: what the memory column of the comparison rests on.
//
//   const std::int64_t before = allocated_bytes();
//   TimerWheel index; fill(index);
//   show(allocated_bytes() - before);
//
// A program that is linked with this file has its operator new and delete replaced by ones that
// count. They count what the allocator really spends: the size that it rounds a request up to, and
// the 8 bytes that glibc keeps before each block.

#pragma once

#include <cstdint>

namespace mayfly::bench {

// Bytes allocated less bytes freed by the calling thread, since it began.
std::int64_t allocated_bytes() noexcept;

}  // namespace mayfly::bench
