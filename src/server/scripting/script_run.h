// SPDX-License-Identifier: Apache-2.0
// ScriptRun: what is known of the script or function that runs. There is one at a time.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "resp/request.h"
#include "server/replication/propagation.h"

namespace mayfly {

class Client;

// What a script says of itself in its first line, or a function when it is registered.
namespace script_flag {
inline constexpr std::uint32_t no_writes = 1 << 0;
inline constexpr std::uint32_t allow_oom = 1 << 1;
inline constexpr std::uint32_t allow_stale = 1 << 2;
inline constexpr std::uint32_t no_cluster = 1 << 3;
inline constexpr std::uint32_t allow_cross_slot_keys = 1 << 4;
// A script without such a line. Each command that it calls is checked.
inline constexpr std::uint32_t undeclared = 1 << 5;
}  // namespace script_flag

struct ScriptRun {
  Client& caller;
  Words words;                  // of the request, for FUNCTION STATS
  std::string_view name = {};   // of the function; empty for a script
  bool is_read_only = false;    // commands that write are refused
  bool allows_oom = false;      // they are not, even if memory is full
  bool is_memory_full = false;  // when it began
  bool has_written = false;
  unsigned targets = propagate_to::all;  // redis.set_repl()
  int protocol = 2;                      // redis.setresp()
  std::int64_t began_ns = 0;
  bool is_busy = false;  // for longer than busy-reply-threshold
  bool is_killed = false;
  bool is_outermost = false;  // not within a transaction
  bool is_abandoned = false;  // the server ends: what it wrote is not propagated
};

}  // namespace mayfly
