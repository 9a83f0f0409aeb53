// SPDX-License-Identifier: Apache-2.0
// The calls that write a key: put and its variants, delete, compare_and_set, increment, clear.

#include <cstdint>
#include <optional>

#include "capi/call.h"

namespace mayfly::internal {
namespace {

int check_entry(KVStore& kv, const void* key, int key_length, const void* value, int value_length) {
  if (const int code = check_key(kv, key, key_length)) return code;
  return check_value(kv, value, value_length);
}

struct Argument {
  const void* data;
  int length;
};

int put(KVColumnFamily* cf, Argument key, Argument value, const Moment& moment) {
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_entry(kv, key.data, key.length, value.data, value.length)) {
      return code;
    }
    if (const int code = check_moment(kv, moment)) return code;
    return with_write(kv, cf->family, [&](WriteTxn& txn) {
      txn.put(view(key.data, key.length), view(value.data, value.length), moment.expiry,
              cf->family);
      return KVSTORE_OK;
    });
  });
}

int put_if_absent(KVColumnFamily* cf, Argument key, Argument value, const Moment& moment,
                  int* inserted) {
  if (inserted != nullptr) *inserted = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_entry(kv, key.data, key.length, value.data, value.length)) {
      return code;
    }
    if (const int code = check_moment(kv, moment)) return code;
    bool stored = false;
    const int code = with_write(kv, cf->family, [&](WriteTxn& txn) {
      // An entry that is expired already could never be seen.
      const bool visible = !moment.deadline || !is_due(*moment.deadline, txn.now());
      stored =
          visible && txn.put_if_absent(view(key.data, key.length), view(value.data, value.length),
                                       moment.expiry, cf->family);
      return KVSTORE_OK;
    });
    if (inserted != nullptr && code == KVSTORE_OK) *inserted = stored ? 1 : 0;
    return code;
  });
}

}  // namespace

extern "C" {

int kvstore_cf_put(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                   int value_length) {
  return put(cf, {key, key_length}, {value, value_length}, Moment::by_default());
}

int kvstore_cf_put_ttl(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                       int value_length, int64_t expire_ms) {
  return put(cf, {key, key_length}, {value, value_length}, Moment::at_or_never(expire_ms));
}

int kvstore_cf_put_for(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                       int value_length, int64_t ttl_ms) {
  return put(cf, {key, key_length}, {value, value_length}, Moment::in(ttl_ms));
}

int kvstore_cf_put_if_absent(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                             int value_length, int64_t expire_ms, int* inserted) {
  const Moment moment = expire_ms == 0 ? Moment::by_default() : Moment::at_or_never(expire_ms);
  return put_if_absent(cf, {key, key_length}, {value, value_length}, moment, inserted);
}

int kvstore_cf_put_if_absent_for(KVColumnFamily* cf, const void* key, int key_length,
                                 const void* value, int value_length, int64_t ttl_ms,
                                 int* inserted) {
  return put_if_absent(cf, {key, key_length}, {value, value_length}, Moment::in(ttl_ms), inserted);
}

int kvstore_cf_delete(KVColumnFamily* cf, const void* key, int key_length) {
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_key(kv, key, key_length)) return code;
    return with_write(kv, cf->family, [&](WriteTxn& txn) {
      return txn.erase(view(key, key_length), cf->family) ? KVSTORE_OK : KVSTORE_NOTFOUND;
    });
  });
}

int kvstore_cf_compare_and_set(KVColumnFamily* cf, const void* key, int key_length,
                               const void* expected, int expected_length, const void* value,
                               int value_length, int* swapped) {
  if (swapped != nullptr) *swapped = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_entry(kv, key, key_length, value, value_length)) return code;
    if (const int code = check_value(kv, expected, expected_length)) return code;
    bool stored = false;
    const int code = with_write(kv, cf->family, [&](WriteTxn& txn) {
      stored = txn.compare_and_set(view(key, key_length), view(expected, expected_length),
                                   view(value, value_length), Expiry::unchanged(), cf->family);
      return KVSTORE_OK;
    });
    if (swapped != nullptr && code == KVSTORE_OK) *swapped = stored ? 1 : 0;
    return code;
  });
}

int kvstore_cf_increment(KVColumnFamily* cf, const void* key, int key_length, int64_t delta,
                         int64_t* sum) {
  if (sum != nullptr) *sum = 0;
  return call(cf, [&](KVStore& kv) {
    if (const int code = check_key(kv, key, key_length)) return code;
    const std::string_view name = view(key, key_length);
    std::int64_t result = 0;
    const int code = with_write(kv, cf->family, [&](WriteTxn& txn) {
      if (const int bad = check_sum(kv, txn, name, cf->family, delta)) return bad;
      result = txn.increment(name, delta, {}, cf->family);
      return KVSTORE_OK;
    });
    if (sum != nullptr && code == KVSTORE_OK) *sum = result;
    return code;
  });
}

int kvstore_cf_clear(KVColumnFamily* cf) {
  return call(cf, [&](KVStore& kv) {
    return with_write(kv, cf->family, [&](WriteTxn& txn) {
      txn.clear(cf->family);
      return KVSTORE_OK;
    });
  });
}

}  // extern "C"
}  // namespace mayfly::internal
