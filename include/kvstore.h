// SPDX-License-Identifier: Apache-2.0
// The store from C: keys and values of raw bytes in one file, in which any key may have an expiry.
//
//   KVStore* kv;
//   if (kvstore_open("sessions.db", &kv, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) return 1;
//   kvstore_put_for(kv, "session:42", 10, token, token_length, 30 * 60 * 1000);
//   int rc = kvstore_get(kv, "session:42", 10, &value, &length);  // then snkv_free(value)
//   kvstore_close(kv);
//
// These are the calls of SNKV 0.8, with its names, numbers and rules, and more below each group.
// Where SNKV's behaviour was a defect this one does what its user expects; "Unlike SNKV" marks the
// places.
//
// Time. An expiry (`expire_ms`) is a moment in milliseconds since 1970; a TTL (`ttl_ms`) is a
// number of milliseconds from now. A key is gone from its expiry on, for every call, whether or not
// it has been removed from the file. A call that meets an expired key removes it if nobody else is
// writing; it never waits and never fails for that, and never ends a transaction of yours. No
// thread expires anything; at NORMAL one syncs what was written, about once a second.
//
// Threads. All handles may be shared by threads, with or without `fullMutex`, except that an
// iterator is used by one thread at a time. A transaction (kvstore_begin) belongs to the thread
// that began it: the calls of other threads on the same handle are not part of it. Several handles,
// in several processes, may be open on one file. In the child of a fork() the handles of the parent
// can't be used: calls return KVSTORE_ERROR, and closing them does nothing. Open the file again.
//
// Arguments. A length is in bytes. A key has 1 to 65,536 and a value 0 to 10,485,760. A null
// handle, a null pointer to what is required, a negative length or expiry and a size beyond the
// limits are KVSTORE_ERROR; such a call changes nothing and leaves an open transaction as it was.
// Pointers for results are required unless it says "or NULL". A call that fails sets pointers to
// NULL and numbers to 0.
//
// Memory. What a call allocates is freed with snkv_free(). Closing a store ends its iterators and
// makes its column family handles useless, but both stay safe: calls with them return
// KVSTORE_ERROR, and each still has to be closed, to free it.

#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): this is C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// What calls return; no call returns any other number. kvstore_errmsg() has the reason in words.
#define KVSTORE_OK 0
#define KVSTORE_ERROR 1      // bad argument, no such file, not to be opened, input or output failed
#define KVSTORE_BUSY 5       // somebody else is writing, or uses what is to be dropped
#define KVSTORE_LOCKED 6     // never returned
#define KVSTORE_NOMEM 7      //
#define KVSTORE_READONLY 8   // the store, the file, or the transaction may only be read
#define KVSTORE_CORRUPT 11   // the file is damaged, or not a store
#define KVSTORE_NOTFOUND 12  // no such key (or it has expired), no such column family
#define KVSTORE_AUTH_FAILED 13  // never returned: stores are not encrypted
#define KVSTORE_PROTOCOL 15     // never returned
#define KVSTORE_FULL 64  // the disk or the file's limit; too many column families. Not in SNKV

#define KVSTORE_MAX_COLUMN_FAMILIES 64  // so many are always possible; in fact 255 beside "default"

#define KVSTORE_JOURNAL_DELETE 0  // Both are accepted and mean the same: there is no journal, and a
#define KVSTORE_JOURNAL_WAL 1     // writer never blocks readers.

// What a power cut may cost. A crash of the process costs nothing that was committed, ever.
#define KVSTORE_SYNC_OFF 0  // the same as NORMAL: it can't be told from a field that was left alone
#define KVSTORE_SYNC_NORMAL 1   // the commits of the last second, as a whole; the file stays sound
#define KVSTORE_SYNC_FULL 2     // nothing: a commit waits for the disk
#define KVSTORE_SYNC_NONE (-1)  // the file. This is SNKV's SYNC_OFF, for what can be made again

#define KVSTORE_CHECKPOINT_PASSIVE 0
#define KVSTORE_CHECKPOINT_FULL 1
#define KVSTORE_CHECKPOINT_RESTART 2
#define KVSTORE_CHECKPOINT_TRUNCATE 3

