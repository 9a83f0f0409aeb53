// SPDX-License-Identifier: Apache-2.0
// Any bytes as what other nodes send to a node of a cluster: CLUSTER PULSE, CANVASS, IMPORT and
// whatever else. For the fuzzer (cluster_messages_fuzz.cc) and for random streams in the tests.
//
//   run_node_stream("PCLUSTER PULSE a EPOCH ...\r\n") == ""
//
// The first byte is the role of the node: R, a replica in sync, which may be canvassed;
// anything else, a primary. There is a peer in its shard, and another shard, from which slots may
// come. Words that no input can know are replaced: EPOCH, SELF and PEER (a node and its
// incarnation), HISTORY, END (of the log), NOW (the steady clock), WALL.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/fake_register.h"
#include "server/cluster/cluster.h"
#include "server/persistence/persistence.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {

class NodeStream {
 public:
  explicit NodeStream(bool leads) : servers_(2, config()) {
    servers_.set_reachable(1, false);  // all other nodes have its port
    servers_.set_stopped(1, true);
    servers_[0].make_register = [this] { return std::make_unique<FakeRegister>(records_); };
    const bool has_folder{servers_[0].fake_disk().make_directory(config().dir)};
    const bool has_started{parts().cluster.start()};
    is_sound_ = has_folder && has_started && parts().persistence.start();
    turn(100);
    put(std::string(kConfigKey), to_text(ClusterRecord{.id = std::string(40, 'c')}));
    const NodeMemory self = parts().cluster.node().self();
    ShardRecord record{.epoch = 3, .primary = leads ? self : kPeer, .insync = {}, .slots = {}};
    if (!leads) record.insync = {self};
    record.slots = SlotSet({{0, 9999}});
    ShardRecord other{.epoch = 2, .primary = kOther, .insync = {}, .slots = {}};
    other.slots = SlotSet({{10'000, 16'383}});
    for (const auto& [node, shard] : {std::pair{self, "a"}, {kPeer, "a"}, {kOther, "b"}}) {
      NodeRecord known;
      known.host = "127.0.0.1";
      known.port = node == self ? ClusterFixture::kFirstPort : ClusterFixture::kFirstPort + 1;
      known.shard = shard;
      known.state = NodeState::in;
      put(node_key(node.node), to_text(known));
      LiveRecord live;
      live.incarnation = node.incarnation;
      if (node != self) put(live_key(node.node), to_text(live));
    }
    put(shard_key("b"), to_text(other));
    put(shard_key("a"), to_text(record));
    turn(100);
  }

  // The defect of the node afterwards; empty if it is sound.
  std::string run(std::string_view bytes) {
    if (!is_sound_) return "the node did not start";
    const std::string text = filled(std::string(bytes));
    std::string_view rest = text;
    auto client = std::make_unique<TestClient>(servers_.server(0), "127.0.0.1:5000");
    for (std::size_t i = 0; !rest.empty(); ++i) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 40 + (text.size() * 7 + i) % 400);
      has_imported_ =
          client->send(rest.substr(0, size)).find("BEGUN") != text.npos || has_imported_;
      rest.remove_prefix(size);
      turn(static_cast<int>(size % 3));
      if (client->is_connected()) continue;
      client = std::make_unique<TestClient>(servers_.server(0), "127.0.0.1:5000");
    }
    client.reset();
    turn(2);
    for (int number = 0; number < 2; ++number) {
      std::string wrong = parts().keyspace[number].check_invariants();
      if (!wrong.empty()) return wrong;
    }
    const ShardMachine* const machine = parts().cluster.node().machine();
    if (machine == nullptr || !machine->is_leading()) return {};
    const bool is_beyond = machine->safe_offset() > parts().cluster.node().log_end();
    return is_beyond ? "more is safe than was written" : "";
  }

  // Whether a pulse of the peer, or an import, has been accepted.
  bool is_known_peer() {
    const ShardMachine* const machine = parts().cluster.node().machine();
    return machine != nullptr && machine->has_member(kPeer);
  }
  bool has_imported() { return has_imported_; }

 private:
  static inline const NodeMemory kPeer{std::string(40, 'd'), std::string(16, 'd')};
  static inline const NodeMemory kOther{std::string(40, 'e'), std::string(16, 'e')};

  static Config config() {
    Config config = ClusterFixture::cluster_config();
    config.cluster_enabled = true;
    config.cluster_replies = "in-sync";
    return config;
  }
  const ServerParts& parts() { return servers_.server(0).parts(); }

  void put(const std::string& key, const std::string& text) {
    const auto known = records_.find(key);
    records_.apply({{{key, known ? known->version : 0}}, {{key, text}}});
  }

  void turn(int turns) {
    for (int i = 0; i < turns; ++i) {
      servers_.advance(Millis(10));
      records_.advance(records_.now() + Millis(10));
      servers_.server(0).wake();
      servers_.turn();
    }
  }

  std::string filled(std::string text) {
    const Cluster& cluster = parts().cluster;
    const auto name = [](const NodeMemory& memory) {
      return memory.node + ' ' + memory.incarnation;
    };
    const auto digits = [](Time time) { return std::to_string(time.time_since_epoch().count()); };
    const ShardMachine* const machine = cluster.node().machine();
    const std::pair<std::string_view, std::string> words[] = {
        {"EPOCH", std::to_string(machine == nullptr ? 0 : machine->epoch())},
        {"VERSION", std::to_string(machine == nullptr ? 0 : machine->version())},
        {"SELF", name(cluster.node().self())},
        {"PEER", name(kPeer)},
        {"HISTORY", cluster.node().history()},
        {"END", std::to_string(cluster.node().log_end())},
        {"NOW", digits(parts().host.lease_clock().now())},
        {"WALL", digits(parts().clock.now())}};
    for (const auto& [word, value] : words) {
      for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += value.size()) {
        text.replace(at, word.size(), value);
      }
    }
    return text;
  }

  FakeRecords records_;
  ClusterFixture servers_;
  bool is_sound_ = false;
  bool has_imported_ = false;
};

inline std::string run_node_stream(std::string_view bytes) {
  if (bytes.empty()) return {};
  return NodeStream(bytes.front() != 'R').run(bytes.substr(1));
}

}  // namespace mayfly
