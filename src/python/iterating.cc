// SPDX-License-Identifier: Apache-2.0
#include "python/iterating.h"

#include <algorithm>
#include <utility>

#include "capi/call.h"
#include "capi/iterator.h"
#include "python/errors.h"

namespace mayfly {
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

// What the iterator met and had expired is removed now; that is work on the file.
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
    raise_error("this store was opened before a fork: open it again in the child");
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

}  // namespace mayfly
