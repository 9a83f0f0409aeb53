// SPDX-License-Identifier: Apache-2.0
// Client-side caching on a replica: its primary's stream tells what changes and what expires.

#include <gtest/gtest.h>

#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOfK = R"((push) ["invalidate", ["k"]])";
constexpr std::string_view kOfAll = R"((push) ["invalidate", (nil)])";

class ReplicaTrackingTest : public ::testing::Test {
 protected:
  static constexpr int kPrimary = 0;
  static constexpr int kReplica = 1;

  void SetUp() override {
    cluster.follow(kReplica, kPrimary);
    cluster.run_until_quiet();
    for (TestClient* const client : {&reader, &all}) client->run("HELLO 3");
    reader.run("CLIENT TRACKING ON NOLOOP");
    all.run("CLIENT TRACKING ON BCAST NOLOOP");
  }

  // The stream is delivered, and no time passes. run_until_quiet would let some pass.
  void deliver() {
    for (int i = 0; i < 6; ++i) cluster.turn();
  }

  // What both got since the last call, which is the same.
  std::string told() {
    deliver();
    const std::string one = reader.messages();
    EXPECT_EQ(all.messages(), one);
    return one;
  }

  ClusterFixture cluster{2};
  TestClient& reader = cluster[kReplica].connect();
  TestClient& all = cluster[kReplica].connect();
};

TEST_F(ReplicaTrackingTest, WritesOfThePrimaryAreTold) {
  reader.run("GET k");
  cluster.run(kPrimary, "SET k 1");
  EXPECT_EQ(told(), kOfK);
  reader.run("GET k");
  cluster.run(kPrimary, "FLUSHALL");
  EXPECT_EQ(told(), kOfAll);
}

TEST_F(ReplicaTrackingTest, WhatExpiresIsToldWhenThePrimaryRemovesIt) {
  struct {
    std::string_view make;
    std::string_view read;
  } const kCases[] = {{"SET k v PX 50", "GET k"},
                      {"HSETEX k PX 50 FIELDS 1 f v", "HGET k f"},
                      {"SADDEX k PX 50 MEMBERS 1 m", "SMEMBERS k"},
                      {"ZADDEX k PX 50 MEMBERS 1 1 m", "ZRANGE k 0 -1"}};
  for (const auto& one : kCases) {
    cluster.run(kPrimary, one.make);
    deliver();
    all.messages();
    reader.run(one.read);
    cluster.advance(49ms);
    EXPECT_EQ(told(), "") << one.make;
    cluster.advance(1ms);
    EXPECT_EQ(told(), kOfK) << one.make;
  }
}

TEST_F(ReplicaTrackingTest, WhatItHidesMeanwhileIsToldLater) {
  cluster.run(kPrimary, "SET k v PX 50");
  deliver();
  all.messages();
  EXPECT_EQ(reader.run("GET k"), "\"v\"");
  cluster.run(kPrimary, "DEBUG SET-ACTIVE-EXPIRE 0");
  cluster.advance(60ms);
  EXPECT_EQ(told(), "");
  EXPECT_EQ(reader.run("GET k"), "(nil)");
  cluster.run(kPrimary, "DEBUG SET-ACTIVE-EXPIRE 1");
  EXPECT_EQ(told(), kOfK);
}

TEST_F(ReplicaTrackingTest, AFullSynchronisationTellsOfAllKeys) {
  reader.run("GET k");
  cluster.run(kReplica, "REPLICAOF NO ONE");
  cluster.run(kReplica, "SET other 1");
  cluster.run_until_quiet();
  all.messages();
  reader.messages();
  cluster.follow(kReplica, kPrimary);
  cluster.run_until_quiet();
  EXPECT_EQ(told(), kOfAll);
}

}  // namespace
}  // namespace mayfly
