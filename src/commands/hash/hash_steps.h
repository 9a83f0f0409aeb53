// SPDX-License-Identifier: Apache-2.0
// What only the commands of hashes share; members/member_steps.h has the rest.

#pragma once

#include <optional>
#include <string_view>

#include "commands/members/member_steps.h"

namespace mayfly {

// The hash at word 1; an empty one is made if there is none. Check has_failed().
Slot hash_to_fill(Call& call);

// The value as a bulk, or null if there is none.
void reply_value(Reply& reply, const std::optional<Member>& field);

// The field as it is now: HSET, or HSETEX with a time if it has a deadline.
void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline);

}  // namespace mayfly
