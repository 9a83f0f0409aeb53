// SPDX-License-Identifier: Apache-2.0
// PerThread<T>: an object for each thread, made when the thread first needs it, and destroyed when
// the thread ends (for the last one: with the process).
//
// It takes the place of a thread_local: glibc ends the process when there is no memory to note the
// destructor of one.

#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace mayfly::internal {

template <class T>
class PerThread {
 public:
  PerThread() {
    const auto destroy = [](void* object) { delete static_cast<T*>(object); };
    if (::pthread_key_create(&key_, destroy) != 0) throw std::bad_alloc();
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  // Null: this thread has none.
  T* find() const { return static_cast<T*>(::pthread_getspecific(key_)); }

  T& get() const {
    if (T* const object = find()) return *object;
    auto made = std::make_unique<T>();
    if (::pthread_setspecific(key_, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

 private:
  pthread_key_t key_{};
};

}  // namespace mayfly::internal
