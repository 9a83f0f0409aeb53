// SPDX-License-Identifier: Apache-2.0
// Column families and maintenance: sections 5 and 9 of the specification.

#include "capi/tests/test.h"
#include "kvstore_log.h"

static KVColumnFamily* create(KVStore* kv, const char* name) {
  KVColumnFamily* cf = NULL;
  OK(kvstore_cf_create(kv, name, &cf));
  CHECK(cf != NULL);
  return cf;
}

static const char* list(KVStore* kv) {
  static char text[1000];
  char** names = NULL;
  int n = -1;
  text[0] = '\0';
  OK(kvstore_cf_list(kv, &names, &n));
  for (int i = 0; i < n; ++i) {
    if (i > 0) strcat(text, " ");
    strcat(text, names[i]);
    snkv_free(names[i]);
  }
  snkv_free(names);
  return text;
}

static void families_are_apart(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* const a = create(kv, "a");
  KVColumnFamily* const b = create(kv, "b");
  int64_t n = 0;
  OK(put(kv, "k", "main"));
  OK(cf_put(a, "k", "in a"));
  CHECK(has(kv, "k", "main"));
  CHECK(cf_has(a, "k", "in a"));
  CHECK(cf_has(b, "k", NULL));
  OK(kvstore_cf_clear(a));
  CHECK(has(kv, "k", "main"));
  OK(kvstore_cf_count(a, &n));
  CHECK_INT(n, 0);
  kvstore_cf_close(a);
  kvstore_cf_close(b);
  OK(kvstore_close(kv));
}

