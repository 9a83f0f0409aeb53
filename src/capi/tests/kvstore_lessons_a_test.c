// SPDX-License-Identifier: Apache-2.0
// Part A of the lessons: what SNKV does wrong to data, and here must be right. A function for each
// row.
//
// Rows that do not apply: A16 and A17 are about encryption, which there is none of. A13 and A14 are
// about logs and journals; what their users wanted, that an idle reader stops nobody, is tested.

#include "capi/tests/test.h"

static int64_t expired_count(KVStore* kv) {
  int64_t n = -1;
  OK(kvstore_count_expired(kv, &n));
  return n;
}

static void touch_by_get(KVStore* kv) { CHECK(has(kv, "dead", NULL)); }
static void touch_by_exists(KVStore* kv) { CHECK_INT(exists(kv, "dead"), 0); }
static void touch_by_get_ttl(KVStore* kv) {
  void* value = NULL;
  int length = 0;
  int64_t left = -7;
  FAILS(kvstore_get_ttl(kv, "dead", 4, &value, &length, &left), KVSTORE_NOTFOUND);
  CHECK_INT(left, 0);
}
static void touch_by_ttl_remaining(KVStore* kv) {
  int64_t left = -7;
  OK(kvstore_ttl_remaining(kv, "dead", 4, &left));
  CHECK_INT(left, 0);
}
static void touch_by_iterator(KVStore* kv) { CHECK(strstr(all_keys(kv), "dead") == NULL); }
static void touch_by_delete(KVStore* kv) { FAILS(del(kv, "dead"), KVSTORE_NOTFOUND); }
static void touch_by_get_into(KVStore* kv) {
  int length = 0;
  FAILS(kvstore_get_into(kv, "dead", 4, NULL, 0, &length), KVSTORE_NOTFOUND);
}

static void (*const kTouches[])(KVStore*) = {
    touch_by_get,      touch_by_exists, touch_by_get_ttl, touch_by_ttl_remaining,
    touch_by_iterator, touch_by_delete, touch_by_get_into};
enum { kTouchCount = sizeof kTouches / sizeof kTouches[0] };

static void a01_an_expired_key_does_not_commit_the_transaction(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  for (int i = 0; i < kTouchCount; ++i) {
    OK(put(kv, "kept", "before"));
    OK(put_ttl(kv, "dead", "v", -1));
    OK(kvstore_begin(kv, 1));
    OK(put(kv, "kept", "inside"));
    kTouches[i](kv);
    CHECK(has(other, "kept", "before"));
    OK(put(kv, "later", "inside"));
    CHECK(has(other, "later", NULL));
    FAILS(put(other, "x", "y"), KVSTORE_BUSY);
    OK(kvstore_rollback(kv));
    CHECK(has(kv, "kept", "before"));
    CHECK(has(kv, "later", NULL));
    CHECK_INT(expired_count(kv), 1);
    CHECK(sound(kv));
  }
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

// The same with a commit: what was expired goes with it, and a key that was found expired and then
// written anew stays.
static void a01_a_commit_takes_the_expired_key_along(void) {
  KVStore* const kv = test_open();
  for (int i = 0; i < kTouchCount; ++i) {
    OK(put_ttl(kv, "dead", "v", -1));
    OK(kvstore_begin(kv, 1));
    kTouches[i](kv);
    OK(kvstore_commit(kv));
    CHECK_INT(count(kv), kTouches[i] == touch_by_iterator ? 1 : 0);  // that leaves it to a purge

    OK(put_ttl(kv, "dead", "v", -1));
    OK(kvstore_begin(kv, 1));
    kTouches[i](kv);
    OK(i % 2 ? put(kv, "dead", "alive") : put_ttl(kv, "dead", "alive", 1000));
    OK(kvstore_commit(kv));
    CHECK(has(kv, "dead", "alive"));
    CHECK(sound(kv));
    OK(kvstore_clear(kv));
  }
  OK(kvstore_close(kv));
}

static void a02_a_purge_does_not_commit_the_transaction(void) {
  KVStore* const kv = test_open();
  int n = -1;
  int64_t all = -1;
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  OK(kvstore_purge_expired(kv, &n));
  CHECK_INT(n, 0);
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", NULL));

  for (int i = 0; i < 3; ++i) OK(kvstore_put_ttl(kv, &"xyz"[i], 1, "v", 1, test_now - 1));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "a", "1"));
  OK(kvstore_purge_expired_limit(kv, 1, &all));
  CHECK_INT(all, 1);
  OK(kvstore_purge_expired(kv, &n));
  CHECK_INT(n, 2);
  OK(kvstore_purge_all(kv, 0, &all));
  CHECK_INT(all, 0);
  CHECK_INT(count(kv), 1);
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "a", NULL));
  CHECK_INT(count(kv), 3);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a03_rolling_back_the_first_expiry_leaves_nothing_behind(void) {
  KVStore* kv = test_open();
  KVColumnFamily* one = NULL;
  KVColumnFamily* two = NULL;
  int64_t n = 0;
  OK(put(kv, "a", "1"));
  OK(kvstore_begin(kv, 1));
  OK(put_ttl(kv, "a", "2", 10));
  OK(kvstore_rollback(kv));
  OK(kvstore_cf_create(kv, "one", &one));
  OK(kvstore_cf_create(kv, "two", &two));
  OK(put_ttl(kv, "b", "2", 10));
  OK(kvstore_cf_count(one, &n));
  CHECK_INT(n, 0);
  OK(kvstore_cf_count(two, &n));
  CHECK_INT(n, 0);
  CHECK(sound(kv));
  kvstore_cf_close(one);
  kvstore_cf_close(two);
  OK(kvstore_close(kv));

  kv = test_open();
  CHECK(has(kv, "a", "1"));
  OK(kvstore_ttl_remaining(kv, "b", 1, &n));
  CHECK_INT(n, 10);
  test_advance(10);
  CHECK(has(kv, "b", NULL));
  CHECK(has(kv, "a", "1"));
  OK(kvstore_close(kv));
}

