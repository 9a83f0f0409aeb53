// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/watch/picture_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/cluster/watch/check_command.h"

namespace mayfly {
namespace {

constexpr Millis kEmptyRisk{3'600'000};  // then it has been noticed
constexpr double kMemoryNearlyFull = 0.9;
constexpr double kDiskShare = 0.05;                          // that should be free,
constexpr std::uint64_t kDiskFree = std::uint64_t{1} << 30;  // or this much: 1 GiB

bool is_primary(const ClusterPicture& picture, const std::string& node) {
  return picture.view.led_by(node) != nullptr;
}

// "free space on its disk ..." for "MISCONF ...".
std::string advice_for(const std::string& refusal, const ClusterShard& shard) {
  if (refusal.starts_with("OOM")) {
    return "raise maxmemory, choose a maxmemory-policy that evicts, or move slots away: mayfly "
           "cluster rebalance --by keys";
  }
  if (refusal.starts_with("MISCONF")) {
    // A snapshot is tried again only when enough has changed for a save rule.
    const bool is_snapshot = refusal.find("RDB snapshots") != std::string::npos;
    std::string advice = "free space on its disk (its log says what fails)";
    advice += is_snapshot ? ", then BGSAVE there" : ": it goes on by itself";
    if (!shard.record.insync.empty()) advice += ". Or mayfly cluster failover " + shard.id;
    return advice;
  }
  if (refusal.starts_with("NOREPLICAS")) {
    return "look at its replicas, or lower min-replicas-to-write";
  }
  return "look at the log of that node";
}

std::string bytes_text(std::uint64_t bytes) { return short_bytes(static_cast<double>(bytes)); }

void add_memory(const ClusterPicture& picture, const std::string& node, const NodeFacts& facts,
                std::vector<ClusterProblem>& problems) {
  const NodeHealth& health = facts.health;
  if (health.memory_most == 0 || health.evicts || !facts.memory_bytes) return;
  const double share =
      static_cast<double>(*facts.memory_bytes) / static_cast<double>(health.memory_most);
  if (share < kMemoryNearlyFull) return;
  problems.push_back({Severity::risk,
                      fmt::format("{} uses {} of maxmemory {}, and evicts nothing: soon it refuses "
                                  "writes (OOM)",
                                  node_label(picture.view, node), bytes_text(*facts.memory_bytes),
                                  bytes_text(health.memory_most)),
                      "raise maxmemory, or choose a maxmemory-policy that evicts"});
}

void add_files(const ClusterPicture& picture, const std::string& node, const NodeFacts& facts,
               std::vector<ClusterProblem>& problems) {
  const NodeHealth& health = facts.health;
  const bool refuses_for_files = health.refused_writes.starts_with("MISCONF");
  const std::string label = node_label(picture.view, node);
  const auto add = [&](std::string what, std::string advice) {
    problems.push_back({Severity::risk, std::move(what), std::move(advice)});
  };
  if (health.failed_rewrites > 0) {
    add(fmt::format("{} could not rewrite its append-only file, {} in a row", label,
                    plural(health.failed_rewrites, "time")),
        "free space on its disk (its log says what fails); then BGREWRITEAOF");
  }
  if (refuses_for_files) return;  // write_problems() has it
  if (!health.is_log_good) {
    add(label + " cannot write its append-only file", "free space on its disk; its log says more");
  }
  if (!health.is_snapshot_good) {
    add(label + " could not save its last snapshot", "its log says why; then BGSAVE");
  }
  if (!health.disk_free) return;
  // The next rewrite needs about as much as the data takes.
  const auto share =
      static_cast<std::uint64_t>(static_cast<double>(health.disk_bytes) * kDiskShare);
  const std::uint64_t wanted = std::max(facts.memory_bytes.value_or(0), std::min(share, kDiskFree));
  if (*health.disk_free >= wanted) return;
  add(fmt::format("the disk of {} has {} free of {}: the next save or rewrite may fail, and then "
                  "writes are refused",
                  label, bytes_text(*health.disk_free), bytes_text(health.disk_bytes)),
      "free space, or give it a larger disk");
}

// Shards without any node that keeps its data. A node that has not answered may keep it.
void add_lost_at_power_cut(const ClusterPicture& picture, std::vector<ClusterProblem>& problems) {
  std::string shards;
  std::size_t count = 0;
  for (const ClusterShard& shard : picture.view.shards()) {
    bool may_keep = shard.record.slots.empty();
    for (const std::string& node : picture.view.members(shard)) {
      const auto found = picture.facts.find(node);
      const bool has_said =
          found != picture.facts.end() && found->second.is_up() && found->second.health.keeps_data;
      may_keep = may_keep || !has_said || *found->second.health.keeps_data;
    }
    if (may_keep) continue;
    shards += (shards.empty() ? "" : ", ") + shard.id;
    ++count;
  }
  if (count == 0) return;
  problems.push_back(
      {picture.is_cache ? Severity::info : Severity::risk,
       fmt::format("no node of shard{} {} keeps its data: if all of them stop, it is empty",
                   count == 1 ? "" : "s", shards),
       "appendonly yes (CONFIG SET works at once), or --cache here if that is meant so"});
}

void add_empty(const ClusterPicture& picture, const ClusterShard& shard,
               std::vector<ClusterProblem>& problems) {
  const auto found = picture.facts.find(shard.record.primary.node);
  if (found == picture.facts.end() || !found->second.health.came_back_empty) return;
  const bool is_new = picture.now - shard.record.since < kEmptyRisk && !picture.is_cache;
  problems.push_back(
      {is_new ? Severity::risk : Severity::info,
       fmt::format("shard {} came back empty: all its processes had ended, and {} led again with "
                   "epoch {} and without data",
                   shard.id, node_label(picture.view, shard.record.primary.node),
                   shard.record.epoch),
       "look at the log and the folder of that node first: an appendonlydir (or "
       "appendonlydir.not-loaded-N) or a dump that was not loaded may have the data; else fill it "
       "again, or restore a backup. Only then CONFIG SET appendonly yes, to keep it"});
}

// The words for a node whose state is unknown.
std::string_view answer_text(NodeAnswer answer, bool is_live, bool knows_lives) {
  switch (answer) {
    case NodeAnswer::locked:
      return "does not let us in";
    case NodeAnswer::closed:
      return "lets nobody in from here";
    case NodeAnswer::full:
      return "takes no more clients";
    case NodeAnswer::busy:
      return "runs a script or a function, and does nothing else";
    default:
      break;
  }
  if (!knows_lives) return "does not answer here";
  return is_live ? "lives, but does not answer here" : "is forgotten by etcd, and here";
}

std::string_view answer_advice(NodeAnswer answer) {
  switch (answer) {
    case NodeAnswer::locked:
      return "give the password: --password";
    case NodeAnswer::closed:
      return "run this on that machine; or set requirepass there, or protected-mode no if only "
             "trusted machines reach it";
    case NodeAnswer::full:
      return "look there with CLIENT LIST who has so many connections; raise maxclients (CONFIG "
             "SET works at once)";
    case NodeAnswer::busy:
      return "SCRIPT KILL there, or FUNCTION KILL. If it has written (UNKILLABLE): wait until it "
             "ends, or stop the process (SHUTDOWN NOSAVE), so that a replica takes over";
    case NodeAnswer::broken:
      return "look at its log";
    case NodeAnswer::hidden:
      return "its replica hears it, so look again; is there a firewall between here and that node?";
    default:
      return "is it stopped (kill -CONT), overloaded, or behind a firewall?";
  }
}

}  // namespace

ClusterService service_of(const ClusterPicture& picture) {
  ClusterService service;
  for (const auto& [id, node] : picture.view.nodes()) {
    if (node.record.shard.empty()) continue;
    ++service.nodes;
    const auto found = picture.facts.find(id);
    if (found != picture.facts.end() && found->second.is_up()) ++service.answering;
  }
  SlotSet served;
  SlotSet writable;
  for (const ClusterShard& shard : picture.view.shards()) {
    const std::string state = shard_state(picture, shard);
    if (may_serve(state)) service.is_known = false;
    if (state != kServing && state != kRefusesWrites) continue;
    served |= shard.record.slots;
    ++service.served_shards;
    if (state == kRefusesWrites) continue;
    writable |= shard.record.slots;
    ++service.writable_shards;
  }
  service.served_slots = served.count();
  service.writable_slots = writable.count();
  return service;
}

NodeAnswers answers_of(const ClusterPicture& picture) {
  NodeAnswers answers;
  for (const auto& [id, facts] : picture.facts) {
    answers[id] = facts.is_up() ? NodeAnswer::answers : facts.answer;
  }
  // A primary that replicas hear is cut off from here only.
  for (const ClusterShard& shard : picture.view.shards()) {
    const auto primary = answers.find(shard.record.primary.node);
    if (primary == answers.end() || primary->second != NodeAnswer::silent) continue;
    for (const std::string& node : picture.view.members(shard)) {
      const auto found = picture.facts.find(node);
      if (found == picture.facts.end() || !found->second.is_up()) continue;
      if (found->second.hears_primary) primary->second = NodeAnswer::hidden;
    }
  }
  return answers;
}

std::vector<ClusterProblem> answer_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const auto& [id, answer] : answers_of(picture)) {
    const NodeFacts& facts = picture.facts.at(id);
    const bool is_live = picture.view.live(id) != nullptr;
    const bool is_gone =
        answer == NodeAnswer::refuses || (answer == NodeAnswer::silent && !is_live);
    if (facts.is_up() || is_gone) continue;
    problems.push_back({Severity::risk,
                        fmt::format("{} {}: {}", node_label(picture.view, id),
                                    answer_text(answer, is_live, picture.knows_lives), facts.error),
                        std::string(answer_advice(answer))});
  }
  return problems;
}

