// SPDX-License-Identifier: Apache-2.0
// Whether a request may run: by the state of the server and of the client, and by the flags of the
// command.

#include <fmt/format.h>

#include "server/cluster/cluster.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"
#include "server/tracking/tracking.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kReplicated = flag::write | flag::may_replicate;

Error denied(std::string reply) { return {Code::denied, std::move(reply)}; }

bool runs_queue(const Client& client, const Command& command) {
  return (command.flags & flag::runs_queue) != 0 && client.transaction.is_open;
}

// Whether the command (`own` are its flags), or any that it runs, has one of these flags.
bool has_any(const Client& client, const Command& command, std::uint64_t own, std::uint64_t flags) {
  const std::uint64_t queued = runs_queue(client, command) ? client.transaction.queued_flags : 0;
  return ((own | queued) & flags) != 0;
}

// Whether the command, and all that it runs, have this flag.
bool has_all(const Client& client, const Command& command, std::uint64_t own, std::uint64_t flag) {
  const bool queue_has =
      !runs_queue(client, command) || (client.transaction.queued_lacks & flag) == 0;
  return (own & flag) != 0 && queue_has;
}

}  // namespace

// A client with CLIENT CAPA redirect reads from a replica only after READONLY, and gets the address
// of the primary instead.
Status Requests::check_redirect(const Client& client, const Command& command,
                                std::uint64_t flags) const {
  Replication& replication = parts_.replication;
  const PrimaryLink* const primary = replication.primary();
  if (primary == nullptr || !client.options.can_redirect || !client.is_authenticated() ||
      replication.cluster() != nullptr) {
    return Done{};
  }
  const std::uint64_t redirected =
      client.options.is_readonly ? flag::write : flag::write | flag::readonly;
  if (!has_any(client, command, flags, redirected)) return Done{};
  // While a replica takes over, both are replicas, and would send the client back and forth.
  const bool is_failing_over = replication.failover().state() == Failover::State::in_progress;
  if (is_failing_over && pauses_.any()) return Error{Code::busy, {}};
  return denied(redirect_text(*primary));
}

// The checks are in the order of Valkey.
Status Requests::check_allowed(Client& client, const Command& command, std::uint64_t flags) {
  if (client.is_primary) return check_from_primary(command);
  if (client.is_import) return check_from_source(client, command, flags);
  if (!client.is_authenticated() && (command.flags & flag::no_auth) == 0) {
    return denied("NOAUTH Authentication required.");
  }
  if (client.transaction.is_open && (command.flags & flag::no_multi) != 0) {
    return denied(
        fmt::format("ERR Command '{}' not allowed inside a transaction", full_name(command)));
  }
  if (parts_.scripting.is_busy() && (command.flags & flag::allow_busy) == 0) {
    // The script may be one of the append-only file that is loaded.
    if (Status status = check_data_ready(client, command, flags); !status) return status;
    return denied(parts_.scripting.busy_reply());
  }
  // A queue takes memory, too, whatever is in it.
  const bool is_queued = client.transaction.is_open && (command.flags & flag::unqueued) == 0;
  const bool takes_memory = is_queued || has_any(client, command, flags, flag::denyoom);
  if (!make_room(takes_memory) && takes_memory) {
    return denied("OOM command not allowed when used memory > 'maxmemory'.");
  }
  if (Status status = check_writable(client, command, flags); !status) return status;
  if (client.is_subscriber() && client.protocol() == 2 &&
      (command.flags & flag::for_subscribers) == 0) {
    return denied(fmt::format(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
        "allowed in this context",
        full_name(command)));
  }
  return check_data_ready(client, command, flags);
}

// If clients cache keys, a request that takes no memory makes room, too: they are told that a key
// was evicted before they get the next reply. Not within a script that takes long.
bool Requests::make_room(bool takes_memory) {
  if (parts_.scripting.is_busy()) return true;  // nothing is evicted under a script
  if (!takes_memory && !parts_.tracking.any()) return true;
  const bool has_room = parts_.reclaimer.make_room();
  parts_.tracking.send_evicted();
  return has_room;
}

// The primary has checked its requests itself. It sends commands that change data, and a few about
// the stream. Anything else is a mistake or an attack, and would act on this server.
Status Requests::check_from_primary(const Command& command) const {
  const bool is_accepted = (command.flags & (kReplicated | flag::from_primary)) != 0;
  if (is_accepted && (command.flags & flag::reaches_out) == 0) return Done{};
  return denied(fmt::format("ERR '{}' is not accepted from a primary", full_name(command)));
}

// The source of slots that come to this shard has checked its requests, too; memory and disk are
// ours.
Status Requests::check_from_source(const Client& client, const Command& command,
                                   std::uint64_t flags) {
  if (command.parent == "cluster") return Done{};
  if (Status status = check_from_primary(command); !status) return status;
  if ((flags & flag::denyoom) != 0 && !make_room(true)) {
    return denied("OOM command not allowed when used memory > 'maxmemory'.");
  }
  return check_writable(client, command, flags);
}

Status Requests::check_writable(const Client& client, const Command& command,
                                std::uint64_t flags) const {
  const bool writes = has_any(client, command, flags, flag::write);
  const bool is_health_check = (command.flags & flag::health_check) != 0;
  if ((writes || is_health_check) && !parts_.replication.is_replica()) {
    if (Status status = parts_.persistence.check_writable(); !status) return status;
  }
  if (!writes) return Done{};
  Status status = parts_.replication.check_writable(parts_.clock);
  // A node of no shard follows nobody. Of writes, it gets only those without keys.
  const bool is_nobodys = !status && !client.is_import && parts_.cluster.is_outside();
  return is_nobodys ? Done{} : status;
}

Status Requests::check_data_ready(const Client& client, const Command& command,
                                  std::uint64_t flags) const {
  if (parts_.replication.is_stale() && !has_all(client, command, flags, flag::stale)) {
    return denied(kStaleReply);
  }
  if (parts_.loading.is_active() && !has_all(client, command, flags, flag::loading)) {
    return denied("LOADING Mayfly is loading the dataset in memory");
  }
  return Done{};
}

std::uint64_t Requests::flags_of(const Command& command, Words words) const {
  const bool runs_script = (command.flags & flag::skip_monitor) != 0;  // as few others
  return runs_script ? parts_.scripting.flags_of(command, words) : command.flags;
}

// Replicas are served during a pause: they have to get what was written before it.
bool Requests::must_wait(const Client& client, const Command& command, std::uint64_t flags) const {
  if (!pauses_.any() || client.is_attached_replica()) return false;
  if (pauses_.level() == PauseLevel::all) return (command.flags & flag::unpaused) == 0;
  return has_any(client, command, flags, kReplicated);
}

}  // namespace mayfly