static void a_family_survives_closing(void) {
  KVStore* kv = test_open();
  KVColumnFamily* cf = create(kv, "cf");
  OK(cf_put(cf, "k", "v"));
  OK(kvstore_cf_put_ttl(cf, "t", 1, "v", 1, test_now + 10));
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
  kv = test_open();
  OK(kvstore_cf_open(kv, "cf", &cf));
  CHECK(cf_has(cf, "k", "v"));
  CHECK(cf_has(cf, "t", "v"));
  test_advance(10);
  CHECK(cf_has(cf, "t", NULL));
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

static void names_are_checked(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = (KVColumnFamily*)1;
  char name[257];
  memset(name, 'n', sizeof name);
  name[256] = '\0';
  FAILS(kvstore_cf_create(kv, name, &cf), KVSTORE_ERROR);
  CHECK(cf == NULL);
  FAILS(kvstore_cf_open(kv, name, &cf), KVSTORE_ERROR);
  FAILS(kvstore_cf_drop(kv, name), KVSTORE_ERROR);
  name[255] = '\0';
  kvstore_cf_close(create(kv, name));
  const char* const bad[] = {"", "__x", "__", "_snkv_x", "_snkv_", NULL};
  for (int i = 0; i < 6; ++i) {
    FAILS(kvstore_cf_create(kv, bad[i], &cf), KVSTORE_ERROR);
    FAILS(kvstore_cf_open(kv, bad[i], &cf), KVSTORE_ERROR);
    FAILS(kvstore_cf_drop(kv, bad[i]), KVSTORE_ERROR);
  }
  kvstore_cf_close(create(kv, "_x"));
  FAILS(kvstore_cf_create(kv, "_x", &cf), KVSTORE_ERROR);
  FAILS(kvstore_cf_open(kv, "none", &cf), KVSTORE_NOTFOUND);
  CHECK(cf == NULL);
  FAILS(kvstore_cf_drop(kv, "none"), KVSTORE_NOTFOUND);
  FAILS(kvstore_cf_create(kv, "x", NULL), KVSTORE_ERROR);
  FAILS(kvstore_cf_create(NULL, "x", &cf), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void default_is_always_there(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* handles[3] = {NULL, NULL, NULL};
  OK(kvstore_cf_create(kv, "default", &handles[0]));
  OK(kvstore_cf_open(kv, "default", &handles[1]));
  OK(kvstore_cf_get_default(kv, &handles[2]));
  OK(put(kv, "k", "v"));
  for (int i = 0; i < 3; ++i) CHECK(cf_has(handles[i], "k", "v"));
  OK(cf_put(handles[0], "k", "w"));
  CHECK(has(kv, "k", "w"));
  for (int i = 0; i < 3; ++i) kvstore_cf_close(handles[i]);
  CHECK(has(kv, "k", "w"));
  FAILS(kvstore_cf_drop(kv, "default"), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void the_list_has_the_others(void) {
  KVStore* const kv = test_open();
  CHECK_TEXT(list(kv), "");
  kvstore_cf_close(create(kv, "beta"));
  kvstore_cf_close(create(kv, "alpha"));
  KVColumnFamily* const cf = create(kv, "gamma");
  OK(kvstore_cf_put_ttl(cf, "k", 1, "v", 1, test_now + 1));
  kvstore_cf_close(cf);
  CHECK_TEXT(list(kv), "alpha beta gamma");
  char** names = NULL;
  int n = 0;
  FAILS(kvstore_cf_list(kv, NULL, &n), KVSTORE_ERROR);
  FAILS(kvstore_cf_list(kv, &names, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void a_family_in_use_is_not_dropped(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* const cf = create(kv, "cf");
  KVIterator* it = NULL;
  OK(cf_put(cf, "k", "v"));
  FAILS(kvstore_cf_drop(kv, "cf"), KVSTORE_BUSY);
  OK(kvstore_cf_iterator_create(cf, &it));
  kvstore_cf_close(cf);
  FAILS(kvstore_cf_drop(kv, "cf"), KVSTORE_BUSY);
  OK(kvstore_iterator_first(it));
  CHECK_TEXT(rest_of(it, 1), "k");
  kvstore_iterator_close(it);
  OK(kvstore_cf_drop(kv, "cf"));
  CHECK_TEXT(list(kv), "");
  KVColumnFamily* again = create(kv, "cf");
  CHECK(cf_has(again, "k", NULL));
  kvstore_cf_close(again);
  OK(kvstore_close(kv));
}

static void a_handle_of_what_is_gone_is_an_error(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  KVColumnFamily* const cf = create(kv, "cf");
  OK(cf_put(cf, "k", "v"));
  OK(kvstore_cf_drop(other, "cf"));
  void* value = NULL;
  int length = 0;
  KVIterator* it = NULL;
  FAILS(kvstore_cf_get(cf, "k", 1, &value, &length), KVSTORE_ERROR);
  FAILS(cf_put(cf, "k", "v"), KVSTORE_ERROR);
  FAILS(kvstore_cf_iterator_create(cf, &it), KVSTORE_ERROR);
  FAILS(kvstore_cf_purge_expired(cf, &length), KVSTORE_ERROR);
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  FAILS(cf_put(cf, "k", "v"), KVSTORE_ERROR);
  FAILS(kvstore_cf_clear(cf), KVSTORE_ERROR);
  FAILS(kvstore_cf_purge_expired(cf, &length), KVSTORE_ERROR);
  OK(kvstore_commit(kv));
  CHECK(has(kv, "a", "1"));
  KVColumnFamily* const again = create(other, "cf");
  FAILS(cf_put(cf, "k", "v"), KVSTORE_ERROR);
  CHECK(cf_has(again, "k", NULL));
  kvstore_cf_close(again);
  kvstore_cf_close(cf);
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void there_may_be_many(void) {
  KVStore* const kv = test_open();
  char name[16];
  for (int i = 0; i < 200; ++i) {
    snprintf(name, sizeof name, "cf%03d", i);
    KVColumnFamily* const cf = create(kv, name);
    OK(cf_put(cf, "k", name));
    kvstore_cf_close(cf);
  }
  KVColumnFamily* cf = NULL;
  OK(kvstore_cf_open(kv, "cf199", &cf));
  CHECK(cf_has(cf, "k", "cf199"));
  kvstore_cf_close(cf);
  int rc = KVSTORE_OK;
  for (int i = 200; i < 300 && rc == KVSTORE_OK; ++i) {
    snprintf(name, sizeof name, "cf%03d", i);
    rc = kvstore_cf_create(kv, name, &cf);
    if (rc == KVSTORE_OK) kvstore_cf_close(cf);
  }
  CHECK_INT(rc, KVSTORE_FULL);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void every_call_has_a_twin(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* const cf = create(kv, "cf");
  char buffer[4];
  int n = 0;
  int64_t ms = 0;
  KVExpiring* entries = NULL;
  OK(kvstore_cf_put(cf, "n", 1, "1", 1));
  OK(kvstore_cf_put_for(cf, "f", 1, "v", 1, 10));
  OK(kvstore_cf_put_if_absent(cf, "a", 1, "v", 1, 0, &n));
  OK(kvstore_cf_put_if_absent_for(cf, "b", 1, "v", 1, 20, &n));
  OK(kvstore_cf_increment(cf, "n", 1, 1, &ms));
  CHECK_INT(ms, 2);
  OK(kvstore_cf_compare_and_set(cf, "n", 1, "2", 1, "3", 1, &n));
  OK(kvstore_cf_get_into(cf, "n", 1, buffer, 4, &n));
  CHECK_INT(buffer[0], '3');
  OK(kvstore_cf_exists(cf, "a", 1, &n));
  CHECK_INT(n, 1);
  OK(kvstore_cf_ttl_remaining(cf, "f", 1, &ms));
  CHECK_INT(ms, 10);
  OK(kvstore_cf_deadline(cf, "f", 1, &ms));
  CHECK_INT(ms, test_now + 10);
  OK(kvstore_cf_expire(cf, "a", 1, test_now + 5, 0, &n));
  OK(kvstore_cf_expire_for(cf, "a", 1, 7, 0, &n));
  OK(kvstore_cf_touch(cf, "a", 1, 8));
  OK(kvstore_cf_next_deadline(cf, &ms));
  CHECK_INT(ms, test_now + 8);
  OK(kvstore_cf_persist(cf, "a", 1, &n));
  OK(kvstore_cf_set_default_ttl(cf, 100));
  OK(kvstore_cf_get_default_ttl(cf, &ms));
  CHECK_INT(ms, 100);
  OK(kvstore_cf_count_live(cf, &ms));
  CHECK_INT(ms, 4);
  OK(kvstore_cf_count_ttl(cf, &ms));
  CHECK_INT(ms, 2);
  OK(kvstore_cf_expiring(cf, 0, INT64_MAX, 0, &entries, &n));
  CHECK_INT(n, 2);
  snkv_free(entries);
  test_advance(10);
  OK(kvstore_cf_count_expired(cf, &ms));
  CHECK_INT(ms, 1);
  OK(kvstore_cf_purge_expired_limit(cf, 5, &ms));
  CHECK_INT(ms, 1);
  OK(kvstore_cf_delete(cf, "a", 1));
  OK(kvstore_cf_clear(cf));
  FAILS(kvstore_cf_put(NULL, "k", 1, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_cf_purge_expired(NULL, &n), KVSTORE_ERROR);
  CHECK_INT(count(kv), 0);
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

static void stats_count_what_this_handle_did(void) {
  KVStore* const kv = test_open();
  KVIterator* it = NULL;
  KVStoreStats stats;
  int n = 0;
  OK(put(kv, "abc", "12345"));
  OK(put_ttl(kv, "ttl", "12345", 10));
  OK(kvstore_put_if_absent(kv, "abc", 3, "x", 1, 0, &n));
  OK(kvstore_put_if_absent(kv, "new", 3, "x", 1, 0, &n));
  CHECK(has(kv, "abc", "12345"));
  CHECK(has(kv, "none", NULL));
  OK(del(kv, "new"));
  FAILS(del(kv, "new"), KVSTORE_NOTFOUND);
  OK(kvstore_iterator_create(kv, &it));
  kvstore_iterator_close(it);
  FAILS(put(kv, "", ""), KVSTORE_ERROR);
  OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_FULL, NULL, NULL));
  test_advance(10);
  OK(kvstore_purge_expired(kv, &n));
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nPuts, 3);
  CHECK_INT(stats.nGets, 1);
  CHECK_INT(stats.nDeletes, 1);
  CHECK_INT(stats.nIterations, 1);
  CHECK_INT(stats.nErrors, 1);
  CHECK_INT(stats.nBytesRead, 5);
  CHECK_INT(stats.nBytesWritten, 8 + 8 + 4);
  CHECK_INT(stats.nCheckpoints, 1);
  CHECK_INT(stats.nTtlPurged, 1);
  CHECK_INT(stats.nTtlExpired, 0);
  CHECK(stats.nWalCommits >= 5);
  CHECK(stats.nDbPages > 0);
  OK(kvstore_stats_reset(kv));
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nPuts + stats.nGets + stats.nDeletes + stats.nIterations + stats.nErrors, 0);
  CHECK_INT(stats.nBytesRead + stats.nBytesWritten + stats.nWalCommits + stats.nCheckpoints, 0);
  CHECK_INT(stats.nTtlPurged + stats.nTtlExpired, 0);
  CHECK(stats.nDbPages > 0);
  OK(kvstore_close(kv));
}

static void checkpoints_know_their_modes(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  int log = 7;
  int done = 7;
  OK(put(kv, "k", "v"));  // the first commit needs no log
  for (int mode = 0; mode < 4; ++mode) {
    OK(kvstore_checkpoint(kv, mode, &log, &done));
    CHECK_INT(log, 0);
    CHECK_INT(done, 0);
    for (int i = 0; i < 5; ++i) OK(put(kv, "k", "v"));
    OK(kvstore_checkpoint(kv, mode, &log, &done));
    CHECK_INT(log, mode == KVSTORE_CHECKPOINT_TRUNCATE ? 0 : 5);
    CHECK_INT(done, log);
    CHECK_INT(access(test_path("db-wal"), F_OK), mode == KVSTORE_CHECKPOINT_TRUNCATE ? -1 : 0);
    OK(put(kv, "k", "v"));
    OK(kvstore_begin(other, 1));
    const int code = mode == KVSTORE_CHECKPOINT_PASSIVE ? KVSTORE_OK : KVSTORE_BUSY;
    FAILS(kvstore_checkpoint(kv, mode, &log, &done), code);
    CHECK_INT(log, code == KVSTORE_OK ? 1 : 0);
    CHECK_INT(done, 0);
    OK(kvstore_rollback(other));
    OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_FULL, &log, &done));
    CHECK_INT(done, 1);
  }
  OK(kvstore_close(other));
  FAILS(kvstore_checkpoint(kv, 4, NULL, NULL), KVSTORE_ERROR);
  FAILS(kvstore_checkpoint(kv, -1, NULL, NULL), KVSTORE_ERROR);
  FAILS(kvstore_checkpoint(kv, 99, NULL, NULL), KVSTORE_ERROR);
  OK(kvstore_begin(kv, 1));
  FAILS(kvstore_checkpoint(kv, 0, NULL, NULL), KVSTORE_BUSY);
  OK(kvstore_rollback(kv));
  OK(kvstore_close(kv));
}

static void log_statistics_are_of_the_log(void) {
  KVStore* const kv = test_open();
  KVStoreLogStats log = {.size = sizeof log};
  OK(put(kv, "kept", "v"));
  OK(put_ttl(kv, "young", "v", 10));
  OK(put(kv, "new", "v"));
  OK(kvstore_log_stats(kv, &log));
  CHECK_INT(log.size, sizeof log);
  CHECK(log.nLoggedBytes > 0);
  CHECK_INT(log.nPendingBytes, log.nLoggedBytes);
  CHECK(log.nLogBytes > 0);
  CHECK(log.nTableBytes > 0);
  CHECK_INT(log.nExpiredUnwritten, 0);
  const uint64_t before = log.nTreeEntries;
  test_advance(10);
  OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_FULL, NULL, NULL));
  KVStoreLogStats cut = {.size = offsetof(KVStoreLogStats, nStalls), .nStalls = 7};
  OK(kvstore_log_stats(kv, &cut));
  CHECK_INT(cut.nPendingBytes, 0);
  CHECK_INT(cut.nExpiredUnwritten, 1);
  CHECK_INT(cut.nTreeEntries, before + 1);
  CHECK_INT(cut.nCheckpoints, log.nCheckpoints + 1);
  CHECK_INT(cut.nStalls, 7);  // an older caller has no such field
  cut.size = 0;
  FAILS(kvstore_log_stats(kv, &cut), KVSTORE_ERROR);
  FAILS(kvstore_log_stats(kv, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void vacuum_makes_the_file_smaller(void) {
  KVStore* const kv = test_open();
  KVStoreStats before;
  KVStoreStats after;
  char value[4000];
  char key[16];
  memset(value, 'v', sizeof value);
  OK(kvstore_begin(kv, 1));
  for (int i = 0; i < 1000; ++i) {
    snprintf(key, sizeof key, "k%d", i);
    OK(kvstore_put(kv, key, (int)strlen(key), value, sizeof value));
  }
  OK(kvstore_commit(kv));
  OK(kvstore_clear(kv));
  OK(put(kv, "k", "kept"));
  OK(kvstore_stats(kv, &before));
  OK(kvstore_incremental_vacuum(kv, 100));
  KVIterator* it = NULL;
  OK(kvstore_iterator_create(kv, &it));
  OK(kvstore_incremental_vacuum(kv, 0));
  FAILS(kvstore_compact(kv), KVSTORE_BUSY);
  kvstore_iterator_close(it);
  OK(kvstore_incremental_vacuum(kv, 0));
  OK(kvstore_stats(kv, &after));
  CHECK(after.nDbPages * 10 < before.nDbPages);
  CHECK(has(kv, "k", "kept"));
  OK(kvstore_incremental_vacuum(kv, -1));
  OK(kvstore_compact(kv));
  CHECK(has(kv, "k", "kept"));
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a_backup_is_a_store(void) {
  KVStore* const kv = test_open();
  KVStore* copy = NULL;
  const KVStoreConfig config = test_config();
  OK(put(kv, "k", "v"));
  OK(put_ttl(kv, "t", "v", 10));
  OK(kvstore_backup(kv, test_path("copy")));
  OK(put(kv, "later", "v"));
  FAILS(kvstore_backup(kv, test_path("copy")), KVSTORE_ERROR);
  FAILS(kvstore_backup(kv, NULL), KVSTORE_ERROR);
  FAILS(kvstore_backup(kv, ""), KVSTORE_ERROR);
  OK(open_with(test_path("copy"), &copy, &config));
  CHECK(has(copy, "k", "v"));
  CHECK(has(copy, "later", NULL));
  test_advance(10);
  CHECK(has(copy, "t", NULL));
  CHECK(sound(copy));
  OK(kvstore_close(copy));
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(families_are_apart);
  RUN(a_family_survives_closing);
  RUN(names_are_checked);
  RUN(default_is_always_there);
  RUN(the_list_has_the_others);
  RUN(a_family_in_use_is_not_dropped);
  RUN(a_handle_of_what_is_gone_is_an_error);
  RUN(there_may_be_many);
  RUN(every_call_has_a_twin);
  RUN(stats_count_what_this_handle_did);
  RUN(checkpoints_know_their_modes);
  RUN(log_statistics_are_of_the_log);
  RUN(vacuum_makes_the_file_smaller);
  RUN(a_backup_is_a_store);
  return test_end();
}
