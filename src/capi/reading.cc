// SPDX-License-Identifier: Apache-2.0
// The calls that read: get, get_into, get_ttl, exists, ttl_remaining, deadline, and the counts.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "capi/call.h"
#include "capi/key_reader.h"

namespace mayfly::internal {
namespace {

class InsideTxn : public ReadTxn {
 public:
  static Txn& of(const ReadTxn& txn) { return *(txn.*&InsideTxn::txn_); }
};

// Calls `use(txn, found)` if the key is there. One that has expired is noted, for the next commit.
template <class Use>
Result<KeyState> look(KVStore& kv, std::string_view key, Family family, Need need, Use use) {
  const OpenTxn* const open = kv.open_txn();
  return kv.reader->look(open == nullptr ? nullptr : &open->txn(), key, family, need, use);
}

void count_get(Txn& txn, const StoredEntry& found) {
  txn.tally().add(Count::gets);
  txn.tally().add(Count::bytes_read, found.value.size());
}

int to_code(KVStore& kv, const Result<KeyState>& state) {
  if (!state) return fail(kv, state.error());
  return *state == KeyState::there ? KVSTORE_OK : KVSTORE_NOTFOUND;
}

// Gives out a copy of the value. An empty one needs none.
void give_copy(std::string_view from, void** value, int* length) {
  if (from.empty()) return;
  *value = std::malloc(from.size());
  if (*value == nullptr) throw std::bad_alloc();
  std::memcpy(*value, from.data(), from.size());
  *length = static_cast<int>(from.size());
}

int check_get(KVStore& kv, const void* key, int key_length, void** value, int* value_length) {
  if (const int code = check_result(kv, value)) return code;
  if (const int code = check_result(kv, value_length)) return code;
  return check_key(kv, key, key_length);
}

void clear_results(void** value, int* value_length) {
  if (value != nullptr) *value = nullptr;
  if (value_length != nullptr) *value_length = 0;
}

int get_count(KVColumnFamily* cf, std::int64_t* result, std::uint64_t FamilyCounts::*which) {
  if (result != nullptr) *result = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, result)) return code;
    return with_read(kv, [&](const ReadTxn& txn) {
      const auto counts = txn.count(cf->family);
      if (!counts) return fail(kv, counts.error());
      *result = static_cast<std::int64_t>((*counts).*which);
      return KVSTORE_OK;
    });
  });
}

// The deadline of a key that is there, and the moment of the look.
Result<KeyState> look_at_deadline(KVColumnFamily* cf, std::string_view key, Time& deadline,
                                  Time& now) {
  return look(*cf->kv, key, cf->family, Need::deadline, [&](Txn& txn, const StoredEntry& found) {
    deadline = found.deadline;
    if (deadline != kNever) now = txn.now();
  });
}

}  // namespace

Txn& KeyReader::inside(const ReadTxn& txn) { return InsideTxn::of(txn); }

Result<KeyReader> KeyReader::of(const Store& store) {
  const auto txn = store.read();
  if (!txn) return txn.error();
  return KeyReader(inside(*txn).owner());
}

extern "C" {

int kvstore_cf_get(KVColumnFamily* cf, const void* key, int key_length, void** value,
                   int* value_length) {
  clear_results(value, value_length);
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_get(kv, key, key_length, value, value_length)) return code;
    const auto state = look(kv, view(key, key_length), cf->family, Need::value,
                            [&](Txn& txn, const StoredEntry& found) {
                              give_copy(found.value, value, value_length);
                              count_get(txn, found);
                            });
    return to_code(kv, state);
  });
}

