// SPDX-License-Identifier: Apache-2.0
// CLUSTER FAILOVER with FORCE and TAKEOVER.

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace cluster_failover_test {

using namespace std::chrono_literals;

class ClusterFailoverTest : public ClusterNodesFixture {};

TEST_F(ClusterFailoverTest, AForcedFailoverNeedsNoPrimaryAndKeepsItsPromise) {
  start_shard(3);
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(0, true);
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER FORCE"), "OK") << "at once";
  run(2s);
  EXPECT_EQ(record().epoch, 1u) << "the primary may serve until its lease ends";
  run(800ms);
  EXPECT_EQ(record().epoch, 2u);
  EXPECT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "GET a"), "\"1\"");
}

TEST_F(ClusterFailoverTest, AForcedFailoverFromAPrimaryWithoutTheRegisterFencesIt) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  reg(0).weather = [] {
    FakeWeather lost;
    lost.is_lost = true;
    return lost;
  };
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER FORCE"), "OK");
  run(4s);
  EXPECT_TRUE(serves(1)) << "the primary answered pulses all the time";
  EXPECT_FALSE(serves(0));
}

TEST_F(ClusterFailoverTest, AForcedFailoverFromAPrimaryThatIsWellIsAHandover) {
  start_shard(2);
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER FORCE"), "OK");
  run(200ms);
  EXPECT_TRUE(serves(1));
  run(3s);
  EXPECT_EQ(record().epoch, 2u);
  EXPECT_EQ(record().insync.size(), 1u);
}

TEST_F(ClusterFailoverTest, AForcedFailoverIsRefusedWhereItCannotBe) {
  start(3);
  EXPECT_EQ(ask(2, "CLUSTER FAILOVER FORCE"),
            "(error) ERR You should send CLUSTER FAILOVER to a replica")
      << "it belongs to no shard";
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  ask(1, "CLUSTER REPLICATE " + id(0));
  EXPECT_EQ(ask(1, "CLUSTER FAILOVER FORCE"),
            "(error) ERR cannot take over: this node is not in sync, so it may lack writes (see "
            "CLUSTER INFO)");
  EXPECT_EQ(ask(0, "CLUSTER FAILOVER FORCE"),
            "(error) ERR You should send CLUSTER FAILOVER to a replica");
}

TEST_F(ClusterFailoverTest, ATakeoverNeedsTheRegisterButNoPrimary) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(0, true);
  records_.is_down = true;
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER TAKEOVER"), "");
  run(600ms);
  EXPECT_EQ(servers_->client(1).messages(),
            "(error) ERR etcd cannot be reached, and nothing was changed: cannot read: no answer");
  EXPECT_EQ(parts(1).cluster.node().machine()->role(), ShardRole::following);
  records_.is_down = false;
  EXPECT_EQ(ask(1, "CLUSTER FAILOVER TAKEOVER"), "OK");
  run(50ms);
  EXPECT_EQ(record().epoch, 2u);
  EXPECT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "GET a"), "\"1\"");
}

// A process without data must know of those that have it: they may not be in the set any more.
TEST_F(ClusterFailoverTest, EveryProcessAnnouncesWhoseDataItHas) {
  const auto held = [this](int node) {
    return parse_live_record(*records_.find(live_key(id(node)))->value)->held;
  };
  start(3);
  EXPECT_EQ(held(1), 0u);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  ask(1, "CLUSTER REPLICATE " + id(0));
  run(3s);
  EXPECT_EQ(held(0), 1u);
  EXPECT_EQ(held(1), 1u);
  EXPECT_EQ(held(2), 0u) << "it belongs to no shard";
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER"), "OK");
  run(3s);
  EXPECT_EQ(held(0), 2u);
  EXPECT_EQ(held(1), 2u);
}

// The increments of the append-only file of a node, one after the other.
std::string increments(ServerFixture& server, const std::string& dir) {
  std::string log;
  for (int i = 1; i < 5; ++i) {
    log += server.fake_disk().bytes(dir + "/appendonlydir/appendonly.aof." + std::to_string(i) +
                                    ".incr.aof");
  }
  return log;
}

// Else a primary that was killed would seem to have less than a replica of its last writes.
TEST_F(ClusterFailoverTest, EachFlushOfTheFileEndsWithANote) {
  Config with = config();
  with.appendonly = true;
  start_shard(2, with);
  for (const char* const value : {"one", "two", "three"}) {
    ask(0, std::string("SET a ") + value);
    run(10ms);
    const std::string log = increments((*servers_)[0], with.dir);
    const std::size_t note = log.rfind("#cluster 1 ");
    ASSERT_NE(note, std::string::npos);
    EXPECT_LT(log.rfind(value), note);
    EXPECT_EQ(log.find('\n', note), log.size() - 1) << "the note is the last line";
  }
}

// Else a primary that starts again would seem to have lost data.
TEST_F(ClusterFailoverTest, AnEpochIsNotedInTheFileBeforeAnythingIsWritten) {
  Config with = config();
  with.appendonly = true;
  start_shard(2, with);
  ask(0, "SET a 1");
  run(100ms);
  EXPECT_EQ(servers_->run(1, "CLUSTER FAILOVER"), "OK");
  run(3s);
  ASSERT_TRUE(serves(1));
  const std::string log = increments((*servers_)[1], with.dir);
  EXPECT_NE(log.find("#cluster 2 "), std::string::npos) << log;
}

}  // namespace cluster_failover_test
}  // namespace mayfly
