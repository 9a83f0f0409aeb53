// SPDX-License-Identifier: Apache-2.0
// Opening, closing, keys and values: sections 2, 3, 4 and 9 of the specification.

#include <stddef.h>

#include "capi/tests/test.h"

static void the_numbers_are_those_of_snkv(void) {
  CHECK_INT(KVSTORE_OK, 0);
  CHECK_INT(KVSTORE_ERROR, 1);
  CHECK_INT(KVSTORE_BUSY, 5);
  CHECK_INT(KVSTORE_LOCKED, 6);
  CHECK_INT(KVSTORE_NOMEM, 7);
  CHECK_INT(KVSTORE_READONLY, 8);
  CHECK_INT(KVSTORE_CORRUPT, 11);
  CHECK_INT(KVSTORE_NOTFOUND, 12);
  CHECK_INT(KVSTORE_AUTH_FAILED, 13);
  CHECK_INT(KVSTORE_PROTOCOL, 15);
  CHECK_INT(KVSTORE_MAX_COLUMN_FAMILIES, 64);
  CHECK_INT(KVSTORE_JOURNAL_DELETE, 0);
  CHECK_INT(KVSTORE_JOURNAL_WAL, 1);
  CHECK_INT(KVSTORE_SYNC_OFF, 0);
  CHECK_INT(KVSTORE_SYNC_NORMAL, 1);
  CHECK_INT(KVSTORE_SYNC_FULL, 2);
  CHECK_INT(KVSTORE_CHECKPOINT_PASSIVE, 0);
  CHECK_INT(KVSTORE_CHECKPOINT_FULL, 1);
  CHECK_INT(KVSTORE_CHECKPOINT_RESTART, 2);
  CHECK_INT(KVSTORE_CHECKPOINT_TRUNCATE, 3);
  CHECK_INT(KVSTORE_NO_TTL, -1);
  CHECK_INT(sizeof(KVStoreStats), 12 * 8);
  CHECK_INT(sizeof(KVStoreConfig), 9 * sizeof(int));
  CHECK_INT(offsetof(KVStoreConfig, syncLevel), 1 * sizeof(int));
  CHECK_INT(offsetof(KVStoreConfig, readOnly), 4 * sizeof(int));
  CHECK_INT(offsetof(KVStoreConfig, busyTimeout), 5 * sizeof(int));
  CHECK_INT(offsetof(KVStoreConfig, fullMutex), 8 * sizeof(int));
}

static void memory_is_zeroed(void) {
  unsigned char* const bytes = snkv_malloc(1000);
  CHECK(bytes != NULL);
  for (int i = 0; i < 1000; ++i) CHECK_INT(bytes[i], 0);
  snkv_free(bytes);
  snkv_free(NULL);
}

static void a_value_comes_back(void) {
  KVStore* const kv = test_open();
  OK(put(kv, "key", "value"));
  CHECK(has(kv, "key", "value"));
  OK(put(kv, "key", "another"));
  CHECK(has(kv, "key", "another"));
  CHECK(has(kv, "none", NULL));
  OK(kvstore_close(kv));
}

static void a_value_survives_closing(void) {
  KVStore* kv = test_open();
  OK(put(kv, "key", "value"));
  OK(kvstore_close(kv));
  kv = test_open();
  CHECK(has(kv, "key", "value"));
  OK(kvstore_close(kv));
}

static void bytes_may_be_anything(void) {
  KVStore* const kv = test_open();
  const char key[] = {0, 1, (char)0xff, 0};
  const char value[] = {(char)0xfe, 0, 0, 7};
  OK(kvstore_put(kv, key, 4, value, 4));
  OK(kvstore_put(kv, key, 3, "shorter", 7));
  void* found = NULL;
  int length = 0;
  OK(kvstore_get(kv, key, 4, &found, &length));
  CHECK_INT(length, 4);
  CHECK(memcmp(found, value, 4) == 0);
  snkv_free(found);
  OK(kvstore_close(kv));
}

