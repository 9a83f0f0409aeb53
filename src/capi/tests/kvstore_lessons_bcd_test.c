// SPDX-License-Identifier: Apache-2.0
// Parts B, C and D of the lessons: memory, durability, and the design of expiry. A function for
// each row.
//
// Elsewhere: B3 to B7 and D13, which need threads, in kvstore_thread_test.c. C2 is about Python and
// the command line. D3 to D6 are about speed and size: `mayfly bench store` measures those. D8 is
// the list of what SNKV has no call for: kvstore_ttl_test.c has a test for each of ours. Rows that
// do not apply: B8, C3 and D14 are about encryption, which there is none of.

#include "capi/tests/test.h"
#include "kvstore_log.h"

// Counts how often anybody in this process waits for the disk, LMDB included: these take the place
// of the C library's.
static int sync_count = 0;
static int counted_sync(int file) {
  (void)file;
  __atomic_fetch_add(&sync_count, 1, __ATOMIC_SEQ_CST);
  return 0;  // nobody cuts the power of a test
}
int fsync(int file) { return counted_sync(file); }
int fdatasync(int file) { return counted_sync(file); }
int msync(void* address, size_t length, int flags) {
  (void)address, (void)length, (void)flags;
  return counted_sync(0);
}

static KVStore* open_at(int sync_level) {
  KVStoreConfig config = test_config();
  config.syncLevel = sync_level;
  KVStore* kv = NULL;
  OK(open_with(test_path("db"), &kv, &config));
  return kv;
}

static void put_20(KVStore* kv) {
  for (int i = 0; i < 20; ++i) OK(put_ttl(kv, "k", "v", 10 + i));
}

static void b01_a_negative_length_with_a_long_key_overruns_nothing(void) {
  KVStore* const kv = test_open();
  char key[2000];
  memset(key, 'k', sizeof key);
  FAILS(kvstore_put(kv, key, sizeof key, "v", -1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, key, sizeof key, "v", -2000), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, key, -5, "v", 1), KVSTORE_ERROR);
  CHECK_INT(count(kv), 0);
  OK(kvstore_put(kv, key, sizeof key, "v", 1));
  CHECK_INT(count(kv), 1);
  OK(kvstore_close(kv));
}

static void b02_handles_outlive_their_store(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  KVColumnFamily* main_cf = NULL;
  KVIterator* it = NULL;
  void* value = NULL;
  int n = 0;
  int64_t n64 = 0;
  OK(kvstore_cf_create(kv, "cf", &cf));
  OK(kvstore_cf_get_default(kv, &main_cf));
  OK(cf_put(cf, "k", "v"));
  OK(kvstore_cf_iterator_create(cf, &it));
  OK(kvstore_iterator_first(it));
  OK(kvstore_close(kv));
  FAILS(cf_put(cf, "k", "v"), KVSTORE_ERROR);
  FAILS(kvstore_cf_get(cf, "k", 1, &value, &n), KVSTORE_ERROR);
  FAILS(kvstore_cf_delete(main_cf, "k", 1), KVSTORE_ERROR);
  FAILS(kvstore_cf_count(main_cf, &n64), KVSTORE_ERROR);
  FAILS(kvstore_cf_purge_expired(cf, &n), KVSTORE_ERROR);
  FAILS(kvstore_iterator_next(it), KVSTORE_ERROR);
  FAILS(kvstore_iterator_key(it, &value, &n), KVSTORE_ERROR);
  CHECK_INT(kvstore_iterator_eof(it), 1);
  kvstore_cf_close(main_cf);
  kvstore_iterator_close(it);
  FAILS(kvstore_cf_iterator_create(cf, &it), KVSTORE_ERROR);
  CHECK(it == NULL);
  kvstore_cf_close(cf);
}

static void b02_iterators_close_after_their_store(void) {
  KVStore* const kv = test_open();
  KVIterator* it = NULL;
  OK(put_ttl(kv, "k", "v", -1));
  OK(kvstore_iterator_create(kv, &it));
  OK(kvstore_iterator_first(it));
  OK(kvstore_close(kv));
  kvstore_iterator_close(it);
}

