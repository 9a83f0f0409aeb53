// SPDX-License-Identifier: Apache-2.0
#include "python/gil.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace mayfly {
namespace {

// One interpreter, one end: this is about the process, and so it belongs to nobody.
std::atomic<int> waiting{0};  // threads that are about to take the GIL
std::atomic<bool> is_ending{false};
std::atomic<pthread_t> last_thread{};

// Counts this thread as one that waits for the GIL, unless the end has come: then it stays here.
void start_waiting() {
  waiting.fetch_add(1);
  if (!is_ending.load() || ::pthread_equal(::pthread_self(), last_thread.load()) != 0) return;
  waiting.fetch_sub(1);
  while (true) ::pause();
}

}  // namespace

PyGILState_STATE enter_python() {
  start_waiting();
  const PyGILState_STATE state = PyGILState_Ensure();
  waiting.fetch_sub(1);
  return state;
}

void take_gil(PyThreadState* state) {
  start_waiting();
  PyEval_RestoreThread(state);
  waiting.fetch_sub(1);
}

void prepare_exit() {
  last_thread.store(::pthread_self());
  is_ending.store(true);
  while (waiting.load() != 0) {
    PyThreadState* const state = PyEval_SaveThread();
    ::sched_yield();
    PyEval_RestoreThread(state);
  }
}

void forget_other_threads() { waiting.store(0); }

}  // namespace mayfly
