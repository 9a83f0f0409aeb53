// SPDX-License-Identifier: Apache-2.0
// The calls that remove what has expired.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "capi/call.h"

namespace mayfly {
namespace {

// As the store does it by itself; here also so that other threads get their turn in between.
constexpr std::uint64_t kBatch = 256;

// Calls `batch(limit)`, a Purged of at most that many, until nothing is left or `max` are removed.
// What was removed before an error is counted all the same: it is gone.
template <class Batch>
int purge_in_batches(KVStore& kv, std::uint64_t max, std::uint64_t& removed, Batch batch) {
  while (removed < max) {
    const auto turn = kv.take_turn();
    const Purged purged = batch(std::min(kBatch, max - removed));
    removed += purged.removed;
    if (!purged.status) return fail(kv, purged.status.error());
    if (purged.done || purged.removed == 0) break;
  }
  return KVSTORE_OK;
}

// Purges one family, or all if `cf` is null.
int purge(KVStore* store, KVColumnFamily* cf, std::int64_t max, std::uint64_t& removed) {
  return call(store, [&](KVStore& kv) {
    if (max < 0) return fail(kv, KVSTORE_ERROR, "the limit must not be negative; 0 is none");
    const std::uint64_t limit = max == 0 ? UINT64_MAX : static_cast<std::uint64_t>(max);
    const Family family = cf == nullptr ? Family() : cf->family;
    if (kv.open_txn() != nullptr) {
      return with_write(kv, family, [&](WriteTxn& txn) {
        removed = cf == nullptr ? txn.purge_expired_all(limit) : txn.purge_expired(limit, family);
        return KVSTORE_OK;
      });
    }
    if (kv.store->options().read_only) {
      return fail(kv, KVSTORE_READONLY, "the store was opened read-only");
    }
    return purge_in_batches(kv, limit, removed, [&](std::uint64_t entries) {
      const PurgeLimits limits{.entries = entries};
      return cf == nullptr ? kv.store->purge_expired_all(limits)
                           : kv.store->purge_expired(limits, family);
    });
  });
}

template <class Number>
void give(Number* result, std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  if (result != nullptr) *result = static_cast<Number>(std::min(number, kMost));
}

}  // namespace

extern "C" {

int kvstore_cf_purge_expired(KVColumnFamily* cf, int* purged) {
  std::uint64_t removed = 0;
  const int code = purge(cf == nullptr ? nullptr : cf->kv, cf, 0, removed);
  give(purged, removed);
  return code;
}

int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int64_t max, int64_t* purged) {
  std::uint64_t removed = 0;
  const int code = purge(cf == nullptr ? nullptr : cf->kv, cf, max, removed);
  give(purged, removed);
  return code;
}

int kvstore_purge_all(KVStore* kv, int64_t max, int64_t* purged) {
  std::uint64_t removed = 0;
  const int code = purge(kv, nullptr, max, removed);
  give(purged, removed);
  return code;
}

}  // extern "C"
}  // namespace mayfly
