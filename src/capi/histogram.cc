// SPDX-License-Identifier: Apache-2.0
// The histogram of deadlines, of one family and of all.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/call.h"
#include "kvstore_histogram.h"
#include "mayfly/ttl_histogram.h"

namespace mayfly::internal {
namespace {

static_assert(KVSTORE_TTL_BUCKETS == kTtlBuckets);

KVTtlCount to_c(const TtlCount& count) { return {count.entries, count.bytes}; }

KVTtlHistogram to_c(const TtlHistogram& from, std::size_t size) {
  KVTtlHistogram histogram{};
  histogram.size = size;
  std::ranges::transform(from.buckets, histogram.buckets,
                         [](const TtlCount& count) { return to_c(count); });
  histogram.overdue = to_c(from.overdue);
  histogram.oldestOverdueMs = to_expire_ms(from.oldest_overdue);
  return histogram;
}

// `read(txn, options)` makes the histogram.
template <class Read>
int give_histogram(KVStore* store, int flags, KVTtlHistogram* histogram, Read read) {
  return call(store, [&](KVStore& kv) {
    if (const int code = check_result(kv, histogram)) return code;
    const std::size_t size = histogram->size;
    if (size < offsetof(KVTtlHistogram, overdue)) {
      return fail(kv, KVSTORE_ERROR, "KVTtlHistogram.size must be sizeof(KVTtlHistogram)");
    }
    if ((flags & ~KVSTORE_TTL_BYTES) != 0) {
      return fail(kv, KVSTORE_ERROR, "invalid flags: only KVSTORE_TTL_BYTES is known");
    }
    return with_read(kv, [&](const ReadTxn& txn) {
      const TtlHistogramOptions options{.bytes = (flags & KVSTORE_TTL_BYTES) != 0};
      const Result<TtlHistogram> found = read(txn, options);
      if (!found) return fail(kv, found.error());
      const KVTtlHistogram all = to_c(*found, size);
      std::memcpy(histogram, &all, std::min(size, sizeof all));
      return KVSTORE_OK;
    });
  });
}

bool is_bucket(int bucket) { return bucket >= 0 && bucket < KVSTORE_TTL_BUCKETS; }

}  // namespace

extern "C" {

int kvstore_ttl_histogram(KVStore* kv, int flags, KVTtlHistogram* histogram) {
  return kvstore_cf_ttl_histogram(kv == nullptr ? nullptr : &kv->main, flags, histogram);
}

int kvstore_cf_ttl_histogram(KVColumnFamily* cf, int flags, KVTtlHistogram* histogram) {
  if (cf == nullptr) return KVSTORE_ERROR;
  return give_histogram(cf->kv, flags, histogram,
                        [cf](const ReadTxn& txn, TtlHistogramOptions options) {
                          return txn.ttl_histogram(options, cf->family);
                        });
}

int kvstore_ttl_histogram_all(KVStore* kv, int flags, KVTtlHistogram* histogram) {
  return give_histogram(kv, flags, histogram, [](const ReadTxn& txn, TtlHistogramOptions options) {
    return txn.ttl_histogram_all(options);
  });
}

int64_t kvstore_ttl_bucket_ms(int bucket) {
  return is_bucket(bucket) ? kTtlBounds[static_cast<std::size_t>(bucket)].within.count() : 0;
}

const char* kvstore_ttl_bucket_name(int bucket) {
  return is_bucket(bucket) ? kTtlBounds[static_cast<std::size_t>(bucket)].name.data() : nullptr;
}

}  // extern "C"
}  // namespace mayfly::internal