#define KVSTORE_NO_TTL ((int64_t)-1)  // as what remains: it never expires

typedef struct KVStore KVStore;
typedef struct KVColumnFamily KVColumnFamily;
typedef struct KVIterator KVIterator;

// How to open a store. All zeros is the default: KVSTORE_SYNC_NORMAL (unlike SNKV, which then never
// synced), and BUSY at once. It has SNKV's fields and no other, so that a program that was compiled
// with SNKV's header works with this library.
typedef struct KVStoreConfig {
  int journalMode;  // no effect: there is no journal
  int syncLevel;    // KVSTORE_SYNC_...; 0 is NORMAL. Any other number is an error
  int cacheSize;    // no effect: the file is mapped, the system caches it
  int pageSize;     // no effect: pages have the size that the system gives memory
  int readOnly;     // not 0: nothing is written, not what has expired either. The file must exist
  int busyTimeout;  // how many ms a writer waits for others before BUSY; 0: not at all. Calls of
                    // threads on one handle wait for each other even so, but not for a transaction;
                    // and an open waits a second for a process that opens, closes or compacts it
  int walSizeLimit;    // no effect: there is no log that grows
  int allowEncrypted;  // no effect: stores are not encrypted
  int fullMutex;       // no effect: handles may always be shared
} KVStoreConfig;

// More about how to open a store, for kvstore_open_ex(). Not in SNKV. `size` comes first, and later
// versions add fields at the end: KVStoreOptions options = {.size = sizeof options, ...};
typedef struct KVStoreOptions {
  size_t size;                       // sizeof(KVStoreOptions)
  int64_t (*nowMs)(void* argument);  // the clock, for tests; NULL: the system's. From any thread
  void* nowArgument;                 //
  char* errorText;                   // where a failed open says why; NULL: nowhere. Ends with a
  int errorTextSize;                 // zero byte, cut to this many bytes
} KVStoreOptions;

// Counted by this handle since it was opened or reset. What is rolled back is not subtracted.
typedef struct KVStoreStats {
  uint64_t nPuts;          // entries written, by whichever call
  uint64_t nGets;          // gets that found something
  uint64_t nDeletes;       // deletes that found something
  uint64_t nIterations;    // iterators made
  uint64_t nErrors;        // calls that failed; NOTFOUND for a key is no failure
  uint64_t nBytesRead;     // of values
  uint64_t nBytesWritten;  // of keys and values
  uint64_t nWalCommits;    // write transactions that were committed
  uint64_t nCheckpoints;   // by kvstore_checkpoint()
  uint64_t nTtlExpired;    // removed because a call met them, iterators included
  uint64_t nTtlPurged;     // removed by a purge
  uint64_t nDbPages;       // in the file now; not reset
} KVStoreStats;

// An entry that is about to expire, as kvstore_expiring() tells it.
typedef struct KVExpiring {
  void* key;
  int keyLength;
  int64_t expireMs;
} KVExpiring;

void* snkv_malloc(size_t bytes);  // zeroed; NULL if there is no memory
void snkv_free(void* memory);     // NULL: does nothing

// The wall clock in milliseconds since 1970, whatever clock a store was given.
int64_t kvstore_now_ms(void);

// ---- Opening and closing

// Opens the file at `path`, or makes it (its directory must exist). NULL or "": a temporary store,
// gone when it is closed. `*out` is NULL after a failure. KVSTORE_ERROR: no such directory or file,
// a directory, of a newer version. KVSTORE_READONLY: no permission; or `readOnly` and the file is
// empty. KVSTORE_CORRUPT: not a store, or damaged. KVSTORE_BUSY: another process recovers or
// compacts it. A `config` of NULL is one of zeros, as in kvstore_open(); `options` may be NULL.
int kvstore_open(const char* path, KVStore** out, int journal_mode);
int kvstore_open_v2(const char* path, KVStore** out, const KVStoreConfig* config);
int kvstore_open_ex(const char* path, KVStore** out, const KVStoreConfig* config,
                    const KVStoreOptions* options);