static void a04_after_a_rollback_keys_still_expire(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "t", "v", 10));
  for (int way = 0; way < 4; ++way) {
    OK(kvstore_begin(kv, 1));
    if (way == 0) OK(put(kv, "t", "permanent"));
    if (way == 1) OK(del(kv, "t"));
    if (way == 2) OK(kvstore_clear(kv));
    if (way == 3) OK(kvstore_persist(kv, "t", 1, NULL));
    OK(kvstore_rollback(kv));
    CHECK(has(kv, "t", "v"));
  }
  test_advance(10);
  CHECK_TEXT(all_keys(kv), "");
  CHECK_INT(exists(kv, "t"), 0);
  CHECK(has(kv, "t", NULL));
  OK(kvstore_close(kv));
}

static void a05_what_can_not_be_removed_stays_expired(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  KVStore* reader = NULL;
  KVStoreConfig config = test_config();
  config.readOnly = 1;
  OK(put_ttl(kv, "dead", "v", 10));
  OK(open_with(test_path("db"), &reader, &config));
  OK(kvstore_begin(other, 1));  // so that nobody else can remove anything
  test_advance(10);
  KVStore* const handles[] = {kv, reader};
  for (int h = 0; h < 2; ++h) {
    for (int round = 0; round < 3; ++round) {
      touch_by_get_ttl(handles[h]);
      touch_by_ttl_remaining(handles[h]);
      touch_by_get(handles[h]);
      touch_by_exists(handles[h]);
      touch_by_iterator(handles[h]);
    }
    CHECK_INT(count(handles[h]), 1);
  }
  OK(kvstore_rollback(other));
  touch_by_get(reader);
  OK(put(kv, "other", "v"));  // takes it along
  CHECK_INT(count(reader), 1);
  OK(kvstore_close(reader));
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void a06_child(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "from child", "v", 10));
  OK(kvstore_close(kv));
}

