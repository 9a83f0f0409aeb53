// SPDX-License-Identifier: Apache-2.0
// What the two forms of HSETEX have in common.

#pragma once

#include "commands/hash/hash_expire.h"

namespace mayfly {

// Ends an HSETEX whose time is past. The fields of `pairs` are removed, and each of them counts as
// expired, even one that was not there. Users see what they would see if the fields were set first.
void remove_pairs(Call& call, HashRef& hash, Words pairs);

// HSETEX key [PXAT deadline | KEEPTTL] FIELDS count field value ...
void propagate_pairs(Call& call, Time deadline, bool keeps_deadlines, Words pairs);

// HSETEX key [NX] seconds field value [field value ...]
bool is_short_hsetex(const Call& call);
void run_short_hsetex(Call& call);

}  // namespace mayfly
