// SPDX-License-Identifier: Apache-2.0
// Two servers change their roles and are started again as they were first: no data is lost, and the
// log has a warning.

#include "server/replication/role/last_role.h"

#include <gtest/gtest.h>

#include <string>

#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace last_role_test {

constexpr const char* kFile = "./replication-role";

class LastRoleTest : public testing::Test {
 protected:
  Replication& replication(int number) { return cluster_.server(number).parts().replication; }
  FakeDisk& disk(int number) { return cluster_[number].fake_disk(); }
  std::string file(int number) {
    return disk(number).exists(kFile) ? disk(number).bytes(kFile) : "";
  }
  bool log_has(int number, std::string_view text) {
    for (const std::string& line : cluster_[number].lines) {
      if (line.find(text) != line.npos) return true;
    }
    return false;
  }
  // As at the start of a process whose configuration names server 0 as its primary.
  void begin_as_replica(int number) {
    Config& config = cluster_.server(number).parts().config;
    config.replicaof_host = "127.0.0.1";
    config.replicaof_port = cluster_.port(0);
    replication(number).last_role().compare();
    replication(number).follow("127.0.0.1", cluster_.port(0));
  }

  ClusterFixture cluster_{2};
};

TEST_F(LastRoleTest, ARoleThatACommandGaveIsWritten) {
  EXPECT_EQ(file(1), "");
  EXPECT_EQ(cluster_.follow(1, 0), "OK");
  EXPECT_EQ(file(1), "replica 127.0.0.1 7000\n");
  EXPECT_EQ(cluster_.lead(1), "OK");
  EXPECT_EQ(file(1), "primary\n");
}

TEST_F(LastRoleTest, AFailoverIsWrittenAtBoth) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.run(0, "SET a 1");
  ASSERT_EQ(cluster_.run(0, "FAILOVER"), "OK");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(file(0), "replica 127.0.0.1 7001\n");
  EXPECT_EQ(file(1), "primary\n");
}

TEST_F(LastRoleTest, DataOfAServerThatLedIsKeptBeforeItIsReplaced) {
  cluster_.run(0, "SET old 1");
  cluster_.run(1, "SET new 1");
  disk(1).put(kFile, "primary\n");
  begin_as_replica(1);
  EXPECT_TRUE(log_has(1, "was a primary when it stopped"));
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.run(1, "GET old"), "\"1\"");
  EXPECT_TRUE(disk(1).exists("./dump.rdb.replaced-1"));
  EXPECT_TRUE(log_has(1, "kept in './dump.rdb.replaced-1'"));
  EXPECT_EQ(file(1), "replica 127.0.0.1 7000\n") << "it has settled";
}

TEST_F(LastRoleTest, DataThatCannotBeKeptIsNotReplaced) {
  cluster_.run(0, "SET old 1");
  cluster_.run(1, "SET new 1");
  disk(1).put(kFile, "primary\n");
  begin_as_replica(1);
  disk(1).fail_next(FakeDisk::Op::rename, 1'000);
  EXPECT_FALSE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.run(1, "GET new"), "\"1\"");
  EXPECT_TRUE(log_has(1, "cannot be kept aside"));
}

TEST_F(LastRoleTest, AReplicaThatIsAheadOfTheSameHistoryKeepsItsData) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.run(0, "SET a 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  // The primary is restored from an older backup.
  ReplicationStream& stream = replication(0).stream();
  cluster_.set_reachable(0, false);
  cluster_.cut(1);
  cluster_.turn();
  stream.adopt(stream.ids().id, 1);
  cluster_.run(0, "FLUSHALL");
  stream.adopt(stream.ids().id, 1);
  cluster_.set_reachable(0, true);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_TRUE(disk(1).exists("./dump.rdb.replaced-1"));
}

TEST_F(LastRoleTest, AReplicaKeepsItsDataWhenThePrimaryComesBackWithoutAny) {
  const auto comes_back = [this](const char* id, std::string_view command) {
    cluster_.set_reachable(0, false);
    cluster_.cut(1);
    cluster_.turn();
    cluster_.run(0, "FLUSHALL");
    cluster_.run(0, command);
    replication(0).stream().adopt(std::string(40, *id), 1);
    cluster_.set_reachable(0, true);
    return cluster_.run_until_quiet();
  };
  cluster_.follow(1, 0);
  cluster_.run(0, "SET a 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  ASSERT_TRUE(comes_back("b", "SET other 1"));
  EXPECT_EQ(cluster_.run(1, "GET other"), "\"1\"");
  EXPECT_FALSE(disk(1).exists("./dump.rdb.replaced-1")) << "it has data, who knows which";
  ASSERT_TRUE(comes_back("c", "PING"));
  EXPECT_EQ(cluster_.run(1, "DBSIZE"), "(integer) 0");
  EXPECT_TRUE(disk(1).exists("./dump.rdb.replaced-1"));
  EXPECT_TRUE(log_has(1, "did it start without its data?"));
}

TEST_F(LastRoleTest, AServerThatFollowedAndIsMadeAPrimaryWarns) {
  disk(0).put(kFile, "replica 127.0.0.1 7001\n");
  replication(0).last_role().compare();
  EXPECT_TRUE(log_has(0, "was a replica when it stopped (replica 127.0.0.1 7001)"));
  EXPECT_EQ(file(0), "primary\n");
}

TEST_F(LastRoleTest, TheRoleThatItHadNeedsNoWord) {
  disk(0).put(kFile, "primary\n");
  replication(0).last_role().compare();
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_FALSE(log_has(0, "when it stopped"));
  EXPECT_FALSE(disk(1).exists("./dump.rdb.replaced-1"));
}

}  // namespace last_role_test
}  // namespace mayfly
