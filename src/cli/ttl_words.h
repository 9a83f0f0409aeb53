// SPDX-License-Identifier: Apache-2.0
// TTLs and expiry times as people write them.
//
//   90 or 90s    15m    2h30m    7d    1w    250ms    1.5h        from now
//   30min    "1 hour"    "2 days 6 hours"    45 secs              longer unit names
//   2099-12-31    2099-12-31T23:59Z    2099-12-31T23:59:30+01:00    a time; without a zone, local

#pragma once

#include <string>
#include <string_view>

#include "mayfly/expiry.h"
#include "mayfly/result.h"

namespace mayfly {

// Code::invalid for another form, for 0, and for a time that is past at `now`. A TTL counts from
// the transaction that stores it.
Result<Expiry> parse_expires(std::string_view text, Time now);

// A duration alone: 90s, 2h30m.
Result<Millis> parse_duration(std::string_view text);

// A time, or a duration from `now`; it may be past.
Result<Time> parse_moment(std::string_view text, Time now);

// "2h 30m", "45.250s", "3d 4h": the two largest units.
std::string time_left_text(Millis duration);

// "2099-12-31T23:59:00.000Z"; "never" for kNever.
std::string moment_text(Time moment);

}  // namespace mayfly
