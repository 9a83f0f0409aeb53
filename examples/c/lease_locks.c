// SPDX-License-Identifier: Apache-2.0
// Locks with leases: only one process does the work, and a crash of that one stops nobody for long.
//
// A lock is a key with a TTL, put only if it is absent. A holder that lives renews it; one that
// crashed does not, and then the expiry opens the lock: nobody has to find out who died.
//
// A lease can end without its holder noticing: it was suspended, say. So each lease has a number,
// greater than all before it. It is the value of the lock, by which renew and release make sure
// that the lock is still theirs; and what the lock protects refuses a number that is out of date.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kvstore.h"

static const int64_t kLease = 10 * 1000;

// The number of the new lease; 0 while somebody else has the lock.
static int64_t acquire(KVStore* store) {
  char text[24];
  int64_t number = 0;
  int taken = 0;
  if (kvstore_begin(store, 1) != KVSTORE_OK) return 0;
  if (kvstore_increment(store, "leases", 6, 1, &number) == KVSTORE_OK) {
    const int length = snprintf(text, sizeof text, "%" PRId64, number);
    kvstore_put_if_absent_for(store, "lock", 4, text, length, kLease, &taken);
  }
  if (!taken) kvstore_rollback(store);
  return taken && kvstore_commit(store) == KVSTORE_OK ? number : 0;
}

// Whether the lock has this number now.
static int holds(KVStore* store, int64_t number) {
  char text[24];
  char found[24];
  int size = 0;
  const int length = snprintf(text, sizeof text, "%" PRId64, number);
  return kvstore_get_into(store, "lock", 4, found, sizeof found, &size) == KVSTORE_OK &&
         size == length && memcmp(found, text, (size_t)size) == 0;
}

// Gives the lease `ttl_ms` from now, or ends it if that is 0. Whether it could: not if the lease
// has ended, even if no other client has the lock. In a transaction nothing happens between two
// calls.
static int change(KVStore* store, int64_t number, int64_t ttl_ms) {
  if (kvstore_begin(store, 1) != KVSTORE_OK) return 0;
  int done = holds(store, number);
  if (done && ttl_ms > 0) done = kvstore_touch(store, "lock", 4, ttl_ms) == KVSTORE_OK;
  if (done && ttl_ms == 0) done = kvstore_delete(store, "lock", 4) == KVSTORE_OK;
  return kvstore_commit(store) == KVSTORE_OK && done;
}

static int renew(KVStore* store, int64_t number) { return change(store, number, kLease); }
static int release(KVStore* store, int64_t number) { return change(store, number, 0); }

// What the lock protects, on another machine perhaps, takes a write unless it saw a later lease.
static int write_report(int64_t* newest, int64_t number) {
  if (number < *newest) return 0;
  *newest = number;
  return 1;
}

static int claim(const char* what, int is_true) {
  printf("  %s %s\n", is_true ? "yes:" : "NO: ", what);
  return is_true;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static int tell(KVStore* store, int64_t* now) {
  int64_t newest = 0;
  const int64_t ann = acquire(store);
  int right = claim("ann has the lock, bob has not", ann > 0 && acquire(store) == 0);
  *now += 8000;
  right &= claim("ann renews her lease", renew(store, ann));
  *now += 8000;
  right &= claim("so she has it 16 s later, too", acquire(store) == 0);

  *now += 2000;  // ann is suspended; ten seconds after she renewed it, her lease is over
  const int64_t bob = acquire(store);
  right &= claim("bob gets the lock, with a greater number", bob > ann);
  right &= write_report(&newest, bob);
  right &= claim("ann wakes up: she can't renew", !renew(store, ann));
  right &= claim("nor release what is now bob's", !release(store, ann));
  right &= claim("nor write", !write_report(&newest, ann));
  right &= claim("bob releases the lock", release(store, bob));
  right &= claim("and it is free at once", acquire(store) > bob);
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
