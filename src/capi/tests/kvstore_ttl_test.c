// SPDX-License-Identifier: Apache-2.0
// Expiry: section 6 of the specification, and the calls that SNKV does not have.

#include "capi/tests/test.h"

static int64_t remaining(KVStore* kv, const char* key) {
  int64_t ms = -7;
  OK(kvstore_ttl_remaining(kv, key, (int)strlen(key), &ms));
  return ms;
}

static int64_t deadline(KVStore* kv, const char* key) {
  int64_t ms = -7;
  OK(kvstore_deadline(kv, key, (int)strlen(key), &ms));
  return ms;
}

static int expire(KVStore* kv, const char* key, int64_t ms, int flags) {
  int changed = -1;
  OK(kvstore_expire(kv, key, (int)strlen(key), test_now + ms, flags, &changed));
  return changed;
}

static void a_key_is_gone_from_its_expiry_on(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "k", "v", 100));
  test_advance(99);
  CHECK(has(kv, "k", "v"));
  CHECK_INT(exists(kv, "k"), 1);
  CHECK_INT(remaining(kv, "k"), 1);
  test_advance(1);
  CHECK(has(kv, "k", NULL));
  CHECK_INT(exists(kv, "k"), 0);
  OK(kvstore_close(kv));
}

static void the_next_commit_removes_what_reads_have_found_expired(void) {
  KVStore* const kv = test_open();
  KVStoreStats stats;
  OK(put_ttl(kv, "a", "v", 10));
  OK(put_ttl(kv, "b", "v", 10));
  OK(put_ttl(kv, "c", "v", 10));
  test_advance(10);
  CHECK_INT(count(kv), 3);
  CHECK(has(kv, "a", NULL));
  CHECK_INT(exists(kv, "b"), 0);
  CHECK_INT(remaining(kv, "b"), 0);
  CHECK_INT(remaining(kv, "b"), 0);  // as long as it is there
  CHECK_INT(count(kv), 3);
  OK(put(kv, "d", "v"));
  CHECK_INT(count(kv), 2);
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nWalCommits, 4);  // a read makes none
  CHECK_INT(stats.nTtlExpired, 2);
  CHECK_INT(stats.nTtlPurged, 0);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void statistics_count_what_reads_have_found_expired(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  KVStoreStats stats;
  OK(put_ttl(kv, "a", "v", -1));
  OK(put_ttl(kv, "b", "v", -1));
  CHECK(has(kv, "a", NULL));
  OK(kvstore_begin(other, 1));
  OK(kvstore_stats(kv, &stats));  // waits for nobody
  CHECK_INT(stats.nTtlExpired, 0);
  OK(kvstore_rollback(other));
  OK(kvstore_begin(kv, 1));
  OK(kvstore_stats(kv, &stats));  // ends no transaction
  CHECK_INT(stats.nTtlExpired, 0);
  OK(kvstore_rollback(kv));
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nTtlExpired, 1);
  CHECK_INT(count(kv), 1);
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void zero_is_permanent(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "k", "v", 10));
  OK(kvstore_put_ttl(kv, "k", 1, "w", 1, 0));
  CHECK_INT(remaining(kv, "k"), KVSTORE_NO_TTL);
  OK(kvstore_put_ttl(kv, "m", 1, "w", 1, INT64_MAX));
  test_advance(1000000000);
  CHECK(has(kv, "k", "w"));
  CHECK(has(kv, "m", "w"));
  OK(kvstore_close(kv));
}

static void a_plain_put_makes_permanent(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "k", "v", 10));
  OK(put(kv, "k", "w"));
  test_advance(10);
  CHECK(has(kv, "k", "w"));
  int purged = -1;
  OK(kvstore_purge_expired(kv, &purged));
  CHECK_INT(purged, 0);
  CHECK(has(kv, "k", "w"));
  OK(kvstore_close(kv));
}

static void a_new_expiry_replaces_the_old(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "k", "v", 10));
  OK(put_ttl(kv, "k", "w", 20));
  test_advance(15);
  CHECK(has(kv, "k", "w"));
  OK(put_ttl(kv, "k", "x", 1));
  test_advance(1);
  CHECK(has(kv, "k", NULL));
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a_past_expiry_is_stored_and_purged(void) {
  KVStore* const kv = test_open();
  int purged = -1;
  OK(put_ttl(kv, "a", "v", -1));
  OK(kvstore_put_ttl(kv, "b", 1, "v", 1, 1));
  OK(put(kv, "c", "v"));
  CHECK_INT(count(kv), 3);
  OK(kvstore_purge_expired(kv, &purged));
  CHECK_INT(purged, 2);
  CHECK_INT(count(kv), 1);
  OK(kvstore_purge_expired(kv, NULL));
  OK(kvstore_close(kv));
}

