// SPDX-License-Identifier: Apache-2.0
// How many entries of a store (kvstore.h) expire when. Not in SNKV.

#pragma once

#include "kvstore.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct KVTtlCount {
  uint64_t nEntries;
  uint64_t nBytes;  // of keys and values; 0 unless KVSTORE_TTL_BYTES was given
} KVTtlCount;

// Buckets 0 to 7 have what expires within 1 second, 10 seconds, 1 minute, 10 minutes, 1 hour,
// 1 day, 7 days, and later. An entry counts in the first one that it fits into.
#define KVSTORE_TTL_BUCKETS 8

// Later versions add fields at the end.
typedef struct KVTtlHistogram {
  size_t size;  // sizeof(KVTtlHistogram), to be set before the call
  KVTtlCount buckets[KVSTORE_TTL_BUCKETS];
  KVTtlCount overdue;       // expired, but not removed yet
  int64_t oldestOverdueMs;  // when the first of these expired; 0: there are none
} KVTtlHistogram;

#define KVSTORE_TTL_BYTES 1  // a flag: also add up bytes, which takes longer

// Exact, and of one moment, or of the open transaction. Reads the deadline of each entry that has
// one. `flags` is 0 or KVSTORE_TTL_BYTES.
int kvstore_ttl_histogram(KVStore* kv, int flags, KVTtlHistogram* histogram);
int kvstore_cf_ttl_histogram(KVColumnFamily* cf, int flags, KVTtlHistogram* histogram);
int kvstore_ttl_histogram_all(KVStore* kv, int flags, KVTtlHistogram* histogram);  // all families

// The bound of a bucket in milliseconds, and its name: "1s", "10s", "1m", "10m", "1h", "1d", "1w",
// "later". The last has the bound INT64_MAX. 0 and NULL: there is no such bucket.
int64_t kvstore_ttl_bucket_ms(int bucket);
const char* kvstore_ttl_bucket_name(int bucket);

#ifdef __cplusplus
}  // extern "C"
#endif