static void an_empty_value_is_there_and_null(void) {
  KVStore* const kv = test_open();
  void* found = (void*)1;
  int length = -1;
  OK(kvstore_put(kv, "a", 1, NULL, 0));
  OK(kvstore_put(kv, "b", 1, "", 0));
  OK(kvstore_get(kv, "a", 1, &found, &length));
  CHECK(found == NULL);
  CHECK_INT(length, 0);
  CHECK_INT(exists(kv, "a"), 1);
  CHECK_INT(exists(kv, "b"), 1);
  OK(kvstore_close(kv));
}

static void sizes_have_limits(void) {
  KVStore* const kv = test_open();
  char* const big = snkv_malloc(10485761);
  OK(kvstore_put(kv, big, 65536, "v", 1));
  FAILS(kvstore_put(kv, big, 65537, "v", 1), KVSTORE_ERROR);
  CHECK(strcmp(kvstore_errmsg(kv), "no error") != 0);
  OK(kvstore_put(kv, "k", 1, big, 10485760));
  FAILS(kvstore_put(kv, "k", 1, big, 10485761), KVSTORE_ERROR);
  void* found = NULL;
  int length = 0;
  OK(kvstore_get(kv, big, 65536, &found, &length));
  CHECK_INT(length, 1);
  snkv_free(found);
  OK(kvstore_get(kv, "k", 1, &found, &length));
  CHECK_INT(length, 10485760);
  snkv_free(found);
  snkv_free(big);
  OK(kvstore_close(kv));
}

static void bad_arguments_are_errors(void) {
  KVStore* const kv = test_open();
  void* value = (void*)1;
  int length = 7;
  FAILS(kvstore_put(NULL, "k", 1, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, NULL, 1, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", 0, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", -1, "v", 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", 1, NULL, 1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", 1, "v", -1), KVSTORE_ERROR);
  FAILS(kvstore_get(NULL, "k", 1, &value, &length), KVSTORE_ERROR);
  CHECK(value == NULL);
  CHECK_INT(length, 0);
  FAILS(kvstore_get(kv, "k", 0, &value, &length), KVSTORE_ERROR);
  FAILS(kvstore_get(kv, NULL, 1, &value, &length), KVSTORE_ERROR);
  FAILS(kvstore_get(kv, "k", 1, NULL, &length), KVSTORE_ERROR);
  FAILS(kvstore_get(kv, "k", 1, &value, NULL), KVSTORE_ERROR);
  FAILS(kvstore_delete(kv, "k", 0), KVSTORE_ERROR);
  FAILS(kvstore_delete(NULL, "k", 1), KVSTORE_ERROR);
  FAILS(kvstore_exists(kv, "k", 1, NULL), KVSTORE_ERROR);
  FAILS(kvstore_exists(kv, "k", -5, &length), KVSTORE_ERROR);
  FAILS(kvstore_count(kv, NULL), KVSTORE_ERROR);
  FAILS(kvstore_count(NULL, NULL), KVSTORE_ERROR);
  FAILS(kvstore_clear(NULL), KVSTORE_ERROR);
  FAILS(kvstore_stats(kv, NULL), KVSTORE_ERROR);
  FAILS(kvstore_stats_reset(NULL), KVSTORE_ERROR);
  FAILS(kvstore_begin(NULL, 1), KVSTORE_ERROR);
  FAILS(kvstore_commit(NULL), KVSTORE_ERROR);
  FAILS(kvstore_rollback(NULL), KVSTORE_ERROR);
  FAILS(kvstore_sync(NULL), KVSTORE_ERROR);
  CHECK_INT(count(kv), 0);
  OK(kvstore_close(kv));
}

static void delete_tells_whether_it_was_there(void) {
  KVStore* const kv = test_open();
  OK(put(kv, "key", "value"));
  OK(del(kv, "key"));
  FAILS(del(kv, "key"), KVSTORE_NOTFOUND);
  CHECK(has(kv, "key", NULL));
  OK(kvstore_close(kv));
}

static void count_and_clear(void) {
  KVStore* const kv = test_open();
  CHECK_INT(count(kv), 0);
  OK(put(kv, "a", "1"));
  OK(put(kv, "b", "2"));
  OK(put(kv, "a", "3"));
  CHECK_INT(count(kv), 2);
  OK(kvstore_clear(kv));
  CHECK_INT(count(kv), 0);
  CHECK(has(kv, "a", NULL));
  OK(kvstore_close(kv));
}

