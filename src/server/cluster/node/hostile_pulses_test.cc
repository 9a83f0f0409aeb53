// SPDX-License-Identifier: Apache-2.0
// Messages of nodes that no node sends: offsets beyond the end of the log, and made-up ids.

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/cluster/node/node_messages.h"

namespace mayfly {
namespace hostile_pulses_test {

using namespace std::chrono_literals;

class HostilePulsesTest : public ClusterNodesFixture {
 protected:
  static constexpr std::uint64_t kMuch = std::uint64_t{1} << 62;

  // As the replica of the shard would send it now.
  Pulse pulse() {
    const Cluster& primary = parts(0).cluster;
    const Time now = servers_->server(0).parts().host.lease_clock().now();
    return {.epoch = record().epoch,
            .from = record().insync.at(0),
            .history = primary.node().history(),
            .offset = primary.node().log_end(),
            .token = now,
            .own = now,
            .wall = parts(0).clock.now()};
  }
  std::string send(const Pulse& pulse) { return client_->run(to_request("a", pulse)); }
  void start(int nodes) {
    start_shard(nodes);
    client_ = std::make_unique<TestClient>(servers_->server(0), "127.0.0.1:9000");
  }
  bool knows(const NodeMemory& memory) {
    return parts(0).cluster.node().machine()->has_member(memory);
  }

  std::unique_ptr<TestClient> client_;
};

TEST_F(HostilePulsesTest, AnOffsetBeyondTheLogClosesTheLink) {
  start(2);
  EXPECT_NE(send(pulse()).find("(integer)"), std::string::npos) << "one that may be sent";
  Pulse forged = pulse();
  forged.offset += 1;
  EXPECT_EQ(send(forged), "");
  EXPECT_TRUE(client_->link().closing());
}

// The attack: replicas have stopped; their promises and offsets are forged. Nothing that they do
// not have may be called safe.
TEST_F(HostilePulsesTest, AnOffsetBeyondTheLogMakesNoWriteSafe) {
  start(2);
  servers_->set_stopped(1, true);
  Pulse forged = pulse();
  forged.offset = kMuch;
  send(forged);
  servers_->run(0, "SET a 1");
  const ShardMachine& machine = *parts(0).cluster.node().machine();
  EXPECT_LT(machine.safe_offset(), parts(0).cluster.node().log_end());
}

TEST_F(HostilePulsesTest, OffsetsOfAnotherHistoryMeanNothing) {
  start(2);
  Pulse other = pulse();
  other.history = std::string(40, 'f');
  other.offset = kMuch;
  send(other);
  EXPECT_FALSE(client_->link().closing()) << "a node that has just come may have it";
}

TEST_F(HostilePulsesTest, MadeUpIdsAreNotKept) {
  start(2);
  const NodeMemory replica = record().insync.at(0);
  for (int i = 0; i < 1000; ++i) {
    Pulse forged = pulse();
    std::string digits = std::to_string(100'000 + i);
    forged.from.node = digits + replica.node.substr(digits.size());
    EXPECT_EQ(send(forged), "(nil)");
    EXPECT_FALSE(knows(forged.from));
    forged.from = replica;
    forged.from.incarnation = digits + replica.incarnation.substr(digits.size());
    EXPECT_EQ(send(forged), "(nil)");
    EXPECT_FALSE(knows(forged.from));
  }
  EXPECT_TRUE(knows(replica));
  EXPECT_TRUE(serves(0));
}

TEST_F(HostilePulsesTest, AnAcknowledgementBeyondTheLogClosesTheLink) {
  start(2);
  for (const std::string what : {"ACK 4611686018427387904", "ACK 0 FACK 4611686018427387904"}) {
    TestClient replica(servers_->server(0), "127.0.0.1:9001");
    replica.send("PSYNC ? -1\r\n");
    ASSERT_FALSE(replica.link().closing());
    replica.send("REPLCONF ACK 0\r\n");
    EXPECT_FALSE(replica.link().closing());
    replica.send("REPLCONF " + what + "\r\n");
    EXPECT_TRUE(replica.link().closing()) << what;
  }
}

}  // namespace hostile_pulses_test
}  // namespace mayfly
