// SPDX-License-Identifier: Apache-2.0
// Handles shared by threads: rows B3 to B7 and D13 of the lessons. Runs under TSan, too.

#include "capi/tests/test.h"

typedef struct Shared {
  KVStore* kv;
  KVColumnFamily* cf;
  const char* name;
  int rounds;
  int stop;  // atomic
} Shared;

static int stopped(Shared* shared) { return __atomic_load_n(&shared->stop, __ATOMIC_SEQ_CST); }
static void stop(Shared* shared) { __atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST); }

static pthread_t start(void* (*body)(void*), Shared* shared) {
  pthread_t thread;
  OK(pthread_create(&thread, NULL, body, shared));
  return thread;
}

static void* leave_open(void* argument) {
  Shared* const my = argument;
  OK(kvstore_begin(my->kv, 1));
  OK(kvstore_put(my->kv, "left", 4, "v", 1));
  return NULL;
}

static void in_another_thread(void* (*body)(void*), Shared* shared) {
  OK(pthread_join(start(body, shared), NULL));
}

static void* write_own_family(void* argument) {
  Shared* const my = argument;
  char key[32];
  int purged = 0;
  for (int i = 0; i < my->rounds; ++i) {
    snprintf(key, sizeof key, "%s%d", my->name, i);
    OK(cf_put(my->cf, key, key));
    OK(kvstore_cf_put_ttl(my->cf, "brief", 5, "v", 1, test_clock(NULL) + (i % 3) - 1));
    CHECK(cf_has(my->cf, key, key));
    if (i % 7 == 0) OK(kvstore_cf_purge_expired(my->cf, &purged));
    (void)cf_has(my->cf, "brief", NULL);  // removes it if it has expired
  }
  return NULL;
}

// Nobody sets fullMutex, and no call fails, whether or not there is a busy timeout.
static void share_a_handle(int busy_timeout) {
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  config.busyTimeout = busy_timeout;
  OK(open_with(test_path("db"), &kv, &config));
  Shared shared[3] = {{kv, NULL, "a", 150, 0}, {kv, NULL, "b", 150, 0}, {kv, NULL, "c", 150, 0}};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) OK(kvstore_cf_create(kv, shared[i].name, &shared[i].cf));
  for (int i = 0; i < 3; ++i) threads[i] = start(write_own_family, &shared[i]);
  for (int i = 0; i < 3; ++i) OK(pthread_join(threads[i], NULL));
  for (int i = 0; i < 3; ++i) {
    int64_t n = 0;
    (void)kvstore_cf_delete(shared[i].cf, "brief", 5);
    OK(kvstore_cf_count(shared[i].cf, &n));
    CHECK_INT(n, 150);
    kvstore_cf_close(shared[i].cf);
    OK(kvstore_cf_drop(kv, shared[i].name));
  }
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void b03_threads_share_a_handle_without_asking(void) {
  share_a_handle(0);
  share_a_handle(60000);
}

// Nobody else could end it, and nobody could write any more.
static void a_transaction_that_is_left_open_is_undone_with_its_thread(void) {
  KVStoreConfig config = test_config();
  Shared shared = {0};
  config.busyTimeout = 60000;
  OK(open_with(test_path("db"), &shared.kv, &config));
  for (int i = 0; i < 3; ++i) in_another_thread(leave_open, &shared);
  OK(kvstore_put(shared.kv, "key", 3, "value", 5));
  int64_t n = 0;
  OK(kvstore_count(shared.kv, &n));
  CHECK_INT(n, 1);
  CHECK(sound(shared.kv));
  OK(kvstore_close(shared.kv));
}

// Every key is there twice, or not at all, in the eyes of an iterator.
static void* walk(void* argument) {
  Shared* const my = argument;
  for (int i = 0; i < my->rounds; ++i) {
    KVIterator* it = NULL;
    int seen = 0;
    OK(kvstore_iterator_create(my->kv, &it));
    for (OK(kvstore_iterator_first(it)); !kvstore_iterator_eof(it); OK(kvstore_iterator_next(it))) {
      void* key = NULL;
      void* value = NULL;
      int key_length = 0;
      int value_length = 0;
      OK(kvstore_iterator_key(it, &key, &key_length));
      OK(kvstore_iterator_value(it, &value, &value_length));
      CHECK_INT(key_length, value_length);
      CHECK(memcmp(key, value, (size_t)key_length) == 0);
      ++seen;
    }
    CHECK_INT(seen % 2, 0);
    kvstore_iterator_close(it);
  }
  stop(my);
  return NULL;
}

