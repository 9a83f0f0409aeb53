// SPDX-License-Identifier: Apache-2.0
// IteratorHandle: a KVIterator of the C API that Python code may misuse without harm.
//
// An iterator is for one thread at a time; here a second one is told so. What it stands on is
// copied while no other thread can close the store. In a `for` loop it gives the entry it was last
// put on by hand (first, last, seek, next, prev), or else the one after the last it gave.

#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "kvstore.h"
#include "python/handles.h"

namespace mayfly {

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

}  // namespace mayfly
