// SPDX-License-Identifier: Apache-2.0
// What stands behind the objects of the Python package, and the frame of every call into the file.
//
//   Iterator, Snapshot --> ColumnFamily --> KVStore     each holds a Python reference to the next,
//                                                       so that what it points to outlives it
//
// Threads: all of this is guarded by the GIL. Work on the file is done without it, by unlocked(),
// and meanwhile another thread may close the same object; so whoever is inside is counted, and the
// last one out closes it. A store may be closed at any time: the C API below waits for the calls of
// others, and its handles stay safe.
//
// Fork: in the child of a fork() the file must not be touched, and not even be closed. There a
// store is `abandoned`, and all that belong to it refuse.

#pragma once

#include <Python.h>

#include <vector>

#include "kvstore.h"
#include "python/gil.h"

namespace mayfly {

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

}  // namespace mayfly
