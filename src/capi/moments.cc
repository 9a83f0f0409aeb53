// SPDX-License-Identifier: Apache-2.0
#include "capi/moments.h"

#include "capi/call.h"

namespace mayfly {

Moment Moment::at(std::int64_t expire_ms) {
  if (expire_ms <= 0) return {.problem = "an expiry must be above 0, in ms since 1970"};
  const Time deadline{Millis(expire_ms)};
  return {.expires = Expires(deadline), .deadline = deadline};
}

Moment Moment::at_or_never(std::int64_t expire_ms) {
  return expire_ms == 0 ? Moment{.expires = Expires::never()} : at(expire_ms);
}

Moment Moment::in(std::int64_t ttl_ms) {
  if (ttl_ms <= 0) return {.problem = "a TTL must be above 0, in ms"};
  return {.expires = Expires(Millis(ttl_ms))};
}

int check_moment(KVStore& kv, const Moment& moment) {
  return moment.problem == nullptr ? KVSTORE_OK : fail(kv, KVSTORE_ERROR, moment.problem);
}

}  // namespace mayfly
