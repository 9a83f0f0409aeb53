// SPDX-License-Identifier: Apache-2.0
// The calls for the store as a whole: sync, checkpoint, compact, backup, check, statistics.

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <string>

#include "capi/call.h"
#include "kvstore_log.h"

namespace mayfly::internal {
namespace {

bool is_read_only(const KVStore& kv) { return kv.store->options().read_only; }

int refuse_read_only(KVStore& kv) {
  return fail(kv, KVSTORE_READONLY, "the store was opened read-only");
}

// A read-only store has nothing to sync.
int sync(KVStore& kv) { return is_read_only(kv) ? KVSTORE_OK : check_status(kv, kv.store->sync()); }

constexpr CheckpointMode to_mode(int mode) {
  if (mode == KVSTORE_CHECKPOINT_PASSIVE) return CheckpointMode::passive;
  return mode == KVSTORE_CHECKPOINT_TRUNCATE ? CheckpointMode::truncate : CheckpointMode::full;
}

// A passive one that could not do all of it still makes the commits durable.
int checkpoint(KVStore& kv, CheckpointMode mode, Checkpointed& done) {
  const bool is_passive = mode == CheckpointMode::passive;
  const auto turn = is_passive ? std::unique_lock<std::mutex>() : kv.take_turn();
  const auto result = kv.store->checkpoint(mode);
  if (!result) return fail(kv, result.error());
  kv.checkpoints.fetch_add(1, std::memory_order_relaxed);
  if (mode != CheckpointMode::truncate) done = *result;
  return is_passive ? sync(kv) : KVSTORE_OK;
}

void give_number(int* out, std::uint64_t number) {
  if (out != nullptr) *out = static_cast<int>(std::min<std::uint64_t>(number, INT_MAX));
}

// In SNKV a read removes what it finds expired, so the statistics that follow count it. Here
// commits do, some at a time; one is made now, if nobody else is writing.
void remove_found_expired(KVStore& kv) {
  if (kv.store->options().read_only || kv.open_txn() != nullptr) return;
  const auto turn = kv.take_turn();
  if (!kv.reader->has_found_expired()) return;
  if (auto txn = kv.store->write(Millis::zero())) (void)txn->commit();
}

char* copy_text(const std::string& text) {
  char* const copy = ::strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

// One line for each problem.
std::string join(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) {
    if (!text.empty()) text.push_back('\n');
    text.append(problem);
  }
  return text;
}

}  // namespace

extern "C" {

int kvstore_sync(KVStore* kv) {
  return call(kv, [](KVStore& store) { return sync(store); });
}

int kvstore_checkpoint(KVStore* kv, int mode, int* log_frames, int* checkpointed_frames) {
  if (log_frames != nullptr) *log_frames = 0;
  if (checkpointed_frames != nullptr) *checkpointed_frames = 0;
  return call(kv, [&](KVStore& store) {
    if (mode < KVSTORE_CHECKPOINT_PASSIVE || mode > KVSTORE_CHECKPOINT_TRUNCATE) {
      return fail(store, KVSTORE_ERROR, "the mode must be one of KVSTORE_CHECKPOINT_...");
    }
    if (is_read_only(store)) return refuse_read_only(store);
    const OpenTxn* const open = store.open_txn();
    if (open != nullptr && open->write) {
      return fail(store, KVSTORE_BUSY,
                  "cannot checkpoint: this thread has a write transaction open");
    }
    Checkpointed done;
    const int code = checkpoint(store, to_mode(mode), done);
    give_number(log_frames, done.pending);
    give_number(checkpointed_frames, done.applied);
    return code;
  });
}

int kvstore_compact(KVStore* kv) {
  return call(kv, [](KVStore& store) {
    if (is_read_only(store)) return refuse_read_only(store);
    const auto turn = store.take_turn();
    return check_status(store, store.store->compact());
  });
}

int kvstore_incremental_vacuum(KVStore* kv, int pages) {
  return call(kv, [&](KVStore& store) {
    if (is_read_only(store)) return refuse_read_only(store);
    if (pages > 0) return KVSTORE_OK;
    const auto turn = store.take_turn();
    const Status compacted = store.store->compact();
    const bool in_use = !compacted && compacted.error().code == Code::busy;
    return in_use ? KVSTORE_OK : check_status(store, compacted);
  });
}

int kvstore_backup(KVStore* kv, const char* path) {
  return call(kv, [&](KVStore& store) {
    if (path == nullptr || *path == '\0') {
      return fail(store, KVSTORE_ERROR, "the path of the copy must not be empty");
    }
    return check_status(store, store.store->backup(path));
  });
}

int kvstore_integrity_check(KVStore* kv, char** message) {
  if (message != nullptr) *message = nullptr;
  return call(kv, [&](KVStore& store) {
    const auto report = store.store->check();
    std::string text;
    if (!report && report.error().code == Code::corrupt) {
      text = report.error().message;
    } else if (!report) {
      return fail(store, report.error());
    } else if (report->ok()) {
      return KVSTORE_OK;
    } else {
      text = join(report->problems);
    }
    if (message != nullptr) *message = copy_text(text);
    return fail(store, KVSTORE_CORRUPT, text);
  });
}

int kvstore_stats(KVStore* kv, KVStoreStats* stats) {
  if (stats != nullptr) *stats = {};
  return call(kv, [&](KVStore& store) {
    if (const int code = check_result(store, stats)) return code;
    remove_found_expired(store);
    const auto now = store.store->stats();
    if (!now) return fail(store, now.error());
    stats->nPuts = now->puts;
    stats->nGets = now->gets;
    stats->nDeletes = now->erases;
    stats->nIterations = store.iterations.load(std::memory_order_relaxed);
    stats->nErrors = store.errors.load(std::memory_order_relaxed);
    stats->nBytesRead = now->bytes_read;
    stats->nBytesWritten = now->bytes_written;
    stats->nWalCommits = now->commits;
    stats->nCheckpoints = store.checkpoints.load(std::memory_order_relaxed);
    stats->nTtlExpired = now->expired_lazily;
    stats->nTtlPurged = now->purged;
    stats->nDbPages = now->pages;
    return KVSTORE_OK;
  });
}

int kvstore_log_stats(KVStore* kv, KVStoreLogStats* stats) {
  return call(kv, [&](KVStore& store) {
    if (const int code = check_result(store, stats)) return code;
    const std::size_t size = stats->size;
    if (size < sizeof(std::size_t) + sizeof(std::uint64_t)) {
      return fail(store, KVSTORE_ERROR, "KVStoreLogStats.size must be sizeof(KVStoreLogStats)");
    }
    const auto now = store.store->stats();
    if (!now) return fail(store, now.error());
    const KVStoreLogStats all = {.size = size,
                                 .nLoggedBytes = now->logged_bytes,
                                 .nTreeBytes = now->tree_bytes,
                                 .nTreeEntries = now->tree_entries,
                                 .nExpiredUnwritten = now->expired_unwritten,
                                 .nCheckpoints = now->checkpoints,
                                 .nStalls = now->stalls,
                                 .nStalledMs = now->stalled_ms,
                                 .nLogSyncs = now->log_syncs,
                                 .nLogBytes = now->log_bytes,
                                 .nPendingBytes = now->pending_bytes,
                                 .nTableBytes = now->table_bytes,
                                 .nDamagedRows = now->damaged_rows};
    std::memcpy(stats, &all, std::min(size, sizeof all));
    return KVSTORE_OK;
  });
}

int kvstore_stats_reset(KVStore* kv) {
  return call(kv, [](KVStore& store) {
    store.store->reset_stats();
    for (auto* const count : {&store.errors, &store.checkpoints, &store.iterations}) {
      count->store(0, std::memory_order_relaxed);
    }
    return KVSTORE_OK;
  });
}

}  // extern "C"
}  // namespace mayfly::internal
