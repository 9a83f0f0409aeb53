// SPDX-License-Identifier: Apache-2.0
// Cache with a freshness window: the answer of a slow service is good for a minute.
//
// An answer is a key with a TTL, so an answer that is found is fresh. A caller that finds none
// asks the service. No age is stored or compared. kvstore_get_ttl() also tells how long an answer
// will last: near its end one caller asks again ahead of time, so that no caller waits at the
// expiry. A second key with a TTL decides which caller that is.
//
// The cache is a file, so it is still warm after a restart. What is lost can be asked for again,
// hence KVSTORE_SYNC_NONE: nothing ever waits for the disk.

#include <stdio.h>
#include <string.h>

#include "kvstore.h"

static const int64_t kFresh = 60 * 1000;
static const int64_t kAhead = 15 * 1000;    // asked again when less than this is left
static const int64_t kPatience = 5 * 1000;  // how long others leave that to the one who began

// The slow service. `*asked` counts how often it was troubled.
static int ask_service(const char* city, char* answer, int size, int* asked) {
  ++*asked;
  return snprintf(answer, (size_t)size, "%s: answer %d", city, *asked);
}

// Whether this caller, and nobody else now, is to ask ahead of time.
static int may_refresh(KVStore* store, const char* city) {
  char key[64];
  const int length = snprintf(key, sizeof key, "refresh:%s", city);
  int is_first = 0;
  kvstore_put_if_absent_for(store, key, length, "", 0, kPatience, &is_first);
  return is_first;
}

// The answer for `city`, from the store if there is one.
static void look_up(KVStore* store, const char* city, char* answer, int size, int* asked) {
  const int length = (int)strlen(city);
  void* value = NULL;
  int found = 0;
  int64_t left = 0;
  if (kvstore_get_ttl(store, city, length, &value, &found, &left) == KVSTORE_OK) {
    snprintf(answer, (size_t)size, "%.*s", found, (const char*)value);
    snkv_free(value);
    if (left >= kAhead || !may_refresh(store, city)) return;
  }
  found = ask_service(city, answer, size, asked);
  kvstore_put_for(store, city, length, answer, found, kFresh);
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

// The program's clock, which the story moves. Without it, the store asks the system.
static int64_t read_clock(void* now) { return *(const int64_t*)now; }

static int tell(KVStore* store, int64_t* now) {
  char answer[64];
  int asked = 0;
  for (int i = 0; i < 100; ++i) look_up(store, "rome", answer, sizeof answer, &asked);
  int right = claim("a hundred lookups ask once", asked == 1);
  *now += 44 * 1000;
  look_up(store, "rome", answer, sizeof answer, &asked);
  right &= claim("44 s later the answer is good", strcmp(answer, "rome: answer 1") == 0);

  *now += 2 * 1000;
  right &= claim("46 s later somebody asks ahead of time", may_refresh(store, "rome"));
  look_up(store, "rome", answer, sizeof answer, &asked);
  right &= claim("and others still get the first answer", strcmp(answer, "rome: answer 1") == 0);

  *now += kPatience;  // the one who asked has crashed
  look_up(store, "rome", answer, sizeof answer, &asked);
  right &= claim("if he fails, another one does it", strcmp(answer, "rome: answer 2") == 0);
  *now += kFresh;
  look_up(store, "rome", answer, sizeof answer, &asked);
  right &= claim("a minute later it has to be asked", strcmp(answer, "rome: answer 3") == 0);
  return right;
}

int main(void) {
  int64_t now = 1000000;
  const KVStoreConfig config = {.syncLevel = KVSTORE_SYNC_NONE};
  const KVStoreOptions options = {.size = sizeof options, .nowMs = read_clock, .nowArgument = &now};
  KVStore* store = NULL;
  if (kvstore_open_ex(NULL, &store, &config, &options) != KVSTORE_OK)
    return 1;  // NULL: a temporary store
  const int right = tell(store, &now);
  return kvstore_close(store) == KVSTORE_OK && right ? 0 : 1;
}