std::vector<ClusterProblem> serving_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const ClusterShard& shard : picture.view.shards()) {
    const std::string state = shard_state(picture, shard);
    if (state == kServing || state == kRefusesWrites) continue;
    std::string advice;
    if (state == "loading") advice = "wait until it has loaded its files";
    if (state == "fenced" || state == "not leading") {
      advice = "can it reach its replicas that are in sync, or etcd to remove them?";
    }
    const bool is_detail = advice.empty();
    const std::string label = node_label(picture.view, shard.record.primary.node);
    std::string what = fmt::format("the primary of shard {}, {}, does not serve: it is {}",
                                   shard.id, label, state);
    if (may_serve(state)) {
      what = fmt::format("whether the primary of shard {}, {}, serves is unknown: it {}", shard.id,
                         label, state == kNoAnswer ? "does not answer" : state);
    }
    problems.push_back({Severity::fault, std::move(what), std::move(advice), is_detail});
  }
  return problems;
}

std::vector<ClusterProblem> register_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const auto& [id, facts] : picture.facts) {
    if (!facts.is_up() || facts.is_register_connected) continue;
    const std::string label = node_label(picture.view, id);
    if (facts.is_register_unusable) {
      problems.push_back(
          {Severity::fault, label + " does not use this etcd: " + facts.register_error,
           "it goes on as if etcd were down. Give it the right etcd, or restore it as "
           "docs/cluster.md says: stop all nodes, mayfly cluster accept, start them"});
    } else {
      problems.push_back({Severity::risk, label + " cannot reach etcd: " + facts.register_error,
                          "it goes on; but its shard stops if another node fails, too"});
    }
  }
  return problems;
}

