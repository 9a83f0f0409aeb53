// SPDX-License-Identifier: Apache-2.0
// malloc and operator new that fail when a test wants it, for the whole program with its libraries,
// such as LMDB. Included by one source of a program.
//
//   FailingMemory::watch_this_thread();  // allocations of other threads never fail
//   FailingMemory::arm(3, false);        // the third allocation fails; true: and all later
//   ...
//   const bool any = FailingMemory::disarm();  // whether one has failed

#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mayfly::internal {

// A sanitizer allocates before it is ready to watch anything.
#define MAYFLY_UNWATCHED __attribute__((no_sanitize("address", "undefined")))

class FailingMemory {
 public:
  // From now on allocations of the calling thread count. A new thread is not watched at first: a
  // sanitizer ends the process if the start of a thread gets no memory.
  static void watch_this_thread() { is_watched_ = true; }

  static void arm(long which, bool and_all_later) {
    fails_on_ = and_all_later;
    has_failed_ = false;
    __atomic_store_n(&left_, which, __ATOMIC_SEQ_CST);
  }
  static bool disarm() {
    __atomic_store_n(&left_, 0L, __ATOMIC_SEQ_CST);
    return has_failed();
  }
  static bool has_failed() { return __atomic_load_n(&has_failed_, __ATOMIC_SEQ_CST); }

  // For allocations of the test itself in between.
  static long pause() { return __atomic_exchange_n(&left_, 0L, __ATOMIC_SEQ_CST); }
  static void resume(long left) { __atomic_store_n(&left_, left, __ATOMIC_SEQ_CST); }

  // Counts an allocation.
  MAYFLY_UNWATCHED static bool fails() {
    if (__atomic_load_n(&left_, __ATOMIC_RELAXED) == 0 || !is_watched_) [[likely]]
      return false;
    const long left = __atomic_fetch_sub(&left_, 1L, __ATOMIC_SEQ_CST);
    const bool is_hit = left == 1 || (left < 1 && fails_on_);
    if (left <= 1 && fails_on_) __atomic_store_n(&left_, 1L, __ATOMIC_SEQ_CST);  // the next as well
    if (is_hit) __atomic_store_n(&has_failed_, true, __ATOMIC_RELAXED);
    return is_hit;
  }

 private:
  static inline constinit thread_local bool is_watched_ = false;
  static inline long left_ = 0;  // until the one that fails; 0 and less: none does
  static inline bool fails_on_ = false;
  static inline bool has_failed_ = false;
};

}  // namespace mayfly::internal

// The allocator behind. A sanitizer has its own.
extern "C" {
#ifdef __SANITIZE_ADDRESS__
void* __interceptor_malloc(std::size_t bytes);
void* __interceptor_calloc(std::size_t count, std::size_t bytes);
void* __interceptor_realloc(void* memory, std::size_t bytes);
void* __interceptor_memalign(std::size_t alignment, std::size_t bytes);
#define MAYFLY_REAL(name) __interceptor_##name
#else
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
#define MAYFLY_REAL(name) __libc_##name
#endif

namespace mayfly::internal {
MAYFLY_UNWATCHED inline void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}
}  // namespace mayfly::internal

MAYFLY_UNWATCHED void* malloc(std::size_t bytes) noexcept {
  using mayfly::internal::FailingMemory;
  return FailingMemory::fails() ? mayfly::internal::out_of_memory() : MAYFLY_REAL(malloc)(bytes);
}
MAYFLY_UNWATCHED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  using mayfly::internal::FailingMemory;
  if (FailingMemory::fails()) return mayfly::internal::out_of_memory();
  return MAYFLY_REAL(calloc)(count, bytes);
}
MAYFLY_UNWATCHED void* realloc(void* memory, std::size_t bytes) noexcept {
  using mayfly::internal::FailingMemory;
  if (FailingMemory::fails()) return mayfly::internal::out_of_memory();
  return MAYFLY_REAL(realloc)(memory, bytes);
}
MAYFLY_UNWATCHED void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  using mayfly::internal::FailingMemory;
  if (FailingMemory::fails()) return mayfly::internal::out_of_memory();
  return MAYFLY_REAL(memalign)(alignment, bytes);
}
MAYFLY_UNWATCHED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
MAYFLY_UNWATCHED int posix_memalign(void** memory, std::size_t alignment,
                                    std::size_t bytes) noexcept {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
}  // extern "C"

#undef MAYFLY_REAL
#undef MAYFLY_UNWATCHED

void* operator new(std::size_t bytes) {
  void* const memory = malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = memalign(static_cast<std::size_t>(alignment), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