static void a06_a_handle_knows_expiries_that_others_began(void) {
  in_another_process(a06_child);  // makes the file; the next one finds it open already
  KVStore* const b = test_open();
  OK(kvstore_clear(b));
  KVStore* const a = test_open();
  OK(put_ttl(a, "t", "v", 10));
  CHECK(has(b, "t", "v"));
  test_advance(10);
  int64_t left = -7;
  OK(kvstore_ttl_remaining(b, "t", 1, &left));
  CHECK_INT(left, 0);
  CHECK(has(b, "t", NULL));
  OK(put_ttl(a, "u", "v", -1));
  int n = 0;
  OK(kvstore_purge_expired(b, &n));
  CHECK_INT(n, 1);
  OK(kvstore_close(a));
  OK(kvstore_close(b));
}

static void a07_child(void) {
  KVStore* const kv = test_open();
  OK(put_ttl(kv, "t", "theirs", 10));
  OK(kvstore_close(kv));
}

static void a07_a_permanent_value_is_never_expired_by_an_older_ttl(void) {
  in_another_process(a07_child);
  KVStore* const a = test_open();
  KVStore* const b = test_open();
  OK(put_ttl(a, "u", "theirs", 10));
  OK(put(b, "t", "mine"));
  OK(put(b, "u", "mine"));
  test_advance(1000);
  int n = -1;
  OK(kvstore_purge_expired(a, &n));
  CHECK_INT(n, 0);
  CHECK(has(a, "t", "mine"));
  CHECK(has(b, "u", "mine"));
  OK(kvstore_close(a));
  OK(kvstore_close(b));
}

static void a08_two_handles_of_one_family_agree(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* a = NULL;
  KVColumnFamily* b = NULL;
  OK(kvstore_cf_create(kv, "cf", &a));
  OK(kvstore_cf_open(kv, "cf", &b));
  OK(kvstore_cf_put_ttl(a, "t", 1, "v", 1, test_now + 10));
  OK(kvstore_cf_put_ttl(a, "u", 1, "v", 1, test_now + 10));
  OK(cf_put(b, "u", "mine"));
  test_advance(10);
  CHECK(cf_has(b, "t", NULL));
  int n = -1;
  OK(kvstore_cf_purge_expired(a, &n));
  CHECK_INT(n, 1);
  OK(kvstore_cf_purge_expired(b, &n));
  CHECK_INT(n, 0);
  CHECK(cf_has(a, "u", "mine"));
  kvstore_cf_close(a);
  kvstore_cf_close(b);
  OK(kvstore_close(kv));
}