static void b09_a_failure_leaves_nothing_locked(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  char* const big = snkv_malloc(10485761);
  FAILS(kvstore_put(kv, "k", 1, big, 10485761), KVSTORE_ERROR);
  FAILS(kvstore_put_ttl(kv, "k", 1, big, 10485761, test_now + 1), KVSTORE_ERROR);
  OK(put(kv, "text", "x"));
  FAILS(kvstore_increment(kv, "text", 4, 1, NULL), KVSTORE_ERROR);
  OK(put(other, "k", "v"));
  OK(kvstore_begin(kv, 1));
  FAILS(kvstore_increment(kv, "text", 4, 1, NULL), KVSTORE_ERROR);
  OK(kvstore_commit(kv));
  OK(put(other, "k", "w"));
  OK(put(kv, "k", "x"));
  snkv_free(big);
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void c01_a_zeroed_config_is_normal_durability(void) {
  const int levels[] = {0, KVSTORE_SYNC_NORMAL};
  for (int i = 0; i < 2; ++i) {
    KVStore* const kv = open_at(levels[i]);
    sync_count = 0;
    put_20(kv);
    CHECK(sync_count > 0);   // without it nothing is promised
    CHECK(sync_count < 20);  // not at every commit
    OK(kvstore_close(kv));
  }
  KVStore* kv = NULL;
  OK(kvstore_open(test_path("db"), &kv, KVSTORE_JOURNAL_WAL));
  sync_count = 0;
  put_20(kv);
  CHECK(sync_count > 0);
  OK(kvstore_close(kv));
}

static void c01_full_waits_at_every_commit_and_none_never(void) {
  KVStore* kv = open_at(KVSTORE_SYNC_FULL);
  sync_count = 0;
  put_20(kv);
  CHECK(sync_count >= 20);
  OK(kvstore_close(kv));
  kv = open_at(KVSTORE_SYNC_NONE);
  put_20(kv);  // makes a log, whole and on disk
  sync_count = 0;
  put_20(kv);
  CHECK_INT(sync_count, 0);
  OK(kvstore_close(kv));
}

static void c04_sync_reaches_the_disk_and_ends_nothing(void) {
  const int levels[] = {KVSTORE_SYNC_NONE, KVSTORE_SYNC_NORMAL, KVSTORE_SYNC_FULL};
  for (int i = 0; i < 3; ++i) {
    KVStore* const kv = open_at(levels[i]);
    put_20(kv);
    sync_count = 0;
    OK(put(kv, "last", "v"));
    OK(kvstore_sync(kv));
    CHECK(sync_count > 0);
    OK(kvstore_begin(kv, 1));
    OK(put(kv, "in txn", "v"));
    OK(kvstore_sync(kv));
    OK(kvstore_rollback(kv));
    CHECK(has(kv, "in txn", NULL));
    sync_count = 0;
    OK(put(kv, "another", "v"));
    OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_PASSIVE, NULL, NULL));
    CHECK(sync_count > 0);
    OK(kvstore_close(kv));
  }
}

// Nobody calls a checkpoint. What is put again and again is written to the file once a segment.
static void c05_the_file_stays_bounded_by_itself(void) {
  KVStore* const kv = test_open();
  char value[100];
  memset(value, 'v', sizeof value);
  for (int i = 0; i < 20000; ++i) {
    char key[16];
    snprintf(key, sizeof key, "k%d", i % 100);
    OK(kvstore_put_ttl(kv, key, (int)strlen(key), value, sizeof value, test_now + 1000 + i));
  }
  struct stat about;
  CHECK_INT(stat(test_path("db"), &about), 0);
  CHECK(about.st_size < 2 * 1024 * 1024);
  OK(kvstore_close(kv));
}

