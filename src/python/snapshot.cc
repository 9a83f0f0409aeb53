// SPDX-License-Identifier: Apache-2.0
#include "python/snapshot.h"

#include "capi/call.h"
#include "python/errors.h"

namespace mayfly {

SnapshotHandle::~SnapshotHandle() {
  if (home != nullptr) {
    std::erase(home->snapshots, this);
    if (!home->abandoned) end();
  }
  Py_XDECREF(owner);
}

int SnapshotHandle::begin(StoreHandle& store_handle, PyObject* store) {
  const int code = unlocked(store_handle, [&] {
    return call(store_handle.kv, [&](KVStore& kv) {
      auto made = kv.store->read();
      if (!made) return fail(kv, made.error());
      txn.emplace(std::move(*made));
      return KVSTORE_OK;
    });
  });
  if (code != KVSTORE_OK) return code;
  home = &store_handle;
  owner = Py_NewRef(store);
  home->snapshots.push_back(this);
  return code;
}

void SnapshotHandle::end() {
  if (!txn) return;
  without_gil([this] {
    txn.reset();
    return true;
  });
}

bool SnapshotHandle::check() const {
  if (home != nullptr && home->abandoned) {
    raise_error("this store was opened before a fork: open it again in the child");
  } else if (!txn) {
    raise_error("the snapshot is closed");
  } else if (is_busy) {
    raise_error("another thread is using the snapshot");
  } else {
    return true;
  }
  return false;
}

int SnapshotHandle::family(std::string_view name) {
  const auto found = txn->family(name);
  if (!found) return -1;
  families.push_back(*found);
  return static_cast<int>(families.size()) - 1;
}

Status SnapshotHandle::get(int family, std::string_view key,
                           std::optional<std::string>& value) const {
  const auto found = txn->get(key, families[static_cast<std::size_t>(family)]);
  if (!found) return found.error();
  if (*found) value.emplace(**found);
  return Done{};
}

Status SnapshotHandle::deadline(int family, std::string_view key,
                                std::optional<Time>& deadline) const {
  const auto found = txn->deadline(key, families[static_cast<std::size_t>(family)]);
  if (!found) return found.error();
  deadline = *found;
  return Done{};
}

Status SnapshotHandle::count(int family, std::int64_t& live) const {
  const auto counts = txn->count(families[static_cast<std::size_t>(family)]);
  if (!counts) return counts.error();
  live = static_cast<std::int64_t>(counts->live);
  return Done{};
}

Status SnapshotHandle::page(int family, const Page& page, std::vector<Entry>& entries) const {
  auto cursor = txn->cursor({.prefix = page.prefix}, families[static_cast<std::size_t>(family)]);
  if (!cursor) return cursor.error();
  const auto step = [&] { return page.reverse ? cursor->prev() : cursor->next(); };
  bool is_on = false;
  if (page.after) {
    is_on = page.reverse ? cursor->seek_before(*page.after) : cursor->seek(*page.after);
    if (is_on && cursor->key() == *page.after) is_on = step();
  } else {
    is_on = page.reverse ? cursor->last() : cursor->first();
  }
  for (; is_on && entries.size() < page.limit; is_on = step()) {
    entries.emplace_back(cursor->key(), cursor->value());
  }
  return cursor->status();
}

}  // namespace mayfly
