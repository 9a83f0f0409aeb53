// SPDX-License-Identifier: Apache-2.0
// Idempotency keys: a request that is sent twice, since the answer was lost, is done once.
//
// The client names each request; the answer is kept under that name for a day, the longest that a
// client tries again. Its expiry is all the housekeeping there is: without it, either answers would
// pile up forever or a job would have to find the old ones.
//
// What the request changes and its answer are written in one transaction. So a crash leaves both or
// neither, and there is no moment at which a request is half done.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kvstore.h"

static const int64_t kWindow = 24 * 60 * 60 * 1000;

// Writes into `answer` what is answered to the request: as the first time, if there was one within
// the window. Whether it could. Part of the transaction that is open.
static int charge(KVStore* store, const char* request, int64_t amount, char* answer, int size) {
  const int length = (int)strlen(request);
  int found = 0;
  int64_t balance = 0;
  const int result = kvstore_get_into(store, request, length, answer, size - 1, &found);
  if (result == KVSTORE_OK && found < size) {
    answer[found] = '\0';
    return 1;
  }
  if (result != KVSTORE_NOTFOUND) return 0;  // it may have been done: do nothing
  if (kvstore_increment(store, "balance", 7, -amount, &balance) != KVSTORE_OK) return 0;
  found = snprintf(answer, (size_t)size, "charged %" PRId64 ", left %" PRId64, amount, balance);
  return kvstore_put_for(store, request, length, answer, found, kWindow) == KVSTORE_OK;
}

static int serve(KVStore* store, const char* request, int64_t amount, char* answer, int size) {
  if (kvstore_begin(store, 1) != KVSTORE_OK) return 0;
  if (charge(store, request, amount, answer, size)) return kvstore_commit(store) == KVSTORE_OK;
  kvstore_rollback(store);  // the client may try again
  return 0;
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

static int answers(KVStore* store, const char* request, int64_t amount, const char* expected) {
  char answer[64] = "";
  return serve(store, request, amount, answer, sizeof answer) && strcmp(answer, expected) == 0;
}

static int balance_is(KVStore* store, int64_t expected) {
  int64_t balance = 0;
  return kvstore_increment(store, "balance", 7, 0, &balance) == KVSTORE_OK && balance == expected;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static int tell(KVStore* store, int64_t* now) {
  char answer[64];
  int right = kvstore_put(store, "balance", 7, "100", 3) == KVSTORE_OK;
  right &= claim("the first request is done", answers(store, "r1", 30, "charged 30, left 70"));
  *now += 1000;
  right &= claim("another one, too", answers(store, "r2", 5, "charged 5, left 65"));
  right &= claim("the first, sent again, gets its answer",
                 answers(store, "r1", 30, "charged 30, left 70"));
  right &= claim("and is not done again", balance_is(store, 65));

  right &= kvstore_begin(store, 1) == KVSTORE_OK;
  right &= charge(store, "r3", 30, answer, sizeof answer);
  kvstore_rollback(store);  // as a crash just before the commit does
  right &= claim("a crash undoes all of a request", balance_is(store, 65));
  right &= claim("so that it can be sent again", answers(store, "r3", 30, "charged 30, left 35"));

  int64_t left = 0;
  *now += kWindow - 1000;
  right &=
      claim("a day later the name means nothing", answers(store, "r1", 30, "charged 30, left 5"));
  *now += kWindow;
  right &= kvstore_purge_expired(store, NULL) == KVSTORE_OK;
  right &= kvstore_count(store, &left) == KVSTORE_OK;
  right &= claim("and only the balance is left", left == 1);
  return right;
}

int main(void) {
  int64_t now = 1000000;
  const KVStoreConfig config = {
      .busyTimeout = 1000,  // a write waits for those of other processes, so long at most
  };
  const KVStoreOptions options = {.size = sizeof options, .nowMs = read_clock, .nowArgument = &now};
  KVStore* store = NULL;
  if (kvstore_open_ex(NULL, &store, &config, &options) != KVSTORE_OK)
    return 1;  // NULL: a temporary store
  const int right = tell(store, &now);
  return kvstore_close(store) == KVSTORE_OK && right ? 0 : 1;
}