static void get_ttl_tells_what_is_left(void) {
  KVStore* const kv = test_open();
  void* value = NULL;
  int length = 0;
  int64_t left = -7;
  OK(put_ttl(kv, "k", "value", 100));
  OK(put(kv, "p", "permanent"));
  test_advance(30);
  OK(kvstore_get_ttl(kv, "k", 1, &value, &length, &left));
  CHECK_INT(left, 70);
  CHECK_INT(length, 5);
  snkv_free(value);
  OK(kvstore_get_ttl(kv, "p", 1, &value, &length, &left));
  CHECK_INT(left, KVSTORE_NO_TTL);
  snkv_free(value);
  OK(kvstore_get_ttl(kv, "p", 1, &value, &length, NULL));
  snkv_free(value);
  FAILS(kvstore_get_ttl(kv, "none", 4, &value, &length, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, KVSTORE_NO_TTL);
  CHECK(value == NULL);
  test_advance(70);
  FAILS(kvstore_get_ttl(kv, "k", 1, &value, &length, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, 0);
  OK(put(kv, "p", "new"));  // removes it
  FAILS(kvstore_get_ttl(kv, "k", 1, &value, &length, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, KVSTORE_NO_TTL);
  OK(kvstore_close(kv));
}

static void ttl_remaining_has_four_answers(void) {
  KVStore* const kv = test_open();
  int64_t left = -7;
  OK(put_ttl(kv, "k", "v", 100));
  OK(put(kv, "p", "v"));
  CHECK_INT(remaining(kv, "p"), KVSTORE_NO_TTL);
  CHECK_INT(remaining(kv, "k"), 100);
  test_advance(100);
  CHECK_INT(remaining(kv, "k"), 0);
  OK(put(kv, "p", "new"));  // removes it
  FAILS(kvstore_ttl_remaining(kv, "k", 1, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, KVSTORE_NO_TTL);
  FAILS(kvstore_ttl_remaining(kv, "none", 4, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, KVSTORE_NO_TTL);
  FAILS(kvstore_ttl_remaining(kv, "k", 1, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void an_expiry_survives_closing(void) {
  KVStore* kv = test_open();
  OK(put_ttl(kv, "k", "v", 100));
  OK(kvstore_close(kv));
  test_advance(60);
  kv = test_open();
  CHECK_INT(remaining(kv, "k"), 40);
  test_advance(40);
  CHECK(has(kv, "k", NULL));
  OK(kvstore_close(kv));
}

static void put_if_absent_respects_what_lives(void) {
  KVStore* const kv = test_open();
  int inserted = -1;
  OK(kvstore_put_if_absent(kv, "k", 1, "one", 3, test_now + 100, &inserted));
  CHECK_INT(inserted, 1);
  OK(kvstore_put_if_absent(kv, "k", 1, "two", 3, 0, &inserted));
  CHECK_INT(inserted, 0);
  CHECK(has(kv, "k", "one"));
  CHECK_INT(remaining(kv, "k"), 100);
  test_advance(100);
  OK(kvstore_put_if_absent(kv, "k", 1, "three", 5, 0, &inserted));
  CHECK_INT(inserted, 1);
  CHECK(has(kv, "k", "three"));
  CHECK_INT(remaining(kv, "k"), KVSTORE_NO_TTL);
  OK(kvstore_put_if_absent(kv, "other", 5, "x", 1, 0, NULL));
  OK(kvstore_put_if_absent_for(kv, "for", 3, "x", 1, 25, &inserted));
  CHECK_INT(inserted, 1);
  CHECK_INT(remaining(kv, "for"), 25);
  FAILS(kvstore_put_if_absent_for(kv, "for", 3, "x", 1, 0, &inserted), KVSTORE_ERROR);
  CHECK_INT(inserted, 0);
  OK(kvstore_close(kv));
}

static void put_for_counts_from_now(void) {
  KVStore* const kv = test_open();
  OK(kvstore_put_for(kv, "k", 1, "v", 1, 50));
  CHECK_INT(remaining(kv, "k"), 50);
  CHECK_INT(deadline(kv, "k"), TEST_START + 50);
  FAILS(kvstore_put_for(kv, "k", 1, "v", 1, 0), KVSTORE_ERROR);
  FAILS(kvstore_put_for(kv, "k", 1, "v", 1, -1), KVSTORE_ERROR);
  OK(kvstore_put_for(kv, "long", 4, "v", 1, INT64_MAX));
  CHECK_INT(remaining(kv, "long"), KVSTORE_NO_TTL);
  test_advance(50);
  CHECK(has(kv, "k", NULL));
  OK(kvstore_close(kv));
}

static void expire_changes_only_the_expiry(void) {
  KVStore* const kv = test_open();
  int changed = -1;
  OK(put(kv, "k", "value"));
  CHECK_INT(expire(kv, "k", 100, 0), 1);
  CHECK(has(kv, "k", "value"));
  CHECK_INT(remaining(kv, "k"), 100);
  CHECK_INT(expire(kv, "k", 200, KVSTORE_EXPIRE_NX), 0);
  CHECK_INT(expire(kv, "k", 50, KVSTORE_EXPIRE_GT), 0);
  CHECK_INT(expire(kv, "k", 200, KVSTORE_EXPIRE_LT), 0);
  CHECK_INT(remaining(kv, "k"), 100);
  CHECK_INT(expire(kv, "k", 200, KVSTORE_EXPIRE_GT), 1);
  CHECK_INT(expire(kv, "k", 150, KVSTORE_EXPIRE_LT | KVSTORE_EXPIRE_XX), 1);
  CHECK_INT(remaining(kv, "k"), 150);
  OK(put(kv, "p", "value"));
  CHECK_INT(expire(kv, "p", 10, KVSTORE_EXPIRE_XX), 0);
  CHECK_INT(expire(kv, "p", 10, KVSTORE_EXPIRE_GT), 0);
  CHECK_INT(expire(kv, "p", 10, KVSTORE_EXPIRE_LT), 1);
  OK(kvstore_expire_for(kv, "k", 1, 33, 0, NULL));
  CHECK_INT(remaining(kv, "k"), 33);
  FAILS(kvstore_expire(kv, "none", 4, test_now + 5, 0, &changed), KVSTORE_NOTFOUND);
  CHECK_INT(changed, 0);
  FAILS(kvstore_expire(kv, "k", 1, 0, 0, &changed), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "k", 1, -1, 0, &changed), KVSTORE_ERROR);
  FAILS(kvstore_expire_for(kv, "k", 1, 0, 0, &changed), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "k", 1, test_now, 16, &changed), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "k", 1, test_now, -1, &changed), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "k", 1, test_now, KVSTORE_EXPIRE_NX | KVSTORE_EXPIRE_XX, &changed),
        KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "k", 1, test_now, KVSTORE_EXPIRE_GT | KVSTORE_EXPIRE_LT, &changed),
        KVSTORE_ERROR);
  CHECK_INT(remaining(kv, "k"), 33);
  CHECK_INT(expire(kv, "k", 0, 0), 1);
  CHECK(has(kv, "k", NULL));
  CHECK_INT(count(kv), 1);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void persist_removes_the_expiry(void) {
  KVStore* const kv = test_open();
  int changed = -1;
  OK(put_ttl(kv, "k", "v", 10));
  OK(kvstore_persist(kv, "k", 1, &changed));
  CHECK_INT(changed, 1);
  OK(kvstore_persist(kv, "k", 1, &changed));
  CHECK_INT(changed, 0);
  test_advance(10);
  CHECK(has(kv, "k", "v"));
  CHECK_INT(deadline(kv, "k"), 0);
  FAILS(kvstore_persist(kv, "none", 4, &changed), KVSTORE_NOTFOUND);
  OK(put_ttl(kv, "k", "v", -5));
  FAILS(kvstore_persist(kv, "k", 1, NULL), KVSTORE_NOTFOUND);
  OK(kvstore_close(kv));
}

static void touch_only_puts_off(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "k", "v", 100));
  OK(kvstore_touch(kv, "k", 1, 50));
  CHECK_INT(remaining(kv, "k"), 100);
  test_advance(80);
  OK(kvstore_touch(kv, "k", 1, 50));
  CHECK_INT(remaining(kv, "k"), 50);
  OK(put(kv, "p", "v"));
  OK(kvstore_touch(kv, "p", 1, 50));
  CHECK_INT(remaining(kv, "p"), KVSTORE_NO_TTL);
  FAILS(kvstore_touch(kv, "none", 4, 50), KVSTORE_NOTFOUND);
  FAILS(kvstore_touch(kv, "k", 1, 0), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void a_family_may_have_a_default_ttl(void) {
  KVStore* kv = test_open();
  int64_t ttl = 0;
  int inserted = 0;
  OK(kvstore_get_default_ttl(kv, &ttl));
  CHECK_INT(ttl, KVSTORE_NO_TTL);
  OK(kvstore_set_default_ttl(kv, 100));
  OK(kvstore_close(kv));
  kv = test_open();
  OK(kvstore_get_default_ttl(kv, &ttl));
  CHECK_INT(ttl, 100);
  OK(put(kv, "a", "v"));
  CHECK_INT(remaining(kv, "a"), 100);
  OK(kvstore_put_ttl(kv, "b", 1, "v", 1, 0));
  CHECK_INT(remaining(kv, "b"), KVSTORE_NO_TTL);
  OK(kvstore_put_if_absent(kv, "c", 1, "v", 1, 0, &inserted));
  CHECK_INT(remaining(kv, "c"), 100);
  OK(kvstore_increment(kv, "n", 1, 1, NULL));
  CHECK_INT(remaining(kv, "n"), 100);
  test_advance(10);
  OK(kvstore_increment(kv, "n", 1, 1, NULL));
  CHECK_INT(remaining(kv, "n"), 90);
  OK(kvstore_set_default_ttl(kv, KVSTORE_NO_TTL));
  OK(put(kv, "a", "v"));
  CHECK_INT(remaining(kv, "a"), KVSTORE_NO_TTL);
  FAILS(kvstore_set_default_ttl(kv, 0), KVSTORE_ERROR);
  FAILS(kvstore_set_default_ttl(kv, -2), KVSTORE_ERROR);
  FAILS(kvstore_get_default_ttl(kv, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void counts_are_exact(void) {
  KVStore* const kv = test_open();
  int64_t live = 0;
  int64_t ttl = 0;
  int64_t expired = 0;
  OK(put(kv, "p", "v"));
  OK(put_ttl(kv, "a", "v", 10));
  OK(put_ttl(kv, "b", "v", 20));
  OK(put_ttl(kv, "c", "v", 30));
  test_advance(20);
  OK(kvstore_count_live(kv, &live));
  OK(kvstore_count_ttl(kv, &ttl));
  OK(kvstore_count_expired(kv, &expired));
  CHECK_INT(live, 2);
  CHECK_INT(ttl, 1);
  CHECK_INT(expired, 2);
  CHECK_INT(count(kv), 4);
  FAILS(kvstore_count_live(kv, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void purge_stops_at_its_limit(void) {
  KVStore* const kv = test_open();
  int64_t purged = -1;
  char key[16];
  for (int i = 0; i < 1000; ++i) {
    snprintf(key, sizeof key, "k%03d", i);
    OK(put_ttl(kv, key, "v", 1000 - i));
  }
  test_advance(999);
  OK(kvstore_purge_expired_limit(kv, 300, &purged));
  CHECK_INT(purged, 300);
  CHECK_INT(count(kv), 700);
  OK(kvstore_purge_expired_limit(kv, 5, NULL));
  CHECK_INT(count(kv), 695);
  CHECK(has(kv, "k000", "v"));
  OK(kvstore_purge_expired_limit(kv, 0, &purged));
  CHECK_INT(purged, 694);
  CHECK_INT(count(kv), 1);
  FAILS(kvstore_purge_expired_limit(kv, -1, &purged), KVSTORE_ERROR);
  KVStoreStats stats;
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nTtlPurged, 999);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

// The oldest go first, whatever the order of keys: with a limit of one, the one that expired first.
static void purge_takes_the_oldest_first(void) {
  KVStore* const kv = test_open();
  int64_t purged = 0;
  OK(put_ttl(kv, "a", "v", 30));
  OK(put_ttl(kv, "b", "v", 10));
  OK(put_ttl(kv, "c", "v", 20));
  test_advance(100);
  OK(kvstore_purge_expired_limit(kv, 1, &purged));
  int64_t next = 0;
  OK(kvstore_next_deadline(kv, &next));
  CHECK_INT(next, TEST_START + 20);
  OK(kvstore_close(kv));
}

static void purge_all_purges_every_family(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  int64_t purged = -1;
  int one = -1;
  OK(kvstore_cf_create(kv, "cf", &cf));
  for (int i = 0; i < 5; ++i) {
    OK(kvstore_put_ttl(kv, &"abcde"[i], 1, "v", 1, test_now + 1));
    OK(kvstore_cf_put_ttl(cf, &"abcde"[i], 1, "v", 1, test_now + 1));
  }
  test_advance(1);
  OK(kvstore_purge_all(kv, 3, &purged));
  CHECK_INT(purged, 3);
  OK(kvstore_cf_purge_expired(cf, &one));
  OK(kvstore_purge_all(kv, 0, &purged));
  CHECK_INT(3 + one + purged, 10);
  OK(kvstore_purge_all(kv, 0, NULL));
  FAILS(kvstore_purge_all(kv, -1, &purged), KVSTORE_ERROR);
  FAILS(kvstore_purge_all(NULL, 0, &purged), KVSTORE_ERROR);
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

static void expiring_lists_what_is_next(void) {
  KVStore* const kv = test_open();
  KVExpiring* entries = NULL;
  int n = -1;
  int64_t next = -1;
  OK(kvstore_next_deadline(kv, &next));
  CHECK_INT(next, 0);
  OK(put(kv, "permanent", "v"));
  OK(put_ttl(kv, "late", "v", 30));
  OK(put_ttl(kv, "soon", "v", 10));
  OK(put_ttl(kv, "middle", "v", 20));
  OK(put_ttl(kv, "gone", "v", -10));
  OK(kvstore_expiring(kv, 0, test_now + 30, 0, &entries, &n));
  CHECK_INT(n, 2);
  CHECK_INT(entries[0].keyLength, 4);
  CHECK(memcmp(entries[0].key, "soon", 4) == 0);
  CHECK_INT(entries[0].expireMs, test_now + 10);
  CHECK(memcmp(entries[1].key, "middle", 6) == 0);
  snkv_free(entries);
  OK(kvstore_expiring(kv, 0, INT64_MAX, 1, &entries, &n));
  CHECK_INT(n, 1);
  snkv_free(entries);
  OK(kvstore_expiring(kv, test_now + 31, INT64_MAX, 0, &entries, &n));
  CHECK_INT(n, 0);
  CHECK(entries == NULL);
  FAILS(kvstore_expiring(kv, -1, 0, 0, &entries, &n), KVSTORE_ERROR);
  FAILS(kvstore_expiring(kv, 0, 0, -1, &entries, &n), KVSTORE_ERROR);
  OK(kvstore_next_deadline(kv, &next));
  CHECK_INT(next, test_now - 10);
  OK(kvstore_close(kv));
}

static void now_is_the_wall_clock(void) {
  const int64_t now = kvstore_now_ms();
  CHECK(now > INT64_C(946684800000));  // the year 2000; a unit mistaken would be off by more
  CHECK(kvstore_now_ms() - now < 60000);
}

int main(void) {
  RUN(a_key_is_gone_from_its_expiry_on);
  RUN(the_next_commit_removes_what_reads_have_found_expired);
  RUN(statistics_count_what_reads_have_found_expired);
  RUN(zero_is_permanent);
  RUN(a_plain_put_makes_permanent);
  RUN(a_new_expiry_replaces_the_old);
  RUN(a_past_expiry_is_stored_and_purged);
  RUN(get_ttl_tells_what_is_left);
  RUN(ttl_remaining_has_four_answers);
  RUN(an_expiry_survives_closing);
  RUN(put_if_absent_respects_what_lives);
  RUN(put_for_counts_from_now);
  RUN(expire_changes_only_the_expiry);
  RUN(persist_removes_the_expiry);
  RUN(touch_only_puts_off);
  RUN(a_family_may_have_a_default_ttl);
  RUN(counts_are_exact);
  RUN(purge_stops_at_its_limit);
  RUN(purge_takes_the_oldest_first);
  RUN(purge_all_purges_every_family);
  RUN(expiring_lists_what_is_next);
  RUN(now_is_the_wall_clock);
  return test_end();
}
