// SPDX-License-Identifier: Apache-2.0
// Expiry: when an entry expires, in a cache or in a store.
//
//   store.put("session:42", token, 30min);                        // a TTL
//   store.put("voucher", code, clock.now() + 24h);                // a deadline
//   store.put("config", text, Expiry::never());                   // no deadline
//   store.put("counter", "7", Expiry::unchanged());               // the deadline that the key has
//   store.put("note", text);                                      // the default
//
//   cache.put(key, value, Expiry::sliding(30min));                // 30 min after the last read
//   cache.put(key, value, Expiry::sliding(30min, 8h));            // but at most 8 h after the put
//   cache.put(key, value, Expiry(60s).refresh_after(45s));        // see Cache::get_or_load
//   cache.put(key, value, Expiry(45s).stale_for(15s));            // the same, as two lengths
//
// A TTL finer than a millisecond is rounded up. A TTL that is zero or negative, or a deadline in
// the past, makes an entry that is expired at once. Only caches support sliding(), refresh_after()
// and stale_for(); a store returns Code::invalid for them.

#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "mayfly/time.h"

namespace mayfly {

class Expiry {
 public:
  // The default of the cache or of the family.
  Expiry() = default;

  template <class Rep, class Period>
  Expiry(std::chrono::duration<Rep, Period> ttl) : kind_(Kind::in), ttl_(to_millis(ttl)) {}

  template <class Duration>
  Expiry(std::chrono::sys_time<Duration> deadline)
      : kind_(Kind::at), ttl_(std::chrono::ceil<Millis>(deadline).time_since_epoch()) {}

  static Expiry never() { return Expiry(kNever); }

  // Keeps the deadline that the key has. A new key gets the default.
  static Expiry unchanged() { return Expiry(Kind::unchanged, Millis::zero()); }

  // Every read moves the deadline to `idle` from then, but never beyond `cap` from the put.
  static Expiry sliding(Millis idle, Millis cap = Millis::max()) {
    Expiry expiry(Kind::sliding, idle);
    expiry.cap_ = cap;
    return expiry;
  }

  // From `age` on the value is stale: get_or_load() lets one caller load it again, while the others
  // still get the old value, until the deadline.
  Expiry refresh_after(Millis age) const {
    Expiry expiry = *this;
    expiry.refresh_ = age;
    return expiry;
  }

  // The value is fresh for the TTL, or until the deadline, then stale for `window`, then gone. A
  // stale value is there for every read. REQUIRES: a TTL or a deadline.
  Expiry stale_for(Millis window) const {
    Expiry expiry = *this;
    expiry.stale_ = std::max(window, Millis::zero());
    return expiry;
  }

  Expiry with_ttl(Millis ttl) const {
    Expiry expiry = *this;
    expiry.ttl_ = ttl;
    return expiry;
  }

  bool is_default() const { return kind_ == Kind::by_default; }
  bool is_unchanged() const { return kind_ == Kind::unchanged; }
  bool is_ttl() const { return kind_ == Kind::in; }
  bool is_sliding() const { return kind_ == Kind::sliding; }
  bool is_for_caches_only() const {
    return is_sliding() || refresh_ != Millis::max() || stale_ > Millis::zero();
  }

  // The deadline of an entry that is put at `now`. REQUIRES: !is_default() && !is_unchanged().
  Time deadline(Time now) const {
    if (kind_ == Kind::at) return deadline_after(Time(ttl_), stale_);
    if (kind_ == Kind::in) return deadline_after(deadline_after(now, ttl_), stale_);
    const Time by_ttl = deadline_after(now, ttl_);
    return kind_ == Kind::sliding ? std::min(by_ttl, deadline_after(now, cap_)) : by_ttl;
  }

  // The same for any expiry, of an entry that has the deadline `present` (nothing if it is new),
  // where the default TTL is `default_ttl` (Millis::max() if there is none).
  Time deadline(Time now, std::optional<Time> present, Millis default_ttl) const {
    if (is_unchanged() && present) return *present;
    if (!is_unchanged() && !is_default()) return deadline(now);
    return default_ttl == Millis::max() ? kNever : deadline_after(now, default_ttl);
  }

  // When the entry becomes stale; kNever if it does not.
  Time refresh_at(Time now) const {
    if (stale_ > Millis::zero()) return stale_for(Millis::zero()).deadline(now);
    return refresh_ == Millis::max() ? kNever : deadline_after(now, refresh_);
  }

  Millis ttl() const { return ttl_; }                             // REQUIRES: is_ttl()
  Millis idle() const { return ttl_; }                            // REQUIRES: is_sliding()
  Time cap(Time now) const { return deadline_after(now, cap_); }  // REQUIRES: is_sliding()

 private:
  enum class Kind : unsigned char { by_default, in, at, unchanged, sliding };

  Expiry(Kind kind, Millis ttl) : kind_(kind), ttl_(ttl) {}

  Kind kind_ = Kind::by_default;
  Millis ttl_{0};  // of a deadline: since the epoch
  Millis cap_ = Millis::max();
  Millis refresh_ = Millis::max();  // max: never stale, unless there is a window
  Millis stale_{0};                 // the window after ttl_
};

}  // namespace mayfly
