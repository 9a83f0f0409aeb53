// SPDX-License-Identifier: Apache-2.0
// The little that our tests in C need: checks that say where they failed, a clock that stands still
// until it is moved, and a store in a folder that is removed.
//
//   static void a_key_is_gone_at_its_deadline(void) { ...; CHECK_INT(rc, KVSTORE_OK); }
//   int main(void) { RUN(a_key_is_gone_at_its_deadline); return test_end(); }
//
// Include it first. All in one header, so that a test is one file.

#pragma once

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): this is C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): this is C
#include <stdio.h>   // NOLINT(modernize-deprecated-headers)
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers)
#include <string.h>  // NOLINT(modernize-deprecated-headers)
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvstore.h"

#define CHECK(condition) test_check(__FILE__, __LINE__, #condition, (condition) != 0, 1)
#define CHECK_INT(actual, expected) \
  test_check(__FILE__, __LINE__, #actual " == " #expected, (int64_t)(actual), (int64_t)(expected))
#define CHECK_TEXT(actual, expected) test_text(__FILE__, __LINE__, #actual, (actual), (expected))

// That a call returned this code.
#define OK(call) CHECK_INT(call, KVSTORE_OK)
#define FAILS(call, code) CHECK_INT(call, code)

#define RUN(test)         \
  do {                    \
    test_begin(#test);    \
    test();               \
    test_remove_folder(); \
  } while (0)

static const char* test_name = "";
static char test_folder[64];
static int test_count = 0;

// Milliseconds since 1970, on some day in 2023. Tests move it instead of sleeping.
#define TEST_START INT64_C(1700000000000)
static int64_t test_now = TEST_START;
static inline int64_t test_clock(void* unused) {
  (void)unused;
  return __atomic_load_n(&test_now, __ATOMIC_SEQ_CST);
}
static inline void test_advance(int64_t ms) { __atomic_fetch_add(&test_now, ms, __ATOMIC_SEQ_CST); }

static inline void test_failed(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: in %s: failed: %s\n", file, line, test_name, what);
  fflush(stderr);
  _exit(1);
}

static inline void test_check(const char* file, int line, const char* what, int64_t actual,
                              int64_t expected) {
  if (actual == expected) return;
  fprintf(stderr, "got %lld, not %lld\n", (long long)actual, (long long)expected);
  test_failed(file, line, what);
}

static inline void test_text(const char* file, int line, const char* what, const char* actual,
                             const char* expected) {
  if (strcmp(actual, expected) == 0) return;
  fprintf(stderr, "got \"%s\", not \"%s\"\n", actual, expected);
  test_failed(file, line, what);
}

static inline int test_remove_one(const char* path, const struct stat* about, int kind,
                                  struct FTW* where) {
  (void)about, (void)kind, (void)where;
  return remove(path);
}

static inline void test_remove_folder(void) {
  if (test_folder[0] != '\0') nftw(test_folder, test_remove_one, 16, FTW_DEPTH | FTW_PHYS);
  test_folder[0] = '\0';
}

static inline void test_begin(const char* name) {
  test_name = name;
  test_now = TEST_START;
  ++test_count;
  strcpy(test_folder, "/tmp/mayfly-capi-XXXXXX");
  if (mkdtemp(test_folder) == NULL) test_failed(__FILE__, __LINE__, "mkdtemp");
}

static inline int test_end(void) {
  printf("%d tests passed\n", test_count);
  return 0;
}

// The path of a file in the test's folder. Valid until the next but three calls.
static inline const char* test_path(const char* name) {
  static char paths[4][128];
  static int next = 0;
  char* const path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
  return path;
}

static inline KVStoreConfig test_config(void) {
  KVStoreConfig config;
  memset(&config, 0, sizeof config);
  return config;
}

static inline KVStoreOptions test_options(void) {
  KVStoreOptions options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.nowMs = test_clock;
  return options;
}

// Opens a store with the test's clock.
static inline int open_with(const char* path, KVStore** kv, const KVStoreConfig* config) {
  const KVStoreOptions options = test_options();
  return kvstore_open_ex(path, kv, config, &options);
}

// Opens the store "db" of the test's folder, with the test's clock.
static inline KVStore* test_open(void) {
  const KVStoreConfig config = test_config();
  KVStore* kv = NULL;
  OK(open_with(test_path("db"), &kv, &config));
  return kv;
}

static inline int put(KVStore* kv, const char* key, const char* value) {
  return kvstore_put(kv, key, (int)strlen(key), value, (int)strlen(value));
}

// With an expiry so many ms from now; may be negative.
static inline int put_ttl(KVStore* kv, const char* key, const char* value, int64_t ms) {
  return kvstore_put_ttl(kv, key, (int)strlen(key), value, (int)strlen(value), test_now + ms);
}

static inline int del(KVStore* kv, const char* key) {
  return kvstore_delete(kv, key, (int)strlen(key));
}

static inline int exists(KVStore* kv, const char* key) {
  int flag = -1;
  OK(kvstore_exists(kv, key, (int)strlen(key), &flag));
  return flag;
}

// Whether a get gave `value`; with NULL, whether it found nothing. Frees what was found.
static inline int is_value(int rc, void* found, int length, const char* value) {
  int same = 0;
  if (value == NULL) {
    same = rc == KVSTORE_NOTFOUND && found == NULL && length == 0;
  } else if (rc == KVSTORE_OK && length == (int)strlen(value)) {
    same = length == 0 || memcmp(found, value, (size_t)length) == 0;
  }
  snkv_free(found);
  return same;
}

static inline int has(KVStore* kv, const char* key, const char* value) {
  void* found = NULL;
  int length = -1;
  const int rc = kvstore_get(kv, key, (int)strlen(key), &found, &length);
  return is_value(rc, found, length, value);
}

static inline int cf_put(KVColumnFamily* cf, const char* key, const char* value) {
  return kvstore_cf_put(cf, key, (int)strlen(key), value, (int)strlen(value));
}

static inline int cf_has(KVColumnFamily* cf, const char* key, const char* value) {
  void* found = NULL;
  int length = -1;
  const int rc = kvstore_cf_get(cf, key, (int)strlen(key), &found, &length);
  return is_value(rc, found, length, value);
}

static inline int64_t count(KVStore* kv) {
  int64_t number = -1;
  OK(kvstore_count(kv, &number));
  return number;
}

// Whether the store finds nothing wrong with itself.
static inline int sound(KVStore* kv) {
  char* message = NULL;
  const int rc = kvstore_integrity_check(kv, &message);
  if (rc != KVSTORE_OK) fprintf(stderr, "%s\n", message == NULL ? kvstore_errmsg(kv) : message);
  snkv_free(message);
  return rc == KVSTORE_OK;
}

// The keys that an iterator still has before it, joined by spaces. It is at its end afterwards.
static inline const char* rest_of(KVIterator* it, int forward) {
  static char text[4096];
  text[0] = '\0';
  while (!kvstore_iterator_eof(it)) {
    void* key = NULL;
    int length = 0;
    OK(kvstore_iterator_key(it, &key, &length));
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", text[0] ? " " : "", length,
             (const char*)key);
    OK(forward ? kvstore_iterator_next(it) : kvstore_iterator_prev(it));
  }
  return text;
}

// All keys of the default family, as above.
static inline const char* all_keys(KVStore* kv) {
  KVIterator* it = NULL;
  OK(kvstore_iterator_create(kv, &it));
  OK(kvstore_iterator_first(it));
  const char* const keys = rest_of(it, 1);
  kvstore_iterator_close(it);
  return keys;
}

// Runs `child` in a process of its own, which opens what it needs.
static inline void in_another_process(void (*child)(void)) {
  fflush(NULL);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    child();
    _exit(0);
  }
  int status = -1;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK_INT(status, 0);
}