static void c06_a_wal_limit_bounds_the_log(void) {
  const int limits[] = {1, 32, 0, -1};
  const int64_t segments[] = {64 << 10, 32 * 4096, 32 << 20, 32 << 20};
  for (int i = 0; i < 4; ++i) {
    KVStoreConfig config = test_config();
    config.walSizeLimit = limits[i];
    KVStore* kv = NULL;
    KVStoreStats stats;
    KVStoreLogStats log = {.size = sizeof log};
    OK(open_with(test_path("db"), &kv, &config));
    char value[1000] = "";
    for (int n = 0; n < 1000; ++n) OK(kvstore_put(kv, "k", 1, value, sizeof value));
    OK(kvstore_log_stats(kv, &log));
    CHECK(log.nLoggedBytes > 1000 * 1000);
    CHECK(log.nCheckpoints >= (uint64_t)(1000 * 1000 / segments[i] / 2));  // by themselves
    CHECK(log.nPendingBytes <= (uint64_t)(2 * segments[i]));
    CHECK(log.nLogBytes <= (uint64_t)(2 * segments[i] + 8192));
    struct stat about;
    CHECK_INT(stat(test_path("db-wal"), &about), 0);
    CHECK_INT(about.st_size, 4096 + 2 * segments[i]);
    OK(kvstore_stats(kv, &stats));
    CHECK_INT(stats.nCheckpoints, 0);
    CHECK(sound(kv));
    OK(kvstore_close(kv));
  }
}

// Writes pairs of keys with expiries until it is killed, and says how many are committed.
static void write_until_killed(int pipe_end) {
  KVStore* const kv = test_open();
  char key[16];
  for (int i = 0;; ++i) {
    OK(kvstore_begin(kv, 1));
    snprintf(key, sizeof key, "a%06d", i);
    OK(put_ttl(kv, key, key, 1000 + i));
    snprintf(key, sizeof key, "b%06d", i);
    OK(put_ttl(kv, key, key, 1000 + i));
    OK(kvstore_commit(kv));
    CHECK_INT(write(pipe_end, &i, sizeof i), sizeof i);
  }
}

static void c07_a_killed_process_loses_no_commit_and_no_expiry(void) {
  for (int round = 1; round <= 3; ++round) {
    int ends[2];
    int last = -1;
    OK(pipe(ends));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) write_until_killed(ends[1]);
    while (last < 40 * round) CHECK_INT(read(ends[0], &last, sizeof last), sizeof last);
    OK(kill(pid, SIGKILL));
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    close(ends[1]);
    for (int i = 0; read(ends[0], &i, sizeof i) == sizeof i;) last = i;
    close(ends[0]);

    KVStore* const kv = test_open();
    CHECK(sound(kv));
    char key[16];
    for (int i = 0; i <= last; ++i) {
      int64_t left = 0;
      for (int twin = 0; twin < 2; ++twin) {
        snprintf(key, sizeof key, "%c%06d", "ab"[twin], i);
        CHECK(has(kv, key, key));
        OK(kvstore_ttl_remaining(kv, key, (int)strlen(key), &left));
        CHECK_INT(left, 1000 + i);
      }
    }
    CHECK_INT(count(kv) % 2, 0);  // never half of a transaction
    OK(kvstore_clear(kv));
    OK(kvstore_close(kv));
  }
}

// If it waited for the writer, this would take a minute.
static void d01_reading_an_expired_key_waits_for_nobody(void) {
  KVStoreConfig config = test_config();
  config.busyTimeout = 60000;
  KVStore* const writer = test_open();
  KVStore* reader = NULL;
  OK(open_with(test_path("db"), &reader, &config));
  OK(put_ttl(writer, "dead", "v", -1));
  OK(kvstore_begin(writer, 1));
  int64_t left = -7;
  CHECK(has(reader, "dead", NULL));
  CHECK_INT(exists(reader, "dead"), 0);
  OK(kvstore_ttl_remaining(reader, "dead", 4, &left));
  CHECK_INT(left, 0);
  CHECK_TEXT(all_keys(reader), "");
  CHECK_TEXT(kvstore_errmsg(reader), "no error");
  OK(kvstore_rollback(writer));
  OK(kvstore_close(reader));
  OK(kvstore_close(writer));
}

static void put_expired(KVStore* kv, int n) {
  char key[16];
  OK(kvstore_begin(kv, 1));
  for (int i = 0; i < n; ++i) {
    snprintf(key, sizeof key, "k%05d", i);
    OK(put_ttl(kv, key, "v", -1));
  }
  OK(kvstore_commit(kv));
}