// Waits for the calls of other threads, undoes the transactions that are open, and ends iterators.
// KVSTORE_BUSY, and nothing is closed, if another thread has a write transaction open, since only
// that thread can end it. After any other result the handle is gone. NULL is OK.
int kvstore_close(KVStore* kv);

// Why the last call of this thread on this store (its column families and iterators included) that
// failed did so; "no error" if none did, and for NULL. Valid until a call of this thread fails.
const char* kvstore_errmsg(KVStore* kv);

// ---- Keys
//
// Each call is for the column family "default" and has a twin for any. Each is a transaction of its
// own unless this thread has one open. Writes return KVSTORE_BUSY if another writer does not end in
// time.

// Stores the value, and removes the expiry the key had. `value` may be NULL if its length is 0. The
// new expiry is the default TTL of the column family (kvstore_set_default_ttl), by default none.
int kvstore_put(KVStore* kv, const void* key, int key_length, const void* value, int value_length);
int kvstore_cf_put(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                   int value_length);

// A copy of the value, to be freed; NULL for an empty value.
int kvstore_get(KVStore* kv, const void* key, int key_length, void** value, int* value_length);
int kvstore_cf_get(KVColumnFamily* cf, const void* key, int key_length, void** value,
                   int* value_length);

// The value into the caller's buffer, without allocating. `*value_length` is its whole length; if
// that is more than `size`, only the first `size` bytes were copied. `buffer` may be NULL if `size`
// is 0.
int kvstore_get_into(KVStore* kv, const void* key, int key_length, void* buffer, int size,
                     int* value_length);
int kvstore_cf_get_into(KVColumnFamily* cf, const void* key, int key_length, void* buffer, int size,
                        int* value_length);

// Unlike SNKV, deleting an expired key is KVSTORE_NOTFOUND.
int kvstore_delete(KVStore* kv, const void* key, int key_length);
int kvstore_cf_delete(KVColumnFamily* cf, const void* key, int key_length);

// `*exists` is 1 or 0; KVSTORE_OK in both cases.
int kvstore_exists(KVStore* kv, const void* key, int key_length, int* exists);
int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_length, int* exists);

// Stores only if the key is absent or expired; else value and expiry stay. `expire_ms` 0: as in
// kvstore_put(). `*inserted` (or NULL) tells; KVSTORE_OK in both cases. Unlike SNKV, with an expiry
// that has passed nothing is stored and `*inserted` is 0: nobody could ever see such an entry.
int kvstore_put_if_absent(KVStore* kv, const void* key, int key_length, const void* value,
                          int value_length, int64_t expire_ms, int* inserted);
int kvstore_cf_put_if_absent(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                             int value_length, int64_t expire_ms, int* inserted);

// Replaces the value if it is now `expected`; the expiry stays. `*swapped` (or NULL) tells;
// KVSTORE_OK in both cases. An absent key has no value and is never swapped: see
// kvstore_put_if_absent().
int kvstore_compare_and_set(KVStore* kv, const void* key, int key_length, const void* expected,
                            int expected_length, const void* value, int value_length, int* swapped);
int kvstore_cf_compare_and_set(KVColumnFamily* cf, const void* key, int key_length,
                               const void* expected, int expected_length, const void* value,
                               int value_length, int* swapped);

// Adds to the decimal number in the value; an absent key counts as 0. An expiry stays; a new key
// gets the default TTL. `*sum` (or NULL). KVSTORE_ERROR if it is no number or would not fit.
int kvstore_increment(KVStore* kv, const void* key, int key_length, int64_t delta, int64_t* sum);
int kvstore_cf_increment(KVColumnFamily* cf, const void* key, int key_length, int64_t delta,
                         int64_t* sum);

// Entries in the file, expired ones that have not been removed included, as in SNKV. O(1).
int kvstore_count(KVStore* kv, int64_t* count);
int kvstore_cf_count(KVColumnFamily* cf, int64_t* count);

