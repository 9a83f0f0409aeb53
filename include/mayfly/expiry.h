// SPDX-License-Identifier: Apache-2.0
// Expiry: how long an entry of a cache is to live, as its user says it.
//
//   cache.put(key, value, 30s);                                   // a TTL
//   cache.put(key, value, clock.now() + 30s);                     // a deadline
//   cache.put(key, value, Expiry::never());                       // none, whatever the default is
//   cache.put(key, value, Expiry::sliding(30min));                // 30 min after it was last read
//   cache.put(key, value, Expiry::sliding(30min, 8h));            // but 8 h in all at the most
//   cache.put(key, value, Expiry(60s).refresh_after(45s));        // see Cache::get_or_load
//
// A TTL in units finer than a millisecond is rounded up. One that is zero or negative makes an
// entry that is gone at once, as does a deadline in the past.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

class Expiry {
 public:
  template <class Rep, class Period>
  Expiry(std::chrono::duration<Rep, Period> ttl) : kind_(Kind::in), ttl_(to_millis(ttl)) {}

  Expiry(Time deadline) : kind_(Kind::at), deadline_(deadline) {}

  static Expiry never() { return Expiry(kNever); }

  // Every read puts the deadline off to `idle` from then, but never beyond `cap` from the put.
  static Expiry sliding(Millis idle, Millis cap = Millis::max()) {
    Expiry expiry(idle);
    expiry.kind_ = Kind::sliding;
    expiry.cap_ = cap;
    return expiry;
  }

  // From `age` on the value is stale: get_or_load() lets one caller load it anew, while the others
  // still get the old one, until the deadline.
  Expiry refresh_after(Millis age) const {
    Expiry expiry = *this;
    expiry.refresh_ = age;
    return expiry;
  }

  // The same with a TTL made longer or shorter by up to `percent`, by chance, so that what was put
  // together does not expire together. Deadlines, sliding and capped TTLs stay as they are.
  Expiry jittered(double percent, Random& random) const {
    Expiry expiry = *this;
    if (kind_ != Kind::in || percent <= 0 || ttl_ <= Millis::zero()) return expiry;
    const double factor = 1 + (2 * random.fraction() - 1) * percent / 100;
    const double ms = static_cast<double>(ttl_.count()) * factor;
    expiry.ttl_ = ms >= 9.2e18 ? Millis::max() : Millis(std::llround(ms));
    return expiry;
  }

  // The deadline of an entry that is put at `now`.
  Time deadline(Time now) const {
    if (kind_ == Kind::at) return deadline_;
    const Time by_ttl = deadline_after(now, ttl_);
    return kind_ == Kind::sliding ? std::min(by_ttl, deadline_after(now, cap_)) : by_ttl;
  }

  // When the entry becomes stale; kNever if it does not.
  Time refresh_at(Time now) const { return refresh_ ? deadline_after(now, *refresh_) : kNever; }

  bool is_sliding() const { return kind_ == Kind::sliding; }
  Millis idle() const { return ttl_; }                            // of a sliding one
  Time cap(Time now) const { return deadline_after(now, cap_); }  // of a sliding one

 private:
  enum class Kind { at, in, sliding };

  Kind kind_;
  Time deadline_ = kNever;
  Millis ttl_{0};
  Millis cap_ = Millis::max();
  std::optional<Millis> refresh_;
};

}  // namespace mayfly