static void d02_walking_over_expired_keys_is_not_a_commit_for_each(void) {
  KVStore* const kv = test_open();
  KVStoreStats before;
  KVStoreStats after;
  put_expired(kv, 2000);
  OK(kvstore_stats(kv, &before));
  CHECK_TEXT(all_keys(kv), "");
  OK(kvstore_stats(kv, &after));
  CHECK(after.nWalCommits - before.nWalCommits <= 4);
  OK(kvstore_close(kv));
}

static void d07_asking_for_a_ttl_does_not_read_the_value(void) {
  KVStore* const kv = test_open();
  KVStoreStats stats;
  char* const big = snkv_malloc(10485760);
  int inserted = -1;
  int64_t left = 0;
  OK(kvstore_put_ttl(kv, "k", 1, big, 10485760, test_now + 10));
  OK(kvstore_stats_reset(kv));
  OK(kvstore_ttl_remaining(kv, "k", 1, &left));
  OK(kvstore_put_if_absent(kv, "k", 1, "v", 1, 0, &inserted));
  CHECK_INT(exists(kv, "k"), 1);
  OK(kvstore_expire_for(kv, "k", 1, 20, 0, NULL));
  OK(kvstore_persist(kv, "k", 1, NULL));
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nBytesRead, 0);
  CHECK_INT(stats.nBytesWritten, 0);
  snkv_free(big);
  OK(kvstore_close(kv));
}

static void d09_there_is_an_exact_count(void) {
  KVStore* const kv = test_open();
  int64_t live = -1;
  put_expired(kv, 10);
  OK(put(kv, "alive", "v"));
  CHECK_INT(count(kv), 11);
  OK(kvstore_count_live(kv, &live));
  CHECK_INT(live, 1);
  OK(kvstore_close(kv));
}

static void d10_an_expired_key_is_not_deleted_and_not_inserted(void) {
  KVStore* const kv = test_open();
  int inserted = -1;
  OK(put_ttl(kv, "k", "v", 10));
  test_advance(10);
  FAILS(del(kv, "k"), KVSTORE_NOTFOUND);
  CHECK_INT(count(kv), 0);
  OK(kvstore_put_if_absent(kv, "k", 1, "v", 1, test_now, &inserted));
  CHECK_INT(inserted, 0);
  CHECK_INT(count(kv), 0);
  OK(put(kv, "k", "there"));
  OK(kvstore_put_if_absent(kv, "k", 1, "v", 1, test_now - 5, &inserted));
  CHECK_INT(inserted, 0);
  CHECK(has(kv, "k", "there"));
  OK(kvstore_close(kv));
}

static void d11_a_negative_expiry_is_an_error(void) {
  KVStore* const kv = test_open();
  int inserted = -1;
  const int64_t bad[] = {-1, INT64_MIN, -1000};
  OK(put_ttl(kv, "k", "v", 10));
  for (int i = 0; i < 3; ++i) {
    FAILS(kvstore_put_ttl(kv, "k", 1, "w", 1, bad[i]), KVSTORE_ERROR);
    FAILS(kvstore_put_if_absent(kv, "new", 3, "w", 1, bad[i], &inserted), KVSTORE_ERROR);
    FAILS(kvstore_expire(kv, "k", 1, bad[i], 0, NULL), KVSTORE_ERROR);
    FAILS(kvstore_put_for(kv, "k", 1, "w", 1, bad[i]), KVSTORE_ERROR);
  }
  CHECK(has(kv, "k", "v"));
  int64_t left = 0;
  OK(kvstore_ttl_remaining(kv, "k", 1, &left));
  CHECK_INT(left, 10);
  OK(kvstore_close(kv));
}

static int64_t clock_of(void* clock) { return *(const int64_t*)clock; }

