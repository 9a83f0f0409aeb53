// SPDX-License-Identifier: Apache-2.0
// Transactions: section 8 of the specification.

#include "capi/tests/test.h"

static void a_commit_keeps_and_a_rollback_undoes(void) {
  KVStore* const kv = test_open();
  OK(put(kv, "a", "1"));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "2"));
  OK(put(kv, "b", "2"));
  CHECK(has(kv, "a", "2"));
  CHECK_INT(count(kv), 2);
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", "1"));
  CHECK(has(kv, "b", NULL));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "b", "3"));
  OK(del(kv, "a"));
  OK(kvstore_commit(kv));
  CHECK(has(kv, "a", NULL));
  CHECK(has(kv, "b", "3"));
  OK(kvstore_close(kv));
}

static void others_see_nothing_before_the_commit(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  CHECK(has(other, "a", NULL));
  OK(kvstore_commit(kv));
  CHECK(has(other, "a", "1"));
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void there_is_one_writer(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  OK(kvstore_begin(kv, 1));
  FAILS(kvstore_begin(other, 1), KVSTORE_BUSY);
  FAILS(put(other, "a", "1"), KVSTORE_BUSY);
  FAILS(del(other, "a"), KVSTORE_BUSY);
  OK(kvstore_begin(other, 0));
  OK(kvstore_commit(other));
  OK(kvstore_commit(kv));
  OK(put(other, "a", "1"));
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void transactions_do_not_nest(void) {
  KVStore* const kv = test_open();
  for (int write = 0; write < 2; ++write) {
    OK(kvstore_begin(kv, write));
    FAILS(kvstore_begin(kv, 0), KVSTORE_ERROR);
    FAILS(kvstore_begin(kv, 1), KVSTORE_ERROR);
    CHECK(strstr(kvstore_errmsg(kv), "already") != NULL);
    OK(kvstore_commit(kv));
  }
  OK(kvstore_close(kv));
}

// Lessons E11: a read transaction is of now, and stops writes.
static void e11_a_read_transaction_is_a_snapshot_and_refuses_writes(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  OK(put(kv, "a", "1"));
  OK(put(other, "a", "2"));
  OK(kvstore_begin(kv, 0));
  CHECK(has(kv, "a", "2"));
  OK(put(other, "a", "3"));
  OK(put(other, "b", "3"));
  CHECK(has(kv, "a", "2"));
  CHECK(has(kv, "b", NULL));
  CHECK_INT(count(kv), 1);
  int n = 0;
  FAILS(put(kv, "c", "4"), KVSTORE_READONLY);
  CHECK(strstr(kvstore_errmsg(kv), "read transaction") != NULL);
  FAILS(del(kv, "a"), KVSTORE_READONLY);
  FAILS(kvstore_clear(kv), KVSTORE_READONLY);
  FAILS(kvstore_purge_expired(kv, &n), KVSTORE_READONLY);
  FAILS(kvstore_purge_all(kv, 0, NULL), KVSTORE_READONLY);
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", "3"));
  CHECK(has(kv, "c", NULL));
  OK(put(kv, "c", "4"));
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

// Lessons E12: they stay harmless, and are not counted.
static void e12_ending_without_a_begin_does_nothing(void) {
  KVStore* const kv = test_open();
  KVStoreStats before;
  KVStoreStats after;
  OK(put(kv, "a", "1"));
  OK(kvstore_stats(kv, &before));
  OK(kvstore_commit(kv));
  OK(kvstore_rollback(kv));
  OK(kvstore_begin(kv, 0));
  OK(kvstore_commit(kv));
  OK(kvstore_stats(kv, &after));
  CHECK_INT(after.nWalCommits, before.nWalCommits);
  CHECK_INT(before.nWalCommits, 1);
  OK(kvstore_close(kv));
}

static void all_families_are_in_it(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  OK(kvstore_cf_create(kv, "cf", &cf));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  OK(cf_put(cf, "a", "2"));
  OK(kvstore_cf_put_ttl(cf, "t", 1, "3", 1, test_now + 10));
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", NULL));
  CHECK(cf_has(cf, "a", NULL));
  CHECK(cf_has(cf, "t", NULL));
  CHECK(sound(kv));
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

static void a_bad_call_spoils_only_itself(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  int64_t sum = 0;
  int n = 0;
  OK(put(kv, "text", "no number"));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  FAILS(kvstore_put(kv, "", 0, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", 1, "v", -1), KVSTORE_ERROR);
  FAILS(kvstore_put_ttl(kv, "k", 1, "v", 1, -1), KVSTORE_ERROR);
  FAILS(kvstore_increment(kv, "text", 4, 1, &sum), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "a", 1, test_now, 99, &n), KVSTORE_ERROR);
  FAILS(kvstore_expire(kv, "a", 1, test_now, KVSTORE_EXPIRE_NX | KVSTORE_EXPIRE_XX, &n),
        KVSTORE_ERROR);
  FAILS(kvstore_set_default_ttl(kv, 0), KVSTORE_ERROR);
  FAILS(kvstore_cf_create(kv, "", &cf), KVSTORE_ERROR);
  OK(kvstore_cf_create(kv, "cf", &cf));
  kvstore_cf_close(cf);
  FAILS(kvstore_cf_create(kv, "cf", &cf), KVSTORE_ERROR);
  FAILS(kvstore_cf_drop(kv, "none"), KVSTORE_NOTFOUND);
  FAILS(del(kv, "none"), KVSTORE_NOTFOUND);
  FAILS(kvstore_checkpoint(kv, 0, NULL, NULL), KVSTORE_BUSY);
  OK(put(kv, "b", "2"));
  OK(kvstore_commit(kv));
  CHECK(has(kv, "a", "1"));
  CHECK(has(kv, "b", "2"));
  OK(kvstore_close(kv));
}

static void everything_joins_the_transaction(void) {
  KVStore* const kv = test_open();
  int n = 0;
  OK(put(kv, "old", "1"));
  OK(put_ttl(kv, "brief", "1", 100));
  OK(kvstore_begin(kv, 1));
  OK(kvstore_put_if_absent(kv, "new", 3, "1", 1, 0, &n));
  CHECK_INT(n, 1);
  OK(kvstore_put_if_absent(kv, "new", 3, "2", 1, 0, &n));
  CHECK_INT(n, 0);
  OK(kvstore_compare_and_set(kv, "old", 3, "1", 1, "2", 1, &n));
  OK(kvstore_increment(kv, "old", 3, 40, NULL));
  CHECK(has(kv, "old", "42"));
  OK(kvstore_persist(kv, "brief", 5, &n));
  OK(kvstore_expire_for(kv, "old", 3, 5, 0, &n));
  OK(kvstore_set_default_ttl(kv, 7));
  OK(kvstore_clear(kv));
  CHECK_INT(count(kv), 0);
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "old", "1"));
  CHECK(has(kv, "new", NULL));
  int64_t ms = 0;
  OK(kvstore_ttl_remaining(kv, "brief", 5, &ms));
  CHECK_INT(ms, 100);
  OK(kvstore_ttl_remaining(kv, "old", 3, &ms));
  CHECK_INT(ms, KVSTORE_NO_TTL);
  OK(kvstore_get_default_ttl(kv, &ms));
  CHECK_INT(ms, KVSTORE_NO_TTL);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void time_stands_still_in_it(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "a", "1", 10));
  for (int write = 0; write < 2; ++write) {
    OK(kvstore_begin(kv, write));
    CHECK(has(kv, "a", "1"));
    test_advance(10);
    CHECK(has(kv, "a", "1"));
    OK(kvstore_rollback(kv));
    test_advance(-10);
  }
  test_advance(10);
  CHECK(has(kv, "a", NULL));
  OK(kvstore_close(kv));
}

static void a_sync_does_not_end_it(void) {
  KVStore* const kv = test_open();
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  OK(kvstore_sync(kv));
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", NULL));
  OK(kvstore_close(kv));
}

static void a_big_one_is_all_there(void) {
  KVStore* const kv = test_open();
  char key[16];
  OK(kvstore_begin(kv, 1));
  for (int i = 0; i < 5000; ++i) {
    snprintf(key, sizeof key, "key%05d", i);
    OK(i % 2 ? put(kv, key, "value") : put_ttl(kv, key, "value", 10 + i));
  }
  OK(kvstore_commit(kv));
  CHECK_INT(count(kv), 5000);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(a_commit_keeps_and_a_rollback_undoes);
  RUN(others_see_nothing_before_the_commit);
  RUN(there_is_one_writer);
  RUN(transactions_do_not_nest);
  RUN(e11_a_read_transaction_is_a_snapshot_and_refuses_writes);
  RUN(e12_ending_without_a_begin_does_nothing);
  RUN(all_families_are_in_it);
  RUN(a_bad_call_spoils_only_itself);
  RUN(everything_joins_the_transaction);
  RUN(time_stands_still_in_it);
  RUN(a_sync_does_not_end_it);
  RUN(a_big_one_is_all_there);
  return test_end();
}
