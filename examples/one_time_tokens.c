// SPDX-License-Identifier: Apache-2.0
// One-time tokens from C: a token is good for ten minutes, and for one use.

#include <stdio.h>
#include <string.h>

#include "kvstore.h"

// Whether `token` was good. It is not a second time.
static int redeem(KVStore* store, const char* token) {
  return kvstore_delete(store, token, (int)strlen(token)) == KVSTORE_OK;
}

int main(void) {
  KVStore* store = NULL;
  KVStoreConfig config = {0};  // the defaults: a crash loses nothing
  const int ten_minutes = 10 * 60 * 1000;
  const char* token = "token:7f3a";
  if (kvstore_open_v2(NULL, &store, &config) != KVSTORE_OK) return 1;  // NULL: a temporary store
  if (kvstore_put_for(store, token, (int)strlen(token), "alice", 5, ten_minutes) != KVSTORE_OK) {
    fprintf(stderr, "%s\n", kvstore_errmsg(store));
    return 1;
  }
  const int first = redeem(store, token);
  const int second = redeem(store, token);
  printf("first: %d, second: %d\n", first, second);
  kvstore_close(store);
  return first && !second ? 0 : 1;
}
