// SPDX-License-Identifier: Apache-2.0
// Counts the bytes of the heap that each thread has in use. Declared in costs.h.

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "bench/cache/costs.h"

namespace mayfly::bench {
namespace {

// A static that changes, against the house rule: operator new has no argument to carry a counter
// in. One for each thread, so that counting needs no locked instruction and the indexes that
// allocate most are not slowed down the most.
thread_local std::int64_t bytes_in_use = 0;

constexpr std::int64_t kBlockHeader = 8;

std::int64_t footprint(void* block) noexcept {
  return static_cast<std::int64_t>(malloc_usable_size(block)) + kBlockHeader;
}

void* counted(void* block) noexcept {
  if (block != nullptr) bytes_in_use += footprint(block);
  return block;
}

void* allocate(std::size_t size) noexcept { return counted(std::malloc(size == 0 ? 1 : size)); }

void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  const auto step = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}

void* or_throw(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  bytes_in_use -= footprint(block);
  std::free(block);
}

}  // namespace

std::int64_t allocated_bytes() noexcept { return bytes_in_use; }

}  // namespace mayfly::bench

// Every form is replaced, though the standard ones would call these in the end: those of the
// sanitizers do not, and complain of a block that was made by one pair and freed by another.
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void* operator new(size_t size) { return mayfly::bench::or_throw(mayfly::bench::allocate(size)); }
void* operator new[](size_t size) { return mayfly::bench::or_throw(mayfly::bench::allocate(size)); }
void* operator new(size_t size, const nothrow_t&) noexcept { return mayfly::bench::allocate(size); }
void* operator new[](size_t size, const nothrow_t&) noexcept {
  return mayfly::bench::allocate(size);
}
void* operator new(size_t size, align_val_t to) {
  return mayfly::bench::or_throw(mayfly::bench::allocate(size, to));
}
void* operator new[](size_t size, align_val_t to) {
  return mayfly::bench::or_throw(mayfly::bench::allocate(size, to));
}

void operator delete(void* block) noexcept { mayfly::bench::release(block); }
void operator delete[](void* block) noexcept { mayfly::bench::release(block); }
void operator delete(void* block, size_t) noexcept { mayfly::bench::release(block); }
void operator delete[](void* block, size_t) noexcept { mayfly::bench::release(block); }
void operator delete(void* block, const nothrow_t&) noexcept { mayfly::bench::release(block); }
void operator delete[](void* block, const nothrow_t&) noexcept { mayfly::bench::release(block); }
void operator delete(void* block, align_val_t) noexcept { mayfly::bench::release(block); }
void operator delete[](void* block, align_val_t) noexcept { mayfly::bench::release(block); }
void operator delete(void* block, size_t, align_val_t) noexcept { mayfly::bench::release(block); }
void operator delete[](void* block, size_t, align_val_t) noexcept { mayfly::bench::release(block); }
