// SPDX-License-Identifier: Apache-2.0
// Two shards with a replica each, for tests of `status` and `check`.

#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cluster/fake_cluster.h"
#include "cli/cluster/watch/check_command.h"
#include "cli/cluster/watch/status_command.h"

namespace mayfly {

inline constexpr int kPrimary = 1;  // of shard a
inline constexpr int kOther = 2;    // of shard b
inline constexpr int kReplica = 3;  // of shard a

// Two shards with a replica each, all sound, until something is done to it.
struct World {
  World() {
    cluster.make(2);
    for (auto& [address, one] : cluster.nodes.nodes) one.slots = map();
    for (const char* name : {"etcd-a", "etcd-b", "etcd-c"}) {
      EtcdEndpointStatus member;
      member.endpoint = std::string("http://") + name + ":2379";
      member.name = name;
      member.version = "3.5.16";
      member.leader = 7;
      member.is_leader = member.name == "etcd-b";
      cluster.records.etcd.push_back(member);
    }
  }

  // The map of every node.
  ReplyValue map() {
    ReplyValue slots;
    slots.kind = ReplyValue::Kind::array;
    const ClusterView view = cluster.records.view();
    for (const ClusterShard& shard : view.shards()) {
      for (const SlotRange& range : shard.record.slots.ranges()) {
        ReplyValue entry;
        entry.items.resize(3);
        entry.items[0].integer = range.first;
        entry.items[1].integer = range.last;
        entry.items[2].items.resize(3);
        entry.items[2].items[2].text = shard.record.primary.node;
        slots.items.push_back(entry);
      }
    }
    return slots;
  }

  // CLUSTER NODES of every node.
  std::string lines() {
    std::string text;
    const ClusterView view = cluster.records.view();
    for (const auto& [id, node] : view.nodes()) {
      const ClusterShard& shard = *view.shard(node.record.shard);
      const bool leads = shard.record.primary.node == id;
      text += fmt::format("{} {}:{}@0 flags {} 0 0 1 connected {}\n", id, node.record.host,
                          node.record.port, leads ? "-" : shard.record.primary.node,
                          leads ? shard.record.slots.text() : "");
    }
    return text;
  }

  FakeNode& node(int number) { return cluster.nodes.nodes[FakeCluster::address(number)]; }
  void forget(int number) { cluster.records.erase(live_key(FakeCluster::id(number))); }
  void stop(int number, Code fault) {
    node(number).is_up = false;
    node(number).fault = fault;
  }
  void restart(int number) {
    node(number).incarnation = std::string(16, 'e');
    node(number).is_serving = false;
    cluster.announce(number);
  }
  void take_out_replica() {
    ShardRecord record = cluster.shard("a");
    record.insync.clear();
    cluster.put_shard("a", record);
  }
  void want_replicas(int count) {
    ClusterRecord config = cluster.records.view().config()->record;
    config.replicas = count;
    cluster.records.put(std::string(kConfigKey), to_text(config));
  }
  // Node 9, of shard a, which is not in the record.
  FakeNode& add_replica() {
    FakeNode& added = cluster.start(9);
    added.shard = "a";
    added.is_serving = false;
    added.slots = map();
    cluster.join(9, "a");
    return added;
  }
  void lose_etcd(std::size_t members) {
    for (std::size_t i = 0; i < members; ++i) {
      cluster.records.etcd[i].error = "connection refused";
    }
    if (members < 2) return;
    for (EtcdEndpointStatus& member : cluster.records.etcd) member.leader = 0;
    cluster.records.error = "etcd has no majority";
    cluster.records.has_one_member = members < cluster.records.etcd.size();
  }

  std::string status(bool is_json = false) {
    cluster.talk.out.clear();
    cluster.session.is_json = is_json;
    (void)run_status(StatusArgs{.picture = options}, cluster.session);
    cluster.session.is_json = false;
    return cluster.talk.out;
  }
  Result<Exit> check(bool is_json = false) {
    cluster.talk.out.clear();
    cluster.session.is_json = is_json;
    const Result<Exit> exit = run_cluster_check(ClusterCheckArgs{options}, cluster.session);
    cluster.session.is_json = false;
    return exit;
  }
  const std::string& said() const { return cluster.talk.out; }

  FakeCluster cluster;
  PictureOptions options;
};

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

// The lines of `check` that begin with "ok".
inline std::vector<std::string> good_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("ok ")) lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

// Whether it has "N of M" with N < M.
inline bool says_fewer(const std::string& line) {
  static const std::regex kPart("([0-9]+) of ([0-9]+)");
  for (std::sregex_iterator at(line.begin(), line.end(), kPart), end; at != end; ++at) {
    if (std::stoi((*at)[1]) < std::stoi((*at)[2])) return true;
  }
  return false;
}

}  // namespace mayfly
