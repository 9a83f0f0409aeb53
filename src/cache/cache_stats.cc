// SPDX-License-Identifier: Apache-2.0
// What a cache counts, and how the counts of its shards are added up.

#include "mayfly/cache_options.h"

namespace mayfly {

void CacheStats::count(Cause cause) {
  switch (cause) {
    case Cause::expired:
      ++expired;
      break;
    case Cause::replaced:
      ++replaced;
      break;
    case Cause::erased:
      ++erased;
      break;
    case Cause::evicted:
      ++evicted;
      break;
    case Cause::cleared:
      ++cleared;
      break;
  }
}

CacheStats& CacheStats::operator+=(const CacheStats& other) {
  hits += other.hits;
  misses += other.misses;
  expired += other.expired;
  replaced += other.replaced;
  erased += other.erased;
  evicted += other.evicted;
  cleared += other.cleared;
  loads += other.loads;
  load_failures += other.load_failures;
  listener_failures += other.listener_failures;
  return *this;
}

}  // namespace mayfly
