// SPDX-License-Identifier: Apache-2.0
// CLUSTER INFO and the section `cluster` of INFO.

#include <fmt/format.h>

#include <algorithm>

#include "server/cluster/cluster_replies.h"
#include "server/http/readiness.h"
#include "server/monitoring/info.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// How long the right to serve lasts; -1: for ever, as nobody else may take over.
std::int64_t lease_left_ms(const ShardMachine& machine, Time now) {
  const Time until = machine.serves_until();
  if (until == kNever) return -1;
  return until == Time::min() ? 0 : remaining(until, now).count();
}

void shard_lines(const ServerParts& server, const ShardMachine& machine, std::string& text) {
  const Cluster& cluster = server.cluster;
  const Time now = server.host.lease_clock().now();
  info_line(text, "cluster_epoch", machine.record().epoch);
  info_line(text, "cluster_record_version", machine.version());
  info_line(text, "cluster_lease_left_ms", machine.is_leading() ? lease_left_ms(machine, now) : 0);
  const std::vector<ShardMachine::MemberState> members = machine.members();
  const auto in_record = std::ranges::count_if(
      members, [](const ShardMachine::MemberState& member) { return member.is_in_record; });
  const bool leads = machine.is_leading();
  info_line(text, "cluster_insync",
            leads ? static_cast<std::size_t>(in_record) : machine.record().insync.size());
  info_line(text, "cluster_insync_changes", machine.stats().additions + machine.stats().removals);
  const std::uint64_t end = cluster.node().log_end();
  info_line(text, "cluster_safe_lag_bytes",
            leads && machine.has_set() ? end - std::min(end, machine.safe_offset()) : 0);
  info_line(text, "cluster_takeovers", machine.stats().takeovers);
  info_line(text, "cluster_last_takeover_ms", machine.stats().last_takeover.count());
  info_line(text, "cluster_peer_clock_difference_ms", machine.peer_clock_ahead().count());
  for (const ShardMachine::MemberState& member : members) {
    text += fmt::format("cluster_member_{}:in_record={},lag={},clock_difference_ms={}{}\r\n",
                        member.memory.node, member.is_in_record ? 1 : 0,
                        end - std::min(end, member.acked), member.clock_ahead.count(),
                        member.has_wrong_clock ? ",refused=clock" : "");
  }
}

// The health of this server: refused writes, files and disk.
void health_lines(const ServerParts& server, std::string& text) {
  const Aof* const log = server.persistence.aof().log();  // it keeps nothing before it has a base
  const bool keeps_data = (log != nullptr && log->is_in_force()) || !server.config.save.empty();
  info_line(text, "cluster_refused_writes", why_writes_refused(server).value_or(""));
  info_line(text, "cluster_keeps_data", keeps_data);
  info_line(text, "cluster_came_back_empty", server.cluster.node().came_back_empty());
  const auto room = server.host.disk().room(server.config.dir);
  if (!keeps_data || !room) return;
  info_line(text, "cluster_disk_free_bytes", room->free_bytes);
  info_line(text, "cluster_disk_bytes", room->bytes);
}

void register_lines(const Cluster& cluster, std::string& text) {
  const RegisterStats stats = cluster.reg()->stats();
  const std::string problem = cluster.register_problem();
  const std::string_view state = stats.is_connected ? "connected" : "disconnected";
  info_line(text, "cluster_register_state", problem.empty() ? state : "unusable");
  info_line(text, "cluster_register_error", problem.empty() ? stats.error : problem);
  info_line(text, "cluster_register_latency_ms_p50", stats.latency_ms_p50);
  info_line(text, "cluster_register_latency_ms_p99", stats.latency_ms_p99);
  info_line(text, "cluster_register_unknown_total", stats.unknown);
  info_line(text, "cluster_register_watch_restarts", stats.watch_restarts);
}

}  // namespace

std::string cluster_info_text(const ServerParts& server) {
  Cluster& cluster = server.cluster;
  const ClusterView& view = cluster.view();
  const ShardMachine* const machine = cluster.node().machine();
  const std::size_t covered = kHashSlots - view.uncovered().count();
  const NodeRecord* const own = view.node(cluster.id());
  const bool is_alone = own == nullptr || own->state == NodeState::fresh;
  const auto known = std::ranges::count_if(
      view.nodes(), [](const auto& node) { return node.second.record.state != NodeState::fresh; });
  const auto shards = std::ranges::count_if(
      view.shards(), [](const ClusterShard& shard) { return !shard.record.slots.empty(); });
  std::uint64_t epoch = 0;
  for (const ClusterShard& shard : view.shards()) epoch = std::max(epoch, shard.record.epoch);
  std::string text;
  info_line(text, "cluster_state", cluster.is_ok() ? "ok" : "fail");
  info_line(text, "cluster_slots_assigned", covered);
  info_line(text, "cluster_slots_ok", covered);
  info_line(text, "cluster_slots_pfail", 0);
  info_line(text, "cluster_slots_fail", 0);
  info_line(text, "cluster_known_nodes", is_alone ? std::int64_t{1} : std::int64_t{known});
  info_line(text, "cluster_size", shards);
  info_line(text, "cluster_current_epoch", epoch);
  info_line(text, "cluster_my_epoch", machine == nullptr ? 0 : machine->record().epoch);
  info_line(text, "cluster_name", server.config.cluster_name);
  info_line(text, "cluster_id", view.config() ? view.config()->record.id : "");
  info_line(text, "cluster_my_id", cluster.id());
  info_line(text, "cluster_my_incarnation", cluster.node().self().incarnation);
  info_line(text, "cluster_my_shard", cluster.node().shard());
  info_line(text, "cluster_role", machine == nullptr ? "none" : name_of(machine->role()));
  info_line(text, "cluster_serving", cluster.is_serving());
  health_lines(server, text);
  info_line(text, "cluster_fenced_total", cluster.stats().fenced);
  info_line(text, "cluster_fenced_ms_total", cluster.stats().fenced_time.count());
  if (machine != nullptr) shard_lines(server, *machine, text);
  info_line(text, "cluster_replies_held", cluster.held().clients());
  info_line(text, "cluster_moved_replies", cluster.stats().moved_replies);
  info_line(text, "cluster_crossslot_errors", cluster.stats().crossslot_errors);
  info_line(text, "cluster_tryagain", cluster.stats().tryagain_errors);
  const SlotMoves& moves = cluster.moves();
  info_line(text, "cluster_moves_done", moves.stats().done);
  info_line(text, "cluster_moves_failed", moves.stats().failed);
  info_line(text, "cluster_moves_imported", moves.stats().imported);
  info_line(text, "cluster_move_pause_ms_p50", moves.pause_percentile(50).count());
  info_line(text, "cluster_move_pause_ms_p99", moves.pause_percentile(99).count());
  info_line(text, "cluster_move_pause_ms_max", moves.pause_percentile(100).count());
  info_line(text, "cluster_foreign_keys", server.cluster.moves().foreign().count());
  info_line(text, "cluster_staged_keys", server.cluster.moves().staging().size());
  info_line(text, "cluster_clock_floor_ms", server.host.clock_ahead().count());
  info_line(text, "cluster_max_clock_difference_ms", server.config.cluster_max_clock_difference);
  if (cluster.reg() != nullptr) register_lines(cluster, text);
  return text;
}

void info_cluster(const ServerParts& server, std::string& text) {
  info_line(text, "cluster_enabled", server.cluster.is_enabled());
  if (server.cluster.is_enabled()) text += cluster_info_text(server);
}

}  // namespace mayfly
