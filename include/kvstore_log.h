// SPDX-License-Identifier: Apache-2.0
// The statistics of the log of a store (kvstore.h) and of its checkpoints. Not in SNKV.

#pragma once

#include "kvstore.h"

#ifdef __cplusplus
extern "C" {
#endif

// Later versions add fields at the end.
typedef struct KVStoreLogStats {
  size_t size;  // sizeof(KVStoreLogStats), to be set before the call

  // By this process, since it opened the store.
  uint64_t nLoggedBytes;       // appended to the log
  uint64_t nTreeBytes;         // of pages written to the file by checkpoints, about
  uint64_t nTreeEntries;       // entries written to the file
  uint64_t nExpiredUnwritten;  // entries that expired before they were written to the file
  uint64_t nCheckpoints;       // whoever asked for them
  uint64_t nStalls;            // commits that waited for a checkpoint, since the log was full
  uint64_t nStalledMs;         // how long, together
  uint64_t nLogSyncs;

  // Now.
  uint64_t nLogBytes;      // of the log file, on disk
  uint64_t nPendingBytes;  // of records that are not in the file yet
  uint64_t nTableBytes;    // memory of this process for these

  // By this process, since it opened the store.
  uint64_t nDamagedRows;  // of the indexes of deadlines, each time that a checkpoint met one
                          // and left it; kvstore_integrity_check names them
} KVStoreLogStats;

int kvstore_log_stats(KVStore* kv, KVStoreLogStats* stats);

#ifdef __cplusplus
}  // extern "C"
#endif