int kvstore_cf_get_into(KVColumnFamily* cf, const void* key, int key_length, void* buffer, int size,
                        int* value_length) {
  clear_results(nullptr, value_length);
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, value_length)) return code;
    if (const int code = check_key(kv, key, key_length)) return code;
    if (size < 0 || (buffer == nullptr && size != 0)) {
      return fail(kv, KVSTORE_ERROR,
                  "the buffer must not be NULL, and its size must not be negative");
    }
    const auto state = look(kv, view(key, key_length), cf->family, Need::value,
                            [&](Txn& txn, const StoredEntry& found) {
                              const std::size_t fitting =
                                  std::min(found.value.size(), static_cast<std::size_t>(size));
                              if (fitting != 0) std::memcpy(buffer, found.value.data(), fitting);
                              *value_length = static_cast<int>(found.value.size());
                              count_get(txn, found);
                            });
    return to_code(kv, state);
  });
}

int kvstore_cf_get_ttl(KVColumnFamily* cf, const void* key, int key_length, void** value,
                       int* value_length, int64_t* remaining_ms) {
  clear_results(value, value_length);
  if (remaining_ms != nullptr) *remaining_ms = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_get(kv, key, key_length, value, value_length)) return code;
    std::int64_t left = KVSTORE_NO_TTL;
    const auto state = look(kv, view(key, key_length), cf->family, Need::deadline,
                            [&](Txn& txn, const StoredEntry& found) {
                              give_copy(found.value, value, value_length);
                              if (found.deadline != kNever)
                                left = remaining(found.deadline, txn.now()).count();
                              count_get(txn, found);
                            });
    if (remaining_ms != nullptr && state && *state != KeyState::expired) *remaining_ms = left;
    return to_code(kv, state);
  });
}

int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_length, int* exists) {
  if (exists != nullptr) *exists = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, exists)) return code;
    if (const int code = check_key(kv, key, key_length)) return code;
    const auto state = look(kv, view(key, key_length), cf->family, Need::value,
                            [](const Txn&, const StoredEntry&) {});
    if (!state) return fail(kv, state.error());
    *exists = *state == KeyState::there ? 1 : 0;
    return KVSTORE_OK;
  });
}

int kvstore_cf_ttl_remaining(KVColumnFamily* cf, const void* key, int key_length,
                             int64_t* remaining_ms) {
  if (remaining_ms != nullptr) *remaining_ms = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, remaining_ms)) return code;
    if (const int code = check_key(kv, key, key_length)) return code;
    Time deadline = kNever;
    Time now{};
    const auto state = look_at_deadline(cf, view(key, key_length), deadline, now);
    if (state && *state == KeyState::expired) return KVSTORE_OK;
    if (state) {
      *remaining_ms = deadline == kNever ? KVSTORE_NO_TTL : remaining(deadline, now).count();
    }
    return to_code(kv, state);
  });
}

int kvstore_cf_deadline(KVColumnFamily* cf, const void* key, int key_length, int64_t* expire_ms) {
  if (expire_ms != nullptr) *expire_ms = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, expire_ms)) return code;
    if (const int code = check_key(kv, key, key_length)) return code;
    Time deadline = kNever;
    Time now{};
    const auto state = look_at_deadline(cf, view(key, key_length), deadline, now);
    *expire_ms = to_expire_ms(deadline);
    return to_code(kv, state);
  });
}

int kvstore_cf_count(KVColumnFamily* cf, int64_t* count) {
  if (count != nullptr) *count = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, count)) return code;
    return with_read(kv, [&](const ReadTxn& txn) {
      Txn& inside = InsideTxn::of(txn);
      FamilyView* const there = inside.view(cf->family);
      if (there == nullptr) return fail(kv, inside.missing_family());
      const auto stored = inside.count_stored(*there);
      if (!stored) return fail(kv, stored.error());
      *count = static_cast<std::int64_t>(*stored);
      return KVSTORE_OK;
    });
  });
}

int kvstore_cf_count_live(KVColumnFamily* cf, int64_t* count) {
  return get_count(cf, count, &FamilyCounts::live);
}

int kvstore_cf_count_ttl(KVColumnFamily* cf, int64_t* count) {
  return get_count(cf, count, &FamilyCounts::with_ttl);
}

int kvstore_cf_count_expired(KVColumnFamily* cf, int64_t* count) {
  return get_count(cf, count, &FamilyCounts::expired);
}

}  // extern "C"
}  // namespace mayfly::internal
