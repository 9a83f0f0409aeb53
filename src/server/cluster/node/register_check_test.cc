// SPDX-License-Identifier: Apache-2.0
// Which register a node takes when it starts, by table; and what nodes do when theirs is replaced
// by an older state of itself, or by another one, while they run.

#include "server/cluster/node/register_check.h"

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/cluster/cluster_replies.h"

namespace mayfly {
namespace register_check_test {

using namespace std::chrono_literals;

constexpr std::uint64_t kId = 7;
constexpr std::uint64_t kOther = 8;
const std::string kNode(40, 'a');
const std::string kCluster(40, 'b');

NodeFile file_of(std::uint64_t id, std::uint64_t version, Time accepted = {}) {
  return {.node = kNode, .cluster = kCluster, .reg = {id, version}, .accepted = accepted};
}

RegisterSnapshot snapshot_of(std::uint64_t id, std::uint64_t version,
                             std::optional<RegisterRecord> accepted = {}) {
  RegisterSnapshot snapshot{{}, version, id};
  if (accepted) snapshot.entries.push_back({"register", to_text(*accepted), version});
  return snapshot;
}

TEST(RegisterCheck, TheRightRegisterIsTaken) {
  const auto next = check_register(file_of(kId, 100), snapshot_of(kId, 120));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(*next, file_of(kId, 120));
  EXPECT_TRUE(check_register(file_of(kId, 100), snapshot_of(kId, 100)).ok());
}

TEST(RegisterCheck, ANewNodeOrAnOldFileTakesAny) {
  NodeFile fresh = file_of(kOther, 500);
  fresh.cluster.clear();
  EXPECT_TRUE(check_register(fresh, snapshot_of(kId, 3)).ok());
  EXPECT_EQ(check_register(file_of(0, 0), snapshot_of(kId, 3))->reg, (RegisterPoint{kId, 3}));
}

TEST(RegisterCheck, AnotherOneOrAnOlderStateIsNotTaken) {
  const NodeFile file = file_of(kId, 100, Time(50ms));
  NodeFile refused = file;
  refused.is_register_refused = true;
  const auto why = [](const NodeFile& known, const RegisterSnapshot& snapshot) {
    const auto next = check_register(known, snapshot);
    return next ? std::string() : next.error().message;
  };
  EXPECT_NE(why(file, snapshot_of(kOther, 200)).find("cluster id is 8"), std::string::npos);
  EXPECT_NE(why(file, snapshot_of(kId, 99)).find("it has revision 99, but had 100"),
            std::string::npos);
  EXPECT_NE(why(refused, snapshot_of(kId, 5000)), "") << "it has gone back once";
  // What was accepted is another register, a later state, or nothing new to this node.
  const Time later(60ms);
  EXPECT_NE(why(file, snapshot_of(kOther, 200, RegisterRecord{kId, 90, later})), "");
  EXPECT_NE(why(file, snapshot_of(kId, 80, RegisterRecord{kId, 90, later})), "");
  EXPECT_NE(why(file, snapshot_of(kOther, 200, RegisterRecord{kOther, 90, Time(50ms)})), "");
  EXPECT_NE(why(file, snapshot_of(kId, 99, RegisterRecord{kId, 90, Time(40ms)})), "");
  // Nor does a new node take a register that was restored after it was accepted.
  EXPECT_NE(why(file_of(0, 0), snapshot_of(kOther, 200, RegisterRecord{kId, 90, later})), "");
}

TEST(RegisterCheck, AnAcceptedOneIsTakenOnce) {
  const RegisterRecord accepted{kOther, 90, Time(60ms)};
  NodeFile known = file_of(kId, 100, Time(50ms));
  known.is_register_refused = true;
  const auto next = check_register(known, snapshot_of(kOther, 95, accepted));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(*next, file_of(kOther, 95, Time(60ms)));
  EXPECT_FALSE(check_register(*next, snapshot_of(kOther, 94, accepted)).ok());
  EXPECT_TRUE(check_register(*next, snapshot_of(kOther, 96, accepted)).ok());
}

// It was restored, and has had as many changes since as before.
TEST(RegisterCheck, ALowerEpochOfTheShardIsNotTaken) {
  const auto with_epoch = [](std::uint64_t epoch, std::optional<RegisterRecord> accepted = {}) {
    RegisterSnapshot snapshot = snapshot_of(kId, 200, accepted);
    ShardRecord shard;
    shard.epoch = epoch;
    shard.primary = {kNode, std::string(16, '1')};
    snapshot.entries.push_back({"shards/b", to_text(shard), 150});
    return snapshot;
  };
  NodeFile file = file_of(kId, 100, Time(50ms));
  file.shard = "b";
  file.epoch = 7;
  const auto older = check_register(file, with_epoch(6));
  ASSERT_FALSE(older.ok());
  EXPECT_NE(older.error().message.find("shard b has epoch 6, but had 7"), std::string::npos);
  EXPECT_TRUE(check_register(file, with_epoch(7)).ok());
  EXPECT_TRUE(check_register(file, snapshot_of(kId, 200)).ok()) << "the shard was removed";
  const auto accepted = check_register(file, with_epoch(6, RegisterRecord{kId, 90, Time(60ms)}));
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->epoch, 6U);
  EXPECT_TRUE(check_register(*accepted, with_epoch(6, RegisterRecord{kId, 90, Time(60ms)})).ok());
}

TEST(RegisterCheck, ABrokenRecordIsNoAcceptance) {
  RegisterSnapshot snapshot = snapshot_of(kOther, 200);
  snapshot.entries.push_back({"register", "format 1\nid x\n", 200});
  EXPECT_FALSE(check_register(file_of(kId, 100), snapshot).ok());
}

// ---- Nodes that run ----

class ReplacedRegisterTest : public ClusterNodesFixture {
 protected:
  std::string info(int node, const std::string& field) {
    const std::string text = cluster_info_text(parts(node));
    const std::size_t at = text.find(field + ":");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + field.size() + 1;
    return text.substr(begin, text.find('\r', begin) - begin);
  }
  int owners() {
    int count = 0;
    for (int i = 0; i < servers_->size(); ++i) {
      count += !servers_->is_stopped(i) && serves(i) ? 1 : 0;
    }
    return count;
  }
  // As if it had changed meanwhile.
  void hand_over(int node) {
    ASSERT_EQ(ask(node, "CLUSTER FAILOVER"), "OK");
    run(3s);
    ASSERT_TRUE(serves(node));
  }
  // Of the same id, with the record of an earlier primary, and as many changes as you like.
  void restore(const RegisterSnapshot& snapshot, int changes = 0) {
    records_.restore(snapshot);
    for (int i = 0; i < changes; ++i) records_.apply({{}, {{"other", "text"}}});
  }
};

TEST_F(ReplacedRegisterTest, AnOlderStateIsNotUsed) {
  start_shard(2);
  const RegisterSnapshot before = records_.read();
  hand_over(1);
  restore(before);
  for (int i = 0; i < 1000; ++i) {
    run(10ms);
    ASSERT_LE(owners(), 1);
    ASSERT_FALSE(serves(0));
  }
  EXPECT_TRUE(serves(1)) << "as if the register were down";
  for (const int node : {0, 1}) {
    EXPECT_EQ(info(node, "cluster_register_state"), "unusable");
    EXPECT_NE(info(node, "cluster_register_error").find("etcd is not usable"), std::string::npos);
  }
  EXPECT_EQ(records_.version(), before.version) << "nothing is written there";
}

TEST_F(ReplacedRegisterTest, AnOlderStateWithAsManyChangesIsNotUsed) {
  start_shard(2);
  const RegisterSnapshot before = records_.read();
  hand_over(1);
  restore(before, 1000);
  run(6s);
  EXPECT_TRUE(serves(1));
  EXPECT_FALSE(serves(0));
  EXPECT_EQ(info(1, "cluster_register_state"), "unusable");
  EXPECT_EQ(info(0, "cluster_register_state"), "unusable");
}

TEST_F(ReplacedRegisterTest, AnEmptyOneIsNotUsed) {
  start_shard(2);
  restore({{}, 1});
  run(6s);
  EXPECT_TRUE(serves(0));
  EXPECT_EQ(records_.version(), 1u);
  EXPECT_EQ(info(0, "cluster_register_state"), "unusable");
}

TEST_F(ReplacedRegisterTest, ThePrimaryFailsWithoutATakeover) {
  start_shard(3);
  const RegisterSnapshot before = records_.read();
  hand_over(1);
  restore(before);
  run(200ms);
  servers_->set_stopped(1, true);
  for (int i = 0; i < 1000; ++i) {
    run(10ms);
    ASSERT_EQ(owners(), 0);
  }
}

TEST_F(ReplacedRegisterTest, AnotherRegisterIsNotUsedUntilTheRightOneIsBack) {
  start_shard(2);
  const RegisterSnapshot mine = records_.read();
  records_.id = 99;
  run(6s);
  EXPECT_EQ(info(0, "cluster_register_state"), "unusable");
  EXPECT_EQ(records_.version(), mine.version);
  EXPECT_TRUE(serves(0));
  records_.id = 1;
  run(6s);
  EXPECT_EQ(info(0, "cluster_register_state"), "connected");
  hand_over(1);
}

TEST_F(ReplacedRegisterTest, ARecordWithALowerEpochIsNotAdopted) {
  start_shard(2);
  hand_over(1);
  ShardRecord old = record();
  old.epoch -= 1;
  std::swap(old.primary, old.insync[0]);
  const std::string key = shard_key("a");
  records_.apply({{{key, records_.find(key)->version}}, {{key, to_text(old)}}});
  run(6s);
  EXPECT_TRUE(serves(1));
  EXPECT_FALSE(serves(0));
  EXPECT_EQ(info(0, "cluster_register_state"), "unusable");
}

TEST_F(ReplacedRegisterTest, ANodeThatStartsLooksAtItsFile) {
  start(1);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  run(6s);
  const auto file = read_node_file((*servers_)[0].fake_disk(), parts(0).config.dir);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->reg.id, 1u);
  EXPECT_GE(file->reg.version, records_.find(shard_key("a"))->version);
  EXPECT_FALSE(file->is_register_refused);
  EXPECT_EQ(file->shard, "a");
  EXPECT_EQ(file->epoch, 1U);
  restore({{}, 1});
  run(6s);
  EXPECT_TRUE(read_node_file((*servers_)[0].fake_disk(), parts(0).config.dir)->is_register_refused);
}

}  // namespace register_check_test
}  // namespace mayfly