std::vector<ClusterProblem> write_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const ClusterShard& shard : picture.view.shards()) {
    if (shard_state(picture, shard) != kRefusesWrites) continue;
    const std::string& refusal = picture.facts.at(shard.record.primary.node).health.refused_writes;
    problems.push_back({Severity::fault,
                        fmt::format("shard {} refuses writes: {} says {}", shard.id,
                                    node_label(picture.view, shard.record.primary.node), refusal),
                        advice_for(refusal, shard)});
  }
  for (const auto& [id, facts] : picture.facts) {
    if (facts.is_up() && !facts.health.paused.empty() && is_primary(picture, id)) {
      problems.push_back({Severity::risk,
                          fmt::format("{} makes its clients wait with {} (CLIENT PAUSE)",
                                      node_label(picture.view, id),
                                      facts.health.paused == "all" ? "all commands" : "writes"),
                          "CLIENT UNPAUSE there"});
    }
    const bool is_told = !facts.health.refused_writes.empty() && is_primary(picture, id);
    if (facts.is_up() && !is_told) add_memory(picture, id, facts, problems);
  }
  return problems;
}

std::vector<ClusterProblem> storage_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const auto& [id, facts] : picture.facts) {
    if (!facts.is_up()) continue;
    add_files(picture, id, facts, problems);
  }
  for (const ClusterShard& shard : picture.view.shards()) add_empty(picture, shard, problems);
  add_lost_at_power_cut(picture, problems);
  return problems;
}

