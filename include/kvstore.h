// SPDX-License-Identifier: Apache-2.0
// The store from C: keys and values of raw bytes in one file, in which any key may have an expiry.
//
//   KVStore* kv;
//   if (kvstore_open("sessions.db", &kv, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) return 1;
//   kvstore_put_for(kv, "session:42", 10, token, token_length, 30 * 60 * 1000);
//   int rc = kvstore_get(kv, "session:42", 10, &value, &length);  // then snkv_free(value)
//   kvstore_close(kv);
//
// These are the calls of SNKV 0.8, with its names, numbers and rules, and some more. "Unlike SNKV"
// marks the places where SNKV's behaviour was a defect.
//
// Time. An expiry (`expire_ms`) is a moment in milliseconds since 1970; a TTL (`ttl_ms`) is a
// number of milliseconds from now. A key is gone from its expiry on, for every call, whether or not
// it has been removed from the file. Unlike SNKV, a call that reads an expired key does not remove
// it: the next commit does. A thread makes checkpoints when there is need, and removes expired keys
// then; what expires before is never written to the file. At NORMAL it syncs once a second.
//
// Threads. All handles may be shared by threads, with or without `fullMutex`, except that an
// iterator is used by one thread at a time. A transaction (kvstore_begin) belongs to the thread
// that began it. Several handles, in several processes, may be open on one file. In the child of a
// fork() calls on the parent's handles return KVSTORE_ERROR: open the file again.
//
// Arguments. A key has 1 to 65,536 bytes, a value 0 to 10,485,760. A null handle or pointer, a
// negative length or expiry and a length beyond the limits are KVSTORE_ERROR; such a call changes
// nothing. Pointers for results are required unless it says "or NULL". A call that fails sets
// pointers to NULL and numbers to 0.
//
// Memory. What a call allocates is freed with snkv_free(). After a store is closed, calls on its
// iterators and column families return KVSTORE_ERROR; each still has to be closed, to free it.

#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): this is C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// What calls return. kvstore_errmsg() returns the reason in words.
#define KVSTORE_OK 0
#define KVSTORE_ERROR 1   // bad argument, no such file, or input or output failed
#define KVSTORE_BUSY 5    // another writer is active, or the column family to drop is in use
#define KVSTORE_LOCKED 6  // never returned
#define KVSTORE_NOMEM 7
#define KVSTORE_READONLY 8      // the store, the file, or the transaction is read-only
#define KVSTORE_CORRUPT 11      // the file is damaged, or not a store
#define KVSTORE_NOTFOUND 12     // no such key (or it has expired), no such column family
#define KVSTORE_AUTH_FAILED 13  // never returned: stores are not encrypted
#define KVSTORE_PROTOCOL 15     // never returned
#define KVSTORE_FULL 64  // the disk or the file's limit; too many column families. Not in SNKV

#define KVSTORE_MAX_COLUMN_FAMILIES 64  // always possible; the limit is 255 and "default"

#define KVSTORE_JOURNAL_DELETE 0  // Both mean the same: there is a log, and a writer never blocks
#define KVSTORE_JOURNAL_WAL 1     // readers.

// What a power cut may cost. A crash of the process costs nothing that was committed, ever.
#define KVSTORE_SYNC_OFF 0      // the same as NORMAL: 0 is also the value of an unset field
#define KVSTORE_SYNC_NORMAL 1   // the commits of the last second, as a whole; the file stays sound
#define KVSTORE_SYNC_FULL 2     // nothing: a commit waits for the disk
#define KVSTORE_SYNC_NONE (-1)  // all since the last checkpoint, as a whole; the file stays sound

#define KVSTORE_CHECKPOINT_PASSIVE 0   // waits for no writer: does what can be done now
#define KVSTORE_CHECKPOINT_FULL 1      // waits for writers, and applies all that was committed
#define KVSTORE_CHECKPOINT_RESTART 2   // the same: the log is reused by itself
#define KVSTORE_CHECKPOINT_TRUNCATE 3  // as FULL; then nothing is pending, and the log is removed

#define KVSTORE_NO_TTL ((int64_t)-1)  // as what remains: it never expires

