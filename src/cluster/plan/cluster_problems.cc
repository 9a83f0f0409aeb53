// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/cluster_problems.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cluster/plan/recovery.h"

namespace mayfly {
namespace {

constexpr Millis kBusyLong{60'000};

class ProblemFinder {
 public:
  ProblemFinder(const ClusterView& view, ProblemContext context)
      : view_(view), context_(std::move(context)) {}

  std::vector<ClusterProblem> find() {
    look_at_cluster();
    look_at_slots();
    for (const ClusterShard& shard : view_.shards()) look_at_shard(shard);
    look_at_nodes();
    look_at_moves();
    std::ranges::stable_sort(problems_, std::ranges::greater(), &ClusterProblem::severity);
    return std::move(problems_);
  }

 private:
  void add(Severity severity, std::string what, std::string advice = "") {
    problems_.push_back({severity, std::move(what), std::move(advice)});
  }
  std::string label(std::string_view id) const { return node_label(view_, id); }
  std::string labels(const std::vector<std::string>& ids) const;
  std::string how_to_start(const std::vector<std::string>& ids) const;
  NodeAnswer answer(std::string_view id) const;

  // No process of the node runs: etcd has forgotten it, or nothing listens there any more.
  bool is_gone(const std::string& id) const {
    const bool is_forgotten = view_.live(id) == nullptr && answer(id) != NodeAnswer::answers;
    return is_forgotten || answer(id) == NodeAnswer::refuses;
  }
  bool is_alive(const NodeMemory& memory) const {
    return view_.is_alive(memory) && !is_gone(memory.node);
  }

  void look_at_cluster();
  void look_at_slots();
  void look_at_shard(const ClusterShard& shard);
  void look_at_dead(const ClusterShard& shard, const std::string& what);
  RecoveryChoice recovery_of(const ClusterShard& shard) const;
  void look_at_replicas(const ClusterShard& shard);
  void look_at_nodes();
  void look_at_moves();

  const ClusterView& view_;
  const ProblemContext context_;
  std::vector<ClusterProblem> problems_;
};

void ProblemFinder::look_at_cluster() {
  for (const auto& [key, broken] : view_.broken()) {
    add(Severity::fault, "the record " + broken.error, "look at it with etcdctl get");
  }
  if (view_.config()) return;
  if (view_.shards().empty()) {
    add(Severity::fault, "there is no cluster yet", "mayfly cluster init HOST:PORT ...");
  } else {
    add(Severity::fault, "there are shards, but no config: an init was not finished",
        "mayfly cluster init with the same nodes again");
  }
}

void ProblemFinder::look_at_slots() {
  if (view_.shards().empty()) return;
  if (const SlotSet uncovered = view_.uncovered(); !uncovered.empty()) {
    add(Severity::fault,
        std::to_string(uncovered.count()) + " slots belong to no shard: " + uncovered.text(),
        "init gives out all slots, and moves never lose one: tell us how this came about");
  }
  if (const SlotSet& twice = view_.owned_twice(); !twice.empty()) {
    add(Severity::fault,
        std::to_string(twice.count()) + " slots belong to several shards: " + twice.text(),
        "moves change both records at once: was a record written by hand?");
  }
}

void ProblemFinder::look_at_shard(const ClusterShard& shard) {
  const NodeMemory& primary = shard.record.primary;
  if (view_.node(primary.node) == nullptr) {
    add(Severity::fault,
        "shard " + shard.id + " is led by a node without a record: " + primary.node,
        "start that node again; it registers itself");
  }
  const std::string what = "shard " + shard.id + ": its primary " + label(primary.node);
  const bool is_forgotten = view_.live(primary.node) == nullptr && !is_gone(primary.node);
  if (is_alive(primary) || is_forgotten) {
    if (answer(primary.node) == NodeAnswer::silent) look_at_dead(shard, what + " does not answer");
    return look_at_replicas(shard);
  }
  if (!is_gone(primary.node)) return look_at_dead(shard, what + " has lost its memory");
  look_at_dead(shard, what + (view_.live(primary.node) == nullptr
                                  ? " is not alive"
                                  : " does not run (etcd counts it as alive for 15 s at most)"));
}

// `what` is the matter with its primary.
void ProblemFinder::look_at_dead(const ClusterShard& shard, const std::string& what) {
  const NodeMemory& primary = shard.record.primary;
  std::vector<std::string> missing;
  bool has_heir = false;
  std::vector<std::string> silent;
  for (const NodeMemory& member : shard.record.insync) {
    if (is_gone(member.node)) missing.push_back(member.node);
    const bool is_silent = answer(member.node) == NodeAnswer::silent;
    if (is_silent) silent.push_back(member.node);
    has_heir = has_heir || (is_alive(member) && !is_silent);
  }
  if (is_gone(primary.node)) missing.insert(missing.begin(), primary.node);
  if (answer(primary.node) == NodeAnswer::silent) silent.insert(silent.begin(), primary.node);
  if (has_heir && context_.has_register) {
    return add(Severity::fault, what + "; a replica that is in sync takes over",
               "wait some seconds, and look again");
  }
  if (has_heir) {
    std::string advice = "start etcd again";
    if (is_gone(primary.node)) advice += ", or " + how_to_start({primary.node});
    if (answer(primary.node) == NodeAnswer::silent) {
      advice += ", or look at " + label(primary.node) + ": stopped (kill -CONT), overloaded?";
    }
    return add(Severity::fault, what + "; no replica can take over before etcd is back",
               std::move(advice));
  }
  if (!silent.empty()) {
    return add(Severity::fault,
               what + (shard.record.insync.empty() ? "; no replica could take over"
                                                   : "; nor does a replica that could take over"),
               "look at " + labels(silent) + ": stopped (kill -CONT), overloaded, or cut off?");
  }
  if (missing.empty()) {
    const RecoveryChoice choice = recovery_of(shard);
    const std::string& holder = choice.holder;
    if (choice.is_asked) {
      return add(Severity::fault,
                 what + "; the shard waits for " + label(holder) +
                     ", which has data of it in memory and has not announced how much",
                 "wait some seconds, and look again. A process that is stopped (kill -CONT) or cut "
                 "off counts as ended after 15 s");
    }
    if (!holder.empty()) {
      return add(Severity::fault,
                 what +
                     "; the shard waits: no node that was primary or in sync has loaded all of "
                     "its data, but " +
                     label(holder) + " lives with data of it",
                 "mayfly cluster recover " + shard.id +
                     " shows what each node has, and changes nothing; with --accept-loss the one "
                     "with the latest data goes on");
    }
    return add(Severity::fault, what + "; so has every replica that was in sync",
               "the one with the latest data on disk takes over by itself in some seconds");
  }
  add(Severity::fault, what + "; the shard waits for " + labels(missing),
      how_to_start(missing) + ". Only if that is impossible: mayfly cluster recover " + shard.id +
          " (it shows what would be lost, and changes nothing)");
}

// Advice for nodes that are gone. A node that refuses no connection may still exist.
std::string ProblemFinder::how_to_start(const std::vector<std::string>& ids) const {
  std::vector<std::string> silent;
  std::ranges::copy_if(ids, std::back_inserter(silent),
                       [&](const std::string& id) { return answer(id) == NodeAnswer::silent; });
  const std::string start = "start " + labels(ids) + " again";
  if (silent.empty()) return start;
  return start + " (" + (ids.size() == 1 ? "it" : labels(silent)) +
         " may be stopped: kill -CONT; or the machine is down or cut off)";
}

RecoveryChoice ProblemFinder::recovery_of(const ClusterShard& shard) const {
  LiveProcesses lives;
  for (const std::string& node : view_.members(shard)) {
    if (const LiveRecord* const live = view_.live(node)) lives[node] = *live;
  }
  return choose_recovery(shard.record, shard.version, lives);
}

std::string ProblemFinder::labels(const std::vector<std::string>& ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += i + 1 == ids.size() ? " and " : ", ";
    text += label(ids[i]);
  }
  return text;
}

NodeAnswer ProblemFinder::answer(std::string_view id) const {
  const auto found = context_.answers.find(id);
  return found == context_.answers.end() ? NodeAnswer::unknown : found->second;
}

void ProblemFinder::look_at_replicas(const ClusterShard& shard) {
  if (!view_.config()) return;
  const std::size_t in_sync = shard.record.insync.size();
  const std::vector<std::string> members = view_.members(shard);
  const std::size_t nodes = members.size();
  // A shard that was given a replica after `init --replicas 0` is to have it.
  const bool has_replica = std::ranges::any_of(members, [&](const std::string& node) {
    const NodeRecord* const record = view_.node(node);
    return node != shard.record.primary.node && record->state == NodeState::in;
  });
  const auto wanted =
      static_cast<std::size_t>(std::max(view_.config()->record.replicas, has_replica ? 1 : 0));
  if (wanted == 0) return;
  const std::string here = "shard " + shard.id;
  const std::string advice = nodes <= wanted
                                 ? "mayfly cluster add HOST:PORT --replica-of " + shard.id
                                 : "look at the log of its replicas";
  if (in_sync == 0) {
    if (shard.record.slots.empty()) return;  // nothing to lose
    return add(Severity::risk,
               here + " would not survive the loss of " + label(shard.record.primary.node), advice);
  }
  if (in_sync < wanted) {
    add(Severity::risk,
        here + " has " + std::to_string(in_sync) + " of " + std::to_string(wanted) +
            " replicas in sync",
        advice);
  }
}

void ProblemFinder::look_at_nodes() {
  std::map<std::pair<std::string, int>, std::string> addresses;
  for (const auto& [id, node] : view_.nodes()) {
    const NodeRecord& record = node.record;
    const auto [first, is_new] = addresses.try_emplace({record.host, record.port}, id);
    if (!is_new) {
      add(Severity::risk,
          "two nodes have the address " + label(id) + ": " + first->second + " and " + id,
          "mayfly cluster remove the one that is gone, by its id");
    }
    if (record.shard.empty()) {
      add(Severity::info, label(id) + " is registered and belongs to no shard",
          "mayfly cluster add " + label(id) + ", or remove it");
    } else if (view_.shard(record.shard) == nullptr) {
      add(Severity::fault, label(id) + " belongs to shard " + record.shard + ", which is not there",
          "mayfly cluster remove " + label(id) + ", and add it again");
    }
    if (record.state == NodeState::leaving) add(Severity::info, label(id) + " is leaving");
    const bool is_primary = view_.led_by(id) != nullptr;  // told with its shard
    if (is_gone(id) && !is_primary) {
      add(Severity::risk,
          label(id) + (view_.live(id) == nullptr
                           ? " is not alive"
                           : " does not run (etcd counts it as alive for 15 s at most)"),
          how_to_start({id}) + ", or remove it");
    } else if (view_.live(id) == nullptr && answer(id) == NodeAnswer::answers) {
      add(Severity::risk, label(id) + " runs, but etcd has forgotten it",
          "can it reach etcd? its log says more");
    }
  }
  for (const auto& [id, live] : view_.lives()) {
    if (view_.node(id) == nullptr) {
      add(Severity::info, "node " + id.substr(0, 8) + " is alive and has no record",
          "it was removed: stop it");
    }
  }
}

void ProblemFinder::look_at_moves() {
  for (const auto& [id, move] : view_.moves()) {
    const MoveRecord& record = move.record;
    if (record.state == MoveState::failed) {
      add(Severity::risk,
          "move " + id + " from " + record.source + " to " + record.target +
              " failed: " + record.error,
          "the slots are where they were; plan it again, or mayfly cluster cancel " + id);
    }
    if (!is_active(record.state)) continue;
    const bool is_busy = record.state == MoveState::waiting && record.busy_since != Time{};
    if (is_busy && context_.now - record.busy_since >= kBusyLong) {
      add(Severity::risk,
          "move " + id + " from " + record.source + " to " + record.target +
              " has been refused for more than a minute: " + record.error,
          "later moves of shard " + record.source +
              " wait for it: look at the log of the primary "
              "of shard " +
              record.target + ", or mayfly cluster cancel " + id);
    }
    for (const std::string& shard : {record.source, record.target}) {
      if (view_.shard(shard) != nullptr) continue;
      add(Severity::fault, "move " + id + " names shard " + shard + ", which is not there",
          "mayfly cluster cancel " + id);
    }
  }
}

}  // namespace

std::vector<ClusterProblem> find_problems(const ClusterView& view, ProblemContext context) {
  return ProblemFinder(view, std::move(context)).find();
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::risk:
      return "risk";
    case Severity::fault:
      return "fault";
  }
  return "";
}

std::string node_label(const ClusterView& view, std::string_view id) {
  const NodeRecord* const node = view.node(id);
  if (node == nullptr) return std::string(id.substr(0, 8));
  const std::string& host = node->hostname.empty() ? node->host : node->hostname;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(node->port);
}

}  // namespace mayfly
