// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/watch/check_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/cluster/watch/picture_problems.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kDatabaseLarge = 1'500'000'000;  // of the 2 GiB that etcd takes by default

CheckResult check_records(const ClusterPicture& picture) {
  const ClusterView& view = picture.view;
  const std::size_t covered = kHashSlots - view.uncovered().count();
  CheckResult result{
      "records",
      fmt::format("{} of {} slots have an owner, {}, {}", covered, kHashSlots,
                  plural(view.shards().size(), "shard"), plural(view.nodes().size(), "node")),
      find_problems(view, {answers_of(picture), picture.now, picture.error.empty()})};
  if (!picture.error.empty()) {
    result.problems.push_back({Severity::fault,
                               "etcd cannot be read, so these records are from " + picture.source,
                               "nothing can fail over or move before etcd is back", true});
  }
  return result;
}

CheckResult check_nodes(const ClusterPicture& picture) {
  CheckResult result{"nodes", "", answer_problems(picture)};
  std::size_t up = 0;
  std::string silent;
  std::set<std::string> versions;
  const ClusterView& view = picture.view;
  for (const auto& [id, facts] : picture.facts) {
    const std::string label = node_label(view, id);
    if (!facts.is_up()) {
      silent += " " + label;
      continue;
    }
    ++up;
    if (!facts.version.empty()) versions.insert(facts.version);
    if (view.config() && !facts.cluster_id.empty() &&
        facts.cluster_id != view.config()->record.id) {
      result.problems.push_back({Severity::fault,
                                 label + " belongs to another cluster, " + facts.cluster_id,
                                 "has it another cluster-etcd?"});
    }
  }
  for (ClusterProblem& problem : register_problems(picture)) {
    result.problems.push_back(std::move(problem));
  }
  if (up < picture.facts.size()) {
    result.problems.push_back({Severity::risk,
                               fmt::format("{} of {} give no answer:{}", picture.facts.size() - up,
                                           plural(picture.facts.size(), "node"), silent),
                               "", true});
  }
  if (versions.size() > 1) {
    result.problems.push_back({Severity::info,
                               fmt::format("nodes run versions {}", fmt::join(versions, " and ")),
                               "fine during an upgrade; finish it"});
  }
  result.detail = fmt::format("{} of {} answer{}", up, picture.facts.size(),
                              versions.size() == 1 ? ", version " + *versions.begin() : "");
  return result;
}

// That the primary of each record leads with its epoch, and nobody else believes to serve.
CheckResult check_epochs(const ClusterPicture& picture) {
  CheckResult result{"epochs", "", {}};
  const ClusterView& view = picture.view;
  std::size_t serving = 0;
  for (const auto& [id, facts] : picture.facts) {
    if (!facts.is_up() || !facts.is_serving) continue;
    const ClusterShard* const shard = view.shard(facts.shard);
    if (shard == nullptr || shard->record.primary != NodeMemory{id, facts.incarnation}) {
      result.problems.push_back(
          {Severity::fault,
           fmt::format("{} serves shard {}, but the record names another primary",
                       node_label(view, id), facts.shard),
           "look again: it may have taken over just now. If it stays so, stop that node"});
    } else if (facts.epoch != shard->record.epoch) {
      result.problems.push_back(
          {Severity::fault,
           fmt::format("{} serves shard {} with epoch {}, the record has {}", node_label(view, id),
                       facts.shard, facts.epoch, shard->record.epoch),
           "look again: it may have changed just now"});
    } else {
      ++serving;
    }
  }
  std::ranges::copy(serving_problems(picture), std::back_inserter(result.problems));
  result.detail = fmt::format("{} of {} primaries serve, with the epochs of their records", serving,
                              view.shards().size());
  return result;
}

CheckResult check_replicas(const ClusterPicture& picture) {
  const ReplicaCount count = count_replicas(picture);
  CheckResult result{
      "replicas", fmt::format("{} of {} are in sync", count.in_sync, plural(count.all, "replica")),
      replica_problems(picture)};
  if (count.in_sync < count.all) {
    result.problems.push_back({Severity::risk,
                               fmt::format("{} not in sync, or not known to be",
                                           plural(count.all - count.in_sync, "replica")),
                               "", true});
  }
  return result;
}

CheckResult check_writes(const ClusterPicture& picture) {
  const ClusterService service = service_of(picture);
  const std::size_t shards = picture.view.shards().size();
  CheckResult result{"writes",
                     fmt::format("{} of {} shards take writes", service.writable_shards, shards),
                     write_problems(picture)};
  if (service.served_shards < shards) {
    result.problems.push_back(
        {Severity::fault,
         fmt::format("{} of {} slots are not {}", kHashSlots - service.served_slots, kHashSlots,
                     service.is_known ? "served" : "known to be served"),
         "", true});
  }
  return result;
}