typedef struct KVStore KVStore;
typedef struct KVColumnFamily KVColumnFamily;
typedef struct KVIterator KVIterator;

// How to open a store. All zeros is the default: KVSTORE_SYNC_NORMAL (unlike SNKV, which then never
// synced), and no busy timeout. The fields are those of SNKV, for binary compatibility.
typedef struct KVStoreConfig {
  int journalMode;   // no effect: there is always a log
  int syncLevel;     // KVSTORE_SYNC_...; 0 is NORMAL. Any other number is an error
  int cacheSize;     // no effect: the file is mapped, the system caches it
  int pageSize;      // no effect: pages have the size that the system gives memory
  int readOnly;      // not 0: nothing is written, not what has expired either. The file must exist
  int busyTimeout;   // how many ms a writer waits for others before BUSY. 0: only for single calls
                     // of other threads on this handle, and a second for processes that open it
  int walSizeLimit;  // a checkpoint after so many times 4096 bytes of log; 0: after 32 MiB
  int allowEncrypted;  // no effect: stores are not encrypted
  int fullMutex;       // no effect: handles may always be shared
} KVStoreConfig;

// More options, for kvstore_open_ex(). Not in SNKV. Later versions add fields at the end:
// KVStoreOptions options = {.size = sizeof options, ...};
typedef struct KVStoreOptions {
  size_t size;                       // sizeof(KVStoreOptions)
  int64_t (*nowMs)(void* argument);  // the clock, for tests; NULL: the system's. From any thread
  void* nowArgument;
  char* errorText;    // NULL, or a buffer for the message of a failed open
  int errorTextSize;  // its size; the text is cut, and ends with a zero byte
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
  uint64_t nTtlExpired;    // expired entries that calls found, and commits or this call removed
  uint64_t nTtlPurged;     // removed by a purge
  uint64_t nDbPages;       // in the file now; not reset
} KVStoreStats;

// A result of kvstore_expiring().
typedef struct KVExpiring {
  void* key;
  int keyLength;
  int64_t expireMs;
} KVExpiring;

void* snkv_malloc(size_t bytes);  // zeroed; NULL if there is no memory
void snkv_free(void* memory);     // NULL: does nothing

int64_t kvstore_now_ms(void);  // the wall clock in milliseconds since 1970

// ---- Opening and closing

// Opens or creates the file at `path`. NULL or "": a temporary store, gone when it is closed.
// KVSTORE_ERROR: no such directory or file, or a newer version. KVSTORE_READONLY: no permission, or
// `readOnly` and the file is empty. KVSTORE_CORRUPT: damaged, or not a store. KVSTORE_BUSY: another
// process recovers or compacts it. A `config` of NULL is one of zeros; `options` may be NULL.
int kvstore_open(const char* path, KVStore** out, int journal_mode);
int kvstore_open_v2(const char* path, KVStore** out, const KVStoreConfig* config);
int kvstore_open_ex(const char* path, KVStore** out, const KVStoreConfig* config,
                    const KVStoreOptions* options);

// Waits for the calls of other threads, rolls open transactions back, and ends iterators.
// KVSTORE_BUSY, and nothing is closed, if another thread has a write transaction open. After any
// other result the handle is gone. NULL is OK.
int kvstore_close(KVStore* kv);

// The message of the last call of this thread on this store that failed; "no error" if none did.
// Valid until a call of this thread fails.
const char* kvstore_errmsg(KVStore* kv);

// ---- Keys
// Each call works on the column family "default"; its _cf_ form on any. It is a transaction of its
// own unless this thread has one open. Writes return KVSTORE_BUSY if another writer takes too long.

// Stores the value with the default TTL of the column family, by default none. The old expiry is
// removed. `value` may be NULL if its length is 0.
int kvstore_put(KVStore* kv, const void* key, int key_length, const void* value, int value_length);
int kvstore_cf_put(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                   int value_length);

// Returns a copy of the value, to be freed; NULL for an empty value.
int kvstore_get(KVStore* kv, const void* key, int key_length, void** value, int* value_length);
int kvstore_cf_get(KVColumnFamily* cf, const void* key, int key_length, void** value,
                   int* value_length);

