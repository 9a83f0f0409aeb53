// SPDX-License-Identifier: Apache-2.0
// Rate limiter: ten calls a minute for each user, by counters that reset themselves.
//
// A counter lives in a column family whose default TTL is the window. The first call makes it, with
// that TTL; the others add to it and leave its expiry alone. When the window is over the counter is
// gone, and the next call begins a new one. Nobody sets it back to zero, and nobody has to forget
// users who went away. In a file, a restart does not hand out a second helping.

#include <stdio.h>
#include <string.h>

#include "kvstore.h"

static const int64_t kWindow = 60 * 1000;
static const int64_t kLimit = 10;

// Whether `user` may make this call. If not, `*wait_ms` says when the next one may be made.
static int allow(KVColumnFamily* calls, const char* user, int64_t* wait_ms) {
  const int length = (int)strlen(user);
  int64_t count = 0;
  *wait_ms = 0;
  if (kvstore_cf_increment(calls, user, length, 1, &count) != KVSTORE_OK) return 0;
  if (count <= kLimit) return 1;
  kvstore_cf_ttl_remaining(calls, user, length, wait_ms);
  return 0;
}

// How many of twenty calls are allowed.
static int burst(KVColumnFamily* calls, const char* user, int64_t* wait_ms) {
  int allowed = 0;
  for (int i = 0; i < 20; ++i) allowed += allow(calls, user, wait_ms);
  return allowed;
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static int tell(KVColumnFamily* calls, int64_t* now) {
  int64_t wait_ms = 0;
  int right = claim("of twenty calls ten are allowed", burst(calls, "ann", &wait_ms) == 10);
  right &= claim("ann is told to wait for a minute", wait_ms == kWindow);
  right &= claim("bob has ten of his own", burst(calls, "bob", &wait_ms) == 10);
  *now += kWindow - 1;
  right &= claim("59.999 s later ann may not call", burst(calls, "ann", &wait_ms) == 0);
  right &= claim("and waits for a millisecond more", wait_ms == 1);
  *now += wait_ms;
  right &= claim("then she has ten again", burst(calls, "ann", &wait_ms) == 10);

  int64_t counters = 0;
  *now += kWindow;
  right &= kvstore_cf_purge_expired(calls, NULL) == KVSTORE_OK;
  right &= kvstore_cf_count(calls, &counters) == KVSTORE_OK;
  right &= claim("no counter is left of those who went away", counters == 0);
  return right;
}

int main(void) {
  int64_t now = 1000000;
  const KVStoreOptions options = {.size = sizeof options, .nowMs = read_clock, .nowArgument = &now};
  KVStore* store = NULL;
  KVColumnFamily* calls = NULL;
  if (kvstore_open_ex(NULL, &store, NULL, &options) != KVSTORE_OK)
    return 1;  // NULL: a temporary store
  if (kvstore_cf_create(store, "calls", &calls) != KVSTORE_OK ||
      kvstore_cf_set_default_ttl(calls, kWindow) != KVSTORE_OK) {
    fprintf(stderr, "%s\n", kvstore_errmsg(store));
    return 1;
  }
  const int right = tell(calls, &now);
  kvstore_cf_close(calls);
  return kvstore_close(store) == KVSTORE_OK && right ? 0 : 1;
}
