// SPDX-License-Identifier: Apache-2.0
// Single steps of ShardMachine: recovery when all memories are gone, and wrong clocks.
#include <gtest/gtest.h>

#include "cluster/shard_machine_fixture.h"

namespace mayfly {
namespace {

// ---- Recovery ----

TEST_F(ShardMachineTest, OneOfTheNamedRecoversWhenAllMemoriesAreGone) {
  see(10, 5, kOne, {{kSelf.node, kProcess + "0"}});
  see_live(kSelf, 11, 5, 90);
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0) << "the primary may live";
  see_live({kOne.node, kProcess + "2"}, 12, 5, 80);
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.sent.primary, kSelf);
  EXPECT_EQ(host_.sent.epoch, 6U);
  const std::map<std::string, std::uint64_t> lives{{kSelf.node, 11}, {kOne.node, 12}};
  EXPECT_EQ(host_.sent_lives, lives);
}

TEST_F(ShardMachineTest, RecoveryIsForTheOneWithTheMost) {
  see(10, 5, kOne, {{kSelf.node, kProcess + "0"}});
  see_live(kSelf, 11, 5, 90);
  see_live({kOne.node, kProcess + "2"}, 12, 5, 90);  // as much, and a smaller name
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, RecoveryLearnsFromARefusalByALiveRecord) {
  see(10, 5, kOne, {{kSelf.node, kProcess + "0"}});
  see_live(kSelf, 11, 5, 90);
  see_live({kOne.node, kProcess + "2"}, 12, 5, 80);
  machine_.tick(now());
  CommitAnswer answer{.outcome = CommitOutcome::refused, .version = 0, .current = {}, .error = {}};
  LiveRecord newer;
  newer.incarnation = kProcess + "3";
  newer.epoch = 5;
  newer.offset = 95;
  answer.current.push_back({"shards/s", to_text(machine_.record()), 10});
  answer.current.push_back({"live/" + kOne.node, to_text(newer), 14});
  machine_.committed(answer, now());
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.commits, 1);
  EXPECT_EQ(machine_.role(), ShardRole::outside);
}

// The set is empty; the replica that has left it is alive.
TEST_F(ShardMachineTest, ProcessThatHasLostItsDataWaitsForOneThatHasIt) {
  see(10, 5, {kSelf.node, kProcess + "0"}, {});
  see_live(kOne, 7, 0, 0, 5);
  see_live(kSelf, 11);
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.commits, 0);
  EXPECT_NE(host_.lines.back().find("waits"), std::string::npos);
  const std::size_t lines = host_.lines.size();
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.lines.size(), lines) << "it says so once";
  EXPECT_TRUE(machine_.is_waiting_for_holder());

  machine_.live_gone(kOne.node, 6, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0) << "that was before it came";
  machine_.live_gone(kOne.node, 12, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 1);
  EXPECT_FALSE(machine_.is_waiting_for_holder());
}

TEST_F(ShardMachineTest, ProcessThatHasLostItsDataComparesAllThatLive) {
  see(10, 5, {kSelf.node, kProcess + "0"}, {});
  see_live(kOne, 7);
  see_live(kSelf, 11);
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1) << "nobody has any data";
  const std::map<std::string, std::uint64_t> lives{{kSelf.node, 11}, {kOne.node, 7}};
  EXPECT_EQ(host_.sent_lives, lives);
}

// The file may be older than the writes that the other one has confirmed.
TEST_F(ShardMachineTest, ProcessThatHasLoadedTheEpochOfTheRecordAsksForDataInMemory) {
  see(10, 5, {kSelf.node, kProcess + "0"}, {});
  see_live(kOne, 7, 0, 0, 5);
  see_live(kSelf, 11, 5, 90);
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.commits, 0);
  EXPECT_NE(host_.lines.back().find("has not announced how much"), std::string::npos);
  see_live(kOne, 12, 0, 0, 5, 10, 91);
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.commits, 0) << "it has more";
  EXPECT_NE(host_.lines.back().find("has loaded less"), std::string::npos);
}

