// SPDX-License-Identifier: Apache-2.0
// The keys of a database in the order of their earliest deadline, the members' deadlines included.

#pragma once

#include <functional>

#include "keyspace/database.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

// Calls `see` for keys whose earliest deadline after `now` is in [from, to), soonest first, each
// once, until it returns false. Returns where it ended: `to`, or an earlier moment after some
// thousand keys were examined. Entries of the index of members that are too early are set right.
// O(keys examined), and O(keys with a member that is due and not removed yet).
//
// REQUIRES: from > now.
Time visit_earliest(Database& database, Time now, Time from, Time to,
                    const std::function<bool(Slot, Time)>& see);

}  // namespace mayfly