// Exactly: entries that a get would find, those of them with an expiry, and expired ones that have
// not been removed. O(expired).
int kvstore_count_live(KVStore* kv, int64_t* count);
int kvstore_cf_count_live(KVColumnFamily* cf, int64_t* count);
int kvstore_count_ttl(KVStore* kv, int64_t* count);
int kvstore_cf_count_ttl(KVColumnFamily* cf, int64_t* count);
int kvstore_count_expired(KVStore* kv, int64_t* count);
int kvstore_cf_count_expired(KVColumnFamily* cf, int64_t* count);

// Removes all entries of the column family.
int kvstore_clear(KVStore* kv);
int kvstore_cf_clear(KVColumnFamily* cf);

// ---- Expiry

// Stores the value with an expiry, which replaces the one it had. 0: it never expires, whatever the
// default TTL; INT64_MAX is the same. An expiry that has passed is accepted: the entry is stored,
// never seen, counted by kvstore_count(), and removed by a purge. Unlike SNKV, a negative one is
// KVSTORE_ERROR.
int kvstore_put_ttl(KVStore* kv, const void* key, int key_length, const void* value,
                    int value_length, int64_t expire_ms);
int kvstore_cf_put_ttl(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                       int value_length, int64_t expire_ms);

// The same two with a TTL from now. 0 and less are KVSTORE_ERROR.
int kvstore_put_for(KVStore* kv, const void* key, int key_length, const void* value,
                    int value_length, int64_t ttl_ms);
int kvstore_cf_put_for(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                       int value_length, int64_t ttl_ms);
int kvstore_put_if_absent_for(KVStore* kv, const void* key, int key_length, const void* value,
                              int value_length, int64_t ttl_ms, int* inserted);
int kvstore_cf_put_if_absent_for(KVColumnFamily* cf, const void* key, int key_length,
                                 const void* value, int value_length, int64_t ttl_ms,
                                 int* inserted);

// As kvstore_get(), and `*remaining_ms` (or NULL) is what is left, or KVSTORE_NO_TTL. With
// KVSTORE_NOTFOUND it is 0 if the key was found expired, KVSTORE_NO_TTL if it is not there.
int kvstore_get_ttl(KVStore* kv, const void* key, int key_length, void** value, int* value_length,
                    int64_t* remaining_ms);
int kvstore_cf_get_ttl(KVColumnFamily* cf, const void* key, int key_length, void** value,
                       int* value_length, int64_t* remaining_ms);

// What is left: KVSTORE_OK with a number above 0, or with KVSTORE_NO_TTL, or with 0 if the key was
// just found expired; then it is removed if that can be done, and from then on the result is
// KVSTORE_NOTFOUND with KVSTORE_NO_TTL, as for any key that is not there. The value is not read.
int kvstore_ttl_remaining(KVStore* kv, const void* key, int key_length, int64_t* remaining_ms);
int kvstore_cf_ttl_remaining(KVColumnFamily* cf, const void* key, int key_length,
                             int64_t* remaining_ms);

// The expiry of a key, as kvstore_put_ttl() takes it: 0 if it has none.
int kvstore_deadline(KVStore* kv, const void* key, int key_length, int64_t* expire_ms);
int kvstore_cf_deadline(KVColumnFamily* cf, const void* key, int key_length, int64_t* expire_ms);

// Conditions of kvstore_expire(). To GT and LT a key without expiry has the latest of all.
#define KVSTORE_EXPIRE_NX 1  // only if it has no expiry; goes with no other
#define KVSTORE_EXPIRE_XX 2  // only if it has one
#define KVSTORE_EXPIRE_GT 4  // only if the new one is later; not with LT
#define KVSTORE_EXPIRE_LT 8  // only if the new one is earlier

// Changes the expiry and leaves the value alone. One that has passed removes the key. `expire_ms`
// and `ttl_ms` must be above 0 (kvstore_persist() removes an expiry). KVSTORE_NOTFOUND if there is
// no such key; else KVSTORE_OK, and `*changed` (or NULL) tells whether `flags` allowed it.
int kvstore_expire(KVStore* kv, const void* key, int key_length, int64_t expire_ms, int flags,
                   int* changed);
int kvstore_cf_expire(KVColumnFamily* cf, const void* key, int key_length, int64_t expire_ms,
                      int flags, int* changed);
