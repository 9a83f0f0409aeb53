// SPDX-License-Identifier: Apache-2.0
// Which requests would change the expiry log, whose stream only the server writes.
//
// Clients may read it, copy it to another key, and use consumer groups on it. FLUSHDB, FLUSHALL and
// SWAPDB name no keys and are allowed. If a key of another type has its name (it was there before
// the log was turned on), that key may be changed and deleted.

#pragma once

#include <string_view>

#include "commands/command.h"
#include "keyspace/exec_context.h"
#include "resp/request.h"
#include "server/config/config.h"

namespace mayfly {

class Database;
class Keyspace;

inline constexpr char kLogProtectedReply[] =
    "ERR '__expired__' is the expiry log, which only the server writes (read it with XREAD, "
    "XREADGROUP or XRANGE; to change or delete it, set expiry-log to no first)";

// Whether one of the keys that the command writes is the log.
bool names_expiry_log(const Command& command, Words words);

bool is_protected(const Database& database);

// Whether the request must be refused. Commands of a primary and of a log pass.
inline bool writes_expiry_log(const Config& config, const ExecContext& context,
                              const Database& database, const Command& command, Words words) {
  constexpr std::uint64_t kKinds = flag::write | flag::keeps_entries;
  return config.expiry_log && (command.flags & kKinds) == flag::write &&
         context.policy != Policy::show && names_expiry_log(command, words) &&
         is_protected(database);
}

// Whether the request is to be refused when it is queued: it would be in any database that is
// selected when it runs.
bool queues_log_write(const Config& config, const ExecContext& context, Keyspace& keyspace,
                      const Command& command, Words words);

}  // namespace mayfly
