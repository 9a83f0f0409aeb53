// SPDX-License-Identifier: Apache-2.0
// Iterators: section 7 of the specification.

#include "capi/tests/test.h"

static KVStore* open_db(const char* keys) {
  KVStore* const kv = test_open();
  char copy[200];
  strcpy(copy, keys);
  for (char* key = strtok(copy, " "); key != NULL; key = strtok(NULL, " ")) OK(put(kv, key, key));
  return kv;
}

static KVIterator* prefix_iterator(KVStore* kv, const char* prefix, int reverse) {
  KVIterator* it = NULL;
  OK((reverse ? kvstore_reverse_prefix_iterator_create : kvstore_prefix_iterator_create)(
      kv, prefix, (int)strlen(prefix), &it));
  return it;
}

static KVIterator* iterator(KVStore* kv, int reverse) {
  KVIterator* it = NULL;
  OK((reverse ? kvstore_reverse_iterator_create : kvstore_iterator_create)(kv, &it));
  return it;
}

static int at(KVIterator* it, const char* expected) {
  void* key = NULL;
  int length = 0;
  if (kvstore_iterator_key(it, &key, &length) != KVSTORE_OK) return 0;
  return length == (int)strlen(expected) && memcmp(key, expected, (size_t)length) == 0;
}

static int seek(KVIterator* it, const char* key) {
  return kvstore_iterator_seek(it, key, (int)strlen(key));
}

