// SPDX-License-Identifier: Apache-2.0
// Replicas that are not in sync, and why.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/cluster/watch/picture_problems.h"

namespace mayfly {
namespace {

// The nodes of a shard that shall hold its data beside the primary.
std::vector<std::string> replicas_of(const ClusterView& view, const ClusterShard& shard) {
  std::vector<std::string> replicas;
  for (const std::string& node : view.members(shard)) {
    const NodeRecord* const record = view.node(node);
    const bool is_leaving = record != nullptr && record->state == NodeState::leaving;
    if (node != shard.record.primary.node && !is_leaving) replicas.push_back(node);
  }
  return replicas;
}

bool is_in_record(const ClusterShard& shard, const std::string& node, const NodeFacts& facts) {
  return shard.record.has(NodeMemory{node, facts.incarnation});
}

// clock_problems() has it.
bool has_wrong_clock(const NodeFacts* primary, const std::string& node) {
  if (primary == nullptr) return false;
  const auto member = primary->members.find(node);
  return member != primary->members.end() && member->second.has_wrong_clock;
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format(" ({:.0f} %)", *share * 100) : "";
}

struct Reason {
  std::string what;
  std::string advice;
};

Reason reason_of(const std::string& primary, const NodeFacts& facts) {
  if (facts.is_loading) {
    return {"loads its files" + share_text(facts.loaded_share), "wait until it has loaded them"};
  }
  if (facts.is_syncing) {
    return {"copies all data of its primary, " + primary + share_text(facts.synced_share),
            "wait until it has them; if it begins again and again, its log and that of its primary "
            "say why"};
  }
  if (!facts.health.is_link_down) {
    return {"is connected, and its primary does not count on it",
            "look again in some seconds; if it stays so, its log and that of its primary say why"};
  }
  std::string what = fmt::format("has had no connection to its primary, {}, for {} s", primary,
                                 facts.health.link_down_s);
  if (!facts.health.refused_reads.empty()) {
    what += ", and refuses reads (MASTERDOWN: replica-serve-stale-data is no)";
  }
  return {std::move(what), "can it reach " + primary +
                               " (firewall, maxclients, masterauth)? its log says what fails"};
}

void add_replica(const ClusterPicture& picture, const ClusterShard& shard, const std::string& node,
                 std::vector<ClusterProblem>& problems) {
  const NodeFacts* const facts = facts_of(picture, node);
  if (facts == nullptr) return;  // see answer_problems() and find_problems()
  const std::string label = node_label(picture.view, node);
  if (facts->health.unexpected_errors > 0) {
    problems.push_back(
        {Severity::risk,
         fmt::format("{} may have other data than its primary: {} of its primary failed there "
                     "(unexpected_error_replies)",
                     label, plural(facts->health.unexpected_errors, "command")),
         "its log names them. To copy all data again: stop it, move its data away (dump.rdb and "
         "appendonlydir in its dir, but not cluster-node), and start it"});
  }
  const NodeFacts* const primary = facts_of(picture, shard.record.primary.node);
  const bool is_in = is_in_record(shard, node, *facts);
  if (is_in && !facts->health.is_link_down) return;
  if (has_wrong_clock(primary, node)) return;
  const Reason reason = reason_of(node_label(picture.view, shard.record.primary.node), *facts);
  // Without its primary, a replica cannot be connected: one reason for both.
  const bool is_detail = primary == nullptr && facts->health.refused_reads.empty();
  problems.push_back({Severity::risk,
                      fmt::format("{}, a replica of shard {}, {}{}", label, shard.id,
                                  is_in ? "" : "is not in sync: it ", reason.what),
                      reason.advice, is_detail});
}

}  // namespace

ReplicaCount count_replicas(const ClusterPicture& picture) {
  ReplicaCount count;
  for (const ClusterShard& shard : picture.view.shards()) {
    for (const std::string& node : replicas_of(picture.view, shard)) {
      ++count.all;
      const NodeFacts* const facts = facts_of(picture, node);
      const bool is_in_sync =
          facts != nullptr && !facts->health.is_link_down && is_in_record(shard, node, *facts);
      if (is_in_sync) ++count.in_sync;
    }
  }
  return count;
}

std::vector<ClusterProblem> replica_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const ClusterShard& shard : picture.view.shards()) {
    for (const std::string& node : replicas_of(picture.view, shard)) {
      add_replica(picture, shard, node, problems);
    }
  }
  return problems;
}

}  // namespace mayfly