static void b04_a_writer_does_not_disturb_iterators(void) {
  KVStore* const kv = test_open();
  Shared shared = {kv, NULL, NULL, 60, 0};
  const pthread_t thread = start(walk, &shared);
  char key[2][16];
  for (int i = 0; !stopped(&shared); ++i) {
    OK(kvstore_begin(kv, 1));
    for (int twin = 0; twin < 2; ++twin) {
      snprintf(key[twin], sizeof key[twin], "%c%d", "ab"[twin], i % 50);
      const int there = exists(kv, key[twin]);
      OK(there ? del(kv, key[twin]) : put_ttl(kv, key[twin], key[twin], 1000));
    }
    OK(kvstore_commit(kv));
  }
  OK(pthread_join(thread, NULL));
  CHECK(sound(kv));
  OK(kvstore_close(kv));
}

static void* use_while_another_writes(void* argument) {
  Shared* const my = argument;
  CHECK(has(my->kv, "k", "before"));
  CHECK(has(my->kv, "new", NULL));
  FAILS(put(my->kv, "other", "v"), KVSTORE_BUSY);
  CHECK(strcmp(kvstore_errmsg(my->kv), "no error") != 0);
  FAILS(kvstore_begin(my->kv, 1), KVSTORE_BUSY);
  OK(kvstore_commit(my->kv));  // there is nothing of its own to commit
  OK(kvstore_rollback(my->kv));
  CHECK(has(my->kv, "k", "before"));
  OK(kvstore_begin(my->kv, 0));
  CHECK(has(my->kv, "k", "before"));
  FAILS(put(my->kv, "k", "v"), KVSTORE_READONLY);
  FAILS(kvstore_close(my->kv), KVSTORE_BUSY);
  OK(kvstore_rollback(my->kv));
  return NULL;
}

static void* put_other(void* argument) {
  Shared* const my = argument;
  OK(put(my->kv, "other", "v"));
  CHECK_TEXT(kvstore_errmsg(my->kv), "no error");
  return NULL;
}

static void b05_a_transaction_belongs_to_its_thread(void) {
  KVStore* const kv = test_open();
  Shared shared = {kv, NULL, NULL, 0, 0};
  OK(put(kv, "k", "before"));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "k", "inside"));
  OK(put(kv, "new", "inside"));
  in_another_thread(use_while_another_writes, &shared);
  CHECK_TEXT(kvstore_errmsg(kv), "no error");
  CHECK(has(kv, "k", "inside"));
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "k", "before"));
  CHECK(has(kv, "new", NULL));
  OK(kvstore_begin(kv, 0));
  in_another_thread(put_other, &shared);
  CHECK(has(kv, "other", NULL));
  OK(kvstore_rollback(kv));
  CHECK(has(kv, "other", "v"));
  OK(kvstore_close(kv));
}

// One that waits for the writer would wait for ever, since the writer waits for it.
static void* read_only_things(void* argument) {
  Shared* const my = argument;
  for (int i = 0; i < my->rounds; ++i) {
    CHECK(has(my->kv, "k", "before"));
    CHECK(has(my->kv, "dead", NULL));
    CHECK_TEXT(my->name, "reader");
  }
  return NULL;
}

static void b06_readers_wait_for_nobody(void) {
  KVStore* const kv = test_open();
  Shared shared = {kv, NULL, "reader", 200, 0};
  pthread_t threads[3];
  OK(put(kv, "k", "before"));
  OK(put_ttl(kv, "dead", "v", -1));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "k", "inside"));
  for (int i = 0; i < 3; ++i) threads[i] = start(read_only_things, &shared);
  for (int i = 0; i < 3; ++i) OK(pthread_join(threads[i], NULL));
  OK(kvstore_commit(kv));
  CHECK(has(kv, "k", "inside"));
  OK(kvstore_close(kv));
}