namespace {

Millis allowed_difference(const ClusterPicture& picture) {
  std::vector<NodeFacts> facts;
  for (const auto& [node, one] : picture.facts) facts.push_back(one);
  return clock_difference_max(facts);
}

// A time that a wrong clock has left in a record.
void add_wrong_since(const ClusterPicture& picture, const ClusterShard& shard,
                     std::vector<ClusterProblem>& problems) {
  const auto primary = picture.facts.find(shard.record.primary.node);
  const bool is_known = primary != picture.facts.end() && primary->second.is_up();
  const Time there = picture.now + (is_known ? primary->second.clock_ahead : Millis(0));
  const Millis ahead = shard.record.since - there;
  if (ahead <= allowed_difference(picture)) return;
  problems.push_back(
      {Severity::risk,
       fmt::format("the record of shard {} says that its primary began {} ms from now: a clock was "
                   "wrong then",
                   shard.id, ahead.count()),
       "mayfly cluster reset-clock " + shard.id +
           ", when the clocks are right (nodes take no more than cluster-max-clock-difference of "
           "it over)"});
}

void add_floor(const ClusterPicture& picture, const std::string& node, const NodeFacts& facts,
               std::vector<ClusterProblem>& problems) {
  if (!facts.is_up() || facts.clock_floor <= Millis(0)) return;
  const bool is_large = facts.clock_floor > facts.clock_difference_max;
  problems.push_back(
      {is_large ? Severity::risk : Severity::info,
       fmt::format("the time of {} is {} ms ahead of the clock of its machine, as that of an "
                   "earlier primary was; it runs at half the rate until both are the same",
                   node_label(picture.view, node), facts.clock_floor.count()),
       is_large ? "restart that node when its clock is right" : ""});
}

}  // namespace

std::vector<ClusterProblem> clock_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (const ClusterShard& shard : picture.view.shards()) add_wrong_since(picture, shard, problems);
  for (const auto& [node, facts] : picture.facts) {
    add_floor(picture, node, facts, problems);
    for (const auto& [id, member] : facts.members) {
      if (!member.has_wrong_clock) continue;
      const Millis ahead = member.clock_ahead;
      problems.push_back(
          {Severity::risk,
           fmt::format("{} does not get in sync: its clock is {} ms {} that of its primary, {}",
                       node_label(picture.view, id), std::abs(ahead.count()),
                       ahead > Millis(0) ? "ahead of" : "behind", node_label(picture.view, node)),
           "let NTP or chrony set both clocks (cluster-max-clock-difference says what is "
           "allowed)"});
    }
  }
  return problems;
}

std::vector<ClusterProblem> all_problems(const ClusterPicture& picture) {
  std::vector<ClusterProblem> problems;
  for (CheckResult& result : check_picture(picture)) {
    for (ClusterProblem& problem : result.problems) {
      if (!problem.is_detail) problems.push_back(std::move(problem));
    }
  }
  std::ranges::stable_sort(problems, std::ranges::greater(), &ClusterProblem::severity);
  return problems;
}

}  // namespace mayfly
