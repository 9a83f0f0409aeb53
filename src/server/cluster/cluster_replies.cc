// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/cluster_replies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hex.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// A node that has just registered itself knows nobody, and nobody knows it.
bool is_shown(const Cluster& cluster, const std::string& id, const NodeRecord& node) {
  const NodeRecord* const own = cluster.view().node(cluster.id());
  const bool is_alone = own == nullptr || own->state == NodeState::fresh;
  return id == cluster.id() || (!is_alone && node.state != NodeState::fresh);
}

// The shard that the node leads, as far as the record says.
const ClusterShard* led(const ClusterView& view, const std::string& id) { return view.led_by(id); }

std::string ranges_text(const SlotSet& slots) {
  const std::string text = slots.text();
  return text.empty() ? text : " " + text;
}

void reply_endpoint(Reply& reply, const NodeRecord& node, const std::string& id) {
  reply.array(4);
  reply.bulk(node.host);
  reply.integer(node.port);
  reply.bulk(id);
  reply.array(node.hostname.empty() ? 0 : 2);
  if (node.hostname.empty()) return;
  reply.bulk("hostname");
  reply.bulk(node.hostname);
}

// Those that can be asked: the primary first.
std::vector<std::string> serving_nodes(const ClusterView& view, const ClusterShard& shard) {
  std::vector<std::string> nodes = {shard.record.primary.node};
  for (const std::string& id : view.members(shard)) {
    if (id != shard.record.primary.node && view.live(id) != nullptr) nodes.push_back(id);
  }
  std::erase_if(nodes, [&](const std::string& id) { return view.node(id) == nullptr; });
  return nodes;
}

void reply_shard_node(Reply& reply, const Cluster& cluster, const ClusterShard& shard,
                      const std::string& id) {
  const ClusterView& view = cluster.view();
  const NodeRecord& node = *view.node(id);
  const bool is_primary = id == shard.record.primary.node;
  const bool is_online = view.live(id) != nullptr || id == cluster.id();
  reply.map(node.hostname.empty() ? 7 : 8);
  reply.bulk("id");
  reply.bulk(id);
  reply.bulk("port");
  reply.integer(node.port);
  reply.bulk("ip");
  reply.bulk(node.host);
  reply.bulk("endpoint");
  reply.bulk(node.host);
  if (!node.hostname.empty()) {
    reply.bulk("hostname");
    reply.bulk(node.hostname);
  }
  reply.bulk("role");
  reply.bulk(is_primary ? "master" : "replica");
  reply.bulk("replication-offset");
  reply.integer(id == cluster.id() ? static_cast<std::int64_t>(cluster.node().log_end()) : 0);
  reply.bulk("health");
  reply.bulk(is_online ? "online" : "fail");
}

}  // namespace

std::string shard_digits(std::string_view name) {
  std::string digits = hex(name);
  digits.resize(kIdDigits, '0');
  return digits;
}

std::string node_line(const Cluster& cluster, const std::string& id) {
  const ClusterView& view = cluster.view();
  const NodeRecord* const known = view.node(id);
  const NodeRecord node = known != nullptr ? *known : cluster.own_record();
  const ClusterShard* const leads = led(view, id);
  const ClusterShard* const shard = view.shard(node.shard);
  const bool is_replica = leads == nullptr && shard != nullptr;
  const bool is_self = id == cluster.id();
  const bool is_live = is_self || view.live(id) != nullptr;
  std::string flags = is_self ? "myself," : "";
  flags += is_replica ? "slave" : "master";
  if (!is_live) flags += ",fail";
  const std::string hostname = node.hostname.empty() ? "" : "," + node.hostname;
  const std::uint64_t epoch = leads != nullptr   ? leads->record.epoch
                              : shard != nullptr ? shard->record.epoch
                                                 : 0;
  return fmt::format("{} {}:{}@{}{} {} {} 0 0 {} {}{}", id, node.host, node.port, node.port,
                     hostname, flags, is_replica ? shard->record.primary.node : "-", epoch,
                     is_live ? "connected" : "disconnected",
                     leads != nullptr ? ranges_text(leads->record.slots) : "");
}

std::string nodes_text(const Cluster& cluster) {
  std::string text = node_line(cluster, cluster.id()) + "\n";
  for (const auto& [id, node] : cluster.view().nodes()) {
    if (id == cluster.id() || !is_shown(cluster, id, node.record)) continue;
    text += node_line(cluster, id) + "\n";
  }
  return text;
}

void reply_slots(Reply& reply, const Cluster& cluster) {
  const ClusterView& view = cluster.view();
  struct Row {
    SlotRange range;
    const ClusterShard* shard;
  };
  std::vector<Row> rows;
  for (const ClusterShard& shard : view.shards()) {
    if (view.node(shard.record.primary.node) == nullptr) continue;
    for (const SlotRange& range : shard.record.slots.ranges()) rows.push_back({range, &shard});
  }
  std::ranges::sort(rows, {}, [](const Row& row) { return row.range.first; });
  reply.array(rows.size());
  for (const Row& row : rows) {
    const std::vector<std::string> nodes = serving_nodes(view, *row.shard);
    reply.array(2 + nodes.size());
    reply.integer(row.range.first);
    reply.integer(row.range.last);
    for (const std::string& id : nodes) reply_endpoint(reply, *view.node(id), id);
  }
}

void reply_shards(Reply& reply, const Cluster& cluster) {
  const ClusterView& view = cluster.view();
  reply.array(view.shards().size());
  for (const ClusterShard& shard : view.shards()) {
    reply.map(3);
    reply.bulk("slots");
    const std::vector<SlotRange> ranges = shard.record.slots.ranges();
    reply.array(2 * ranges.size());
    for (const SlotRange& range : ranges) {
      reply.integer(range.first);
      reply.integer(range.last);
    }
    reply.bulk("nodes");
    std::vector<std::string> nodes = view.members(shard);
    std::erase_if(nodes, [&](const std::string& id) { return view.node(id) == nullptr; });
    reply.array(nodes.size());
    for (const std::string& id : nodes) reply_shard_node(reply, cluster, shard, id);
    reply.bulk("id");
    reply.bulk(shard_digits(shard.id));
  }
}

}  // namespace mayfly
