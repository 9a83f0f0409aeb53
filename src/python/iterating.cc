// SPDX-License-Identifier: Apache-2.0
#include "python/iterating.h"

#include <algorithm>
#include <utility>

#include "capi/call.h"

namespace mayfly::internal {
namespace {

// Runs `work()` without the GIL, while nobody else may use the iterator.
template <class Work>
int alone(IteratorHandle& handle, Work work) {
  handle.is_busy = true;
  const int code = without_gil(work);
  handle.is_busy = false;
  return code;
}

int create(KVColumnFamily* cf, std::string_view prefix, bool reverse, KVIterator** out) {
  if (prefix.empty()) {
    return reverse ? kvstore_cf_reverse_iterator_create(cf, out)
                   : kvstore_cf_iterator_create(cf, out);
  }
  const auto make =
      reverse ? kvstore_cf_reverse_prefix_iterator_create : kvstore_cf_prefix_iterator_create;
  return make(cf, prefix.data(), static_cast<int>(prefix.size()), out);
}

PyObject* to_bytes(const std::string& bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

PyObject* to_pair(const std::string& key, const std::string& value) {
  PyObject* const pair = PyTuple_New(2);
  if (pair == nullptr) return nullptr;
  PyTuple_SET_ITEM(pair, 0, to_bytes(key));
  PyTuple_SET_ITEM(pair, 1, to_bytes(value));
  if (PyTuple_GET_ITEM(pair, 0) != nullptr && PyTuple_GET_ITEM(pair, 1) != nullptr) return pair;
  Py_DECREF(pair);
  return nullptr;
}

}  // namespace

IteratorHandle::~IteratorHandle() {
  if (home != nullptr && !home->abandoned) close();
  Py_XDECREF(owner);
}

bool IteratorHandle::begin(FamilyHandle& family, PyObject* owner_object, std::string_view prefix,
                           bool is_reverse) {
  KVColumnFamily* const cf = family.usable();
  if (cf == nullptr) return false;
  home = family.home;
  kv = home->kv;
  reverse = is_reverse;
  const int code = unlocked(family, [&] { return create(cf, prefix, is_reverse, &iterator); });
  if (code != KVSTORE_OK) {
    raise_code(kv, code);
    return false;
  }
  owner = Py_NewRef(owner_object);
  is_placed = is_fresh = !prefix.empty();
  return true;
}

void IteratorHandle::close() {
  KVIterator* const closing = std::exchange(iterator, nullptr);
  if (closing == nullptr) return;
  alone(*this, [&] {
    kvstore_iterator_close(closing);
    return KVSTORE_OK;
  });
}

bool IteratorHandle::check() const {
  if (home != nullptr && home->abandoned) {
    raise_abandoned();
  } else if (iterator == nullptr) {
    raise_error("the iterator is closed");
  } else if (is_busy) {
    raise_error("another thread is using the iterator");
  } else {
    return true;
  }
  return false;
}

bool IteratorHandle::move(int (*how)(KVIterator*)) {
  if (!check()) return false;
  const int code = alone(*this, [&] { return how(iterator); });
  is_placed = is_fresh = true;
  if (code != KVSTORE_OK) raise_code(kv, code);
  return code == KVSTORE_OK;
}

bool IteratorHandle::seek(std::string_view to) {
  if (!check()) return false;
  const int size = static_cast<int>(std::min<std::size_t>(to.size(), kKeyMax + 1));
  const int code = alone(*this, [&] { return kvstore_iterator_seek(iterator, to.data(), size); });
  is_placed = is_fresh = true;
  if (code != KVSTORE_OK) raise_code(kv, code);
  return code == KVSTORE_OK;
}

int IteratorHandle::load() {
  return call(kv, [&](KVStore&) {
    if (!iterator->valid) return KVSTORE_NOTFOUND;
    key.assign(iterator->key());
    value.assign(iterator->value());
    return KVSTORE_OK;
  });
}

PyObject* IteratorHandle::next_item() {
  if (!check()) return nullptr;
  const int code = alone(*this, [&] {
    int moved = KVSTORE_OK;
    if (!is_placed) {
      moved = reverse ? kvstore_iterator_last(iterator) : kvstore_iterator_first(iterator);
    } else if (!is_fresh) {
      moved = reverse ? kvstore_iterator_prev(iterator) : kvstore_iterator_next(iterator);
    }
    return moved == KVSTORE_OK ? load() : moved;
  });
  is_placed = true;
  is_fresh = false;
  if (code == KVSTORE_NOTFOUND) return nullptr;  // the end
  if (code != KVSTORE_OK) return raise_code(kv, code);
  return to_pair(key, value);
}

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
    raise_abandoned();
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

}  // namespace mayfly::internal
