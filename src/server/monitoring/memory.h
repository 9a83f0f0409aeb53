// SPDX-License-Identifier: Apache-2.0
// How much memory is in use, by the allocator's own account.
//
// The allocator is the one that the program was linked with: jemalloc, the sanitizer's, or the C
// library's.
//
//   used_memory   jemalloc: two loads; others: 1 to 100 microseconds
//   the rest      a system call or several

#pragma once

#include <cstddef>
#include <string>

namespace mayfly {

// Bytes that this thread has allocated and not freed, rounded up as the allocator does. REQUIRES:
// with jemalloc, always asked in the same thread.
std::size_t used_memory();

struct MemoryNumbers {
  std::size_t used = 0;       // used_memory()
  std::size_t allocated = 0;  // by all threads
  std::size_t active = 0;     // in pages that hold something
  std::size_t resident = 0;   // in pages that the allocator holds
  std::size_t rss = 0;        // of the whole process
  std::size_t system = 0;     // of the machine
  std::string allocator;      // "jemalloc-5.3.0", "libc", "sanitizer"
};
MemoryNumbers memory_numbers();

// The size that the allocator rounds an allocation up to.
std::size_t allocated_for(std::size_t bytes);

// The same for a std::string of this size, beside the object.
inline std::size_t allocated_for_text(std::size_t size) {
  constexpr std::size_t kInObject = 15;
  return size <= kInObject ? 0 : allocated_for(size + 1);
}

// Gives pages that hold nothing back to the system.
void purge_memory();

// The statistics of the allocator.
std::string allocator_report();

}  // namespace mayfly