// Copies the value into `buffer`, at most `size` bytes of it. `*value_length` is the whole length.
// `buffer` may be NULL if `size` is 0.
int kvstore_get_into(KVStore* kv, const void* key, int key_length, void* buffer, int size,
                     int* value_length);
int kvstore_cf_get_into(KVColumnFamily* cf, const void* key, int key_length, void* buffer, int size,
                        int* value_length);

// Unlike SNKV, deleting an expired key is KVSTORE_NOTFOUND.
int kvstore_delete(KVStore* kv, const void* key, int key_length);
int kvstore_cf_delete(KVColumnFamily* cf, const void* key, int key_length);

// KVSTORE_OK whether `*exists` is 1 or 0.
int kvstore_exists(KVStore* kv, const void* key, int key_length, int* exists);
int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_length, int* exists);

// Stores only if the key is absent or expired; else value and expiry stay. `expire_ms` 0: as in
// kvstore_put(). `*inserted` (or NULL) is 1 or 0; KVSTORE_OK in both cases. Unlike SNKV, nothing is
// stored if the expiry has passed.
int kvstore_put_if_absent(KVStore* kv, const void* key, int key_length, const void* value,
                          int value_length, int64_t expire_ms, int* inserted);
int kvstore_cf_put_if_absent(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                             int value_length, int64_t expire_ms, int* inserted);

// Replaces the value if it is now `expected`; the expiry stays. `*swapped` (or NULL) is 1 or 0;
// KVSTORE_OK in both cases. An absent key is never swapped.
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

// Entries in the file, expired ones included, as in SNKV. O(1); in a snapshot from the second call.
int kvstore_count(KVStore* kv, int64_t* count);
int kvstore_cf_count(KVColumnFamily* cf, int64_t* count);

// Exactly: live entries, live entries with an expiry, and expired entries in the file. O(expired).
int kvstore_count_live(KVStore* kv, int64_t* count);
int kvstore_cf_count_live(KVColumnFamily* cf, int64_t* count);
int kvstore_count_ttl(KVStore* kv, int64_t* count);
int kvstore_cf_count_ttl(KVColumnFamily* cf, int64_t* count);
int kvstore_count_expired(KVStore* kv, int64_t* count);
int kvstore_cf_count_expired(KVColumnFamily* cf, int64_t* count);

int kvstore_clear(KVStore* kv);  // removes all entries of the column family
int kvstore_cf_clear(KVColumnFamily* cf);

// ---- Expiry

// Stores the value with an expiry, which replaces the old one. 0 and INT64_MAX: it never expires,
// whatever the default TTL. An expiry that has passed is accepted: the entry is counted by
// kvstore_count() until a purge removes it. Unlike SNKV, a negative one is KVSTORE_ERROR.
int kvstore_put_ttl(KVStore* kv, const void* key, int key_length, const void* value,
                    int value_length, int64_t expire_ms);
int kvstore_cf_put_ttl(KVColumnFamily* cf, const void* key, int key_length, const void* value,
                       int value_length, int64_t expire_ms);

// put_ttl and put_if_absent with a TTL from now. 0 and less are KVSTORE_ERROR.
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

// KVSTORE_OK with a number above 0, with KVSTORE_NO_TTL, or with 0 if the key has expired and was
// not removed yet; KVSTORE_NOTFOUND with KVSTORE_NO_TTL if it is absent.
int kvstore_ttl_remaining(KVStore* kv, const void* key, int key_length, int64_t* remaining_ms);
int kvstore_cf_ttl_remaining(KVColumnFamily* cf, const void* key, int key_length,
                             int64_t* remaining_ms);

// The expiry of a key; 0 if it has none.
int kvstore_deadline(KVStore* kv, const void* key, int key_length, int64_t* expire_ms);
int kvstore_cf_deadline(KVColumnFamily* cf, const void* key, int key_length, int64_t* expire_ms);

// Conditions of kvstore_expire(). To GT and LT a key without expiry has the latest of all.
#define KVSTORE_EXPIRE_NX 1  // only if it has no expiry; goes with no other
#define KVSTORE_EXPIRE_XX 2  // only if it has one
#define KVSTORE_EXPIRE_GT 4  // only if the new one is later; not with LT
#define KVSTORE_EXPIRE_LT 8  // only if the new one is earlier