CheckResult check_storage(const ClusterPicture& picture) {
  std::size_t keeping = 0;
  std::size_t known = 0;
  for (const auto& [id, facts] : picture.facts) {
    if (!facts.is_up() || !facts.health.keeps_data) continue;
    ++known;
    if (*facts.health.keeps_data) ++keeping;
  }
  CheckResult result{
      "storage", fmt::format("{} of {} answering nodes keep their data in files", keeping, known),
      storage_problems(picture)};
  if (known == 0 && !picture.facts.empty()) {
    result.problems.push_back(
        {Severity::risk, "no node has told whether it keeps its data", "", true});
  }
  return result;
}

CheckResult check_clocks(const ClusterPicture& picture) {
  std::vector<NodeFacts> facts;
  for (const auto& [id, one] : picture.facts) {
    if (one.is_up()) facts.push_back(one);
  }
  const Millis spread = clock_spread(facts);
  Millis floor{0};
  for (const NodeFacts& one : facts) floor = std::max(floor, one.clock_floor);
  CheckResult result{"clocks",
                     fmt::format("of {} within {} ms, the greatest floor {} ms",
                                 plural(facts.size(), "node"), spread.count(), floor.count()),
                     {}};
  if (facts.empty() && !picture.facts.empty()) {
    result.problems.push_back({Severity::risk, "no node has told its time", "", true});
  }
  if (const Millis most = clock_difference_max(facts); spread > most) {
    result.problems.push_back(
        {Severity::risk,
         fmt::format("the clocks of the nodes differ by {} ms; {} are allowed", spread.count(),
                     most.count()),
         "let NTP or chrony set them: replicas do not get in sync so"});
  }
  for (const ClusterProblem& problem : clock_problems(picture)) result.problems.push_back(problem);
  return result;
}

CheckResult check_etcd(const ClusterPicture& picture) {
  CheckResult result{"etcd", "", {}};
  const EtcdCount count = count_etcd(picture);
  std::string versions;
  std::vector<std::string> old;
  const auto add = [&](Severity severity, std::string what, std::string advice,
                       bool is_detail = false) {
    result.problems.push_back({severity, std::move(what), std::move(advice), is_detail});
  };
  for (const EtcdEndpointStatus& member : picture.etcd) {
    const std::string name = member.name.empty() ? member.endpoint : member.name;
    const std::string label = "etcd member " + name;
    if (!member.error.empty()) {
      add(Severity::risk,
          label + (member.is_named ? "" : " at " + member.endpoint) + ": " + member.error,
          member.is_named ? "start it again, or mend the way to it"
                          : "start it again; or name it in --etcd with an address that is right "
                            "here");
      continue;
    }
    if (versions.find(member.version) == versions.npos) versions += " " + member.version;
    if (member.version.starts_with("3.4") || member.version.starts_with("3.3")) {
      old.push_back(name);
    }
    if (member.database_bytes > kDatabaseLarge) {
      add(Severity::risk, label + " has " + short_bytes(static_cast<double>(member.database_bytes)),
          "it refuses writes at 2 GiB: start it with --auto-compaction-retention=1, and "
          "defragment");
    }
    if (member.leader == 0) {
      add(Severity::risk, label + " knows of no leader", "can it reach the other members?");
    }
    for (const std::string& alarm : member.alarms) {
      add(Severity::fault, label + ": " + alarm, "its log says more; then etcdctl alarm disarm");
    }
  }
  if (!old.empty()) {
    add(Severity::info,
        fmt::format("version 3.4 or older, which gets no fixes: {}", fmt::join(old, ", ")),
        "3.5 or later is recommended", true);
  }
  // If it can be read, it has a majority, however many members answer here.
  if (!picture.error.empty() && 2 * count.up <= count.all) {
    add(Severity::fault,
        fmt::format("etcd has no majority: {} of {} answer", count.up, plural(count.all, "member")),
        "start its members again. Until then shards that serve go on, but no node can start or "
        "take over, no slots move, and those whose move was at its end wait",
        true);
  }
  if (count.all < 3) {
    add(Severity::info, fmt::format("etcd has {}", plural(count.all, "member")),
        "three survive the loss of one", true);
  }
  result.detail = fmt::format("{} of {} answer,{}", count.up, count.all,
                              versions.empty() ? " no version" : versions);
  return result;
}

bool is_problem(const ClusterProblem& problem) { return problem.severity != Severity::info; }

std::string results_text(const std::vector<CheckResult>& results, const Colours& colours) {
  std::string text;
  for (const CheckResult& result : results) {
    const bool is_fine = std::ranges::none_of(result.problems, is_problem);
    text += fmt::format(
        "{}  {:<9} {}\n",
        is_fine ? colours.apply("ok   ", Emphasis::good) : colours.apply("WRONG", Emphasis::bad),
        result.what, result.detail);
    for (const ClusterProblem& problem : result.problems) {
      text += fmt::format("       {}: {}\n", name_of(problem.severity), problem.what);
      if (!problem.advice.empty()) text += fmt::format("         do: {}\n", problem.advice);
    }
  }
  return text;
}