TEST_F(ShardMachineTest, ProcessThatHasAsMuchAsAllOthersRecovers) {
  see(10, 5, {kSelf.node, kProcess + "0"}, {});
  see_live(kOne, 12, 0, 0, 5, 10, 90);
  see_live(kSelf, 11, 5, 90);
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 1);
  const std::map<std::string, std::uint64_t> lives{{kSelf.node, 11}, {kOne.node, 12}};
  EXPECT_EQ(host_.sent_lives, lives);
}

TEST_F(ShardMachineTest, ProcessAnnouncesWhatItHasWhenThoseNamedHaveEnded) {
  see(10, 5, kOne, {});
  see_live(kSelf, 9, 0, 0, 5);
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.settled, 0U);
  see_live({kOne.node, kProcess + "2"}, 11, 5, 80);
  host_.calls.clear();
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.settled, 10U);
  EXPECT_EQ(host_.calls, "settle ") << "once, and it follows nobody";
  see(12, 5, kOne, {});
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.settled, 12U) << "another version: what it announced does not count any more";
  host_.calls.clear();
  see(13, 6, {kOne.node, kProcess + "2"}, {});
  EXPECT_EQ(host_.calls, "follow ");
}

// Bytes of the last primary that it has not read yet must not be applied later.
TEST_F(ShardMachineTest, ProcessThatWasToDropItsDataAnnouncesItToo) {
  see(10, 5, kOne, {});
  see_live(kSelf, 9, 0, 0, 5);
  machine_.leave();
  see_live({kOne.node, kProcess + "2"}, 11, 5, 80);
  machine_.tick(now());
  EXPECT_EQ(host_.settled, 10U);
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, NodeTellsAgainThatItsEarlierProcessHasEnded) {
  see_live(kSelf, 8);
  see(10, 5, kOne, {{kSelf.node, kProcess + "0"}});
  pass_and_tick(100ms);
  EXPECT_EQ(host_.announced, 1);
}

// ---- Wrong clocks ----

TEST_F(ShardMachineTest, TakerDoesNotTakeOverAWrongClock) {
  follow_one();
  pass(10ms);
  PulseReply wrong = reply();
  wrong.wall += 1h;
  machine_.pulse_answered(kOne, wrong, now());
  pass_and_tick(2700ms);
  ASSERT_EQ(host_.commits, 1);
  EXPECT_LE(host_.sent.since, host_.wall() + 500ms);
  answer(CommitOutcome::done, 11);
  EXPECT_LE(host_.floor_given, host_.wall() + 500ms);
  const auto is_told = [](const std::string& line) {
    return line.find("3600300 ms ahead of the clock of this machine") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(host_.lines.begin(), host_.lines.end(), is_told), 1);
}

TEST_F(ShardMachineTest, NobodyTakesOverAWrongTimeOfTheRecord) {
  see(10, 5, kSelf, {}, host_.wall() + 24h);
  EXPECT_EQ(host_.floor_given, host_.wall() + 500ms);
  see(11, 6, kOne, {kSelf}, host_.wall() + 24h);
  pass_and_tick(3000ms);
  ASSERT_EQ(host_.commits, 1);
  EXPECT_LE(host_.sent.since, host_.wall() + 500ms);
}

TEST_F(ShardMachineTest, ATimeWithinWhatIsAllowedIsTakenOver) {
  see(10, 5, kSelf, {}, host_.wall() + 500ms);
  EXPECT_EQ(host_.floor_given, host_.wall() + 500ms);
}

TEST_F(ShardMachineTest, PrimaryMendsAWrongTimeOfTheRecord) {
  see(10, 5, kSelf, {kOne}, host_.wall() + 24h);
  machine_.pulsed(pulse(kOne), now());
  pass_and_tick(1340ms);
  ASSERT_EQ(host_.commits, 1) << "the member is silent";
  EXPECT_EQ(host_.sent.since, host_.wall());
}

// It was an hour ahead when this process began to lead.
TEST_F(ShardMachineTest, FloorIsLimitedWhenTheClockOfTheMachineIsSetBack) {
  lead_with_one();
  host_.ahead = 500ms;
  machine_.tick(now());
  EXPECT_EQ(host_.ahead, 500ms);
  host_.ahead = 1h;
  machine_.tick(now());
  EXPECT_EQ(host_.ahead, 500ms);
  EXPECT_NE(host_.lines.back().find("goes back by 3599500 ms"), std::string::npos);
}

}  // namespace
}  // namespace mayfly
