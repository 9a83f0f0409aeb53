// SPDX-License-Identifier: Apache-2.0
// The handlers of DEBUG that look at data; their rows are in debug_commands.cc.

#pragma once

namespace mayfly {

class Call;

// debug_data.cc
void debug_object(Call& call);
void debug_digest(Call& call);
void debug_digest_value(Call& call);
void debug_htstats(Call& call);
void debug_htstats_key(Call& call);
void debug_listpack(Call& call);
void debug_populate(Call& call);

// debug_reload.cc
void debug_reload(Call& call);
void debug_loadaof(Call& call);

// debug_protocol.cc
void debug_protocol(Call& call);

}  // namespace mayfly