static void get_into_needs_no_memory(void) {
  KVStore* const kv = test_open();
  char buffer[8] = "........";
  int length = -1;
  OK(put(kv, "key", "value"));
  OK(kvstore_get_into(kv, "key", 3, buffer, 8, &length));
  CHECK_INT(length, 5);
  CHECK(memcmp(buffer, "value...", 8) == 0);
  OK(kvstore_get_into(kv, "key", 3, NULL, 0, &length));
  CHECK_INT(length, 5);
  memset(buffer, '.', 8);
  OK(kvstore_get_into(kv, "key", 3, buffer, 2, &length));
  CHECK_INT(length, 5);
  CHECK(memcmp(buffer, "va......", 8) == 0);
  FAILS(kvstore_get_into(kv, "none", 4, buffer, 8, &length), KVSTORE_NOTFOUND);
  CHECK_INT(length, 0);
  FAILS(kvstore_get_into(kv, "key", 3, buffer, -1, &length), KVSTORE_ERROR);
  FAILS(kvstore_get_into(kv, "key", 3, NULL, 1, &length), KVSTORE_ERROR);
  FAILS(kvstore_get_into(kv, "key", 3, buffer, 8, NULL), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void compare_and_set_needs_the_expected_value(void) {
  KVStore* const kv = test_open();
  int swapped = -1;
  OK(kvstore_compare_and_set(kv, "k", 1, "", 0, "1", 1, &swapped));
  CHECK_INT(swapped, 0);
  CHECK(has(kv, "k", NULL));
  OK(put_ttl(kv, "k", "old", 1000));
  OK(kvstore_compare_and_set(kv, "k", 1, "other", 5, "new", 3, &swapped));
  CHECK_INT(swapped, 0);
  OK(kvstore_compare_and_set(kv, "k", 1, "old", 3, "new", 3, &swapped));
  CHECK_INT(swapped, 1);
  CHECK(has(kv, "k", "new"));
  int64_t remaining = 0;
  OK(kvstore_ttl_remaining(kv, "k", 1, &remaining));
  CHECK_INT(remaining, 1000);
  OK(kvstore_compare_and_set(kv, "k", 1, "new", 3, NULL, 0, NULL));
  OK(kvstore_compare_and_set(kv, "k", 1, NULL, 0, "full", 4, &swapped));
  CHECK_INT(swapped, 1);
  FAILS(kvstore_compare_and_set(kv, "k", 1, "x", -1, "y", 1, &swapped), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void increment_counts(void) {
  KVStore* const kv = test_open();
  int64_t sum = -1;
  OK(kvstore_increment(kv, "n", 1, 5, &sum));
  CHECK_INT(sum, 5);
  OK(kvstore_increment(kv, "n", 1, -7, &sum));
  CHECK_INT(sum, -2);
  CHECK(has(kv, "n", "-2"));
  OK(put(kv, "text", "seven"));
  FAILS(kvstore_increment(kv, "text", 4, 1, &sum), KVSTORE_ERROR);
  CHECK_INT(sum, 0);
  OK(put(kv, "most", "9223372036854775807"));
  FAILS(kvstore_increment(kv, "most", 4, 1, NULL), KVSTORE_ERROR);
  CHECK(has(kv, "most", "9223372036854775807"));
  OK(kvstore_close(kv));
}

static void a_store_without_a_path_is_temporary(void) {
  KVStore* one = NULL;
  KVStore* two = NULL;
  OK(kvstore_open(NULL, &one, KVSTORE_JOURNAL_WAL));
  OK(kvstore_open("", &two, KVSTORE_JOURNAL_DELETE));
  OK(put(one, "key", "one"));
  CHECK(has(two, "key", NULL));
  CHECK(has(one, "key", "one"));
  OK(kvstore_close(one));
  OK(kvstore_close(two));
}

static void open_fails_with_documented_codes(void) {
  KVStore* kv = (KVStore*)1;
  char text[200] = "";
  KVStoreConfig config = test_config();
  KVStoreOptions options = test_options();
  options.errorText = text;
  options.errorTextSize = sizeof text;
  FAILS(kvstore_open(test_path("db"), NULL, 1), KVSTORE_ERROR);
  FAILS(kvstore_open(test_path("no/such/folder"), &kv, 1), KVSTORE_ERROR);
  CHECK(kv == NULL);
  FAILS(kvstore_open_ex(test_folder, &kv, &config, &options), KVSTORE_ERROR);
  CHECK(text[0] != '\0');
  options.errorTextSize = 4;
  FAILS(kvstore_open_ex(test_folder, &kv, NULL, &options), KVSTORE_ERROR);
  CHECK_INT(strlen(text), 3);

  FILE* file = fopen(test_path("garbage"), "w");
  for (int i = 0; i < 5000; ++i) fputs("this is not a store. ", file);
  fclose(file);
  FAILS(kvstore_open(test_path("garbage"), &kv, 1), KVSTORE_CORRUPT);
  CHECK(kv == NULL);

  config.readOnly = 1;
  FAILS(open_with(test_path("missing"), &kv, &config), KVSTORE_ERROR);
  CHECK(access(test_path("missing"), F_OK) != 0);
  fclose(fopen(test_path("empty"), "w"));
  FAILS(open_with(test_path("empty"), &kv, &config), KVSTORE_READONLY);
  FAILS(open_with(NULL, &kv, &config), KVSTORE_ERROR);

  config = test_config();
  config.syncLevel = 3;
  FAILS(open_with(test_path("db"), &kv, &config), KVSTORE_ERROR);
  config = test_config();
  config.busyTimeout = -1;
  FAILS(open_with(test_path("db"), &kv, &config), KVSTORE_ERROR);
  OK(kvstore_open(test_path("empty"), &kv, 1));
  OK(kvstore_close(kv));
}

static void a_read_only_store_refuses_writes(void) {
  KVStore* kv = test_open();
  OK(put(kv, "key", "value"));
  OK(put_ttl(kv, "brief", "value", 10));
  OK(kvstore_close(kv));
  test_advance(10);

  KVStoreConfig config = test_config();
  config.readOnly = 1;
  OK(open_with(test_path("db"), &kv, &config));
  CHECK(has(kv, "key", "value"));
  CHECK(has(kv, "brief", NULL));
  CHECK_INT(count(kv), 2);
  KVColumnFamily* cf = NULL;
  int n = 0;
  FAILS(put(kv, "a", "b"), KVSTORE_READONLY);
  FAILS(put_ttl(kv, "a", "b", 5), KVSTORE_READONLY);
  FAILS(del(kv, "key"), KVSTORE_READONLY);
  FAILS(kvstore_put_if_absent(kv, "key", 3, "x", 1, 0, &n), KVSTORE_READONLY);
  FAILS(kvstore_begin(kv, 1), KVSTORE_READONLY);
  FAILS(kvstore_clear(kv), KVSTORE_READONLY);
  FAILS(kvstore_cf_create(kv, "cf", &cf), KVSTORE_READONLY);
  FAILS(kvstore_cf_drop(kv, "cf"), KVSTORE_READONLY);
  FAILS(kvstore_purge_expired(kv, &n), KVSTORE_READONLY);
  FAILS(kvstore_incremental_vacuum(kv, 0), KVSTORE_READONLY);
  FAILS(kvstore_incremental_vacuum(kv, 10), KVSTORE_READONLY);
  FAILS(kvstore_compact(kv), KVSTORE_READONLY);
  FAILS(kvstore_checkpoint(kv, 0, NULL, NULL), KVSTORE_READONLY);
  OK(kvstore_sync(kv));
  OK(kvstore_begin(kv, 0));
  CHECK(has(kv, "key", "value"));
  OK(kvstore_commit(kv));
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void closing_nothing_is_fine(void) {
  OK(kvstore_close(NULL));
  CHECK_TEXT(kvstore_errmsg(NULL), "no error");
  kvstore_cf_close(NULL);
  kvstore_iterator_close(NULL);
}

static void closing_undoes_an_open_transaction(void) {
  KVStore* kv = test_open();
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "key", "value"));
  OK(kvstore_close(kv));
  kv = test_open();
  CHECK(has(kv, "key", NULL));
  OK(put(kv, "key", "value"));
  OK(kvstore_close(kv));
}

static void errmsg_tells_every_failure(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  CHECK_TEXT(kvstore_errmsg(kv), "no error");
  CHECK(has(kv, "none", NULL));
  CHECK_TEXT(kvstore_errmsg(kv), "no error");
  FAILS(kvstore_put(kv, "", 0, "v", 1), KVSTORE_ERROR);
  CHECK(strstr(kvstore_errmsg(kv), "key") != NULL);
  CHECK_TEXT(kvstore_errmsg(other), "no error");
  OK(kvstore_begin(other, 1));
  FAILS(put(kv, "a", "b"), KVSTORE_BUSY);
  CHECK(strstr(kvstore_errmsg(kv), "1 to 65536") == NULL);
  OK(kvstore_rollback(other));
  OK(put(kv, "a", "b"));
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void the_config_of_snkv_is_accepted(void) {
  KVStoreConfig config = test_config();
  config.journalMode = KVSTORE_JOURNAL_WAL;
  config.syncLevel = KVSTORE_SYNC_FULL;
  config.cacheSize = -5;
  config.pageSize = 123;
  config.walSizeLimit = 100;
  config.allowEncrypted = 1;
  config.fullMutex = 1;
  config.busyTimeout = 10;
  KVStore* kv = NULL;
  OK(open_with(test_path("db"), &kv, &config));
  OK(put(kv, "key", "value"));
  CHECK(has(kv, "key", "value"));
  OK(kvstore_close(kv));
  OK(kvstore_open_v2(test_path("db"), &kv, NULL));
  CHECK(has(kv, "key", "value"));
  OK(kvstore_close(kv));
  OK(kvstore_open(test_path("db"), &kv, 99));
  CHECK(has(kv, "key", "value"));
  OK(kvstore_close(kv));
}

// A program that was compiled with SNKV's header knows nothing of what comes after its struct.
static void nothing_behind_the_config_of_snkv_is_read(void) {
  struct {
    KVStoreConfig config;
    char behind[128];
  } memory;
  memset(&memory, 0xA5, sizeof memory);
  memory.config = test_config();
  KVStore* kv = NULL;
  OK(kvstore_open_v2(test_path("db"), &kv, &memory.config));
  OK(kvstore_put_for(kv, "key", 3, "value", 5, 60000));
  CHECK(has(kv, "key", "value"));
  OK(kvstore_close(kv));
}

static void options_tell_their_size(void) {
  KVStore* kv = NULL;
  struct {
    KVStoreOptions options;
    int64_t of_a_later_version;
  } later = {test_options(), 0};
  char text[200] = "";
  FAILS(kvstore_open_ex(test_path("db"), NULL, NULL, &later.options), KVSTORE_ERROR);
  later.options.size = 0;
  FAILS(kvstore_open_ex(test_path("db"), &kv, NULL, &later.options), KVSTORE_ERROR);
  later.options.size = sizeof later;
  OK(kvstore_open_ex(test_path("db"), &kv, NULL, &later.options));
  OK(kvstore_close(kv));
  later.of_a_later_version = 1;
  later.options.errorText = text;
  later.options.errorTextSize = sizeof text;
  FAILS(kvstore_open_ex(test_path("db"), &kv, NULL, &later.options), KVSTORE_ERROR);
  CHECK(strstr(text, "setting") != NULL);
  OK(kvstore_open_ex(test_path("db"), &kv, NULL, NULL));
  OK(kvstore_close(kv));
}

static void use_in_a_child(KVStore* kv, KVColumnFamily* cf, KVIterator* iterator) {
  FAILS(put(kv, "key", "child"), KVSTORE_ERROR);
  CHECK(strstr(kvstore_errmsg(kv), "fork") != NULL);
  FAILS(kvstore_cf_put(cf, "key", 3, "child", 5), KVSTORE_ERROR);
  FAILS(kvstore_iterator_first(iterator), KVSTORE_ERROR);
  FAILS(kvstore_begin(kv, 1), KVSTORE_ERROR);
  FAILS(kvstore_commit(kv), KVSTORE_ERROR);
  kvstore_iterator_close(iterator);
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
  KVStore* own = test_open();  // the same file, for itself
  CHECK(has(own, "key", "value"));
  OK(put(own, "other", "child"));
  OK(kvstore_close(own));
}

static void a_child_leaves_the_store_of_its_parent_alone(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf = NULL;
  KVIterator* iterator = NULL;
  OK(put(kv, "key", "value"));
  OK(kvstore_cf_create(kv, "family", &cf));
  OK(kvstore_iterator_create(kv, &iterator));
  const pid_t child = fork();
  if (child == 0) {
    use_in_a_child(kv, cf, iterator);
    _exit(0);
  }
  int status = -1;
  CHECK_INT(waitpid(child, &status, 0), child);
  CHECK_INT(status, 0);
  CHECK(access(test_path("db-wal"), F_OK) == 0);  // it has what the child has put
  CHECK(has(kv, "other", "child"));
  OK(put(kv, "key", "parent"));
  kvstore_iterator_close(iterator);
  kvstore_cf_close(cf);
  OK(kvstore_close(kv));
}

// A clock that blocks its reader until it is released.
static int clock_calls = 0;
static int clock_may_go_on = 1;
static int64_t clock_that_waits(void* unused) {
  (void)unused;
  __atomic_fetch_add(&clock_calls, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&clock_may_go_on, __ATOMIC_SEQ_CST)) sched_yield();
  return TEST_START;
}

static void* read_slowly(void* kv) {
  CHECK(has((KVStore*)kv, "key", "value"));
  return NULL;
}

// Whether the main thread sleeps, as the kernel sees it.
static int main_thread_sleeps(void) {
  char path[64];
  char state = '?';
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
  FILE* const file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1) state = '?';
  if (file != NULL) fclose(file);
  return state == 'S';
}

static void* let_the_clock_go_on(void* seen_asleep) {
  for (int looks = 0; looks < 100000 && *(int*)seen_asleep < 50; ++looks) {
    *(int*)seen_asleep += main_thread_sleeps();
    sched_yield();
  }
  __atomic_store_n(&clock_may_go_on, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void closing_sleeps_while_it_waits_for_calls(void) {
  KVStoreOptions options = test_options();
  KVStore* kv = test_open();
  OK(kvstore_put_ttl(kv, "key", 3, "value", 5, TEST_START + 1000));
  OK(kvstore_close(kv));
  options.nowMs = clock_that_waits;
  OK(kvstore_open_ex(test_path("db"), &kv, NULL, &options));
  pthread_t reader;
  pthread_t watcher;
  int seen_asleep = 0;
  clock_calls = 0;
  clock_may_go_on = 0;
  CHECK_INT(pthread_create(&reader, NULL, read_slowly, kv), 0);
  while (__atomic_load_n(&clock_calls, __ATOMIC_SEQ_CST) == 0) sched_yield();
  CHECK_INT(pthread_create(&watcher, NULL, let_the_clock_go_on, &seen_asleep), 0);
  OK(kvstore_close(kv));
  CHECK_INT(pthread_join(reader, NULL), 0);
  CHECK_INT(pthread_join(watcher, NULL), 0);
  CHECK_INT(seen_asleep, 50);
}

int main(void) {
  RUN(the_numbers_are_those_of_snkv);
  RUN(memory_is_zeroed);
  RUN(a_value_comes_back);
  RUN(a_value_survives_closing);
  RUN(bytes_may_be_anything);
  RUN(an_empty_value_is_there_and_null);
  RUN(sizes_have_limits);
  RUN(bad_arguments_are_errors);
  RUN(delete_tells_whether_it_was_there);
  RUN(count_and_clear);
  RUN(get_into_needs_no_memory);
  RUN(compare_and_set_needs_the_expected_value);
  RUN(increment_counts);
  RUN(a_store_without_a_path_is_temporary);
  RUN(open_fails_with_documented_codes);
  RUN(a_read_only_store_refuses_writes);
  RUN(closing_nothing_is_fine);
  RUN(closing_undoes_an_open_transaction);
  RUN(errmsg_tells_every_failure);
  RUN(the_config_of_snkv_is_accepted);
  RUN(nothing_behind_the_config_of_snkv_is_read);
  RUN(options_tell_their_size);
  RUN(a_child_leaves_the_store_of_its_parent_alone);
  RUN(closing_sleeps_while_it_waits_for_calls);
  return test_end();
}
