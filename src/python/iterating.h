// SPDX-License-Identifier: Apache-2.0
// IteratorHandle: a KVIterator of the C API that Python code may misuse without harm. An iterator
// is for one thread at a time; here a second one gets an error. Its entry is copied while no other
// thread can close the store. In a `for` loop it returns the entry it was last moved to by hand
// (first, last, seek, next, prev), or else the one after the last it returned.
//
// SnapshotHandle: the store as it was at one moment. It belongs to a StoreHandle, which ends it
// before the store is closed. Any thread may use it, one at a time, without the GIL.

#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvstore.h"
#include "mayfly/store_txn.h"
#include "python/handles.h"

namespace mayfly::internal {

struct IteratorHandle {
  IteratorHandle() = default;
  IteratorHandle(const IteratorHandle&) = delete;
  IteratorHandle& operator=(const IteratorHandle&) = delete;
  ~IteratorHandle();

  // Makes it an iterator over `family`, the handle of the object `owner_object`. False, with a
  // Python error set, if that fails. An empty prefix is none.
  bool begin(FamilyHandle& family, PyObject* owner_object, std::string_view prefix,
             bool is_reverse);
  void close();

  // Whether it may be used; if not, a Python error is set.
  bool check() const;

  // Each is false, with a Python error set, if it fails.
  bool move(int (*how)(KVIterator*));
  bool seek(std::string_view key);

  // Reads the entry it stands on into `key` and `value`. KVSTORE_NOTFOUND if it stands on none.
  int load();

  // New references; null with a Python error set, or without one if there is no further entry.
  PyObject* next_item();

  KVIterator* iterator = nullptr;
  KVStore* kv = nullptr;
  StoreHandle* home = nullptr;
  PyObject* owner = nullptr;
  bool reverse = false;
  bool is_placed = false;  // it has been put somewhere
  bool is_fresh = false;   // and what it stands on has not been given by a loop
  bool is_busy = false;    // a thread is inside, without the GIL

  std::string key{};
  std::string value{};
};

struct SnapshotHandle {
  SnapshotHandle() = default;
  SnapshotHandle(const SnapshotHandle&) = delete;
  SnapshotHandle& operator=(const SnapshotHandle&) = delete;
  ~SnapshotHandle();

  // Makes it one of `home`, which `store` keeps alive. Returns a number of the C API, whose message
  // tells what is wrong.
  int begin(StoreHandle& store_handle, PyObject* store);
  void end();

  // Whether it may be used; if not, a Python error is set.
  bool check() const;

  // The number by which the family is known here, or -1 if there is none of that name.
  int family(std::string_view name);

  using Entry = std::pair<std::string, std::string>;
  struct Page {
    std::string prefix{};
    std::optional<std::string> after{};  // nothing: from the first, or the last
    bool reverse = false;
    std::size_t limit = 0;
  };

  // Each may be called without the GIL.
  Status get(int family, std::string_view key, std::optional<std::string>& value) const;
  Status deadline(int family, std::string_view key, std::optional<Time>& deadline) const;
  Status count(int family, std::int64_t& live) const;
  Status page(int family, const Page& page, std::vector<Entry>& entries) const;

  StoreHandle* home = nullptr;
  PyObject* owner = nullptr;
  std::optional<ReadTxn> txn{};
  std::vector<Family> families{Family()};
  bool is_busy = false;
};

}  // namespace mayfly::internal