int kvstore_expire_for(KVStore* kv, const void* key, int key_length, int64_t ttl_ms, int flags,
                       int* changed);
int kvstore_cf_expire_for(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms,
                          int flags, int* changed);

// Makes a key permanent. KVSTORE_NOTFOUND if there is none. `*changed` (or NULL): whether it had an
// expiry.
int kvstore_persist(KVStore* kv, const void* key, int key_length, int* changed);
int kvstore_cf_persist(KVColumnFamily* cf, const void* key, int key_length, int* changed);

// Puts the expiry off to `ttl_ms` from now, if the key has one and it is sooner: a sliding TTL.
int kvstore_touch(KVStore* kv, const void* key, int key_length, int64_t ttl_ms);
int kvstore_cf_touch(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms);

// The TTL that entries of the column family get from calls that name none. Above 0, or
// KVSTORE_NO_TTL. It is kept in the file.
int kvstore_set_default_ttl(KVStore* kv, int64_t ttl_ms);
int kvstore_cf_set_default_ttl(KVColumnFamily* cf, int64_t ttl_ms);
int kvstore_get_default_ttl(KVStore* kv, int64_t* ttl_ms);
int kvstore_cf_get_default_ttl(KVColumnFamily* cf, int64_t* ttl_ms);

// Removes expired entries of the column family, in transactions of 256, or in the one
// that is open. `*purged` (or NULL) is how many, after an error too: those are gone. O(log n) when
// there are none. With a limit it stops after `max` entries; 0 is no limit.
int kvstore_purge_expired(KVStore* kv, int* purged);
int kvstore_cf_purge_expired(KVColumnFamily* cf, int* purged);
int kvstore_purge_expired_limit(KVStore* kv, int64_t max, int64_t* purged);
int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int64_t max, int64_t* purged);
int kvstore_purge_all(KVStore* kv, int64_t max, int64_t* purged);  // of all column families

// The entries that expire in [from_ms, to_ms), soonest first, `max` at most (0: all); expired ones
// are left out. The array is one block of memory, keys included: snkv_free(*entries); NULL if there
// is none.
int kvstore_expiring(KVStore* kv, int64_t from_ms, int64_t to_ms, int max, KVExpiring** entries,
                     int* count);
int kvstore_cf_expiring(KVColumnFamily* cf, int64_t from_ms, int64_t to_ms, int max,
                        KVExpiring** entries, int* count);

// The earliest expiry in the column family, one that has passed included; 0 if there is none.
int kvstore_next_deadline(KVStore* kv, int64_t* expire_ms);
int kvstore_cf_next_deadline(KVColumnFamily* cf, int64_t* expire_ms);

// ---- Column families
//
// Key spaces of their own that share transactions. Names have 1 to 255 bytes and begin neither with
// "__" nor with "_snkv_". "default" is always there. A handle whose family is gone (dropped
// elsewhere, or its creation rolled back) is safe: calls with it return KVSTORE_ERROR.

// KVSTORE_ERROR if it exists; but "default" returns that one.
int kvstore_cf_create(KVStore* kv, const char* name, KVColumnFamily** out);
int kvstore_cf_open(KVStore* kv, const char* name, KVColumnFamily** out);
int kvstore_cf_get_default(KVStore* kv, KVColumnFamily** out);

// With all its entries. KVSTORE_BUSY while this store handle has a handle or iterator of it open.
int kvstore_cf_drop(KVStore* kv, const char* name);

// The names but "default", in byte order. Free each name, and the array.
int kvstore_cf_list(KVStore* kv, char*** names, int* count);

void kvstore_cf_close(KVColumnFamily* cf);

// ---- Iterators
//
// In byte order of keys. An iterator made in a transaction of this thread sees that transaction,
// what it writes later included; when it ends, the iterator goes on from its key with what there is
// then. Any other sees one moment, that of its creation (unlike SNKV). Expired keys are skipped; a
// key that expires under the iterator stays. An iterator left open keeps the file from reusing
// space: close it.

// Nowhere until first, last or seek; eof is 1 and next does nothing.
int kvstore_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_iterator_create(KVColumnFamily* cf, KVIterator** out);

