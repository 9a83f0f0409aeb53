// SPDX-License-Identifier: Apache-2.0
// Moments as kvstore.h says them, `expire_ms` and `ttl_ms`, and as the store takes them.

#pragma once

#include <cstdint>
#include <optional>

#include "mayfly/expires.h"
#include "mayfly/time.h"

struct KVStore;

namespace mayfly {

// When an entry is to expire. What makes no sense is kept, for check_moment().
struct Moment {
  static Moment by_default() { return {}; }
  static Moment at(std::int64_t expire_ms);           // must be above 0
  static Moment at_or_never(std::int64_t expire_ms);  // 0 is never
  static Moment in(std::int64_t ttl_ms);              // must be above 0

  Expires expires{};
  std::optional<Time> deadline{};  // if it is known before the clock is read
  const char* problem = nullptr;
};

int check_moment(KVStore& kv, const Moment& moment);

// A deadline as kvstore.h gives it out: 0 is none.
inline std::int64_t to_expire_ms(Time deadline) {
  return deadline == kNever ? 0 : deadline.time_since_epoch().count();
}

}  // namespace mayfly
