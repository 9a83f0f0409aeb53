// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/watch/older_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace mayfly {
namespace {

// A line of CLUSTER NODES: "ID HOST:PORT@PORT,HOSTNAME FLAGS PRIMARY 0 0 EPOCH LINK 0-99 [...]"
struct NodeLine {
  std::string id;
  NodeAddress address;
  std::string primary;  // its id; empty: it is one
  std::uint64_t epoch = 0;
  SlotSet slots;
};

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(sign), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<NodeLine> read_line(std::string_view text) {
  constexpr std::size_t kWords = 8;
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() < kWords) return std::nullopt;
  NodeLine line;
  line.id = words[0];
  const std::string_view place = words[1].substr(0, words[1].find('@'));
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos) return std::nullopt;
  line.address = {std::string(place.substr(0, colon)), number_of<int>(place.substr(colon + 1))};
  if (words[3] != "-") line.primary = words[3];
  line.epoch = number_of<std::uint64_t>(words[6]);
  for (std::size_t i = kWords; i < words.size(); ++i) {
    const std::size_t dash = words[i].find('-');
    const auto first = number_of<HashSlot>(words[i]);
    const auto last =
        dash == words[i].npos ? first : number_of<HashSlot>(words[i].substr(dash + 1));
    if (first <= last && last < kHashSlots) line.slots |= SlotSet({{first, last}});
  }
  return line;
}

using FactsById = std::map<std::string, const NodeFacts*>;  // null: no answer

// The primary has the list. Without its answer, a replica is in the list unless its role is
// "outside".
std::vector<std::string> in_sync_with(const NodeLine& primary, const std::vector<NodeLine>& nodes,
                                      const FactsById& facts) {
  std::vector<std::string> replicas;
  if (const NodeFacts* const own = facts.at(primary.id)) {
    for (const auto& [id, member] : own->members) {
      if (member.is_in_record) replicas.push_back(id);
    }
    return replicas;
  }
  for (const NodeLine& other : nodes) {
    const NodeFacts* const replica = facts.at(other.id);
    const bool is_out = replica != nullptr && replica->role == "outside";
    if (other.primary == primary.id && !is_out) replicas.push_back(other.id);
  }
  return replicas;
}

// An unknown process: its node does not answer.
const std::string kNoIncarnation(16, '0');

}  // namespace

Result<ClusterView> view_of_nodes(ClusterSession& session, const NodeAddress& node) {
  const auto reply = call_node(session, node, {"CLUSTER", "NODES"});
  if (!reply) return reply.error();
  std::vector<NodeLine> nodes;
  for (const std::string_view text : split(reply->text, '\n')) {
    if (auto line = read_line(text)) nodes.push_back(*std::move(line));
  }
  std::vector<NodeAddress> addresses;
  for (const NodeLine& line : nodes) addresses.push_back(line.address);
  const std::vector<NodeFacts> all = ask_facts(session, addresses);
  FactsById facts;
  std::set<std::string> gone;  // no process listens at their addresses
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    facts[nodes[i].id] = all[i].is_up() && all[i].id == nodes[i].id ? &all[i] : nullptr;
    if (all[i].answer == NodeAnswer::refuses) gone.insert(nodes[i].id);
  }
  // A shard is called as its nodes call it; by its primary if none of them answers.
  const auto leader = [](const NodeLine& line) {
    return line.primary.empty() ? line.id : line.primary;
  };
  std::map<std::string, std::string> names;  // by primary
  for (const NodeLine& line : nodes) {
    if (facts[line.id] != nullptr) names[leader(line)] = facts[line.id]->shard;
  }
  const auto incarnation = [&](const std::string& id) {
    return facts[id] == nullptr ? kNoIncarnation : facts[id]->incarnation;
  };

  RegisterSnapshot snapshot;
  const auto put = [&](std::string key, std::string text) {
    snapshot.entries.push_back({std::move(key), std::move(text), ++snapshot.version});
  };
  for (const NodeLine& line : nodes) {
    const auto [name, is_new] = names.try_emplace(leader(line), leader(line).substr(0, 8));
    NodeRecord record;
    record.host = line.address.host;
    record.port = line.address.port;
    record.shard = name->second;
    record.state = NodeState::in;
    put(node_key(line.id), to_text(record));
    if (!gone.contains(line.id)) {
      LiveRecord live;
      live.incarnation = incarnation(line.id);
      live.version = "?";
      live.role = "none";
      put(live_key(line.id), to_text(live));
    }
    if (!line.primary.empty()) continue;
    ShardRecord shard;
    shard.epoch = line.epoch;
    shard.primary = {line.id, incarnation(line.id)};
    shard.slots = line.slots;
    shard.since = session.clock.now();
    for (const std::string& id : in_sync_with(line, nodes, facts)) {
      shard.insync.push_back({id, incarnation(id)});
    }
    std::ranges::sort(shard.insync);
    put(shard_key(name->second), to_text(shard));
  }
  ClusterRecord config;
  for (const NodeFacts& one : all) {
    if (one.is_up() && !one.cluster_id.empty()) config.id = one.cluster_id;
  }
  config.replicas = 0;  // how many are wanted is in etcd only
  if (!config.id.empty()) put(std::string(kConfigKey), to_text(config));
  return ClusterView::parse(snapshot);
}

void take_older_view(ClusterSession& session, const PictureOptions& options,
                     const ClusterPicture* before, ClusterPicture& picture) {
  if (const auto snapshot = session.records.read_one()) {
    if (auto view = ClusterView::parse(*snapshot)) {
      picture.view = *std::move(view);
      picture.source = "one member of etcd, and may not be the latest";
      return;
    }
  }
  if (!options.node.empty()) {
    const auto address = parse_node_address(options.node);
    auto view = address ? view_of_nodes(session, *address) : Result<ClusterView>(address.error());
    if (view) {
      picture.view = *std::move(view);
      picture.source = options.node + " and the nodes that it knows";
      picture.knows_lives = false;
      return;
    }
    picture.error += "; and " + view.error().message;
  }
  if (before == nullptr) return;
  picture.view = before->view;
  picture.knows_lives = before->knows_lives;
  picture.source = "before";
}

}  // namespace mayfly
