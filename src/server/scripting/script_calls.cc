// SPDX-License-Identifier: Apache-2.0
// The commands that scripts call: whether they may run, and running them.

#include <fmt/format.h>

#include "mayfly/internal/stopwatch.h"
#include "server/cluster/cluster.h"
#include "server/cluster/cluster_refusals.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/expiry/expiry_log.h"
#include "server/persistence/persistence.h"
#include "server/replication/primary_link.h"
#include "server/replication/propagation.h"
#include "server/replication/replication.h"
#include "server/scripting/script_run.h"
#include "server/tracking/tracking.h"
#include "server/ttl/ttl_guard.h"

namespace mayfly {
namespace {

Error refused(std::string reply) { return {Code::denied, std::move(reply)}; }

}  // namespace

Status Requests::check_for_script(const ScriptRun& run, const Command& command, Words words) {
  Status status = check_script_command(run, command, words);
  if (status) return status;
  ++stats_.by_command[&command].rejected;
  count_error(status.error().message);
  return status;
}

// The order is Valkey's.
Status Requests::check_script_command(const ScriptRun& run, const Command& command,
                                      Words words) const {
  // A command of the stream or file was checked before: by the primary, or before a restart.
  const bool is_checked = run.caller.is_primary || run.caller.is_replay;
  if (is_checked && (command.flags & flag::reaches_out) != 0) {
    return refused(fmt::format("ERR '{}' is not accepted from a primary or an append-only file",
                               full_name(command)));
  }
  if (parts_.replication.is_stale() && !is_checked && (command.flags & flag::stale) == 0) {
    return refused("ERR Can not execute the command on a stale replica");
  }
  if (run.is_read_only && (command.flags & (flag::write | flag::may_replicate)) != 0) {
    return refused("ERR Write commands are not allowed from read-only scripts.");
  }
  // What a script has begun it may finish.
  if ((command.flags & flag::write) != 0 && !is_checked && !run.has_written) {
    if (Status status = parts_.replication.check_writable(parts_.clock); !status) return status;
    if (!parts_.replication.is_replica()) {
      if (Status status = parts_.persistence.check_writable(); !status) return status;
    }
  }
  // Memory that a script takes by its first write is not refused to its second.
  if ((command.flags & flag::denyoom) != 0 && run.is_memory_full && !run.allows_oom &&
      !run.has_written) {
    return refused("OOM command not allowed when used memory > 'maxmemory'.");
  }
  // Keys that a script does not name may belong to another node, or be about to.
  if (parts_.cluster.is_enabled() && !is_checked) {
    if ((command.flags & kLimitedInCluster) != 0) {
      if (Status status = check_for_cluster(command, words); !status) return status;
    }
    const RequestSlot slot = request_slot(command, words);
    if (slot.kind == RequestSlot::cross) {
      return refused("ERR Script attempted to access keys that do not hash to the same slot");
    }
    if (slot.kind == RequestSlot::one &&
        !parts_.cluster.check_request(run.caller, command.flags, slot, parts_.now)) {
      return refused("ERR Script attempted to access a non local key in a cluster node");
    }
    const bool is_about_all =
        slot.kind == RequestSlot::none && (command.flags & (flag::readonly | flag::write)) != 0;
    if (is_about_all && parts_.cluster.is_fenced()) {
      Status here = parts_.cluster.check_request(run.caller, command.flags, slot, parts_.now);
      if (!here) return here;
    }
    if (is_about_all && (command.flags & flag::write) != 0 && parts_.cluster.moves().is_paused()) {
      return refused("TRYAGAIN Slots of this shard are moving, and a script cannot wait for them");
    }
  }
  return Done{};
}

void Requests::show_script(const Client& client, Words words) {
  if (!clients_.monitors().empty()) feed_monitors(client, words);
}

void Requests::run_for_script(ScriptRun& run, Client& client, const Command& command, Words words,
                              Reply& reply) {
  set_last_command(client, command);
  ExecContext context = parts_.reclaimer.context(&client);
  context.wants_order = true;
  context.records_use = !client.options.no_touch || (command.flags & flag::records_use) != 0;
  if (!clients_.monitors().empty() && (command.flags & (flag::skip_monitor | flag::admin)) == 0) {
    feed_monitors(client, words);
  }
  if (parts_.cluster.moves().is_active()) prepare_keys(client, command, words);
  if (parts_.cluster.holds_replies()) parts_.cluster.held().reads(client, command, words);
  running_.of_script = &command;
  const std::int64_t begin = monotonic_ns();
  ServerCall call(events_, parts_, client, context, command, words, reply);
  run_handler(call);
  const bool has_logged = parts_.expiry_log.end_batch();
  if (run.caller.tracking) parts_.tracking.remember(run.caller, command, words);
  const std::int64_t micros = (monotonic_ns() - begin) / 1000;

  if (call.changes() > 0) stats_.dirty += static_cast<std::uint64_t>(call.changes());
  if ((command.flags & flag::write) != 0) run.has_written = true;
  if (parts_.propagation.is_wanted() && run.targets != 0) {
    parts_.propagation.set_targets(run.targets);
    propagate(client, command, words, call, has_logged);
    parts_.propagation.set_targets(propagate_to::all);
  }
  const std::string_view out = reply.out();
  log_call(run.caller, command, words, out.size(), micros);
  ++stats_.commands;
  ++run.caller.info.commands;
  CommandStats& stats = *client.info.last_stats;
  stats.add_call(micros);
  if (!out.starts_with('-')) return;
  ++stats.failed;
  count_error(out.substr(1, 64));
}

// Replies of this turn may be sent then, so what they are about has to be in the file. The primary
// waits: its data must not change under the script.
void Requests::serve_others(Client& busy) {
  parts_.persistence.aof().flush(parts_.now);
  parts_.cluster.check_replies();
  const auto pause = [](Link* link) {
    if (link == nullptr || link->paused()) return false;
    link->pause_reading();
    return true;
  };
  PrimaryLink* const primary = parts_.replication.primary();
  Link* const primary_link = primary == nullptr ? nullptr : primary->link();
  const bool pauses_primary = pause(primary_link);
  const bool pauses_caller = pause(&busy.link());
  parts_.host.serve_others();
  if (pauses_caller) busy.link().resume_reading();
  if (pauses_primary && parts_.replication.primary() == primary &&
      primary->link() == primary_link) {
    primary_link->resume_reading();
  }
}

}  // namespace mayfly
