// SPDX-License-Identifier: Apache-2.0
// Session store: a session ends half an hour after its last request, and outlives the program.
//
// A session is a key with a TTL, and each request puts its expiry off (kvstore_touch). So there is
// no "last seen" to compare with the time and no job that looks for dead sessions: from its expiry
// on, a session is not there. The expiry stands in the file as a moment, not as a duration, so that
// the time for which the program was down counts as well.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstore.h"

static const int64_t kMinute = 60 * 1000;
static const int64_t kIdle = 30 * 60 * 1000;

static int length(const char* text) { return (int)strlen(text); }

static int log_in(KVStore* store, const char* token, const char* user) {
  return kvstore_put_for(store, token, length(token), user, length(user), kIdle) == KVSTORE_OK;
}

// Whether it is a session of `user`. This is what keeps it alive.
static int request(KVStore* store, const char* token, const char* user) {
  char found[64];
  int size = 0;
  if (kvstore_touch(store, token, length(token), kIdle) != KVSTORE_OK) return 0;
  if (kvstore_get_into(store, token, length(token), found, sizeof found, &size) != KVSTORE_OK) {
    return 0;
  }
  return size == length(user) && memcmp(found, user, strlen(user)) == 0;
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static KVStore* open_store(const char* path, int64_t* now) {
  char why[256];
  const KVStoreOptions options = {.size = sizeof options,
                                  .nowMs = read_clock,
                                  .nowArgument = now,
                                  .errorText = why,
                                  .errorTextSize = sizeof why};
  KVStore* store = NULL;
  if (kvstore_open_ex(path, &store, NULL, &options) != KVSTORE_OK) fprintf(stderr, "%s\n", why);
  return store;
}

static int before_the_restart(KVStore* store, int64_t* now) {
  int right =
      log_in(store, "t1", "ann") && log_in(store, "t2", "bob") && log_in(store, "t3", "eve");
  right &= claim("eve logs out", kvstore_delete(store, "t3", 2) == KVSTORE_OK);
  *now += 20 * kMinute;
  right &= claim("ann is here after 20 minutes", request(store, "t1", "ann"));
  return right;
}

static int after_the_restart(KVStore* store, int64_t* now) {
  int64_t left = -1;
  int right = claim("bob, who made no request, is gone after 30", !request(store, "t2", "bob"));
  right &= claim("ann is not", request(store, "t1", "ann"));
  *now += kIdle - 1;
  right &= claim("nor a millisecond before her time", request(store, "t1", "ann"));
  *now += kIdle;
  right &= claim("then she is idle for 30 minutes, and gone", !request(store, "t1", "ann"));
  right &= log_in(store, "t4", "joe");
  *now += kIdle;
  right &= kvstore_purge_expired(store, NULL) == KVSTORE_OK;
  right &= kvstore_count(store, &left) == KVSTORE_OK;
  right &= claim("so is joe; one call cleans up", left == 0);
  return right;
}

int main(void) {
  const char* const names[] = {"sessions.db", "sessions.db-lock", "sessions.db-shm",
                               "sessions.db-wal"};
  char folder[] = "/tmp/mayfly-XXXXXX";
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;

  int64_t now = 1000000;
  KVStore* store = open_store(names[0], &now);
  int right = store != NULL && before_the_restart(store, &now);
  right &= kvstore_close(store) == KVSTORE_OK;
  now += 10 * kMinute;  // for which the program is down
  store = open_store(names[0], &now);
  right &= store != NULL && after_the_restart(store, &now);
  right &= kvstore_close(store) == KVSTORE_OK;

  for (int i = 0; i < 4; ++i) remove(names[i]);
  rmdir(folder);
  return right ? 0 : 1;
}