static void it_is_nowhere_at_first(void) {
  KVStore* const kv = open_db("a b");
  KVIterator* const it = iterator(kv, 0);
  void* bytes = (void*)1;
  int length = 7;
  CHECK_INT(kvstore_iterator_eof(it), 1);
  OK(kvstore_iterator_next(it));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  FAILS(kvstore_iterator_key(it, &bytes, &length), KVSTORE_ERROR);
  CHECK(bytes == NULL);
  CHECK_INT(length, 0);
  FAILS(kvstore_iterator_value(it, &bytes, &length), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void it_goes_in_byte_order(void) {
  KVStore* const kv = open_db("b a c ab B aa");
  CHECK_TEXT(all_keys(kv), "B a aa ab b c");
  KVIterator* const it = iterator(kv, 1);
  OK(kvstore_iterator_last(it));
  CHECK_TEXT(rest_of(it, 0), "c b ab aa a B");
  OK(kvstore_iterator_prev(it));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  OK(kvstore_iterator_last(it));
  CHECK(at(it, "c"));
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void values_come_along(void) {
  KVStore* const kv = open_db("a");
  OK(kvstore_put(kv, "b", 1, NULL, 0));
  KVIterator* const it = iterator(kv, 0);
  void* value = NULL;
  int length = -1;
  OK(kvstore_iterator_first(it));
  OK(kvstore_iterator_value(it, &value, &length));
  CHECK_INT(length, 1);
  CHECK(memcmp(value, "a", 1) == 0);
  OK(kvstore_iterator_next(it));
  OK(kvstore_iterator_value(it, &value, &length));
  CHECK(value == NULL);
  CHECK_INT(length, 0);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void directions_are_checked(void) {
  KVStore* const kv = open_db("a b c");
  KVIterator* it = iterator(kv, 0);
  FAILS(kvstore_iterator_last(it), KVSTORE_ERROR);
  FAILS(kvstore_iterator_prev(it), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  it = iterator(kv, 1);
  OK(kvstore_iterator_first(it));
  CHECK_TEXT(rest_of(it, 1), "a b c");
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void a_prefix_is_all_it_sees(void) {
  KVStore* const kv = open_db("a ab abc abd b");
  KVIterator* it = prefix_iterator(kv, "ab", 0);
  CHECK(at(it, "ab"));
  CHECK_TEXT(rest_of(it, 1), "ab abc abd");
  OK(kvstore_iterator_first(it));
  CHECK(at(it, "ab"));
  OK(seek(it, "abc"));
  CHECK(at(it, "abc"));
  OK(seek(it, "b"));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  OK(seek(it, "a"));
  CHECK(at(it, "ab"));
  kvstore_iterator_close(it);

  it = prefix_iterator(kv, "ab", 1);
  CHECK(at(it, "abd"));
  CHECK_TEXT(rest_of(it, 0), "abd abc ab");
  OK(seek(it, "zzz"));
  CHECK(at(it, "abd"));
  OK(seek(it, "a"));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  kvstore_iterator_close(it);

  it = prefix_iterator(kv, "x", 0);
  CHECK_INT(kvstore_iterator_eof(it), 1);
  kvstore_iterator_close(it);
  FAILS(kvstore_prefix_iterator_create(kv, "", 0, &it), KVSTORE_ERROR);
  CHECK(it == NULL);
  FAILS(kvstore_prefix_iterator_create(kv, "a", -1, &it), KVSTORE_ERROR);
  FAILS(kvstore_reverse_prefix_iterator_create(kv, NULL, 1, &it), KVSTORE_ERROR);
  OK(kvstore_close(kv));
}

static void a_prefix_of_highest_bytes_works(void) {
  KVStore* const kv = open_db("a");
  OK(kvstore_put(kv, "\xff\xff", 2, "1", 1));
  OK(kvstore_put(kv, "\xff\xff\xff", 3, "2", 1));
  OK(kvstore_put(kv, "\xff", 1, "0", 1));
  KVIterator* const it = prefix_iterator(kv, "\xff\xff", 1);
  CHECK(at(it, "\xff\xff\xff"));
  OK(kvstore_iterator_prev(it));
  CHECK(at(it, "\xff\xff"));
  OK(kvstore_iterator_prev(it));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void seek_goes_to_the_nearest(void) {
  KVStore* const kv = open_db("b d f");
  KVIterator* it = iterator(kv, 0);
  OK(seek(it, "c"));
  CHECK(at(it, "d"));
  OK(seek(it, "b"));
  CHECK(at(it, "b"));
  OK(seek(it, "g"));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  FAILS(kvstore_iterator_seek(it, "", 0), KVSTORE_ERROR);
  FAILS(kvstore_iterator_seek(it, NULL, 1), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  it = iterator(kv, 1);
  OK(seek(it, "e"));
  CHECK(at(it, "d"));
  OK(seek(it, "a"));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void nothing_is_an_error_and_at_its_end(void) {
  CHECK_INT(kvstore_iterator_eof(NULL), 1);
  FAILS(kvstore_iterator_first(NULL), KVSTORE_ERROR);
  FAILS(kvstore_iterator_next(NULL), KVSTORE_ERROR);
  FAILS(kvstore_iterator_last(NULL), KVSTORE_ERROR);
  FAILS(kvstore_iterator_prev(NULL), KVSTORE_ERROR);
  FAILS(kvstore_iterator_seek(NULL, "a", 1), KVSTORE_ERROR);
  FAILS(kvstore_iterator_create(NULL, NULL), KVSTORE_ERROR);
}

static void expired_keys_are_skipped(void) {
  KVStore* const kv = open_db("b d");
  OK(put_ttl(kv, "a", "v", 10));
  OK(put_ttl(kv, "c", "v", 20));
  OK(put_ttl(kv, "e", "v", 10));
  test_advance(10);
  CHECK_TEXT(all_keys(kv), "b c d");
  test_advance(10);
  KVIterator* const it = iterator(kv, 1);
  OK(kvstore_iterator_last(it));
  CHECK_TEXT(rest_of(it, 0), "d b");
  OK(seek(it, "c"));
  CHECK(at(it, "b"));
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void a_key_that_expires_under_it_stays(void) {
  KVStore* const kv = open_db("b");
  OK(put_ttl(kv, "a", "v", 10));
  KVIterator* const it = iterator(kv, 0);
  int64_t ms = -7;
  OK(kvstore_iterator_first(it));
  OK(kvstore_iterator_deadline(it, &ms));
  CHECK_INT(ms, test_now + 10);
  test_advance(3);
  OK(kvstore_iterator_ttl(it, &ms));
  CHECK_INT(ms, 7);
  test_advance(100);
  OK(kvstore_iterator_ttl(it, &ms));
  CHECK_INT(ms, 0);
  CHECK(at(it, "a"));
  OK(kvstore_iterator_next(it));
  OK(kvstore_iterator_deadline(it, &ms));
  CHECK_INT(ms, 0);
  OK(kvstore_iterator_ttl(it, &ms));
  CHECK_INT(ms, KVSTORE_NO_TTL);
  FAILS(kvstore_iterator_ttl(it, NULL), KVSTORE_ERROR);
  OK(kvstore_iterator_next(it));
  FAILS(kvstore_iterator_ttl(it, &ms), KVSTORE_ERROR);
  FAILS(kvstore_iterator_deadline(it, &ms), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void outside_of_transactions_it_sees_one_moment(void) {
  KVStore* const kv = open_db("a b c");
  KVIterator* const it = iterator(kv, 0);
  OK(put(kv, "d", "new"));
  OK(del(kv, "b"));
  OK(kvstore_iterator_first(it));
  CHECK_TEXT(rest_of(it, 1), "a b c");
  OK(kvstore_clear(kv));
  OK(kvstore_iterator_first(it));
  CHECK(at(it, "a"));
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "aa", "v"));
  OK(kvstore_iterator_next(it));
  CHECK(at(it, "b"));
  OK(kvstore_rollback(kv));
  kvstore_iterator_close(it);
  CHECK_TEXT(all_keys(kv), "");
  OK(kvstore_close(kv));
}

static void in_a_transaction_it_sees_its_writes(void) {
  KVStore* const kv = open_db("a b c");
  OK(kvstore_begin(kv, 1));
  OK(put(kv, "bb", "new"));
  KVIterator* const it = iterator(kv, 0);
  OK(kvstore_iterator_first(it));
  CHECK(at(it, "a"));
  OK(put(kv, "aa", "newer"));
  CHECK(at(it, "a"));
  OK(kvstore_iterator_next(it));
  CHECK(at(it, "aa"));
  OK(kvstore_iterator_next(it));
  OK(del(kv, "b"));  // that it stands on
  CHECK(at(it, "b"));
  OK(kvstore_iterator_next(it));
  CHECK(at(it, "bb"));
  OK(put_ttl(kv, "c", "expired", -1));  // the first expiry of the family
  OK(kvstore_iterator_next(it));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  OK(kvstore_iterator_first(it));
  CHECK_TEXT(rest_of(it, 1), "a aa bb");
  OK(kvstore_rollback(kv));
  OK(kvstore_iterator_first(it));
  CHECK_TEXT(rest_of(it, 1), "a b c");
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

static void it_goes_on_when_its_transaction_ends(void) {
  for (int commit = 0; commit < 2; ++commit) {
    KVStore* const kv = open_db("a c e");
    OK(kvstore_begin(kv, 1));
    KVIterator* const forward = iterator(kv, 0);
    KVIterator* const back = iterator(kv, 1);
    OK(put(kv, "b", "1"));
    OK(put(kv, "d", "1"));
    OK(seek(forward, "b"));
    OK(seek(back, "d"));
    OK(commit ? kvstore_commit(kv) : kvstore_rollback(kv));
    CHECK(at(forward, "b"));
    CHECK(at(back, "d"));
    OK(kvstore_iterator_next(forward));
    OK(kvstore_iterator_prev(back));
    CHECK(at(forward, "c"));
    CHECK(at(back, "c"));
    OK(kvstore_iterator_next(forward));
    CHECK(at(forward, commit ? "d" : "e"));
    kvstore_iterator_close(forward);
    kvstore_iterator_close(back);
    OK(kvstore_clear(kv));
    OK(kvstore_close(kv));
  }
}

static void a_read_transaction_gives_it_its_snapshot(void) {
  KVStore* const kv = open_db("a b");
  KVStore* const other = test_open();
  OK(kvstore_begin(kv, 0));
  OK(put(other, "c", "1"));
  CHECK_TEXT(all_keys(kv), "a b");
  KVIterator* const it = iterator(kv, 0);
  OK(kvstore_iterator_first(it));
  OK(kvstore_commit(kv));
  CHECK(at(it, "a"));
  OK(kvstore_iterator_next(it));
  CHECK_TEXT(rest_of(it, 1), "b c");
  kvstore_iterator_close(it);
  OK(kvstore_close(other));
  OK(kvstore_close(kv));
}

static void deleting_while_walking_visits_every_key_once(void) {
  KVStore* const kv = test_open();
  char key[16];
  for (int i = 0; i < 500; ++i) {
    snprintf(key, sizeof key, "k%04d", i);
    OK(put(kv, key, "v"));
  }
  for (int in_txn = 1; in_txn >= 0; --in_txn) {
    if (in_txn) OK(kvstore_begin(kv, 1));
    KVIterator* const it = iterator(kv, 0);
    int visited = 0;
    for (OK(kvstore_iterator_first(it)); !kvstore_iterator_eof(it); OK(kvstore_iterator_next(it))) {
      void* bytes = NULL;
      int length = 0;
      OK(kvstore_iterator_key(it, &bytes, &length));
      snprintf(key, sizeof key, "k%04d", visited++);
      CHECK(at(it, key));
      OK(kvstore_delete(kv, bytes, length));
    }
    CHECK_INT(visited, 500);
    kvstore_iterator_close(it);
    if (in_txn) OK(kvstore_rollback(kv));
  }
  CHECK_INT(count(kv), 0);
  OK(kvstore_close(kv));
}

static void closing_the_store_ends_it(void) {
  KVStore* const kv = open_db("a b");
  KVIterator* const it = iterator(kv, 0);
  KVIterator* const in_txn = (kvstore_begin(kv, 1), iterator(kv, 0));
  void* bytes = NULL;
  int length = 0;
  OK(kvstore_iterator_first(it));
  OK(kvstore_iterator_first(in_txn));
  OK(kvstore_close(kv));
  CHECK_INT(kvstore_iterator_eof(it), 1);
  FAILS(kvstore_iterator_next(it), KVSTORE_ERROR);
  FAILS(kvstore_iterator_first(in_txn), KVSTORE_ERROR);
  FAILS(kvstore_iterator_key(it, &bytes, &length), KVSTORE_ERROR);
  kvstore_iterator_close(it);
  kvstore_iterator_close(in_txn);
}

static void long_keys_stay_in_order(void) {
  KVStore* const kv = test_open();
  char key[2000];
  memset(key, 'x', sizeof key);
  for (int i = 9; i >= 0; --i) {
    key[1500] = (char)('0' + i);
    OK(kvstore_put(kv, key, 1501 + i, "v", 1));
  }
  KVIterator* const it = iterator(kv, 0);
  int seen = 0;
  for (OK(kvstore_iterator_first(it)); !kvstore_iterator_eof(it); OK(kvstore_iterator_next(it))) {
    void* bytes = NULL;
    int length = 0;
    OK(kvstore_iterator_key(it, &bytes, &length));
    CHECK_INT(length, 1501 + seen);
    CHECK_INT(((char*)bytes)[1500], '0' + seen);
    ++seen;
  }
  CHECK_INT(seen, 10);
  kvstore_iterator_close(it);
  OK(kvstore_close(kv));
}

int main(void) {
  RUN(it_is_nowhere_at_first);
  RUN(it_goes_in_byte_order);
  RUN(values_come_along);
  RUN(directions_are_checked);
  RUN(a_prefix_is_all_it_sees);
  RUN(a_prefix_of_highest_bytes_works);
  RUN(seek_goes_to_the_nearest);
  RUN(nothing_is_an_error_and_at_its_end);
  RUN(expired_keys_are_skipped);
  RUN(a_key_that_expires_under_it_stays);
  RUN(outside_of_transactions_it_sees_one_moment);
  RUN(in_a_transaction_it_sees_its_writes);
  RUN(it_goes_on_when_its_transaction_ends);
  RUN(a_read_transaction_gives_it_its_snapshot);
  RUN(deleting_while_walking_visits_every_key_once);
  RUN(closing_the_store_ends_it);
  RUN(long_keys_stay_in_order);
  return test_end();
}