// On the first key with the prefix, which must not be empty; there are no other keys for it.
int kvstore_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                   KVIterator** out);
int kvstore_cf_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_length,
                                      KVIterator** out);

// For last and prev; nowhere at first. The one with a prefix is on the last key that has it.
int kvstore_reverse_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_reverse_iterator_create(KVColumnFamily* cf, KVIterator** out);
int kvstore_reverse_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                           KVIterator** out);
int kvstore_cf_reverse_prefix_iterator_create(KVColumnFamily* cf, const void* prefix,
                                              int prefix_length, KVIterator** out);

// KVSTORE_OK whether or not there is an entry: eof tells. last and prev of a forward iterator are
// KVSTORE_ERROR; first and next of a reverse one work. At the end next and prev do nothing.
int kvstore_iterator_first(KVIterator* iterator);
int kvstore_iterator_last(KVIterator* iterator);
int kvstore_iterator_next(KVIterator* iterator);
int kvstore_iterator_prev(KVIterator* iterator);
int kvstore_iterator_eof(KVIterator* iterator);  // 1 or 0; 1 for NULL

// To the first key not less than `key`; of a reverse iterator, to the last key not greater.
int kvstore_iterator_seek(KVIterator* iterator, const void* key, int key_length);

// KVSTORE_ERROR at eof. Pointers are the iterator's, valid until it moves or is closed, or the
// store is.
int kvstore_iterator_key(KVIterator* iterator, void** key, int* key_length);
int kvstore_iterator_value(KVIterator* iterator, void** value, int* value_length);
int kvstore_iterator_deadline(KVIterator* iterator, int64_t* expire_ms);  // 0: it has none
int kvstore_iterator_ttl(KVIterator* iterator, int64_t* remaining_ms);    // or KVSTORE_NO_TTL

void kvstore_iterator_close(KVIterator* iterator);

// ---- Transactions
//
// All column families together. Time stands still in one. It is ended by the thread that began it;
// if that thread ends before, it is undone.

// `write` 1: from now on this thread's writes take effect together, at the commit, or not at all.
// KVSTORE_BUSY if another writer does not end in time. `write` 0: this thread's reads see the store
// as it is now, and its writes are KVSTORE_READONLY (unlike SNKV). KVSTORE_ERROR if this thread has
// one open.
int kvstore_begin(KVStore* kv, int write);

// KVSTORE_OK, and nothing happens, if there is no transaction. A commit that fails undoes all of
// it.
int kvstore_commit(KVStore* kv);
int kvstore_rollback(KVStore* kv);

// ---- Maintenance

// Returns when all that was committed, by anybody, is on disk. An open transaction stays open.
// Unlike SNKV, whose kvstore_sync() commits, and syncs nothing.
// There is no log, so both numbers (or NULL) are 0 and all modes do the same; any other mode is
// KVSTORE_ERROR. kvstore_checkpoint() is KVSTORE_BUSY while this thread has a write transaction
// open.
int kvstore_sync(KVStore* kv);
int kvstore_checkpoint(KVStore* kv, int mode, int* log_frames, int* checkpointed_frames);

// Free pages are reused without being asked. With `pages` above 0 this does nothing; else it is
// kvstore_compact(), except that a store in use just stays as large as it is.
int kvstore_incremental_vacuum(KVStore* kv, int pages);

// Makes the file as small as it can be. KVSTORE_BUSY if a transaction, an iterator or another
// process is using it.
int kvstore_compact(KVStore* kv);

// A compact copy of one moment at `path`, which must not exist, while others read and write.
int kvstore_backup(KVStore* kv, const char* path);

// Reads the whole file: is it sound, and do entries and expiries agree? If not, KVSTORE_CORRUPT and
// what is wrong in `*message` (or NULL), to be freed; else that is NULL.
int kvstore_integrity_check(KVStore* kv, char** message);

int kvstore_stats(KVStore* kv, KVStoreStats* stats);
int kvstore_stats_reset(KVStore* kv);

#ifdef __cplusplus
}  // extern "C"
#endif
