// SPDX-License-Identifier: Apache-2.0
// The histogram of deadlines, and the names and bounds of its buckets.

#include "capi/tests/test.h"
//
#include <stddef.h>  // NOLINT(modernize-deprecated-headers): this is C

#include "kvstore_histogram.h"

static KVTtlHistogram histogram_of(KVStore* kv, int flags) {
  KVTtlHistogram found = {.size = sizeof found};
  OK(kvstore_ttl_histogram(kv, flags, &found));
  return found;
}

static void an_entry_counts_in_its_bucket(void) {
  KVStore* const kv = test_open();
  for (int i = 0; i < KVSTORE_TTL_BUCKETS; ++i) {
    const int is_last = i + 1 == KVSTORE_TTL_BUCKETS;
    const int64_t ms = is_last ? INT64_C(1000000000000) : kvstore_ttl_bucket_ms(i);
    OK(put_ttl(kv, "key", "value", ms));
    for (int round = 0; round < 2; ++round) {
      const KVTtlHistogram found = histogram_of(kv, KVSTORE_TTL_BYTES);
      for (int j = 0; j < KVSTORE_TTL_BUCKETS; ++j) {
        CHECK_INT(found.buckets[j].nEntries, i == j ? 1 : 0);
        CHECK_INT(found.buckets[j].nBytes, i == j ? 8 : 0);
      }
      CHECK_INT(found.overdue.nEntries, 0);
      CHECK_INT(found.oldestOverdueMs, 0);
      OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_FULL, NULL, NULL));
    }
  }
  CHECK_INT(histogram_of(kv, 0).buckets[7].nBytes, 0);  // nobody asked for them
  OK(kvstore_close(kv));
}

static void what_is_due_is_overdue_until_it_is_purged(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "a", "value", 10));
  OK(put_ttl(kv, "b", "value", 20));
  OK(put_ttl(kv, "c", "value", 30));
  OK(put(kv, "d", "value"));
  test_advance(20);
  const KVTtlHistogram found = histogram_of(kv, KVSTORE_TTL_BYTES);
  CHECK_INT(found.overdue.nEntries, 2);
  CHECK_INT(found.overdue.nBytes, 12);
  CHECK_INT(found.oldestOverdueMs, test_now - 10);
  CHECK_INT(found.buckets[0].nEntries, 1);
  OK(kvstore_purge_expired(kv, NULL));
  CHECK_INT(histogram_of(kv, 0).overdue.nEntries, 0);
  CHECK_INT(histogram_of(kv, 0).buckets[0].nEntries, 1);
  OK(kvstore_close(kv));
}

static void a_family_has_its_own_and_a_transaction_sees_itself(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  KVTtlHistogram found = {.size = sizeof found};
  OK(kvstore_cf_create(kv, "other", &cf));
  OK(put_ttl(kv, "a", "value", 500));
  OK(kvstore_begin(kv, 1));
  OK(kvstore_cf_put_for(cf, "b", 1, "value", 5, 500));
  OK(kvstore_cf_ttl_histogram(cf, 0, &found));
  CHECK_INT(found.buckets[0].nEntries, 1);
  OK(kvstore_ttl_histogram_all(kv, KVSTORE_TTL_BYTES, &found));
  CHECK_INT(found.buckets[0].nEntries, 2);
  CHECK_INT(found.buckets[0].nBytes, 12);
  OK(kvstore_rollback(kv));
  OK(kvstore_cf_ttl_histogram(cf, 0, &found));
  CHECK_INT(found.buckets[0].nEntries, 0);
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

static void bad_arguments_are_refused(void) {
  KVStore* const kv = test_open();
  KVTtlHistogram cut = {.size = offsetof(KVTtlHistogram, oldestOverdueMs), .oldestOverdueMs = 7};
  OK(put_ttl(kv, "a", "value", -1));
  OK(kvstore_ttl_histogram(kv, 0, &cut));
  CHECK_INT(cut.overdue.nEntries, 1);
  CHECK_INT(cut.oldestOverdueMs, 7);  // an older caller has no such field
  cut.size = 0;
  FAILS(kvstore_ttl_histogram(kv, 0, &cut), KVSTORE_ERROR);
  CHECK_TEXT(kvstore_errmsg(kv), "KVTtlHistogram.size must be sizeof(KVTtlHistogram)");
  cut.size = sizeof cut;
  FAILS(kvstore_ttl_histogram(kv, 2, &cut), KVSTORE_ERROR);
  FAILS(kvstore_ttl_histogram(kv, 0, NULL), KVSTORE_ERROR);
  FAILS(kvstore_ttl_histogram(NULL, 0, &cut), KVSTORE_ERROR);
  FAILS(kvstore_cf_ttl_histogram(NULL, 0, &cut), KVSTORE_ERROR);
  FAILS(kvstore_ttl_histogram_all(NULL, 0, &cut), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void buckets_have_names_and_bounds(void) {
  CHECK_TEXT(kvstore_ttl_bucket_name(0), "1s");
  CHECK_TEXT(kvstore_ttl_bucket_name(6), "1w");
  CHECK_TEXT(kvstore_ttl_bucket_name(7), "later");
  CHECK(kvstore_ttl_bucket_name(8) == NULL);
  CHECK(kvstore_ttl_bucket_name(-1) == NULL);
  CHECK_INT(kvstore_ttl_bucket_ms(0), 1000);
  CHECK_INT(kvstore_ttl_bucket_ms(6), INT64_C(7) * 24 * 60 * 60 * 1000);
  CHECK_INT(kvstore_ttl_bucket_ms(7), INT64_MAX);
  CHECK_INT(kvstore_ttl_bucket_ms(8), 0);
}

int main(void) {
  RUN(an_entry_counts_in_its_bucket);
  RUN(what_is_due_is_overdue_until_it_is_purged);
  RUN(a_family_has_its_own_and_a_transaction_sees_itself);
  RUN(bad_arguments_are_refused);
  RUN(buckets_have_names_and_bounds);
  return test_end();
}
