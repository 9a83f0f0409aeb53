// SPDX-License-Identifier: Apache-2.0
// The calls of iterators.

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "capi/call.h"

namespace mayfly::internal {
namespace {

template <class Body>
int call_on(KVIterator* iterator, Body body) noexcept {
  if (iterator == nullptr) return KVSTORE_ERROR;
  return call(iterator->kv, [&](KVStore& kv) { return body(kv, *iterator); });
}

// Gives it a cursor, of this thread's transaction or with a snapshot of its own.
int attach(KVStore& kv, KVIterator& it) {
  OpenTxn* const open = kv.open_txn();
  CursorOptions options{.prefix = it.prefix};
  auto cursor = open == nullptr ? kv.store->cursor(std::move(options), it.family)
                                : open->txn().cursor(std::move(options), it.family);
  if (!cursor) return fail(kv, cursor.error());
  if (open != nullptr) {
    open->iterators.push_back(&it);
    it.txn = open;
    it.writes = open->writes;
  }
  it.cursor.emplace(std::move(*cursor));
  return KVSTORE_OK;
}

// Makes sure that the cursor may be used. `moved`: it is a new one, and on no entry.
int refresh(KVStore& kv, KVIterator& it, bool& moved) {
  moved = !it.cursor || (it.txn != nullptr && it.writes != it.txn->writes);
  if (!moved) return KVSTORE_OK;
  it.drop_cursor();
  return attach(kv, it);
}

// Shows the entry of the cursor after it was moved.
int show_entry(KVStore& kv, KVIterator& it) {
  it.copied = it.is_lost = false;
  it.valid = it.cursor->valid();
  if (!it.valid) return check_status(kv, it.cursor->status());
  if (it.txn != nullptr && it.txn->write) it.copy();
  return KVSTORE_OK;
}

// Moves with `move(cursor)`, wherever it is now.
template <class Move>
int place(KVStore& kv, KVIterator& it, Move move) {
  bool moved = false;
  if (const int code = refresh(kv, it, moved)) return code;
  move(*it.cursor);
  return show_entry(kv, it);
}

int step(KVStore& kv, KVIterator& it, bool forward) {
  if (it.is_lost) throw std::bad_alloc();
  if (!it.valid) return KVSTORE_OK;
  bool moved = false;
  if (const int code = refresh(kv, it, moved)) return code;
  Cursor& cursor = *it.cursor;
  // On a new cursor the old key is the place to go on from, if it is still there.
  const bool here =
      !moved || (forward ? cursor.seek(it.key_copy) : cursor.seek_before(it.key_copy));
  if (here && (!moved || cursor.key() == it.key_copy)) forward ? cursor.next() : cursor.prev();
  return show_entry(kv, it);
}

int check_reverse(KVStore& kv, const KVIterator& it) {
  if (it.reverse) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "last and prev need a reverse iterator");
}

int check_place(KVStore& kv, const KVIterator& it, const void* result) {
  if (const int code = check_result(kv, result)) return code;
  return it.valid ? KVSTORE_OK : fail(kv, KVSTORE_ERROR, "the iterator is not on an entry");
}

void forget(KVIterator& it) {
  KVStore& kv = *it.kv;
  const bool entered = kv.gate.pass([&] { it.drop_cursor(); });
  const std::lock_guard lock(kv.handles_mutex);
  if (!entered) it.cursor.reset();  // kvstore_close() is at work, and waits for this lock
  kv.iterators.erase(&it);
}

struct Closer {
  void operator()(KVIterator* it) const {
    KVStore* const kv = it->kv;
    forget(*it);
    kv->unuse(it->family_name);
    delete it;
    kv->release();
  }
};

std::unique_ptr<KVIterator, Closer> make(KVStore& kv, const KVColumnFamily& cf,
                                         std::string_view prefix, bool reverse) {
  auto made = std::make_unique<KVIterator>(
      KVIterator{&kv, cf.family, cf.name, std::string(prefix), reverse});
  kv.use(made->family_name, made.get());
  kv.retain();
  return std::unique_ptr<KVIterator, Closer>(made.release());
}

int create(KVColumnFamily* cf, std::string_view prefix, bool reverse, KVIterator** out) {
  if (out != nullptr) *out = nullptr;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, out)) return code;
    auto made = make(kv, *cf, prefix, reverse);
    if (const int code = attach(kv, *made)) return code;
    if (!prefix.empty()) {
      reverse ? made->cursor->last() : made->cursor->first();
      if (const int code = show_entry(kv, *made)) return code;
    }
    kv.iterations.fetch_add(1, std::memory_order_relaxed);
    *out = made.release();
    return KVSTORE_OK;
  });
}

