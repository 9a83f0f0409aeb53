// SPDX-License-Identifier: Apache-2.0
#include "python/handles.h"

#include <algorithm>
#include <utility>

#include "python/errors.h"
#include "python/snapshot.h"

namespace mayfly {

FamilyHandle::~FamilyHandle() {
  if (home != nullptr && !home->abandoned) close();
  Py_XDECREF(owner);
}

KVColumnFamily* FamilyHandle::usable() const {
  if (home != nullptr && home->abandoned) {
    raise_error("this store was opened before a fork: open it again in the child");
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

}  // namespace mayfly