static void a09_dropping_a_family_does_not_touch_the_others(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* cf[5] = {NULL};
  char name[8];
  OK(put_ttl(kv, "t", "main", 10));
  for (int i = 0; i < 5; ++i) {
    snprintf(name, sizeof name, "cf%d", i);
    OK(kvstore_cf_create(kv, name, &cf[i]));
    OK(cf_put(cf[i], "k", name));
    OK(kvstore_cf_put_ttl(cf[i], "t", 1, name, 3, test_now + 10));
  }
  kvstore_cf_close(cf[1]);
  OK(kvstore_cf_drop(kv, "cf1"));
  for (int i = 0; i < 5; ++i) {
    if (i == 1) continue;
    snprintf(name, sizeof name, "cf%d", i);
    CHECK(cf_has(cf[i], "k", name));
    CHECK(cf_has(cf[i], "t", name));
    OK(cf_put(cf[i], "k2", name));
    OK(kvstore_cf_put_ttl(cf[i], "t2", 2, name, 3, test_now + 20));
  }
  test_advance(10);
  CHECK(has(kv, "t", NULL));
  for (int i = 0; i < 5; ++i) {
    if (i == 1) continue;
    CHECK(cf_has(cf[i], "t", NULL));
    kvstore_cf_close(cf[i]);
  }
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a10_a_family_whose_creation_was_rolled_back_harms_nobody(void) {
  KVStore* const kv = test_open();
  KVColumnFamily* zombie = NULL;
  KVColumnFamily* cf = NULL;
  void* value = NULL;
  int n = 0;
  OK(put(kv, "a", "1"));
  OK(kvstore_begin(kv, 1));
  OK(kvstore_cf_create(kv, "cf", &zombie));
  OK(cf_put(zombie, "k", "v"));
  OK(kvstore_rollback(kv));
  FAILS(cf_put(zombie, "k", "v"), KVSTORE_ERROR);
  FAILS(kvstore_cf_get(zombie, "k", 1, &value, &n), KVSTORE_ERROR);
  FAILS(kvstore_cf_put_ttl(zombie, "k", 1, "v", 1, test_now + 1), KVSTORE_ERROR);
  CHECK(strcmp(kvstore_errmsg(kv), "no error") != 0);
  CHECK(has(kv, "a", "1"));
  OK(put(kv, "a", "2"));
  OK(kvstore_cf_create(kv, "cf", &cf));
  FAILS(cf_put(zombie, "k", "v"), KVSTORE_ERROR);
  CHECK(cf_has(cf, "k", NULL));
  kvstore_cf_close(zombie);
  kvstore_cf_close(cf);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a11_child(void) {
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  config.busyTimeout = 60000;
  OK(open_with(test_path("db"), &kv, &config));
  char key[16];
  for (int i = 0; i < 300; ++i) {
    snprintf(key, sizeof key, "child%d", i);
    CHECK_INT(exists(kv, "shared"), 1);
    OK(put(kv, key, "v"));
    OK(put(kv, "shared", "v"));
  }
  OK(kvstore_close(kv));
}

static void a11_two_handles_and_two_processes_read_and_write(void) {
  KVStore* const a = test_open();
  KVStore* const b = test_open();
  KVIterator* it = NULL;
  OK(put(a, "shared", "v"));
  OK(kvstore_iterator_create(a, &it));
  OK(kvstore_iterator_first(it));
  CHECK_INT(count(a), 1);
  OK(put(b, "k", "from b"));
  OK(put(a, "k", "from a"));
  CHECK(has(b, "k", "from a"));
  kvstore_iterator_close(it);
  OK(kvstore_close(b));
  OK(kvstore_close(a));

  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    a11_child();
    _exit(0);
  }
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  config.busyTimeout = 60000;
  OK(open_with(test_path("db"), &kv, &config));
  char key[16];
  for (int i = 0; i < 300; ++i) {
    snprintf(key, sizeof key, "parent%d", i);
    CHECK_INT(exists(kv, "shared"), 1);
    OK(put(kv, key, "v"));
    OK(put(kv, "shared", "w"));
  }
  int status = -1;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK_INT(status, 0);
  CHECK_INT(count(kv), 602);
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a12_child(void) {
  KVStore* const kv = test_open();
  OK(put(kv, "k", "from another process"));
  OK(kvstore_close(kv));
}

static void a12_a_reader_sees_every_commit_of_others(void) {
  in_another_process(a12_child);
  KVStore* const reader = test_open();
  CHECK(has(reader, "k", "from another process"));
  KVStore* const writer = test_open();
  char value[16];
  for (int i = 0; i < 100; ++i) {
    snprintf(value, sizeof value, "%d", i);
    OK(put(writer, "k", value));
    CHECK(has(reader, "k", value));
  }
  OK(kvstore_close(writer));
  OK(kvstore_close(reader));
}

// With a checkpoint after every 500 puts the file has all the pages it needs after the second.
static void a13_an_idle_reader_does_not_make_the_file_grow(void) {
  KVStore* const reader = test_open();
  KVStore* const writer = test_open();
  char value[1000];
  struct stat about;
  int64_t early = 0;
  memset(value, 'v', sizeof value);
  CHECK(has(reader, "k", NULL));
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 500; ++i) OK(kvstore_put(writer, "k", 1, value, sizeof value));
    OK(kvstore_checkpoint(writer, KVSTORE_CHECKPOINT_TRUNCATE, NULL, NULL));
    CHECK_INT(stat(test_path("db"), &about), 0);
    if (round == 2) early = about.st_size;
  }
  CHECK(about.st_size <= early + early / 10);
  OK(kvstore_close(writer));
  OK(kvstore_close(reader));
}

static void a14_an_idle_handle_stops_no_writer(void) {
  KVStoreConfig config = test_config();
  config.journalMode = KVSTORE_JOURNAL_DELETE;
  KVStore* idle = NULL;
  KVStore* writer = NULL;
  OK(open_with(test_path("db"), &idle, &config));
  CHECK(has(idle, "k", NULL));
  OK(open_with(test_path("db"), &writer, &config));
  OK(put(writer, "k", "v"));
  CHECK(has(idle, "k", "v"));
  OK(kvstore_close(idle));
  OK(kvstore_close(writer));
}