// Changes the expiry, not the value. An expiry that has passed removes the key. `expire_ms` and
// `ttl_ms` must be above 0. KVSTORE_NOTFOUND if there is no such key; else KVSTORE_OK, and
// `*changed` (or NULL) is whether `flags` allowed it.
int kvstore_expire(KVStore* kv, const void* key, int key_length, int64_t expire_ms, int flags,
                   int* changed);
int kvstore_cf_expire(KVColumnFamily* cf, const void* key, int key_length, int64_t expire_ms,
                      int flags, int* changed);
int kvstore_expire_for(KVStore* kv, const void* key, int key_length, int64_t ttl_ms, int flags,
                       int* changed);
int kvstore_cf_expire_for(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms,
                          int flags, int* changed);

// Removes the expiry. `*changed` (or NULL): whether it had one. KVSTORE_NOTFOUND if absent.
int kvstore_persist(KVStore* kv, const void* key, int key_length, int* changed);
int kvstore_cf_persist(KVColumnFamily* cf, const void* key, int key_length, int* changed);

// Extends the expiry to `ttl_ms` from now, if the key has one and it is earlier: a sliding TTL.
int kvstore_touch(KVStore* kv, const void* key, int key_length, int64_t ttl_ms);
int kvstore_cf_touch(KVColumnFamily* cf, const void* key, int key_length, int64_t ttl_ms);

// The TTL of writes that name none: above 0, or KVSTORE_NO_TTL. It is kept in the file.
int kvstore_set_default_ttl(KVStore* kv, int64_t ttl_ms);
int kvstore_cf_set_default_ttl(KVColumnFamily* cf, int64_t ttl_ms);
int kvstore_get_default_ttl(KVStore* kv, int64_t* ttl_ms);
int kvstore_cf_get_default_ttl(KVColumnFamily* cf, int64_t* ttl_ms);

// Removes expired entries of the column family, in transactions of 256, or in the open one: at most
// `max`; 0 is no limit. `*purged` (or NULL) is how many, after an error too. O(log n) if none.
int kvstore_purge_expired(KVStore* kv, int* purged);
int kvstore_cf_purge_expired(KVColumnFamily* cf, int* purged);
int kvstore_purge_expired_limit(KVStore* kv, int64_t max, int64_t* purged);
int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int64_t max, int64_t* purged);
int kvstore_purge_all(KVStore* kv, int64_t max, int64_t* purged);  // of all column families

// Live entries that expire in [from_ms, to_ms), soonest first, at most `max` (0: all). Array and
// keys are one block of memory: snkv_free(*entries); NULL if there is none.
int kvstore_expiring(KVStore* kv, int64_t from_ms, int64_t to_ms, int max, KVExpiring** entries,
                     int* count);
int kvstore_cf_expiring(KVColumnFamily* cf, int64_t from_ms, int64_t to_ms, int max,
                        KVExpiring** entries, int* count);

// The earliest expiry in the column family, one that has passed included; 0 if there is none.
int kvstore_next_deadline(KVStore* kv, int64_t* expire_ms);
int kvstore_cf_next_deadline(KVColumnFamily* cf, int64_t* expire_ms);

// ---- Column families
// Key spaces that share transactions. Names have 1 to 255 bytes and begin neither with "__" nor
// with "_snkv_". "default" always exists. Calls on a dropped family return KVSTORE_ERROR.

// create is KVSTORE_ERROR if it exists; but "default" returns that one.
int kvstore_cf_create(KVStore* kv, const char* name, KVColumnFamily** out);
int kvstore_cf_open(KVStore* kv, const char* name, KVColumnFamily** out);
int kvstore_cf_get_default(KVStore* kv, KVColumnFamily** out);
void kvstore_cf_close(KVColumnFamily* cf);

// With all its entries. KVSTORE_BUSY while this store handle has a handle or iterator of it open.
int kvstore_cf_drop(KVStore* kv, const char* name);

// The names but "default", in byte order. Free each name, and the array.
int kvstore_cf_list(KVStore* kv, char*** names, int* count);

