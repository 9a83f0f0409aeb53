// SPDX-License-Identifier: Apache-2.0
#include "python/handles.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "python/iterating.h"

namespace mayfly::internal {
namespace {

// State of the process: there is one interpreter, and it ends once.
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

FamilyHandle::~FamilyHandle() {
  if (home != nullptr && !home->abandoned) close();
  Py_XDECREF(owner);
}

KVColumnFamily* FamilyHandle::usable() const {
  if (home != nullptr && home->abandoned) {
    raise_abandoned();
    return nullptr;
  }
  if (cf == nullptr || is_closing) {
    raise_error("the column family is closed");
    return nullptr;
  }
  return cf;
}

void FamilyHandle::close() {
  is_closing = true;
  if (users == 0) kvstore_cf_close(std::exchange(cf, nullptr));
}

StoreHandle::~StoreHandle() {
  if (!abandoned) {
    close_store();
    close();
  }
  home = nullptr;  // it is this very object, of which only the family is left now
  Py_XDECREF(clock);
}

int StoreHandle::close_store() {
  if (!is_open || abandoned) return KVSTORE_OK;
  const bool is_read =
      std::ranges::any_of(snapshots, [](const SnapshotHandle* s) { return s->is_busy; });
  if (is_read) return KVSTORE_BUSY;
  if (group_left != 0 && !end_group()) PyErr_WriteUnraisable(nullptr);
  is_open = false;
  for (SnapshotHandle* const snapshot : std::exchange(snapshots, {})) snapshot->end();
  const int code = unlocked(*this, [this] { return kvstore_close(kv); });
  is_open = code == KVSTORE_BUSY;
  return code;
}

bool StoreHandle::begin_group() {
  if (group_size == 0 || group_left != 0) return true;
  const int code = unlocked(*this, [this] { return kvstore_begin(kv, 1); });
  if (code == KVSTORE_OK) {
    group_left = group_size;
  } else {
    raise_code(kv, code);
  }
  return code == KVSTORE_OK;
}

bool StoreHandle::count_write() {
  if (group_left == 0) return true;
  return --group_left != 0 || end_group();
}

bool StoreHandle::end_group() {
  group_left = 0;
  const int code = unlocked(*this, [this] { return kvstore_commit(kv); });
  if (code != KVSTORE_OK) raise_code(kv, code);
  return code == KVSTORE_OK;
}

}  // namespace mayfly::internal
