// SPDX-License-Identifier: Apache-2.0
// The calls about expiry alone: expire, persist, touch, the default TTL, and what expires next.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "capi/call.h"
#include "capi/moments.h"
#include "mayfly/condition.h"

namespace mayfly {
namespace {

static_assert(KVSTORE_EXPIRE_NX == static_cast<int>(When::unset));
static_assert(KVSTORE_EXPIRE_XX == static_cast<int>(When::set));
static_assert(KVSTORE_EXPIRE_GT == static_cast<int>(When::later));
static_assert(KVSTORE_EXPIRE_LT == static_cast<int>(When::sooner));
constexpr int kConditions =
    KVSTORE_EXPIRE_NX | KVSTORE_EXPIRE_XX | KVSTORE_EXPIRE_GT | KVSTORE_EXPIRE_LT;

int check_conditions(KVStore& kv, int flags) {
  if ((flags & ~kConditions) == 0 && compatible(static_cast<When>(flags))) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "unknown flags, or NX with another, or GT with LT");
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
      return txn.expire(name, moment.expires, static_cast<When>(flags), cf->family);
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
      return txn.touch(name, moment.expires, cf->family) ? KVSTORE_OK : KVSTORE_NOTFOUND;
    });
  });
}

int kvstore_cf_set_default_ttl(KVColumnFamily* cf, int64_t ttl_ms) {
  return call(cf, [&](KVStore& kv) {
    if (ttl_ms <= 0 && ttl_ms != KVSTORE_NO_TTL) {
      return fail(kv, KVSTORE_ERROR, "a TTL must be above 0, in ms, or KVSTORE_NO_TTL");
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
      return fail(kv, KVSTORE_ERROR, "moments and the limit must not be negative");
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

}  // extern "C"
}  // namespace mayfly