int create_prefix(KVColumnFamily* cf, const void* prefix, int length, bool reverse,
                  KVIterator** out) {
  if (out != nullptr) *out = nullptr;
  const int code = call(cf, [&](KVStore& kv) {
    if (prefix != nullptr && length >= 1 && length <= kKeyMax) return KVSTORE_OK;
    return fail(kv, KVSTORE_ERROR, "a prefix must have 1 to 65536 bytes");
  });
  return code == KVSTORE_OK ? create(cf, view(prefix, length), reverse, out) : code;
}

int give_view(std::string_view from, void** bytes, int* length) {
  *bytes = from.empty() ? nullptr : const_cast<char*>(from.data());
  *length = static_cast<int>(from.size());
  return KVSTORE_OK;
}

}  // namespace

extern "C" {

int kvstore_cf_iterator_create(KVColumnFamily* cf, KVIterator** out) {
  return create(cf, {}, false, out);
}

int kvstore_cf_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_length,
                                      KVIterator** out) {
  return create_prefix(cf, prefix, prefix_length, false, out);
}

int kvstore_cf_reverse_iterator_create(KVColumnFamily* cf, KVIterator** out) {
  return create(cf, {}, true, out);
}

int kvstore_cf_reverse_prefix_iterator_create(KVColumnFamily* cf, const void* prefix,
                                              int prefix_length, KVIterator** out) {
  return create_prefix(cf, prefix, prefix_length, true, out);
}

int kvstore_iterator_first(KVIterator* iterator) {
  return call_on(iterator, [](KVStore& kv, KVIterator& it) {
    return place(kv, it, [](Cursor& cursor) { return cursor.first(); });
  });
}

int kvstore_iterator_last(KVIterator* iterator) {
  return call_on(iterator, [](KVStore& kv, KVIterator& it) {
    if (const int code = check_reverse(kv, it)) return code;
    return place(kv, it, [](Cursor& cursor) { return cursor.last(); });
  });
}

int kvstore_iterator_next(KVIterator* iterator) {
  return call_on(iterator, [](KVStore& kv, KVIterator& it) { return step(kv, it, true); });
}

int kvstore_iterator_prev(KVIterator* iterator) {
  return call_on(iterator, [](KVStore& kv, KVIterator& it) {
    if (const int code = check_reverse(kv, it)) return code;
    return step(kv, it, false);
  });
}

int kvstore_iterator_eof(KVIterator* iterator) {
  const int code =
      call_on(iterator, [](KVStore&, KVIterator& it) { return it.valid ? KVSTORE_OK : 1; });
  return code == KVSTORE_OK ? 0 : 1;
}

int kvstore_iterator_seek(KVIterator* iterator, const void* key, int key_length) {
  return call_on(iterator, [&](KVStore& kv, KVIterator& it) {
    if (const int code = check_key(kv, key, key_length)) return code;
    const std::string_view to = view(key, key_length);
    return place(kv, it, [&](Cursor& cursor) {
      return it.reverse ? cursor.seek_before(to) : cursor.seek(to);
    });
  });
}

int kvstore_iterator_key(KVIterator* iterator, void** key, int* key_length) {
  if (key != nullptr) *key = nullptr;
  if (key_length != nullptr) *key_length = 0;
  return call_on(iterator, [&](KVStore& kv, KVIterator& it) {
    if (const int code = check_result(kv, key_length)) return code;
    if (const int code = check_place(kv, it, key)) return code;
    return give_view(it.key(), key, key_length);
  });
}

int kvstore_iterator_value(KVIterator* iterator, void** value, int* value_length) {
  if (value != nullptr) *value = nullptr;
  if (value_length != nullptr) *value_length = 0;
  return call_on(iterator, [&](KVStore& kv, KVIterator& it) {
    if (const int code = check_result(kv, value_length)) return code;
    if (const int code = check_place(kv, it, value)) return code;
    return give_view(it.value(), value, value_length);
  });
}

int kvstore_iterator_deadline(KVIterator* iterator, int64_t* expire_ms) {
  if (expire_ms != nullptr) *expire_ms = 0;
  return call_on(iterator, [&](KVStore& kv, KVIterator& it) {
    if (const int code = check_place(kv, it, expire_ms)) return code;
    *expire_ms = to_expire_ms(it.deadline());
    return KVSTORE_OK;
  });
}

int kvstore_iterator_ttl(KVIterator* iterator, int64_t* remaining_ms) {
  if (remaining_ms != nullptr) *remaining_ms = 0;
  return call_on(iterator, [&](KVStore& kv, KVIterator& it) {
    if (const int code = check_place(kv, it, remaining_ms)) return code;
    const Time deadline = it.deadline();
    const Time now = it.txn != nullptr ? it.txn->txn().now() : kv.chosen_clock().now();
    *remaining_ms = deadline == kNever ? KVSTORE_NO_TTL : remaining(deadline, now).count();
    return KVSTORE_OK;
  });
}

void kvstore_iterator_close(KVIterator* iterator) {
  if (iterator != nullptr && !iterator->kv->mark.is_foreign()) Closer()(iterator);
}

}  // extern "C"
}  // namespace mayfly::internal
