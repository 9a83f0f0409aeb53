// SPDX-License-Identifier: Apache-2.0
// The subcommands of DEBUG that look at keys and at tables.

#pragma once

namespace mayfly {

class Call;

void debug_object(Call& call);        // DEBUG OBJECT key
void debug_digest(Call& call);        // DEBUG DIGEST
void debug_digest_value(Call& call);  // DEBUG DIGEST-VALUE key ...
void debug_htstats(Call& call);       // DEBUG HTSTATS database [FULL]
void debug_htstats_key(Call& call);   // DEBUG HTSTATS-KEY key [FULL]
void debug_listpack(Call& call);      // DEBUG LISTPACK key
void debug_quicklist(Call& call);     // DEBUG QUICKLIST key [0|1]

}  // namespace mayfly
