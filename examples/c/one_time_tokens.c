// SPDX-License-Identifier: Apache-2.0
// One-time tokens: a code sent by mail is good for ten minutes, and for one use.
//
// A token is a key with a TTL; to redeem it is to delete it. Too old, used before and never issued
// are then the same thing, an absent key, and KVSTORE_NOTFOUND is the one answer to all three. No
// table of used tokens grows, and none is cleaned. Of two who come at once, one deletes it.

#include <stdio.h>
#include <string.h>

#include "kvstore.h"

static const int64_t kGoodFor = 10 * 60 * 1000;

static int issue(KVStore* store, const char* token, const char* user) {
  int issued = 0;  // stays 0 if somebody has this very token now: make another
  kvstore_put_if_absent_for(store, token, (int)strlen(token), user, (int)strlen(user), kGoodFor,
                            &issued);
  return issued;
}

// Whether the token was good. It is not a second time. `user` is whom it was for.
static int redeem(KVStore* store, const char* token, char* user, int size) {
  const int length = (int)strlen(token);
  int found = 0;
  if (kvstore_begin(store, 1) != KVSTORE_OK) return 0;
  if (kvstore_get_into(store, token, length, user, size - 1, &found) != KVSTORE_OK ||
      found >= size || kvstore_delete(store, token, length) != KVSTORE_OK) {
    kvstore_rollback(store);
    return 0;
  }
  user[found] = '\0';
  return kvstore_commit(store) == KVSTORE_OK;  // what may not be used up is not honoured
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static int tell(KVStore* store, int64_t* now) {
  char user[32] = "";
  int right = issue(store, "token:7f3a", "ann");
  right &= claim("a token can't be issued twice", !issue(store, "token:7f3a", "eve"));
  *now += kGoodFor - 1;
  right &= claim("the last millisecond is early enough",
                 redeem(store, "token:7f3a", user, sizeof user) && strcmp(user, "ann") == 0);
  right &= claim("the second use fails", !redeem(store, "token:7f3a", user, sizeof user));
  right &=
      claim("so does a token that nobody issued", !redeem(store, "token:0000", user, sizeof user));

  right &= issue(store, "token:19c2", "bob");
  *now += kGoodFor;
  right &=
      claim("so does one that is ten minutes old", !redeem(store, "token:19c2", user, sizeof user));

  int64_t live = -1;
  right &= kvstore_count_live(store, &live) == KVSTORE_OK;
  right &= claim("nothing is left behind", live == 0);
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
