// SPDX-License-Identifier: Apache-2.0
// The handles behind the objects of the Python package, the frame of every call into the file, the
// GIL, and exceptions.
//
//   Iterator, Snapshot --> ColumnFamily --> KVStore     each holds a Python reference to the next,
//                                                       so that what it points to outlives it
//
// Threads: all of this is guarded by the GIL. Work on the file is done without it, by unlocked(),
// and meanwhile another thread may close the same object; so the threads inside are counted, and
// the last one closes it. A store may be closed at any time: the C API below waits for the calls of
// others, and its handles stay safe.
//
// Fork: in the child of a fork() the file must not be touched, and not even be closed. There a
// store is `abandoned`, and all that belong to it refuse.

#pragma once

#include <Python.h>

#include <vector>

#include "kvstore.h"

namespace mayfly::internal {

// --- Exceptions.

// Makes the exception types and adds them to the module, once, when it is imported. Returns whether
// that succeeded.
bool add_exceptions(PyObject* module);

// Each sets a Python error and returns null, so that a call can end with it.
PyObject* raise_code(KVStore* kv, int code);  // with the message that the C API has for it
PyObject* raise_code(int code, const char* message);
PyObject* raise_error(const char* message);  // mayfly.Error
PyObject* raise_missing(PyObject* key);      // NotFoundError(key)
PyObject* raise_abandoned();                 // the store belongs to the parent of a fork

// --- The GIL.
//
// A daemon thread that asks for the GIL when the interpreter ends is itself ended right there, by
// unwinding its stack: C++ destructors would then touch Python objects without the GIL. So when the
// end comes such threads are not let back in: they stay where they are until the process is gone.

// The GIL for a thread that Python may not know. Counts as taking it.
PyGILState_STATE enter_python();

// What PyEval_SaveThread() let go of.
void take_gil(PyThreadState* state);

// Runs `work()`, which must not touch Python, without the GIL, and returns what it returns.
template <class Work>
auto without_gil(Work work) {
  PyThreadState* const state = PyEval_SaveThread();
  const auto result = work();
  take_gil(state);
  return result;
}

// From now on only this thread gets the GIL back. Waits for those that are about to. To be called
// with the GIL, once, before the interpreter ends.
void prepare_exit();

// In the child of a fork(), which has no other threads.
void forget_other_threads();

// --- Handles.

struct StoreHandle;
struct SnapshotHandle;

// A column family, or the default one of a store.
struct FamilyHandle {
  FamilyHandle() = default;
  FamilyHandle(const FamilyHandle&) = delete;
  FamilyHandle& operator=(const FamilyHandle&) = delete;
  ~FamilyHandle();

  // Null, with a Python error set, if it can't be used any more.
  KVColumnFamily* usable() const;
  void close();

  KVColumnFamily* cf = nullptr;  // null once it is closed
  StoreHandle* home = nullptr;
  PyObject* owner = nullptr;  // what keeps `home` alive; null in a store, which is its own home
  int users = 0;              // threads that are inside, without the GIL
  bool is_closing = false;    // the last one out closes it
};

// A store: its default family is kept until the end, and keeps `kv` safe to call after a close.
struct StoreHandle : FamilyHandle {
  ~StoreHandle();

  // KVSTORE_OK, also if it was closed before.
  int close_store();

  KVStore* kv = nullptr;
  bool is_open = false;
  bool abandoned = false;
  PyObject* clock = nullptr;  // a callable, or null

  // Writes that are committed together, for mayfly.dbm: a transaction begins with the first and
  // ends after `group_size` of them. REQUIRES: all writes are made by one thread.
  int group_size = 0;  // 0: each write is a transaction of its own
  int group_left = 0;  // of the one that is open; 0 if none is
  bool begin_group();  // false, with a Python error set, if it fails; so is the next
  bool count_write();
  bool end_group();
  std::vector<SnapshotHandle*> snapshots{};
};

// Runs `work()`, which must not touch Python, without the GIL, and returns what it returns.
template <class Work>
auto unlocked(FamilyHandle& family, Work work) {
  ++family.users;
  const auto result = without_gil(work);
  if (--family.users == 0 && family.is_closing) family.close();
  return result;
}

}  // namespace mayfly::internal