// Uses its own handles until the store is closed under it, then finds that all say so.
static void* use_until_closed(void* argument) {
  Shared* const my = argument;
  KVIterator* it = NULL;
  OK(kvstore_cf_iterator_create(my->cf, &it));
  __atomic_fetch_add(&my->rounds, 1, __ATOMIC_SEQ_CST);
  int code = KVSTORE_OK;
  while (code == KVSTORE_OK) {
    code = kvstore_iterator_first(it);
    if (code == KVSTORE_OK) code = cf_put(my->cf, "k", "v");
    if (code == KVSTORE_OK) code = cf_has(my->cf, "k", "v") ? KVSTORE_OK : KVSTORE_ERROR;
  }
  CHECK_INT(code, KVSTORE_ERROR);
  FAILS(cf_put(my->cf, "k", "v"), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  return NULL;
}

static void b07_closing_waits_for_calls_and_stops_new_ones(void) {
  for (int round = 0; round < 10; ++round) {
    KVStore* const kv = test_open();
    Shared shared = {kv, NULL, NULL, 0, 0};
    pthread_t threads[3];
    OK(kvstore_cf_get_default(kv, &shared.cf));
    for (int i = 0; i < 3; ++i) threads[i] = start(use_until_closed, &shared);
    while (__atomic_load_n(&shared.rounds, __ATOMIC_SEQ_CST) < 3) sched_yield();
    OK(kvstore_close(kv));
    for (int i = 0; i < 3; ++i) OK(pthread_join(threads[i], NULL));
    kvstore_cf_close(shared.cf);
  }
}

static void* fail_in_its_own_way(void* argument) {
  Shared* const my = argument;
  for (int i = 0; i < my->rounds; ++i) {
    KVColumnFamily* cf = NULL;
    FAILS(kvstore_cf_open(my->kv, my->name, &cf), KVSTORE_NOTFOUND);
    CHECK(strstr(kvstore_errmsg(my->kv), my->name) != NULL);
  }
  return NULL;
}

static void a_thread_sees_its_own_message(void) {
  KVStore* const kv = test_open();
  Shared one = {kv, NULL, "first name", 200, 0};
  Shared two = {kv, NULL, "second name", 200, 0};
  const pthread_t threads[] = {start(fail_in_its_own_way, &one), start(fail_in_its_own_way, &two)};
  for (int i = 0; i < 2; ++i) OK(pthread_join(threads[i], NULL));
  CHECK_TEXT(kvstore_errmsg(kv), "no error");
  OK(kvstore_close(kv));
}

static void* wait_in_vain(void* argument) {
  (void)argument;
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  config.busyTimeout = 60;
  OK(open_with(test_path("db"), &kv, &config));
  const int64_t began = kvstore_now_ms();
  FAILS(put(kv, "k", "v"), KVSTORE_BUSY);
  CHECK(kvstore_now_ms() - began >= 59);  // the two clocks may be read on either side of a tick
  OK(kvstore_close(kv));
  return NULL;
}

static void a_writer_waits_as_long_as_it_was_told(void) {
  KVStore* const kv = test_open();
  OK(kvstore_begin(kv, 1));
  in_another_thread(wait_in_vain, NULL);
  OK(kvstore_rollback(kv));
  OK(kvstore_close(kv));
}

static void* take_the_lock_again_and_again(void* argument) {
  Shared* const my = argument;
  KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  config.busyTimeout = 60000;
  OK(open_with(test_path("db"), &kv, &config));
  while (!stopped(my)) {
    OK(kvstore_begin(kv, 1));
    OK(kvstore_rollback(kv));
  }
  OK(kvstore_close(kv));
  return NULL;
}

// Another handle takes the write lock whenever it can, so that purges are cut short with
// KVSTORE_BUSY; whether or not one is, it tells exactly what it removed.
static void d13_a_purge_that_is_cut_short_tells_what_it_removed(void) {
  KVStore* const kv = test_open();
  Shared shared = {kv, NULL, NULL, 0, 0};
  char key[16];
  OK(kvstore_begin(kv, 1));
  for (int i = 0; i < 3000; ++i) {
    snprintf(key, sizeof key, "k%04d", i);
    OK(put_ttl(kv, key, "v", -1));
  }
  OK(kvstore_commit(kv));
  const pthread_t thread = start(take_the_lock_again_and_again, &shared);
  int64_t left = 3000;
  while (left > 0) {
    int n = -1;
    const int code = kvstore_purge_expired(kv, &n);
    CHECK(code == KVSTORE_OK || code == KVSTORE_BUSY);
    left -= n;
    CHECK_INT(count(kv), left);
  }
  stop(&shared);
  OK(pthread_join(thread, NULL));
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(b03_threads_share_a_handle_without_asking);
  RUN(b04_a_writer_does_not_disturb_iterators);
  RUN(b05_a_transaction_belongs_to_its_thread);
  RUN(a_transaction_that_is_left_open_is_undone_with_its_thread);
  RUN(b06_readers_wait_for_nobody);
  RUN(b07_closing_waits_for_calls_and_stops_new_ones);
  RUN(a_thread_sees_its_own_message);
  RUN(a_writer_waits_as_long_as_it_was_told);
  RUN(d13_a_purge_that_is_cut_short_tells_what_it_removed);
  return test_end();
}
