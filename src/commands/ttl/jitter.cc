// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/jitter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "resp/numbers.h"

namespace mayfly {

bool Jitter::read(Call& call, std::size_t i) {
  const std::optional<double> number = parse_double(call.word(i));
  if (!number || !(*number >= 0 && *number <= 100)) {
    call.fail("ERR JITTER must be a percentage from 0 to 100");
    return false;
  }
  percent = *number;
  is_given = true;
  return true;
}

bool Jitter::read_trailing(Call& call, std::size_t first) {
  if (call.count() == first) return true;
  if (call.count() == first + 2 && call.is(first, "jitter")) return read(call, first + 1);
  call.fail_arity();
  return false;
}

Time Jitter::apply(Call& call, Time deadline) const {
  if (percent == 0 || deadline == kNever || is_due(deadline, call.now())) return deadline;
  const Millis ttl = deadline - call.now();
  const double share = percent / 100 * (2 * call.keyspace().random().fraction() - 1);
  const double wanted = std::round(static_cast<double>(ttl.count()) * (1 + share));
  // As far as doubles are exact; the others are more than 200,000 years away.
  constexpr double kExact = 9e15;
  if (wanted >= kExact) return deadline;
  const Millis longest = (kNever - Millis(1)) - call.now();
  const Millis changed(std::max<std::int64_t>(static_cast<std::int64_t>(wanted), 1));
  return call.now() + std::min(changed, longest);
}

}  // namespace mayfly
