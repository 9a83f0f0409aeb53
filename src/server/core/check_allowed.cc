// SPDX-License-Identifier: Apache-2.0
// Judging requests: by the state of the server, of the client, and by the flags of the command.

#include "server/core/verdict.h"

#include <fmt/format.h>

#include "server/core/server.h"
#include "server/monitoring/command_times.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::uint32_t kReplicated = flag::write | flag::may_replicate;

Verdict refused(std::string error) { return {Verdict::Kind::refuse, std::move(error)}; }

bool runs_queue(const Client& client, const Command& command) {
  return (command.flags & flag::runs_queue) != 0 && client.is_in_multi;
}

// Whether the command, or any that it runs, has one of these flags.
bool has_any(const Client& client, const Command& command, std::uint32_t flags) {
  return ((command.flags | (runs_queue(client, command) ? client.queued_flags : 0)) & flags) != 0;
}

// Whether the command, and all that it runs, have this flag.
bool has_all(const Client& client, const Command& command, std::uint32_t flag) {
  const bool queue_has = !runs_queue(client, command) || (client.queued_lacks & flag) == 0;
  return (command.flags & flag) != 0 && queue_has;
}

}  // namespace

Verdict Server::judge(Client& client, const Command& command) {
  update_pauses();
  std::string error = client.is_primary ? primary_error(command) : error_of(client, command);
  if (!error.empty()) return refused(std::move(error));
  if (must_wait(client, command)) return {Verdict::Kind::wait, {}};
  const bool is_queued = client.is_in_multi && (command.flags & flag::unqueued) == 0;
  return {is_queued ? Verdict::Kind::queue : Verdict::Kind::run, {}};
}

// What the primary sends was decided there. But it sends what changes data, and a few words about
// the stream itself. Anything else is a mistake or an attack, and would act on this server.
std::string Server::primary_error(const Command& command) const {
  if ((command.flags & (kReplicated | flag::from_primary)) != 0) return {};
  return fmt::format("ERR '{}' is not accepted from a primary", full_name(command));
}

// In the order in which Valkey looks.
std::string Server::error_of(Client& client, const Command& command) {
  if (!client.is_authenticated() && (command.flags & flag::no_auth) == 0) {
    return "NOAUTH Authentication required.";
  }
  if (client.is_in_multi && (command.flags & flag::no_multi) != 0) {
    return "ERR Command not allowed inside a transaction";
  }
  // A queue takes memory, too, whatever is in it.
  const bool is_queued = client.is_in_multi && (command.flags & flag::unqueued) == 0;
  if ((is_queued || has_any(client, command, flag::denyoom)) && !make_room()) {
    return "OOM command not allowed when used memory > 'maxmemory'.";
  }
  if (std::string error = write_error(client, command); !error.empty()) return error;
  if (client.is_subscriber() && client.protocol() == 2 &&
      (command.flags & flag::for_subscribers) == 0) {
    return fmt::format(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
        "allowed in this context",
        full_name(command));
  }
  if (std::string error = data_error(client, command); !error.empty()) return error;
  if (client.is_attached_replica() && has_any(client, command, kReplicated | flag::readonly)) {
    return "ERR Replica can't interact with the keyspace";
  }
  return {};
}

std::string Server::write_error(const Client& client, const Command& command) {
  const bool writes = has_any(client, command, flag::write);
  // So that health checks notice.
  if ((writes || (command.flags & flag::health_check) != 0) && !is_replica()) {
    if (std::string why = persistence_.why_no_writes(); !why.empty()) return why;
  }
  return writes ? replication_->why_no_writes(clock_.now()) : std::string();
}

// Loading, or out of touch with the primary.
std::string Server::data_error(const Client& client, const Command& command) const {
  const PrimaryLink* const primary = replication_->primary();
  if (primary != nullptr && !primary->is_up() && !config_.replica_serve_stale_data &&
      !has_all(client, command, flag::stale)) {
    return "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
  }
  if (loading_.is_active() && !has_all(client, command, flag::loading)) {
    return "LOADING Mayfly is loading the dataset in memory";
  }
  return {};
}

// Replicas are served during a pause: they have to get what was written before it.
bool Server::must_wait(const Client& client, const Command& command) const {
  if (!is_paused() || client.is_attached_replica()) return false;
  if (pauses_.level() == PauseLevel::all) return (command.flags & flag::unpaused) == 0;
  return has_any(client, command, kReplicated);
}

}  // namespace mayfly
