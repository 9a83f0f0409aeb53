// SPDX-License-Identifier: Apache-2.0
// Scripts that run for so long that the shard changes meanwhile: a script is one unit, of one role
// and one history.

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace cluster_scripts_test {

using namespace std::chrono_literals;

class ClusterScriptsTest : public ClusterNodesFixture {
 protected:
  // A script at node 0 that calls `before`, takes long, and calls `after`. `meanwhile` is what
  // happens when others are served first.
  std::string run_long(TestClient& client, const std::string& before, const std::string& after,
                       std::function<void()> meanwhile) {
    parts(0).config.busy_reply_threshold = 1;
    ServerFixture& node = (*servers_)[0];
    bool was_busy = false;
    node.when_busy = [&] {
      was_busy = true;
      if (const auto once = std::exchange(meanwhile, nullptr)) once();
    };
    const std::string reply = client.run(
        {"EVAL",
         "local v = redis.call(" + before + ") for i = 1, 5000000 do end " + after + " return v",
         "0"});
    node.when_busy = nullptr;
    EXPECT_TRUE(was_busy) << "the script was too short";
    return reply;
  }

  static Config in_sync() {
    Config with = config();
    with.cluster_replies = "in-sync";
    return with;
  }
};

TEST_F(ClusterScriptsTest, ASignalHandsOverWhenTheScriptHasEnded) {
  start_shard(2);
  ask(0, "SET a 0");
  run(100ms);
  run_long(servers_->client(0), "'INCR', 'a'", "redis.call('INCR', 'a')", [&] {
    parts(0).persistence.shutdown().take_signal("TERM", {});
    EXPECT_FALSE(parts(0).persistence.shutdown().is_waiting());
  });
  for (int i = 0; i < 100 && !(*servers_)[0].is_shut_down; ++i) run(100ms);
  EXPECT_TRUE((*servers_)[0].is_shut_down);
  EXPECT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "GET a"), "\"2\"");
}

TEST_F(ClusterScriptsTest, ASecondSignalLeavesNothingOfTheScriptToTheReplica) {
  start_shard(2);
  ask(0, "SET a 0");
  run(100ms);
  run_long(servers_->client(0), "'INCR', 'a'", "redis.call('INCR', 'a')", [&] {
    parts(0).persistence.shutdown().take_signal("TERM", {});
    parts(0).persistence.shutdown().take_signal("TERM", {});
  });
  EXPECT_TRUE((*servers_)[0].is_shut_down);
  servers_->set_stopped(0, true);
  run(4s);
  ASSERT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "GET a"), "\"0\"");
}

// Else its writes would be in no log: the server would follow the other one, and differ for good.
TEST_F(ClusterScriptsTest, AServerThatIsReplacedLearnsOfItWhenTheScriptEnds) {
  start_shard(2);
  ask(0, "SET a 0");
  run(100ms);
  run_long(servers_->client(0), "'SET', 'a', 1", "redis.call('SET', 'b', 1)", [&] {
    servers_->set_stopped(0, true);
    run(4s);
    ASSERT_TRUE(serves(1));
    servers_->set_stopped(0, false);
    servers_->server(0).wake();
    EXPECT_TRUE(parts(0).cluster.is_leading());
    EXPECT_FALSE(parts(0).replication.is_replica());
  });
  servers_->server(0).before_sleep();
  EXPECT_TRUE(parts(0).replication.is_replica());
  EXPECT_TRUE(servers_->client(0).link().closing()) << "its writes are lost";
  run(3s);
  EXPECT_EQ(servers_->digest(0), servers_->digest(1));
  EXPECT_EQ(servers_->run(1, "GET a"), "\"0\"");
}

TEST_F(ClusterScriptsTest, AReadOfWhatIsNotSafeIsHeldThoughThePrimaryServesNoMore) {
  start_shard(3, in_sync());
  servers_->set_stopped(1, true);
  records_.is_down = true;
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(run_long(other, "'GET', 'a'", "",
                     [&] {
                       servers_->advance(2200ms);
                       parts(0).cluster.begin_turn();  // as by a CLUSTER PULSE
                       EXPECT_FALSE(serves(0));
                     }),
            "");
  servers_->server(0).before_sleep();
  EXPECT_EQ(other.messages(), "");
  servers_->set_stopped(1, false);
  run(1s);
  EXPECT_EQ(other.messages(), "\"1\"") << "the replica has it now";
}

// Messages between nodes are answered meanwhile.
TEST_F(ClusterScriptsTest, NoKeysOfSlotsThatHaveGoneAreRemovedUnderAScript) {
  start_shard(2);
  ask(0, "SET a 1");  // slot 15495
  run(100ms);
  take_slots(SlotSet({{15000, 16383}}));
  for (int i = 0; i < 20; ++i) {
    records_.advance(records_.now() + kStep);
    servers_->server(0).wake();
  }
  ASSERT_TRUE(parts(0).cluster.moves().foreign().may_have_any());
  auto& propagated = (*servers_)[0].propagated;
  propagated.clear();
  run_long(servers_->client(0), "'SET', 'b', 1", "redis.call('SET', 'b', 2)", [&] {
    parts(0).cluster.begin_turn();  // as by a CLUSTER PULSE
    EXPECT_EQ(propagated.size(), 0U) << "a part of the script, or the removal";
  });
  EXPECT_EQ(propagated,
            (std::vector<std::string>{"0: MULTI", "0: SET b 1", "0: SET b 2", "0: EXEC"}));
  servers_->server(0).begin_turn();
  EXPECT_EQ(propagated.size(), 5U) << "the removal";
}

}  // namespace cluster_scripts_test
}  // namespace mayfly
