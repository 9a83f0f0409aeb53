// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/move_commands.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "commands/words.h"
#include "resp/numbers.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

Error denied(std::string reply) { return {Code::denied, std::move(reply)}; }

struct WantedMove {
  std::string job = random_id();
  SlotSet slots = {};
  std::string node = {};
};

Result<std::vector<WantedMove>> read_moves(ServerCall& call) {
  std::vector<WantedMove> moves;
  SlotSet all;
  std::size_t i = 2;
  while (i < call.count()) {
    WantedMove move;
    if (!equals(call.word(i), "slotsrange")) return denied("ERR syntax error");
    ++i;
    for (; i + 1 < call.count() && !equals(call.word(i), "node"); i += 2) {
      const auto first = parse_integer(call.word(i));
      const auto last = parse_integer(call.word(i + 1));
      if (!first || !last || *first < 0 || *last >= kHashSlots || *first >= kHashSlots) {
        return denied("ERR Invalid or out of range slot");
      }
      if (*first > *last) {
        return denied(fmt::format("ERR start slot number {} is greater than end slot number {}",
                                  *first, *last));
      }
      move.slots |= SlotSet({{static_cast<HashSlot>(*first), static_cast<HashSlot>(*last)}});
    }
    if (i + 1 >= call.count() || move.slots.empty()) return denied("ERR syntax error");
    move.node = std::string(call.word(i + 1));
    i += 2;
    if (all.overlaps(move.slots)) return denied("ERR Slot ranges in migrations overlap");
    all |= move.slots;
    moves.push_back(std::move(move));
  }
  return moves;
}

Result<std::optional<RegisterCommit>> make_moves(const ClusterView& view, const std::string& self,
                                                 const std::vector<WantedMove>& wanted, Time now) {
  const ClusterShard* const source = view.led_by(self);
  if (source == nullptr) return denied("ERR Slots are not served by this node.");
  // An earlier attempt, whose outcome was unknown, has done it.
  if (view.moves().contains(wanted.front().job)) return std::optional<RegisterCommit>();
  RegisterCommit commit;
  for (const WantedMove& move : wanted) {
    const NodeRecord* const node = view.node(move.node);
    if (node == nullptr) return denied("ERR Unknown node " + move.node);
    if (node->shard == source->id) return denied("ERR Target node can not be in the same shard.");
    if (node->shard.empty()) {
      return denied(fmt::format("ERR Target node has no shard yet (mayfly cluster add {}:{})",
                                node->host, node->port));
    }
    const ClusterShard* const target = view.shard(node->shard);
    if (target == nullptr || target->record.primary.node != move.node) {
      return denied("ERR Target node is not a master.");
    }
    if (!source->record.slots.contains(move.slots)) {
      return denied("ERR Slots are not served by this node.");
    }
    for (const auto& [id, known] : view.moves()) {
      if (is_active(known.record.state) && known.record.slots.overlaps(move.slots)) {
        return denied(fmt::format("ERR slots are already moving: {}", id));
      }
    }
    MoveRecord record;
    record.source = source->id;
    record.target = target->id;
    record.slots = move.slots;
    record.created = now;
    const std::string key = move_key(move.job);
    commit.compares.push_back({key, 0});
    commit.puts.push_back({key, to_text(record)});
  }
  return std::optional(commit);
}

// `has_tried`: an earlier attempt, whose outcome was unknown, may have done it.
Result<std::optional<RegisterCommit>> cancel_moves(const ClusterView& view,
                                                   const std::string& shard, bool has_tried) {
  RegisterCommit commit;
  for (const auto& [id, known] : view.moves()) {
    if (known.record.source != shard || !is_active(known.record.state)) continue;
    MoveRecord record = known.record;
    record.state = MoveState::cancelled;
    record.error = "cancelled by a command";
    commit.compares.push_back({move_key(id), known.version});
    commit.puts.push_back({move_key(id), to_text(record)});
  }
  if (!commit.puts.empty()) return std::optional(commit);
  if (has_tried) return std::optional<RegisterCommit>();
  return denied("ERR No migrations ongoing");
}

