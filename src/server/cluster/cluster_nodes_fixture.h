// SPDX-License-Identifier: Apache-2.0
// Nodes of a cluster in one process: with the real replication and the real machine of a shard, a
// register in memory, and a clock that is moved by hand.
//
//   class FailoverTest : public ClusterNodesFixture {};
//   TEST_F(FailoverTest, ...) {
//     start_shard(2);             // node 0 leads, node 1 is in sync
//     servers_->set_stopped(0, true);
//     run(4s);
//     EXPECT_TRUE(serves(1));
//   }

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cluster/fake_register.h"
#include "server/cluster/cluster.h"
#include "server/persistence/persistence.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {

class ClusterNodesFixture : public testing::Test {
 protected:
  static constexpr Millis kStep{10};

  static Config config() {
    Config config = ClusterFixture::cluster_config();
    config.cluster_enabled = true;
    return config;
  }

  // Only the first ones begin, if `begun` is given.
  void start(int nodes, const Config& with = config(), int begun = -1) {
    servers_ = std::make_unique<ClusterFixture>(nodes, with);
    for (int i = 0; i < nodes; ++i) {
      (*servers_)[i].make_register = [this] { return std::make_unique<FakeRegister>(records_); };
      ASSERT_TRUE((*servers_)[i].fake_disk().make_directory(with.dir));
      servers_->set_stopped(i, true);
    }
    for (int i = 0; i < (begun < 0 ? nodes : begun); ++i) begin(i);
    run(Millis(300));
  }

  void begin(int node) {
    servers_->set_stopped(node, false);
    ASSERT_TRUE(parts(node).cluster.start());
    ASSERT_TRUE(parts(node).persistence.start());
  }

  // One shard: node 0 leads it, the others follow and are in sync.
  void start_shard(int nodes, const Config& with = config()) {
    start(nodes, with);
    ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
    for (int i = 1; i < nodes; ++i) ask(i, "CLUSTER REPLICATE " + id(0));
    run(Millis(3000));
    ASSERT_EQ(record().insync.size(), static_cast<std::size_t>(nodes - 1));
  }

  void run(Millis time) {
    for (Millis passed{0}; passed < time; passed += kStep) {
      servers_->advance(kStep);
      records_.advance(records_.now() + kStep);
      for (int i = 0; i < servers_->size(); ++i) {
        if (!servers_->is_stopped(i)) servers_->server(i).wake();
      }
      servers_->turn();
    }
  }

  // A request that may have to wait for the register.
  std::string ask(int node, const std::string& line) {
    std::string reply = servers_->run(node, line);
    for (int i = 0; i < 20 && reply.empty(); ++i) {
      run(kStep);
      reply = servers_->client(node).messages();
    }
    return reply;
  }

  const ServerParts& parts(int node) { return servers_->server(node).parts(); }
  std::string id(int node) { return parts(node).cluster.id(); }
  FakeRegister& reg(int node) { return static_cast<FakeRegister&>(*parts(node).cluster.reg()); }
  bool serves(int node) { return parts(node).cluster.is_serving(); }
  ShardRecord record(const std::string& shard = "a") {
    return *parse_shard_record(*records_.find(shard_key(shard))->value);
  }
  // Slots leave the shard, as at the end of a move.
  void take_slots(const SlotSet& slots) {
    ShardRecord record = this->record();
    record.slots -= slots;
    const std::string key = shard_key("a");
    records_.apply({{{key, records_.find(key)->version}}, {{key, to_text(record)}}});
  }
  std::string moved(int slot, int node) {
    return "(error) MOVED " + std::to_string(slot) +
           " 127.0.0.1:" + std::to_string(servers_->port(node));
  }

  FakeRecords records_;
  std::unique_ptr<ClusterFixture> servers_;
};

}  // namespace mayfly
