// SPDX-License-Identifier: Apache-2.0
// The expiry log on replicas, after a failover and after restarts.

#include <gtest/gtest.h>

#include "server/expiry/expiry_log_fixture.h"
#include "server/persistence/persistence_fixture.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace expiry_log_servers_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

Config cluster_config() {
  Config config = ClusterFixture::cluster_config();
  config.expiry_log = true;
  config.expiry_log_max_entries = 20;
  return config;
}

// Ids included.
std::vector<LogEntry> all_of(ClusterFixture& cluster, int number) {
  return log_entries(cluster.server(number));
}

TEST(ExpiryLogServersTest, AReplicaHasTheSameStreamAndGoesOnWithGreaterIds) {
  ClusterFixture cluster(2, cluster_config());
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  for (int i = 0; i < 30; ++i) {
    cluster.run(0, "SET k" + std::to_string(i) + " v PX 50");
    cluster.run(0,
                "HSETEX h PX " + std::to_string(10 + i) + " FIELDS 1 f" + std::to_string(i) + " v");
  }
  cluster.advance(30ms);
  cluster.run(1, "GET k1");  // hidden, and not logged
  ASSERT_TRUE(cluster.run_until_quiet());
  cluster.advance(1s);
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(all_of(cluster, 0).size(), 20u);
  EXPECT_EQ(cluster.run(0, "XINFO STREAM __expired__"), cluster.run(1, "XINFO STREAM __expired__"));
  EXPECT_EQ(all_of(cluster, 0), all_of(cluster, 1));
  EXPECT_EQ(cluster.digest(0), cluster.digest(1));
  EXPECT_EQ(cluster.server(1).parts().expiry_log.added(), 0u);

  const std::string last = all_of(cluster, 0).back().at("id");
  cluster.run(0, "SET last v PX 10000");
  ASSERT_TRUE(cluster.run_until_quiet());
  cluster.lead(1);
  cluster.advance(-3s);  // its clock is behind
  cluster.run(1, "EXPIRE last -1");
  const LogEntry entry = all_of(cluster, 1).back();
  EXPECT_EQ(entry.at("key"), "last");
  EXPECT_GT(parse_stream_id(entry.at("id"), 0), parse_stream_id(last, 0));
}

// The keys of a replica that its own clients wrote are its own affair.
TEST(ExpiryLogServersTest, AReplicaDoesNotLogItsOwnKeys) {
  Config config = cluster_config();
  config.replica_read_only = false;
  ClusterFixture cluster(2, config);
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  cluster.run(1, "SET local v PX 10");
  cluster.advance(1s);
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(cluster.run(1, "DBSIZE"), "(integer) 0");
  EXPECT_TRUE(all_of(cluster, 1).empty());
}

class ExpiryLogRestartTest : public RestartFixture {
 protected:
  static Config config(bool appendonly) {
    Config config = config_with(appendonly, "always");
    config.expiry_log = true;
    return config;
  }
};

TEST_F(ExpiryLogRestartTest, WhatExpiredBeforeAndDuringAStopIsLoggedOnce) {
  ASSERT_EQ(start(config(true)), "");
  run("SET before v PX 10");
  run("SET during v PX 100");
  run("HSETEX h PX 100 FIELDS 1 f v");
  clock_.advance(10ms);
  run("GET before");
  EXPECT_EQ(log_of(server()), Lines{"0 before string access +0"});
  clock_.advance(1s);
  ASSERT_EQ(restart(config(true)), "");
  fixture_->sweep();
  const Lines all = {"0 before string access +0", "0 during string sweep +910",
                     "0 h/f hash sweep +910"};
  EXPECT_EQ(log_of(server()), all);
  turn();
  ASSERT_EQ(restart(config(true)), "");
  fixture_->sweep();
  EXPECT_EQ(log_of(server()), all) << "nothing twice";
}

// A request of an append-only file that changes nothing is an error; so nothing is removed twice.
TEST_F(ExpiryLogRestartTest, KeysThatExpireWithTheirMembersAreRead) {
  ASSERT_EQ(start(config(true)), "");
  for (const bool is_foreign : {false, true}) {
    server().parts().replication.stream().set_foreign(is_foreign);
    for (int i = 0; i < 5; ++i) {
      const std::string key = "h" + std::to_string(i);
      run("HSETEX " + key + " PX 100 FIELDS 2 f v g v");
      if (i % 2 == 0) run("HSET " + key + " stays v");
      run("PEXPIRE " + key + " 100");
    }
    run("SADDEX s PX 100 MEMBERS 2 a b");
    run("SADD s stays");
    clock_.advance(100ms);
    if (is_foreign) run("DEL h3");
    fixture_->sweep();
  }
  const Lines all = log_of(server());
  EXPECT_EQ(all.size(), 2u * (5 * 3 + 2));
  turn();
  ASSERT_EQ(restart(config(true)), "");
  EXPECT_EQ(log_of(server()), all);
  EXPECT_EQ(run("SMEMBERS s"), "[\"stays\"]");
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");
}

TEST_F(ExpiryLogRestartTest, WhatIsDueInASnapshotIsLoggedAfterTheLoad) {
  ASSERT_EQ(start(config(false)), "");
  run("SET a v PX 10");
  run("HSETEX h PX 10 FIELDS 1 f v");
  run("SAVE");
  clock_.advance(1s);
  ASSERT_EQ(restart(config(false)), "");
  fixture_->sweep();
  EXPECT_EQ(log_of(server()), (Lines{"0 a string sweep +990", "0 h/f hash sweep +990"}));
}

}  // namespace expiry_log_servers_test
}  // namespace mayfly