std::string_view state_word(MoveState state) {
  switch (state) {
    case MoveState::waiting:
      return "connecting";
    case MoveState::snapshot:
      return "snapshotting";
    case MoveState::stream:
      return "replicating";
    case MoveState::pause:
    case MoveState::commit:
      return "waiting-to-be-granted";
    case MoveState::clean:
    case MoveState::done:
      return "success";
    case MoveState::failed:
      return "failed";
    case MoveState::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string primary_of(const ClusterView& view, const std::string& shard) {
  const ClusterShard* const found = view.shard(shard);
  return found == nullptr ? std::string() : found->record.primary.node;
}

void write_move(ServerCall& call, const Cluster& cluster, const std::string& id,
                const MoveRecord& move) {
  const SlotExport* const active = cluster.moves().outgoing();
  const bool is_active_here = active != nullptr && active->job() == id;
  const auto seconds = [](Time time) { return time.time_since_epoch().count() / 1000; };
  const MoveState state = is_active_here ? active->state() : move.state;
  Reply& reply = call.reply();
  reply.map(12);
  const auto text = [&](std::string_view name, std::string_view value) {
    reply.bulk(name);
    reply.bulk(value);
  };
  const auto number = [&](std::string_view name, std::int64_t value) {
    reply.bulk(name);
    reply.integer(value);
  };
  text("name", id);
  text("operation", move.source == cluster.node().shard() ? "EXPORT" : "IMPORT");
  text("slot_ranges", move.slots.text());
  text("target_node", primary_of(cluster.view(), move.target));
  text("source_node", primary_of(cluster.view(), move.source));
  number("create_time", seconds(move.created));
  number("last_update_time", seconds(is_active_here ? call.now() : move.created));
  number("last_ack_time", seconds(is_active_here ? call.now() : move.created));
  text("state", state_word(state));
  text("message", move.error);
  number("cow_size", 0);
  number("remaining_repl_size",
         is_active_here ? static_cast<std::int64_t>(active->remaining_bytes()) : 0);
}

}  // namespace

void cluster_migrateslots(ServerCall& call, Cluster& cluster) {
  const Result<std::vector<WantedMove>> wanted = read_moves(call);
  if (!wanted) return call.fail(wanted.error().message);
  cluster.changes().run(
      call, [self = cluster.id(), moves = *wanted, now = call.now()](const ClusterView& view) {
        return make_moves(view, self, moves, now);
      });
}

void cluster_getslotmigrations(ServerCall& call, Cluster& cluster) {
  const std::string& shard = cluster.node().shard();
  std::vector<const std::pair<const std::string, Versioned<MoveRecord>>*> moves;
  for (const auto& entry : cluster.view().moves()) {
    const MoveRecord& move = entry.second.record;
    if (move.source == shard || move.target == shard) moves.push_back(&entry);
  }
  call.reply().array(moves.size());
  for (const auto* entry : moves) write_move(call, cluster, entry->first, entry->second.record);
}

void cluster_cancelslotmigrations(ServerCall& call, Cluster& cluster) {
  cluster.changes().run(
      call, [shard = cluster.node().shard(), has_tried = false](const ClusterView& view) mutable {
        return cancel_moves(view, shard, std::exchange(has_tried, true));
      });
}

void cluster_import(ServerCall& call, Cluster& cluster) {
  const std::string_view what = call.word(2);
  if (equals(what, "begin") && call.count() == 10) return cluster.moves().import_begin(call);
  if (equals(what, "last") && call.count() == 5) return cluster.moves().import_last(call);
  if (equals(what, "yours")) return cluster.moves().import_yours(call);
  if (!equals(what, "ping")) call.fail("ERR wrong CLUSTER IMPORT");
}

}  // namespace mayfly
