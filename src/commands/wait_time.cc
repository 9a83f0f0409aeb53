// SPDX-License-Identifier: Apache-2.0
#include "commands/wait_time.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "resp/numbers.h"

namespace mayfly {

std::optional<Time> wait_end(Call& call, std::size_t i) {
  const std::optional<long double> seconds = parse_float(call.word(i));
  if (!seconds) {
    call.fail("ERR timeout is not a float or out of range");
    return std::nullopt;
  }
  const long double millis = std::ceil(*seconds * 1000);
  const auto now = static_cast<long double>(call.now().time_since_epoch().count());
  if (millis < 0) {
    call.fail("ERR timeout is negative");
    return std::nullopt;
  }
  if (millis + now > static_cast<long double>(std::numeric_limits<std::int64_t>::max())) {
    call.fail("ERR timeout is out of range");
    return std::nullopt;
  }
  if (millis == 0) return kNever;
  return call.now() + Millis(static_cast<std::int64_t>(millis));
}

}  // namespace mayfly
