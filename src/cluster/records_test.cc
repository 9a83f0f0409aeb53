// SPDX-License-Identifier: Apache-2.0
// Records as text, and back.

#include "cluster/records.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

const std::string kNode(40, 'a');
const std::string kOther(40, 'b');

ShardRecord shard() {
  ShardRecord record;
  record.epoch = 7;
  record.primary = {kNode, "3c1a77d2e5b0aa10"};
  record.insync = {{kOther, "88e0c1aa90d2f4b7"}};
  record.slots = SlotSet({{0, 5460}, {7000, 7000}});
  record.since = Time(Millis(1'794'784'355'599));
  return record;
}

TEST(Records, ShardIsTheTextOfTheSpecification) {
  EXPECT_EQ(to_text(shard()),
            "format 1\n"
            "epoch 7\n"
            "primary " +
                kNode +
                " 3c1a77d2e5b0aa10\n"
                "insync " +
                kOther +
                " 88e0c1aa90d2f4b7\n"
                "slots 0-5460 7000\n"
                "since 1794784355599\n");
}

TEST(Records, EachIsReadAsItWasWritten) {
  EXPECT_EQ(*parse_shard_record(to_text(shard())), shard());
  const ClusterRecord cluster{kNode, Millis(3000), 2, Time(Millis(5)), 27};
  EXPECT_EQ(*parse_cluster_record(to_text(cluster)), cluster);
  const NodeRecord node{"10.0.0.1", 6379, "a.example", "zone 1", "a", NodeState::leaving};
  EXPECT_EQ(*parse_node_record(to_text(node)), node);
  const LiveRecord live{"88e0c1aa90d2f4b7", "0.1.0", "replica", kOther, 3, 12345, true, 4, 17, 678};
  EXPECT_EQ(*parse_live_record(to_text(live)), live);
  const MoveRecord move{"a",       "b", SlotSet({{1, 9}}), MoveState::stream,
                        "no room", 2,   Time(Millis(9)),   Time(Millis(10))};
  EXPECT_EQ(*parse_move_record(to_text(move)), move);
  const RegisterRecord reg{10'555'973'267'567'409'278U, 130, Time(Millis(11))};
  EXPECT_EQ(*parse_register_record(to_text(reg)), reg);
}

TEST(Records, WordsThatAreNotKnownAreSkipped) {
  const Result<ShardRecord> record = parse_shard_record(to_text(shard()) + "colour blue\n\nx\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, shard());
}

TEST(Records, HigherFormatIsRefused) {
  std::string text = to_text(shard());
  text[7] = '2';
  const Result<ShardRecord> record = parse_shard_record(text);
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, Code::unsupported);
}

TEST(Records, MembersAreSorted) {
  ShardRecord record = shard();
  record.insync = {{kOther, "88e0c1aa90d2f4b7"}, {kNode, "88e0c1aa90d2f4b7"}};
  EXPECT_EQ(parse_shard_record(to_text(record))->insync.front().node, kNode);
}

TEST(Records, WrongTextIsCorrupt) {
  for (const std::string_view text :
       {"", "epoch 1\n", "format 1\n", "format x\n", "format 0\n", "format 1\nepoch -1\n",
        "format 1\nepoch 1\nprimary ab cd\n", "format 1\nslots 9-3\n", "format 1\nslots 16384\n",
        "format 1\nepoch 99999999999999999999\n"}) {
    const Result<ShardRecord> record = parse_shard_record(text);
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code, Code::corrupt) << text;
  }
  EXPECT_FALSE(parse_node_record("format 1\nhost a\nport 1\nstate asleep\n"));
  EXPECT_FALSE(parse_move_record("format 1\nsource a\n"));
  EXPECT_FALSE(parse_register_record("format 1\nid 5\n"));
  EXPECT_FALSE(parse_register_record("format 1\nid 0\nversion 5\n"));
}

TEST(Records, LineBreaksInValuesDoNotMakeLines) {
  MoveRecord move{"a", "b", {}, MoveState::failed, "one\nstate done", 0, {}};
  EXPECT_EQ(parse_move_record(to_text(move))->state, MoveState::failed);
}

}  // namespace
}  // namespace mayfly