static void d12_a_store_takes_its_clock_from_its_user(void) {
  int64_t early = 1000;
  int64_t late = 5000;
  KVStore* one = NULL;
  KVStore* two = NULL;
  KVStoreConfig config = test_config();
  KVStoreOptions options = test_options();
  options.nowMs = clock_of;
  options.nowArgument = &early;
  OK(kvstore_open_ex(test_path("db"), &one, &config, &options));
  OK(kvstore_put_ttl(one, "k", 1, "v", 1, 2000));
  options.nowArgument = &late;
  config.readOnly = 1;
  OK(kvstore_open_ex(test_path("db"), &two, &config, &options));
  CHECK(has(one, "k", "v"));
  CHECK(has(two, "k", NULL));
  early = 2000;
  CHECK_INT(count(one), 1);
  CHECK(has(one, "k", NULL));
  OK(put(one, "other", "v"));  // removes it
  early = 1500;
  CHECK(has(one, "k", NULL));  // what was removed does not come back with the clock
  OK(kvstore_close(two));
  OK(kvstore_close(one));
}

static void d13_a_purge_is_of_many_transactions(void) {
  KVStore* const kv = test_open();
  KVStoreStats before;
  KVStoreStats after;
  int n = 0;
  put_expired(kv, 1000);
  OK(kvstore_stats(kv, &before));
  OK(kvstore_purge_expired(kv, &n));
  CHECK_INT(n, 1000);
  OK(kvstore_stats(kv, &after));
  CHECK(after.nWalCommits - before.nWalCommits >= 4);
  OK(kvstore_close(kv));
}

// A clock that, at its third reading, lets nobody write to files any more.
static int64_t clock_that_breaks_the_disk(void* readings) {
  if (--*(int*)readings == 0) {
    const struct rlimit none = {1, RLIM_INFINITY};
    OK(setrlimit(RLIMIT_FSIZE, &none));
  }
  return TEST_START;
}

static void d13_a_purge_that_fails_tells_what_it_removed(void) {
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  int readings = -1;
  int n = -1;
  KVStoreOptions options = test_options();
  options.nowMs = clock_that_breaks_the_disk;
  options.nowArgument = &readings;
  config.syncLevel = KVSTORE_SYNC_FULL;
  OK(kvstore_open_ex(test_path("db"), &kv, &config, &options));
  put_expired(kv, 1000);
  signal(SIGXFSZ, SIG_IGN);
  readings = 3;
  const int code = kvstore_purge_expired(kv, &n);
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  OK(setrlimit(RLIMIT_FSIZE, &all));
  CHECK(code != KVSTORE_OK);
  CHECK(strcmp(kvstore_errmsg(kv), "no error") != 0);
  CHECK(n > 0 && n < 1000);
  OK(kvstore_close(kv));
  kv = test_open();
  CHECK_INT(count(kv), 1000 - n);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void d15_what_iterators_remove_is_counted(void) {
  KVStore* const kv = test_open();
  KVStoreStats stats;
  put_expired(kv, 10);
  CHECK_TEXT(all_keys(kv), "");
  CHECK_INT(count(kv), 10);
  OK(put(kv, "k", "v"));
  OK(kvstore_stats(kv, &stats));
  CHECK_INT(stats.nTtlExpired, 10);
  CHECK_INT(count(kv), 1);
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(b01_a_negative_length_with_a_long_key_overruns_nothing);
  RUN(b02_handles_outlive_their_store);
  RUN(b02_iterators_close_after_their_store);
  RUN(b09_a_failure_leaves_nothing_locked);
  RUN(c01_a_zeroed_config_is_normal_durability);
  RUN(c01_full_waits_at_every_commit_and_none_never);
  RUN(c04_sync_reaches_the_disk_and_ends_nothing);
  RUN(c05_the_file_stays_bounded_by_itself);
  RUN(c06_a_wal_limit_bounds_the_log);
  RUN(c07_a_killed_process_loses_no_commit_and_no_expiry);
  RUN(d01_reading_an_expired_key_waits_for_nobody);
  RUN(d02_walking_over_expired_keys_is_not_a_commit_for_each);
  RUN(d07_asking_for_a_ttl_does_not_read_the_value);
  RUN(d09_there_is_an_exact_count);
  RUN(d10_an_expired_key_is_not_deleted_and_not_inserted);
  RUN(d11_a_negative_expiry_is_an_error);
  RUN(d12_a_store_takes_its_clock_from_its_user);
  RUN(d13_a_purge_is_of_many_transactions);
  RUN(d13_a_purge_that_fails_tells_what_it_removed);
  RUN(d15_what_iterators_remove_is_counted);
  return test_end();
}
