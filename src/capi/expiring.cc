// SPDX-License-Identifier: Apache-2.0
// The calls about expiry: expire, persist, touch, the default TTL, what expires next, and purging.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "capi/call.h"
#include "mayfly/condition.h"

namespace mayfly::internal {
namespace {

static_assert(KVSTORE_EXPIRE_NX == static_cast<int>(When::unset));
static_assert(KVSTORE_EXPIRE_XX == static_cast<int>(When::set));
static_assert(KVSTORE_EXPIRE_GT == static_cast<int>(When::later));
static_assert(KVSTORE_EXPIRE_LT == static_cast<int>(When::sooner));
constexpr int kConditions =
    KVSTORE_EXPIRE_NX | KVSTORE_EXPIRE_XX | KVSTORE_EXPIRE_GT | KVSTORE_EXPIRE_LT;

int check_conditions(KVStore& kv, int flags) {
  if ((flags & ~kConditions) == 0 && compatible(static_cast<When>(flags))) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "invalid flags: unknown, or NX with another, or GT with LT");
}

// Runs `change(txn)`, which returns whether it did something, if the key is there.
template <class Change>
int change_key(KVStore& kv, std::string_view key, Family family, int* changed, Change change) {
  bool did = false;
  const int code = with_write(kv, family, [&](WriteTxn& txn) {
    const auto there = txn.contains(key, family);
    if (!there) return fail(kv, there.error());
    if (!*there) return KVSTORE_NOTFOUND;
    did = change(txn);
    return KVSTORE_OK;
  });
  if (changed != nullptr && code == KVSTORE_OK) *changed = did ? 1 : 0;
  return code;
}

int expire(KVColumnFamily* cf, const void* key, int key_length, const Moment& moment, int flags,
           int* changed) {
  if (changed != nullptr) *changed = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_key(kv, key, key_length)) return code;
    if (const int code = check_moment(kv, moment)) return code;
    if (const int code = check_conditions(kv, flags)) return code;
    const std::string_view name = view(key, key_length);
    return change_key(kv, name, cf->family, changed, [&](WriteTxn& txn) {
      return txn.expire(name, moment.expiry, static_cast<When>(flags), cf->family);
    });
  });
}

// The array and all its keys in one block, so that one snkv_free() is enough.
KVExpiring* pack(const std::vector<Expiring>& entries) {
  std::size_t bytes = entries.size() * sizeof(KVExpiring);
  for (const Expiring& entry : entries) bytes += entry.key.size();
  auto* const array = static_cast<KVExpiring*>(std::malloc(bytes));
  if (array == nullptr) throw std::bad_alloc();
  char* keys = reinterpret_cast<char*>(array + entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& key = entries[i].key;
    std::memcpy(keys, key.data(), key.size());
    array[i] = {keys, static_cast<int>(key.size()), to_expire_ms(entries[i].deadline)};
    keys += key.size();
  }
  return array;
}

// Other threads get their turn between two batches, of some milliseconds each.
constexpr std::uint64_t kBatch = 2048;

// Calls `batch(limit)`, a Purged of at most that many, until nothing is left or `max` are removed.
// Entries removed before an error are counted.
template <class Batch>
int purge_in_batches(KVStore& kv, std::uint64_t max, std::uint64_t& removed, Batch batch) {
  while (removed < max) {
    const auto turn = kv.take_turn();
    const Purged purged = batch(std::min(kBatch, max - removed));
    removed += purged.removed;
    if (!purged.status) return fail(kv, purged.status.error());
    if (purged.done || purged.removed == 0) break;
  }
  return KVSTORE_OK;
}

// Purges one family, or all if `cf` is null.
int purge(KVStore* store, KVColumnFamily* cf, std::int64_t max, std::uint64_t& removed) {
  return call(store, [&](KVStore& kv) {
    if (max < 0)
      return fail(kv, KVSTORE_ERROR, "the limit must not be negative (0 means no limit)");
    const std::uint64_t limit = max == 0 ? UINT64_MAX : static_cast<std::uint64_t>(max);
    const Family family = cf == nullptr ? Family() : cf->family;
    if (kv.open_txn() != nullptr) {
      return with_write(kv, family, [&](WriteTxn& txn) {
        removed = cf == nullptr ? txn.purge_expired_all(limit) : txn.purge_expired(limit, family);
        return KVSTORE_OK;
      });
    }
    if (kv.store->options().read_only) {
      return fail(kv, KVSTORE_READONLY, "cannot purge: the store was opened read-only");
    }
    return purge_in_batches(kv, limit, removed, [&](std::uint64_t entries) {
      const PurgeLimits limits{.entries = entries};
      return cf == nullptr ? kv.store->purge_expired_all(limits)
                           : kv.store->purge_expired(limits, family);
    });
  });
}

template <class Number>
void give_count(Number* result, std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  if (result != nullptr) *result = static_cast<Number>(std::min(number, kMost));
}

}  // namespace