// ---- Iterators
// In byte order of keys. An iterator made in a transaction sees its later writes, too; when the
// transaction ends, it continues from its key in the current data. Any other sees the moment of its
// creation (unlike SNKV). Expired keys are skipped. An open iterator keeps the file from reusing
// space: close it.

// On no entry until first, last or seek; with a prefix, on the first key that has it, and limited
// to such keys. A prefix must not be empty.
int kvstore_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_iterator_create(KVColumnFamily* cf, KVIterator** out);
int kvstore_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                   KVIterator** out);
int kvstore_cf_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_length,
                                      KVIterator** out);

// For last and prev; on no entry at first. The one with a prefix is on the last key that has it.
int kvstore_reverse_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_reverse_iterator_create(KVColumnFamily* cf, KVIterator** out);
int kvstore_reverse_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_length,
                                           KVIterator** out);
int kvstore_cf_reverse_prefix_iterator_create(KVColumnFamily* cf, const void* prefix,
                                              int prefix_length, KVIterator** out);

// KVSTORE_OK also at the end, where next and prev do nothing. last and prev of a forward iterator
// are KVSTORE_ERROR; first and next of a reverse one work.
int kvstore_iterator_first(KVIterator* iterator);
int kvstore_iterator_last(KVIterator* iterator);
int kvstore_iterator_next(KVIterator* iterator);
int kvstore_iterator_prev(KVIterator* iterator);
int kvstore_iterator_eof(KVIterator* iterator);  // 1 or 0; 1 for NULL

// To the first key not less than `key`; of a reverse iterator, to the last key not greater.
int kvstore_iterator_seek(KVIterator* iterator, const void* key, int key_length);

// KVSTORE_ERROR at eof. Pointers are valid until the iterator moves, or it or the store is closed.
int kvstore_iterator_key(KVIterator* iterator, void** key, int* key_length);
int kvstore_iterator_value(KVIterator* iterator, void** value, int* value_length);
int kvstore_iterator_deadline(KVIterator* iterator, int64_t* expire_ms);  // 0: it has none
int kvstore_iterator_ttl(KVIterator* iterator, int64_t* remaining_ms);    // or KVSTORE_NO_TTL

void kvstore_iterator_close(KVIterator* iterator);

// ---- Transactions, of all column families together, at one moment of time. The thread that began
// one ends it; if the thread ends before, it is rolled back.

// `write` 1: from now on this thread's writes take effect together, at the commit, or not at all.
// KVSTORE_BUSY if another writer does not finish in time. `write` 0: reads see the store as it is
// now, and writes are KVSTORE_READONLY (unlike SNKV). KVSTORE_ERROR if this thread has one open.
int kvstore_begin(KVStore* kv, int write);
int kvstore_commit(KVStore* kv);    // if it fails, it rolls back
int kvstore_rollback(KVStore* kv);  // without a transaction both do nothing

// ---- Maintenance

int kvstore_sync(KVStore* kv);  // all commits are on disk then; it ends none (unlike SNKV)

// Writes what the log has to the file, as happens by itself. `log_frames` (or NULL): transactions
// that were in the log only; `checkpointed_frames` (or NULL): those in the file now; after TRUNCATE
// both are 0, as in SNKV. KVSTORE_BUSY if this thread is writing, or, but for PASSIVE, another is.
int kvstore_checkpoint(KVStore* kv, int mode, int* log_frames, int* checkpointed_frames);

// With `pages` above 0 this does nothing: free pages are reused anyway. Else it is
// kvstore_compact(), but a store in use stays as large as it is, without an error.
int kvstore_incremental_vacuum(KVStore* kv, int pages);

// Makes the file as small as possible. KVSTORE_BUSY if a transaction, iterator or process uses it.
int kvstore_compact(KVStore* kv);

// Makes a compact copy of one moment at `path`, which must not exist. Others may read and write.
int kvstore_backup(KVStore* kv, const char* path);

// Checks the whole file for damage: KVSTORE_CORRUPT, and problems in `*message` (or NULL): free it.
int kvstore_integrity_check(KVStore* kv, char** message);

int kvstore_stats(KVStore* kv, KVStoreStats* stats);  // more: kvstore_log.h, kvstore_histogram.h
int kvstore_stats_reset(KVStore* kv);

#ifdef __cplusplus
}  // extern "C"
#endif
