// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/init_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "cluster/plan/cluster_problems.h"
#include "cluster/plan/placement.h"
#include "text/json.h"

namespace mayfly {
namespace {

// etcd takes 128 operations in a transaction.
constexpr std::size_t kPutsMax = 100;
constexpr Millis kServiceWait{20'000};
constexpr Millis kNewcomerWait{10'000};

Error about(const NodeAddress& node, std::string_view what) {
  return {Code::invalid, fmt::format("{} {}", node.text(), what)};
}

// Of a node that has just been started: it passes by itself.
Error not_yet(const NodeAddress& node, std::string_view what) {
  return {Code::busy, fmt::format("{} {} (try again in some seconds)", node.text(), what)};
}

struct InitPlan {
  std::vector<Newcomer> nodes;
  std::vector<PlacedShard> shards;
  ClusterRecord config;
};

Result<std::vector<Newcomer>> ask_newcomers(ClusterSession& session, const ClusterView& view,
                                            const std::vector<std::string>& words) {
  std::vector<NodeAddress> addresses;
  for (const std::string& word : words) {
    auto address = parse_node_address(word);
    if (!address) return address.error();
    addresses.push_back(*std::move(address));
  }
  const std::vector<NodeFacts> facts = ask_facts(session, addresses);
  std::vector<Newcomer> nodes;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto node = check_newcomer(session, view, addresses[i], facts[i]);
    if (!node) return node.error();
    if (!ids.insert(node->facts.id).second) return about(addresses[i], "was named twice");
    nodes.push_back(*std::move(node));
  }
  const Millis most = clock_difference_max(facts);
  if (const Millis spread = clock_spread(facts); spread > most) {
    return Error{Code::invalid,
                 fmt::format("the clocks of the nodes differ by {} ms; at most {} are allowed (let "
                             "NTP or chrony set them)",
                             spread.count(), most.count())};
  }
  return nodes;
}

std::string init_text(const InitPlan& plan, const std::string& name) {
  std::string text =
      fmt::format("cluster {}: {}, {}, lease {} ms\n", name, plural(plan.shards.size(), "shard"),
                  plural(plan.nodes.size(), "node"), plan.config.lease.count());
  for (const PlacedShard& shard : plan.shards) {
    text += fmt::format("  {}  {:<13}  primary {:<21}", shard.id, shard.slots.text(),
                        plan.nodes[shard.primary].address.text());
    for (const std::size_t replica : shard.replicas) {
      text += fmt::format("  replica {}", plan.nodes[replica].address.text());
    }
    text += '\n';
  }
  std::set<std::string> shared;
  for (const PlacedShard& shard : plan.shards) {
    for (const std::size_t replica : shard.replicas) {
      if (plan.nodes[replica].record.host == plan.nodes[shard.primary].record.host) {
        shared.insert(shard.id);
      }
    }
  }
  if (!shared.empty()) {
    text += fmt::format("  ! shards on a single host, which would not survive its loss: {}\n",
                        fmt::join(shared, ", "));
  }
  if (plan.config.replicas == 0)
    text += "  ! without replicas, the loss of a node is one of data\n";
  return text;
}

std::string init_json(const InitPlan& plan, const std::string& name) {
  Json json;
  json.open('{');
  json.member("cluster", std::string_view(name));
  json.member("id", std::string_view(plan.config.id));
  json.member("lease_ms", static_cast<std::int64_t>(plan.config.lease.count()));
  json.key("shards");
  json.open('[');
  for (const PlacedShard& shard : plan.shards) {
    json.open('{');
    json.member("shard", std::string_view(shard.id));
    json.member("slots", std::string_view(shard.slots.text()));
    json.member("primary", std::string_view(plan.nodes[shard.primary].facts.id));
    json.key("replicas");
    json.open('[');
    for (const std::size_t replica : shard.replicas) {
      json.value(std::string_view(plan.nodes[replica].facts.id));
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return json.text();
}

struct RecordChange {
  std::string key;
  std::optional<std::string> text;
};

std::vector<RecordChange> changes_of(const InitPlan& plan, const ClusterView& view) {
  std::vector<RecordChange> changes;
  const auto put_node = [&](std::size_t index, const std::string& shard) {
    NodeRecord record = plan.nodes[index].record;
    record.shard = shard;
    record.state = NodeState::in;
    changes.push_back({node_key(plan.nodes[index].facts.id), to_text(record)});
  };
  std::set<std::string> ids;
  for (const PlacedShard& shard : plan.shards) {
    const NodeFacts& primary = plan.nodes[shard.primary].facts;
    ShardRecord record;
    record.epoch = 1;
    record.primary = {primary.id, primary.incarnation};
    record.slots = shard.slots;
    record.since = plan.config.created;
    changes.push_back({shard_key(shard.id), to_text(record)});
    ids.insert(shard.id);
    put_node(shard.primary, shard.id);
    for (const std::size_t replica : shard.replicas) put_node(replica, shard.id);
  }
  // Of an init that was not finished.
  for (const ClusterShard& shard : view.shards()) {
    if (!ids.contains(shard.id)) changes.push_back({shard_key(shard.id), std::nullopt});
  }
  return changes;
}

// In several transactions if there are many nodes. The config is in the last one: without it there
// is no cluster, and nodes ignore the other records.
Status write_plan(ClusterSession& session, const InitPlan& plan, const ClusterView& view) {
  const std::vector<RecordChange> changes = changes_of(plan, view);
  for (std::size_t begin = 0; begin < changes.size(); begin += kPutsMax) {
    const std::size_t end = std::min(begin + kPutsMax, changes.size());
    RegisterCommit commit;
    for (std::size_t i = begin; i < end; ++i) {
      replace(commit, view, changes[i].key, changes[i].text);
    }
    compare(commit, view, std::string(kConfigKey));
    if (end == changes.size()) {
      ClusterRecord config = plan.config;
      config.shards = plan.shards.size();
      commit.puts.push_back({std::string(kConfigKey), to_text(config)});
    }
    if (const Status done = commit_once(session, commit); !done) return done;
  }
  return Done{};
}

}  // namespace

std::string random_cluster_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 40) id += fmt::format("{:08x}", device());
  return id;
}

Result<Newcomer> check_newcomer(const ClusterSession& session, const ClusterView& view,
                                NodeAddress address, NodeFacts facts) {
  if (!facts.is_up()) return Error{Code::io, fmt::format("{}: {}", address.text(), facts.error)};
  if (facts.cluster_name != session.name) {
    return about(address, fmt::format("belongs to cluster '{}', not to '{}' (see cluster-name)",
                                      facts.cluster_name, session.name));
  }
  const NodeRecord* const record = view.node(facts.id);
  if (record == nullptr) {
    return about(address, "is not registered in this etcd (has it the same cluster-etcd?)");
  }
  const LiveRecord* const live = view.live(facts.id);
  if (live == nullptr || live->incarnation != facts.incarnation) {
    return not_yet(address, "has not announced itself yet");
  }
  if (view.config() && !record->shard.empty()) {
    return about(address, fmt::format("belongs to shard {} already", record->shard));
  }
  if (!facts.keys) return not_yet(address, "is loading its data");
  if (*facts.keys > 0) {
    return about(address, fmt::format("has {}: a node comes in empty (FLUSHALL empties it)",
                                      plural(*facts.keys, "key")));
  }
  return Newcomer{std::move(address), std::move(facts), *record};
}

void wait_for_service(ClusterSession& session, const std::vector<std::string>& shards) {
  std::set<std::string> waiting(shards.begin(), shards.end());
  wait_until(session, kServiceWait, [&] {
    const Result<ClusterView> view = read_view(session);
    if (!view) return false;
    for (const std::string& id : shards) {
      const ClusterShard* const shard = view->shard(id);
      if (shard == nullptr || !waiting.contains(id)) continue;
      const auto address = address_of(*view, shard->record.primary.node);
      if (address && ask_facts(session, *address).is_serving) waiting.erase(id);
    }
    const double all = static_cast<double>(shards.size());
    session.talk.progress((all - static_cast<double>(waiting.size())) / all,
                          "waiting until the primaries serve");
    return waiting.empty();
  });
  if (!waiting.empty()) {
    session.talk.note(fmt::format(
        "mayfly: the records are written, but shards do not serve yet: {} (look at: mayfly cluster "
        "status, and at the logs of the nodes)",
        fmt::join(waiting, ", ")));
  }
}

Result<Exit> run_init(const InitArgs& args, ClusterSession& session) {
  Result<ClusterView> view = read_view(session);
  if (!view) return view.error();
  if (view->config()) {
    return Error{Code::busy, fmt::format("there is a cluster '{}' with {} already (mayfly cluster "
                                         "add brings a node in; --name NAME names another)",
                                         session.name, plural(view->nodes().size(), "node"))};
  }
  auto nodes = ask_newcomers(session, *view, args.nodes);
  wait_until(session, kNewcomerWait, [&] {
    if (nodes || nodes.error().code != Code::busy) return true;
    view = read_view(session);
    if (view) nodes = ask_newcomers(session, *view, args.nodes);
    return !view;
  });
  if (!view) return view.error();
  if (!nodes) return nodes.error();
  std::vector<PlacementNode> places;
  for (const Newcomer& node : *nodes) {
    places.push_back({node.facts.id, node.record.host, node.record.zone});
  }
  auto shards = place_shards(places, args.replicas);
  if (!shards) return shards.error();

  InitPlan plan{*std::move(nodes), *std::move(shards), {}};
  plan.config.id = random_cluster_id();
  plan.config.lease = Millis(args.lease_ms);
  plan.config.replicas = args.replicas;
  plan.config.created = session.clock.now();
  if (!session.is_json) session.talk.print(init_text(plan, session.name));
  if (const Status sure = ask(session, "Make this cluster?"); !sure) return sure.error();
  if (const Status done = write_plan(session, plan, *view); !done) return done.error();

  std::vector<std::string> ids;
  for (const PlacedShard& shard : plan.shards) ids.push_back(shard.id);
  wait_for_service(session, ids);
  session.talk.print(session.is_json
                         ? init_json(plan, session.name)
                         : fmt::format("the cluster is made: redis-cli -c -h {} -p {}\n",
                                       plan.nodes[0].address.host, plan.nodes[0].address.port));
  return Exit::ok;
}

}  // namespace mayfly
