// SPDX-License-Identifier: Apache-2.0
// A shard whose primary has no room on its disk or in memory: clients are told why, and the others
// go on.

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace cluster_limits_test {

using namespace std::chrono_literals;

class ClusterLimitsTest : public ClusterNodesFixture {
 protected:
  static Config with_log(const std::string& sync) {
    Config config = ClusterNodesFixture::config();
    config.appendonly = true;
    config.appendfsync = sync;
    return config;
  }
  // A write that cannot be logged is not answered: its connection is closed.
  void fill_disk(int node) {
    (*servers_)[node].fake_disk().set_room(0);
    ask(node, "SET a 2");
    run(1500ms);
    EXPECT_TRUE(servers_->client(node).link().closing());
  }
  std::string anew(int node, const std::string& line) {
    TestClient client(servers_->server(node), "127.0.0.1:9000");
    return client.run(line);
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }
};

TEST_F(ClusterLimitsTest, APrimaryWithAFullDiskRefusesWritesAndSaysWhy) {
  start_shard(2, with_log("everysec"));
  EXPECT_EQ(ask(0, "SET a 1"), "OK");
  run(100ms);
  fill_disk(0);
  const std::string refusal = anew(0, "SET a 3");
  EXPECT_TRUE(refusal.starts_with("(error) MISCONF Errors writing to the AOF file:")) << refusal;
  EXPECT_TRUE(has(refusal, "no room on the disk")) << refusal;
  EXPECT_EQ(anew(0, "GET a"), "\"2\"");
  EXPECT_TRUE(serves(0));
  EXPECT_EQ(record().epoch, 1u) << "nobody takes over from a primary that answers";
  (*servers_)[0].fake_disk().heal();
  run(2s);
  EXPECT_EQ(anew(0, "SET a 3"), "OK");
}

TEST_F(ClusterLimitsTest, APrimaryWithAFullDiskCanHandOver) {
  start_shard(2, with_log("everysec"));
  fill_disk(0);
  ASSERT_TRUE(has(anew(0, "SET a 3"), "MISCONF"));
  EXPECT_EQ(ask(1, "CLUSTER FAILOVER"), "OK");
  run(500ms);
  EXPECT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "GET a"), "\"2\"");
  EXPECT_EQ(ask(1, "SET a 3"), "OK");
}

TEST_F(ClusterLimitsTest, AFullMemoryRefusesWritesAtThePrimaryOnly) {
  start_shard(2);
  EXPECT_EQ(ask(0, "SET a 1"), "OK");
  EXPECT_EQ(ask(0, "CONFIG SET maxmemory 1"), "OK");
  EXPECT_EQ(ask(0, "SET a 2"), "(error) OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(ask(0, "GET a"), "\"1\"");
  EXPECT_EQ(ask(0, "CONFIG SET maxmemory 0"), "OK");
  EXPECT_EQ(ask(1, "CONFIG SET maxmemory 1"), "OK");
  EXPECT_EQ(ask(0, "SET a 3"), "OK");
  run(2s);
  EXPECT_EQ(record().insync.size(), 1u) << "a replica takes what its primary has taken";
  ask(1, "READONLY");
  EXPECT_EQ(ask(1, "GET a"), "\"3\"");
}

}  // namespace cluster_limits_test
}  // namespace mayfly
