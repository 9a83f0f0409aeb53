// SPDX-License-Identifier: Apache-2.0
// Expires: when an entry of a store is to expire, as its user says it.
//
//   store.put("session:42", token, 30min);                  // a TTL
//   store.put("voucher", code, clock.now() + 24h);          // a deadline
//   store.put("config", text, Expires::never());            // none, whatever the default
//   store.put("counter", "7", Expires::unchanged());        // whatever the key has now
//   store.put("note", text);                                // the default of its family
//
// A TTL finer than a millisecond is rounded up. One that is zero or negative makes an entry that is
// expired at once, as does a deadline in the past: it is stored, never seen, and swept like others.

#pragma once

#include <chrono>
#include <cstdint>

#include "mayfly/time.h"

namespace mayfly {

class Expires {
 public:
  enum class Kind : unsigned char { by_default, in, at, unchanged };

  Expires() = default;

  template <class Rep, class Period>
  Expires(std::chrono::duration<Rep, Period> ttl) : kind_(Kind::in), ms_(to_millis(ttl).count()) {}

  template <class Duration>
  Expires(std::chrono::sys_time<Duration> deadline)
      : kind_(Kind::at), ms_(std::chrono::ceil<Millis>(deadline).time_since_epoch().count()) {}

  static Expires never() { return Expires(kNever); }
  static Expires unchanged() {
    Expires expires;
    expires.kind_ = Kind::unchanged;
    return expires;
  }

  Kind kind() const { return kind_; }

  // The deadline, for an entry that has the deadline `present` now (kNever if it has none, or is
  // new), in a family whose default TTL is `default_ttl` (Millis::max() if it has none).
  Time deadline(Time now, Time present, Millis default_ttl) const {
    switch (kind_) {
      case Kind::in:
        return deadline_after(now, Millis(ms_));
      case Kind::at:
        return Time(Millis(ms_));
      case Kind::unchanged:
        return present;
      case Kind::by_default:
        break;
    }
    return default_ttl == Millis::max() ? kNever : deadline_after(now, default_ttl);
  }

 private:
  Kind kind_ = Kind::by_default;
  std::int64_t ms_ = 0;
};

}  // namespace mayfly