extern "C" {

int kvstore_cf_expire(KVColumnFamily* cf, const void* key, int key_length, int64_t expire_ms,
                      int flags, int* changed) {
  return expire(cf, key, key_length, Moment::at(expire_ms), flags, changed);
}

int kvstore_cf_expire_for(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms,
                          int flags, int* changed) {
  return expire(cf, key, key_length, Moment::in(ttl_ms), flags, changed);
}

int kvstore_cf_persist(KVColumnFamily* cf, const void* key, int key_length, int* changed) {
  if (changed != nullptr) *changed = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_key(kv, key, key_length)) return code;
    const std::string_view name = view(key, key_length);
    return change_key(kv, name, cf->family, changed,
                      [&](WriteTxn& txn) { return txn.persist(name, cf->family); });
  });
}

int kvstore_cf_touch(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms) {
  return call(cf, [&](KVStore& kv) {
    const Moment moment = Moment::in(ttl_ms);
    if (const int code = check_key(kv, key, key_length)) return code;
    if (const int code = check_moment(kv, moment)) return code;
    const std::string_view name = view(key, key_length);
    return with_write(kv, cf->family, [&](WriteTxn& txn) {
      return txn.touch(name, moment.expiry, cf->family) ? KVSTORE_OK : KVSTORE_NOTFOUND;
    });
  });
}

int kvstore_cf_set_default_ttl(KVColumnFamily* cf, int64_t ttl_ms) {
  return call(cf, [&](KVStore& kv) {
    if (ttl_ms <= 0 && ttl_ms != KVSTORE_NO_TTL) {
      return fail(kv, KVSTORE_ERROR,
                  "TTL must be greater than 0 (milliseconds), or KVSTORE_NO_TTL");
    }
    std::optional<Millis> ttl;
    if (ttl_ms != KVSTORE_NO_TTL) ttl = Millis(ttl_ms);
    return with_write(kv, cf->family, [&](WriteTxn& txn) {
      return check_status(kv, txn.set_default_ttl(ttl, cf->family));
    });
  });
}

int kvstore_cf_get_default_ttl(KVColumnFamily* cf, int64_t* ttl_ms) {
  if (ttl_ms != nullptr) *ttl_ms = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, ttl_ms)) return code;
    return with_read(kv, [&](const ReadTxn& txn) {
      const auto ttl = txn.default_ttl(cf->family);
      if (!ttl) return fail(kv, ttl.error());
      *ttl_ms = *ttl ? (*ttl)->count() : KVSTORE_NO_TTL;
      return KVSTORE_OK;
    });
  });
}

int kvstore_cf_expiring(KVColumnFamily* cf, int64_t from_ms, int64_t to_ms, int max,
                        KVExpiring** entries, int* count) {
  if (entries != nullptr) *entries = nullptr;
  if (count != nullptr) *count = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, entries)) return code;
    if (const int code = check_result(kv, count)) return code;
    if (from_ms < 0 || to_ms < 0 || max < 0) {
      return fail(kv, KVSTORE_ERROR, "times and the limit must not be negative");
    }
    const auto limit = static_cast<std::size_t>(max == 0 ? INT32_MAX : max);
    return with_read(kv, [&](const ReadTxn& txn) {
      const auto found =
          txn.expiring(Time(Millis(from_ms)), Time(Millis(to_ms)), limit, cf->family);
      if (!found) return fail(kv, found.error());
      if (found->empty()) return KVSTORE_OK;
      *entries = pack(*found);
      *count = static_cast<int>(found->size());
      return KVSTORE_OK;
    });
  });
}

int kvstore_cf_next_deadline(KVColumnFamily* cf, int64_t* expire_ms) {
  if (expire_ms != nullptr) *expire_ms = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_result(kv, expire_ms)) return code;
    return with_read(kv, [&](const ReadTxn& txn) {
      const auto next = txn.next_deadline(cf->family);
      if (!next) return fail(kv, next.error());
      *expire_ms = to_expire_ms(*next);
      return KVSTORE_OK;
    });
  });
}

int kvstore_cf_purge_expired(KVColumnFamily* cf, int* purged) {
  std::uint64_t removed = 0;
  const int code = purge(cf == nullptr ? nullptr : cf->kv, cf, 0, removed);
  give_count(purged, removed);
  return code;
}

int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int64_t max, int64_t* purged) {
  std::uint64_t removed = 0;
  const int code = purge(cf == nullptr ? nullptr : cf->kv, cf, max, removed);
  give_count(purged, removed);
  return code;
}

int kvstore_purge_all(KVStore* kv, int64_t max, int64_t* purged) {
  std::uint64_t removed = 0;
  const int code = purge(kv, nullptr, max, removed);
  give_count(purged, removed);
  return code;
}

}  // extern "C"
}  // namespace mayfly::internal
