// SPDX-License-Identifier: Apache-2.0
// Time as all of Mayfly counts it, and the one function that decides whether an entry is gone.
//
// An entry has a *deadline*, an absolute moment. A *TTL* is a duration; it exists only at the
// edges, where it is turned into a deadline once, by deadline_after().

#pragma once

#include <chrono>

#include "mayfly/internal/language.h"  // refuses an older language in one line

namespace mayfly {

using Millis = std::chrono::milliseconds;

// A moment in whole milliseconds since the Unix epoch: the form in which deadlines are kept,
// in memory, on disk and on the wire.
using Time = std::chrono::sys_time<Millis>;

// The deadline of an entry that never expires.
inline constexpr Time kNever = Time::max();

// An entry is gone from its deadline on: a TTL of d lasts exactly d. Cache, store, server and
// every index ask here, so that a read and a sweep can never disagree about the same entry.
constexpr bool is_due(Time deadline, Time now) { return deadline <= now; }

// The deadline of what has `ttl` left at `now`. A TTL too long for the calendar means never; one
// that is zero or negative gives a deadline that is due already.
constexpr Time deadline_after(Time now, Millis ttl) {
  const bool ahead = now.time_since_epoch() >= Millis::zero();
  if (ahead && ttl > kNever - now) return kNever;
  if (!ahead && ttl < Time::min() - now) return Time::min();
  return now + ttl;
}

// What is left of an entry with `deadline`; zero if it is due.
// REQUIRES: deadline != kNever.
constexpr Millis remaining(Time deadline, Time now) {
  if (is_due(deadline, now)) return Millis::zero();
  const bool overflows =
      now.time_since_epoch() < Millis::zero() && deadline > Time::max() + now.time_since_epoch();
  return overflows ? Millis::max() : deadline - now;
}

// Any duration as whole milliseconds. Fractions are rounded up, so that nothing is ever early;
// what does not fit is cut to the longest or shortest that does.
template <class Rep, class Period>
constexpr Millis to_millis(std::chrono::duration<Rep, Period> duration) {
  const double ms = std::chrono::duration<double, std::milli>(duration).count();
  if (ms >= 9.2e18) return Millis::max();
  if (ms <= -9.2e18) return Millis::min();
  return std::chrono::ceil<Millis>(duration);
}

}  // namespace mayfly
