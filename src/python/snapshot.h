// SPDX-License-Identifier: Apache-2.0
// SnapshotHandle: the store as it was at one moment, for as long as it is kept.
//
// It belongs to a StoreHandle, which ends it before the store is closed. Any thread may use it, one
// at a time. All calls are made without the GIL, between enter() and leave().

#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/store_txn.h"
#include "python/handles.h"

namespace mayfly {

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

}  // namespace mayfly
