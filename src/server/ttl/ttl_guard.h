// SPDX-License-Identifier: Apache-2.0
// Runs the handler of a command under the rules of ttl-policy (commands/ttl/ttl_policy.h), unless
// the command would write to the expiry log.
//
// A command that makes a key cannot say a TTL, except for the few that ask the rules themselves. So
// its keys are looked at before and after it: before, it is refused if it could make a key without
// a TTL where the rule wants one and has no default; after, new keys get the default.

#pragma once

#include "server/core/server_call.h"

namespace mayfly {

// REQUIRES: it is a write command.
void run_write_handler(ServerCall& call);

inline void run_handler(ServerCall& call) {
  const Command& command = call.command();
  if ((command.flags & flag::write) != 0) return run_write_handler(call);
  command.handler(call);
}

}  // namespace mayfly
