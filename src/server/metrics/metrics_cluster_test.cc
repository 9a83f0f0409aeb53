// SPDX-License-Identifier: Apache-2.0
// The metrics of a node of a cluster.

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/metrics/metrics.h"

namespace mayfly {
namespace metrics_cluster_test {

using namespace std::chrono_literals;

class MetricsClusterTest : public ClusterNodesFixture {
 protected:
  // The number behind the name and its labels.
  std::string sample(int node, const std::string& name) {
    const std::string text = '\n' + metrics_text(parts(node));
    const std::size_t at = text.find('\n' + name + ' ');
    if (at == text.npos) return "none";
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
};

TEST_F(MetricsClusterTest, TellWhatANodeDoes) {
  Config with = config();
  with.cluster_replies = "in-sync";
  start_shard(2, with);
  EXPECT_EQ(sample(0, "mayfly_cluster_primary"), "1");
  EXPECT_EQ(sample(1, "mayfly_cluster_primary"), "0");
  EXPECT_EQ(sample(0, "mayfly_cluster_serving"), "1");
  EXPECT_EQ(sample(0, "mayfly_cluster_slots"), "16384");
  EXPECT_EQ(sample(0, "mayfly_cluster_insync_replicas"), "1");
  EXPECT_EQ(sample(1, "mayfly_cluster_insync_replicas"), "1");
  EXPECT_EQ(sample(0, "mayfly_cluster_unsafe_bytes"), "0");
  EXPECT_EQ(servers_->run(1, "GET a"), moved(15495, 0));
  servers_->run(0, "MGET a b");
  EXPECT_EQ(sample(1, R"(mayfly_cluster_redirected_requests_total{error="MOVED"})"), "1");
  EXPECT_EQ(sample(0, R"(mayfly_cluster_redirected_requests_total{error="CROSSSLOT"})"), "1");
  EXPECT_EQ(sample(0, "mayfly_cluster_waits_for_holder"), "0");
  EXPECT_EQ(sample(0, "mayfly_cluster_clock_floor_seconds"), "0");
  EXPECT_EQ(sample(0, "mayfly_cluster_register_usable"), "1");
  servers_->set_stopped(1, true);
  servers_->run(0, "SET a 1");
  EXPECT_NE(sample(0, "mayfly_cluster_unsafe_bytes"), "0");
  EXPECT_EQ(sample(0, "mayfly_cluster_clients_with_held_replies"), "1");
  const std::string fenced = sample(0, "mayfly_cluster_fenced_total");
  records_.is_down = true;
  run(2200ms);
  EXPECT_EQ(sample(0, "mayfly_cluster_serving"), "0");
  EXPECT_NE(sample(0, "mayfly_cluster_fenced_total"), fenced);
}

TEST_F(MetricsClusterTest, TellThatAnotherEtcdIsNotUsed) {
  start_shard(2);
  records_.id = 99;
  run(6s);
  EXPECT_EQ(sample(0, "mayfly_cluster_register_usable"), "0");
  EXPECT_EQ(sample(0, "mayfly_cluster_serving"), "1");
}

TEST(MetricsTest, AServerWithoutAClusterHasNoneOfThem) {
  ServerFixture server;
  EXPECT_EQ(metrics_text(server.server().parts()).find("mayfly_cluster"), std::string::npos);
}

}  // namespace metrics_cluster_test
}  // namespace mayfly
