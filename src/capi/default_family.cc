// SPDX-License-Identifier: Apache-2.0
// The calls for the column family "default": each is that for any family, with this one.

#include "capi/handles.h"

namespace mayfly::internal {
namespace {

KVColumnFamily* main_of(KVStore* kv) { return kv == nullptr ? nullptr : &kv->main; }

}  // namespace

extern "C" {

int kvstore_put(KVStore* kv, const void* key, int key_length, const void* value, int value_length) {
  return kvstore_cf_put(main_of(kv), key, key_length, value, value_length);
}

int kvstore_get(KVStore* kv, const void* key, int key_length, void** value, int* value_length) {
  return kvstore_cf_get(main_of(kv), key, key_length, value, value_length);
}

int kvstore_get_into(KVStore* kv, const void* key, int key_length, void* buffer, int size,
                     int* value_length) {
  return kvstore_cf_get_into(main_of(kv), key, key_length, buffer, size, value_length);
}

int kvstore_delete(KVStore* kv, const void* key, int key_length) {
  return kvstore_cf_delete(main_of(kv), key, key_length);
}

int kvstore_exists(KVStore* kv, const void* key, int key_length, int* exists) {
  return kvstore_cf_exists(main_of(kv), key, key_length, exists);
}

int kvstore_put_if_absent(KVStore* kv, const void* key, int key_length, const void* value,
                          int value_length, int64_t expire_ms, int* inserted) {
  return kvstore_cf_put_if_absent(main_of(kv), key, key_length, value, value_length, expire_ms,
                                  inserted);
}

int kvstore_compare_and_set(KVStore* kv, const void* key, int key_length, const void* expected,
                            int expected_length, const void* value, int value_length,
                            int* swapped) {
  return kvstore_cf_compare_and_set(main_of(kv), key, key_length, expected, expected_length, value,
                                    value_length, swapped);
}

int kvstore_increment(KVStore* kv, const void* key, int key_length, int64_t delta, int64_t* sum) {
  return kvstore_cf_increment(main_of(kv), key, key_length, delta, sum);
}

int kvstore_count(KVStore* kv, int64_t* count) { return kvstore_cf_count(main_of(kv), count); }

int kvstore_count_live(KVStore* kv, int64_t* count) {
  return kvstore_cf_count_live(main_of(kv), count);
}

int kvstore_count_ttl(KVStore* kv, int64_t* count) {
  return kvstore_cf_count_ttl(main_of(kv), count);
}

int kvstore_count_expired(KVStore* kv, int64_t* count) {
  return kvstore_cf_count_expired(main_of(kv), count);
}

int kvstore_clear(KVStore* kv) { return kvstore_cf_clear(main_of(kv)); }

int kvstore_put_ttl(KVStore* kv, const void* key, int key_length, const void* value,
                    int value_length, int64_t expire_ms) {
  return kvstore_cf_put_ttl(main_of(kv), key, key_length, value, value_length, expire_ms);
}

int kvstore_put_for(KVStore* kv, const void* key, int key_length, const void* value,
                    int value_length, int64_t ttl_ms) {
  return kvstore_cf_put_for(main_of(kv), key, key_length, value, value_length, ttl_ms);
}

int kvstore_put_if_absent_for(KVStore* kv, const void* key, int key_length, const void* value,
                              int value_length, int64_t ttl_ms, int* inserted) {
  return kvstore_cf_put_if_absent_for(main_of(kv), key, key_length, value, value_length, ttl_ms,
                                      inserted);
}

int kvstore_get_ttl(KVStore* kv, const void* key, int key_length, void** value, int* value_length,
                    int64_t* remaining_ms) {
  return kvstore_cf_get_ttl(main_of(kv), key, key_length, value, value_length, remaining_ms);
}

int kvstore_ttl_remaining(KVStore* kv, const void* key, int key_length, int64_t* remaining_ms) {
  return kvstore_cf_ttl_remaining(main_of(kv), key, key_length, remaining_ms);
}

int kvstore_deadline(KVStore* kv, const void* key, int key_length, int64_t* expire_ms) {
  return kvstore_cf_deadline(main_of(kv), key, key_length, expire_ms);
}

int kvstore_expire(KVStore* kv, const void* key, int key_length, int64_t expire_ms, int flags,
                   int* changed) {
  return kvstore_cf_expire(main_of(kv), key, key_length, expire_ms, flags, changed);
}

int kvstore_expire_for(KVStore* kv, const void* key, int key_length, int64_t ttl_ms, int flags,
                       int* changed) {
  return kvstore_cf_expire_for(main_of(kv), key, key_length, ttl_ms, flags, changed);
}

int kvstore_persist(KVStore* kv, const void* key, int key_length, int* changed) {
  return kvstore_cf_persist(main_of(kv), key, key_length, changed);
}

int kvstore_touch(KVStore* kv, const void* key, int key_length, int64_t ttl_ms) {
  return kvstore_cf_touch(main_of(kv), key, key_length, ttl_ms);
}

int kvstore_set_default_ttl(KVStore* kv, int64_t ttl_ms) {
  return kvstore_cf_set_default_ttl(main_of(kv), ttl_ms);
}

int kvstore_get_default_ttl(KVStore* kv, int64_t* ttl_ms) {
  return kvstore_cf_get_default_ttl(main_of(kv), ttl_ms);
}

int kvstore_purge_expired(KVStore* kv, int* purged) {
  return kvstore_cf_purge_expired(main_of(kv), purged);
}

int kvstore_purge_expired_limit(KVStore* kv, int64_t max, int64_t* purged) {
  return kvstore_cf_purge_expired_limit(main_of(kv), max, purged);
}

int kvstore_expiring(KVStore* kv, int64_t from_ms, int64_t to_ms, int max, KVExpiring** entries,
                     int* count) {
  return kvstore_cf_expiring(main_of(kv), from_ms, to_ms, max, entries, count);
}

int kvstore_next_deadline(KVStore* kv, int64_t* expire_ms) {
  return kvstore_cf_next_deadline(main_of(kv), expire_ms);
}

int kvstore_iterator_create(KVStore* kv, KVIterator** out) {
  return kvstore_cf_iterator_create(main_of(kv), out);
}

int kvstore_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                   KVIterator** out) {
  return kvstore_cf_prefix_iterator_create(main_of(kv), prefix, prefix_length, out);
}

int kvstore_reverse_iterator_create(KVStore* kv, KVIterator** out) {
  return kvstore_cf_reverse_iterator_create(main_of(kv), out);
}

int kvstore_reverse_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                           KVIterator** out) {
  return kvstore_cf_reverse_prefix_iterator_create(main_of(kv), prefix, prefix_length, out);
}

}  // extern "C"
}  // namespace mayfly::internal
