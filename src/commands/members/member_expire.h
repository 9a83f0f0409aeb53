// SPDX-License-Identifier: Apache-2.0
// Deadlines of members that a request names: what SEXPIRE and the forms of other servers share.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "commands/members/member_steps.h"

namespace mayfly {

struct ExpireRequest {
  Time deadline{};
  Words names;
  When conditions = When::always;
  Jitter jitter = {};
};

// About each member that a request names: -2 it does not exist, 0 a condition does not hold, 1 its
// deadline was set, 2 it was removed because the deadline is in the past.
using MemberCodes = std::vector<std::int64_t>;

// Sets the deadlines in the key at word 1, and reports and propagates that. `slot` is where the key
// is, or kNoSlot.
MemberCodes expire_named(Call& call, Slot slot, const ExpireRequest& request);

// As an array.
void reply_codes(Call& call, const MemberCodes& codes);

// The time of a member: -2 if it does not exist, -1 if it has no deadline. It is reclaimed if due.
// REQUIRES: the key at word 1 has members and is at `slot`.
std::int64_t member_time(Call& call, Slot slot, std::string_view name, TimeForm form);

}  // namespace mayfly