std::string results_json(const std::vector<CheckResult>& results, bool is_fine,
                         const std::string& error) {
  Json json;
  json.open('{');
  json.member("is_fine", is_fine);
  json.member("error", std::string_view(error));
  json.key("checks");
  json.open('[');
  for (const CheckResult& result : results) {
    json.open('{');
    json.member("what", std::string_view(result.what));
    json.member("detail", std::string_view(result.detail));
    json.key("problems");
    json.open('[');
    for (const ClusterProblem& problem : result.problems) {
      json.open('{');
      json.member("severity", name_of(problem.severity));
      json.member("what", std::string_view(problem.what));
      json.member("advice", std::string_view(problem.advice));
      json.close('}');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return json.text();
}

bool belongs_to_shard(const ClusterPicture& picture, const std::string& id) {
  const NodeRecord* const record = picture.view.node(id);
  return record != nullptr && !record->shard.empty();
}

// Asks every node of a shard for its map.
CheckResult check_maps(ClusterSession& session, const ClusterPicture& picture) {
  CheckResult result{"maps", "", {}};
  std::size_t asked = 0;
  const std::size_t all = service_of(picture).nodes;
  for (const auto& [id, facts] : picture.facts) {
    const auto address = address_of(picture.view, id);
    if (!facts.is_up() || !belongs_to_shard(picture, id) || !address) continue;
    const auto reply = call_node(session, *address, {"CLUSTER", "SLOTS"});
    if (!reply) {
      result.problems.push_back({Severity::risk, reply.error().message, ""});
      continue;
    }
    ++asked;
    for (ClusterProblem& problem : check_map(picture.view, id, *reply)) {
      result.problems.push_back(std::move(problem));
    }
  }
  if (asked < all) {
    result.problems.push_back(
        {Severity::risk,
         asked == 0 ? "no node could be asked for its map"
                    : plural(all - asked, "node") + " could not be asked for their map",
         "", true});
  }
  result.detail = fmt::format("{} of {} compared with etcd", asked, plural(all, "node"));
  return result;
}

}  // namespace

std::vector<CheckResult> check_picture(const ClusterPicture& picture) {
  return {check_records(picture),  check_nodes(picture),  check_epochs(picture),
          check_replicas(picture), check_writes(picture), check_storage(picture),
          check_clocks(picture),   check_etcd(picture)};
}

std::vector<ClusterProblem> check_map(const ClusterView& view, const std::string& node,
                                      const ReplyValue& slots) {
  // The primary that the node names for each slot.
  std::vector<std::string> named(kHashSlots);
  for (const ReplyValue& range : slots.items) {
    if (range.items.size() < 3 || range.items[2].items.size() < 3) continue;
    const std::int64_t first = std::clamp<std::int64_t>(range.items[0].integer, 0, kHashSlots - 1);
    const std::int64_t last = std::clamp<std::int64_t>(range.items[1].integer, 0, kHashSlots - 1);
    for (std::int64_t slot = first; slot <= last; ++slot) {
      named[static_cast<std::size_t>(slot)] = range.items[2].items[2].text;
    }
  }
  SlotSet differs;
  for (int slot = 0; slot < kHashSlots; ++slot) {
    const ClusterShard* const owner = view.owner(static_cast<HashSlot>(slot));
    const std::string expected = owner == nullptr ? "" : owner->record.primary.node;
    if (named[static_cast<std::size_t>(slot)] != expected) differs.add(static_cast<HashSlot>(slot));
  }
  if (differs.empty()) return {};
  return {
      {Severity::risk,
       fmt::format("{} tells clients another map than etcd has, for {}: {}", node_label(view, node),
                   plural(differs.count(), "slot"), short_slots(differs)),
       "nodes read it every 5 s: look again; if it stays so, look at that node's log"}};
}

Result<Exit> run_cluster_check(const ClusterCheckArgs& args, ClusterSession& session) {
  MoveRates rates;
  const ClusterPicture picture = take_picture(session, args.picture, nullptr, rates);
  if (!is_known(picture)) {
    if (session.is_json) {
      session.talk.print(results_json({check_etcd(picture)}, false, picture.error));
    }
    return Error{Code::io, picture.error + " (--node HOST:PORT asks the nodes)"};
  }
  std::vector<CheckResult> results = check_picture(picture);
  if (picture.view.config()) {
    results.insert(results.begin() + 4,
                   {check_maps(session, picture), check_functions(session, picture)});
  }
  const bool is_fine = std::ranges::all_of(results, [](const CheckResult& result) {
    return std::ranges::none_of(result.problems, is_problem);
  });
  const Colours colours(session.talk.has_colours());
  session.talk.print(session.is_json ? results_json(results, is_fine, picture.error)
                                     : results_text(results, colours));
  return is_fine ? Exit::ok : Exit::problems;
}

}  // namespace mayfly