static void a15_an_iterator_sees_one_moment(void) {
  KVStore* const kv = test_open();
  KVStore* const other = test_open();
  char key[16];
  OK(kvstore_begin(kv, 1));
  for (int i = 0; i < 2000; ++i) {
    snprintf(key, sizeof key, "k%04d", i);
    OK(put(kv, key, "old"));
  }
  OK(kvstore_commit(kv));
  KVIterator* it = NULL;
  OK(kvstore_iterator_create(kv, &it));
  int seen = 0;
  for (OK(kvstore_iterator_first(it)); !kvstore_iterator_eof(it); OK(kvstore_iterator_next(it))) {
    void* value = NULL;
    int length = 0;
    OK(kvstore_iterator_value(it, &value, &length));
    CHECK(length == 3 && memcmp(value, "old", 3) == 0);
    snprintf(key, sizeof key, "k%04d", 1999 - seen);
    if (seen % 10 == 0) OK(put(seen % 20 ? kv : other, key, "new"));
    if (seen % 10 == 5) OK(del(other, key));
    ++seen;
  }
  CHECK_INT(seen, 2000);
  kvstore_iterator_close(it);
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

// A process that dies while it makes a store leaves nothing, or an empty file, or a store; each of
// them opens. An empty file is the one that another program can make, too.
static void a18_child(void) {
  KVStore* const kv = test_open();
  OK(put(kv, "k", "v"));
  _exit(0);  // without closing
}

static void a18_a_store_that_was_never_finished_opens(void) {
  fclose(fopen(test_path("db"), "w"));
  KVStore* kv = test_open();
  OK(put(kv, "k", "v"));
  OK(kvstore_close(kv));
  OK(unlink(test_path("db")));
  in_another_process(a18_child);
  kv = test_open();
  CHECK(has(kv, "k", "v"));
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void a19_a_negative_length_is_refused(void) {
  KVStore* const kv = test_open();
  int n = 0;
  OK(put(kv, "k", "v"));
  FAILS(kvstore_put(kv, "k", 1, "v", -1), KVSTORE_ERROR);
  FAILS(kvstore_put(kv, "k", 1, NULL, -1), KVSTORE_ERROR);
  FAILS(kvstore_put_ttl(kv, "k", 1, "v", -1, test_now + 5), KVSTORE_ERROR);
  FAILS(kvstore_put_if_absent(kv, "new", 3, "v", -2147483647 - 1, 0, &n), KVSTORE_ERROR);
  CHECK(has(kv, "k", "v"));
  CHECK_TEXT(all_keys(kv), "k");
  CHECK_INT(count(kv), 1);
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(a01_an_expired_key_does_not_commit_the_transaction);
  RUN(a01_a_commit_takes_the_expired_key_along);
  RUN(a02_a_purge_does_not_commit_the_transaction);
  RUN(a03_rolling_back_the_first_expiry_leaves_nothing_behind);
  RUN(a04_after_a_rollback_keys_still_expire);
  RUN(a05_what_can_not_be_removed_stays_expired);
  RUN(a06_a_handle_knows_expiries_that_others_began);
  RUN(a07_a_permanent_value_is_never_expired_by_an_older_ttl);
  RUN(a08_two_handles_of_one_family_agree);
  RUN(a09_dropping_a_family_does_not_touch_the_others);
  RUN(a10_a_family_whose_creation_was_rolled_back_harms_nobody);
  RUN(a11_two_handles_and_two_processes_read_and_write);
  RUN(a12_a_reader_sees_every_commit_of_others);
  RUN(a13_an_idle_reader_does_not_make_the_file_grow);
  RUN(a14_an_idle_handle_stops_no_writer);
  RUN(a15_an_iterator_sees_one_moment);
  RUN(a18_a_store_that_was_never_finished_opens);
  RUN(a19_a_negative_length_is_refused);
  return test_end();
}
