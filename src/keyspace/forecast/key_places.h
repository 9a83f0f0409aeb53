// SPDX-License-Identifier: Apache-2.0
// What the structures of a database free when keys expire: its table, its slab, its indexes and its
// sums. A chunk of 256 slots is freed with the last of them: some chunks tell how often that is.

#pragma once

#include <span>
#include <vector>

#include "keyspace/database.h"
#include "keyspace/forecast/member_forecast.h"
#include "mayfly/time.h"

namespace mayfly {

// Bytes until each moment. `keys` are those with deadlines of their own, `members` a sample of the
// others. REQUIRES: ends in order; all of one size.
std::vector<double> key_places(const Database& database, std::span<const Time> ends,
                               std::span<const DeadlineSum> keys, const MemberForecast& members);

}  // namespace mayfly
