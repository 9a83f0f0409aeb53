// SPDX-License-Identifier: Apache-2.0
// Single steps of a move of slots; move_model_test.cc looks at all states of both ends together.
#include "cluster/move_machine.h"

#include <gtest/gtest.h>

#include "cluster/fake_register.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

class SourceHost : public MoveSourceHost {
 public:
  void connect() override { calls += "connect "; }
  void send_snapshot() override { calls += "snapshot "; }
  void pause_slots() override { calls += "pause "; }
  void send_last() override { calls += "LAST "; }
  void commit(const MoveVersions& versions) override {
    calls += "commit ";
    sent = versions;
  }
  void send_yours() override { calls += "YOURS "; }
  void disconnect() override { calls += "disconnect "; }

  std::string take() { return std::exchange(calls, {}); }

  std::string calls;
  MoveVersions sent;
};

class MoveSourceTest : public testing::Test {
 protected:
  MoveSourceTest() : source_(host_) {
    source_.record_seen(10, true, true);
    source_.job_seen(5, true);
  }

  void reach_stream() {
    source_.start();
    source_.begun();
    source_.sent();
  }
  void reach_commit() {
    reach_stream();
    source_.streamed(1000, now_);
    source_.ready(20);
    host_.take();
  }

  Time now_{1h};
  SourceHost host_;
  MoveSource source_;
};

TEST_F(MoveSourceTest, GoesAllTheWay) {
  reach_stream();
  EXPECT_EQ(host_.take(), "connect snapshot ");
  source_.streamed(MoveSource::kNear + 1, now_);
  EXPECT_EQ(source_.is(), MoveState::stream);
  source_.streamed(MoveSource::kNear, now_);
  EXPECT_EQ(host_.take(), "pause LAST ");
  source_.ready(20);
  EXPECT_EQ(host_.take(), "commit ");
  EXPECT_EQ(host_.sent, (MoveVersions{10, 20, 5}));
  source_.committed(CommitOutcome::done, {}, now_);
  EXPECT_EQ(host_.take(), "YOURS disconnect ");
  EXPECT_EQ(source_.is(), MoveState::done);
}

TEST_F(MoveSourceTest, StaysPausedAndRepeatsACommitWithoutAnAnswer) {
  reach_commit();
  source_.committed(CommitOutcome::unknown, {}, now_);
  source_.broken("the connection ended");
  EXPECT_TRUE(source_.is_paused());
  source_.tick(now_ + 1s);
  EXPECT_EQ(host_.take(), "commit ");
  EXPECT_EQ(host_.sent, (MoveVersions{10, 20, 5}));
}

TEST_F(MoveSourceTest, AsksAgainWhenTheTargetsRecordHasChanged) {
  reach_commit();
  source_.committed(CommitOutcome::refused, {{10, 21, 5}}, now_);
  EXPECT_EQ(host_.take(), "LAST ");
  EXPECT_TRUE(source_.is_paused());
  source_.ready(21);
  EXPECT_EQ(host_.sent, (MoveVersions{10, 21, 5}));
}

TEST_F(MoveSourceTest, CommitsAgainWhenItsOwnRecordHasChanged) {
  reach_commit();
  source_.committed(CommitOutcome::refused, {{12, 20, 5}}, now_);
  EXPECT_EQ(host_.sent, (MoveVersions{12, 20, 5}));
  source_.record_seen(13, true, true);
  EXPECT_EQ(host_.sent, (MoveVersions{13, 20, 5}));
}

TEST_F(MoveSourceTest, LearnsFromTheRecordThatItsLostCommitWasDone) {
  reach_commit();
  source_.committed(CommitOutcome::unknown, {}, now_);
  source_.record_seen(11, false, true);
  EXPECT_EQ(host_.take(), "YOURS disconnect ");
}

TEST_F(MoveSourceTest, ResumesWhenTheJobWasCancelledFirst) {
  reach_commit();
  source_.job_seen(6, false);
  EXPECT_TRUE(source_.is_paused());
  source_.committed(CommitOutcome::refused,
                    MoveCurrent{.versions = {10, 20, 6}, .is_wanted = false}, now_);
  EXPECT_FALSE(source_.is_paused());
  EXPECT_EQ(host_.take(), "disconnect ");
}

TEST_F(MoveSourceTest, CancelsAtOnceBeforeTheCommit) {
  reach_stream();
  host_.take();
  source_.job_seen(6, false);
  EXPECT_EQ(source_.is(), MoveState::failed);
  EXPECT_EQ(host_.take(), "disconnect ");
}

TEST_F(MoveSourceTest, CommitsAgainWhenOnlyItsOwnNotesHaveChangedTheJob) {
  reach_commit();
  source_.committed(CommitOutcome::refused, {{10, 20, 6}}, now_);
  EXPECT_EQ(host_.take(), "commit ");
  EXPECT_EQ(host_.sent, (MoveVersions{10, 20, 6}));
}

// It would give slots away for a successor, whose writes it does not have.
TEST_F(MoveSourceTest, CommitsNothingForASuccessor) {
  reach_commit();
  source_.committed(CommitOutcome::refused,
                    MoveCurrent{.versions = {12, 20, 5}, .source_leads = false}, now_);
  EXPECT_EQ(host_.take(), "disconnect ");
  EXPECT_EQ(source_.is(), MoveState::failed);
}

TEST_F(MoveSourceTest, CommitsNothingForASuccessorThatItHasSeen) {
  reach_commit();
  source_.record_seen(12, true, false);
  EXPECT_EQ(host_.take(), "disconnect ");
  EXPECT_EQ(source_.is(), MoveState::failed);
}

TEST_F(MoveSourceTest, GivesUpWaitingForReady) {
  reach_stream();
  source_.streamed(0, now_);
  source_.tick(now_ + MoveSource::kReadyWithin - 1ms);
  EXPECT_TRUE(source_.is_paused());
  source_.tick(now_ + MoveSource::kReadyWithin);
  EXPECT_FALSE(source_.is_paused());
}

TEST_F(MoveSourceTest, SaysWhyItFailed) {
  reach_stream();
  source_.broken("no room");
  source_.broken("and more");
  EXPECT_EQ(source_.is(), MoveState::failed);
  EXPECT_EQ(source_.why(), "no room");
}

class TargetHost : public MoveTargetHost {
 public:
  void send_ready(std::uint64_t version) override {
    calls += "READY " + std::to_string(version) + " ";
  }
  void raise(std::uint64_t version) override { calls += "raise " + std::to_string(version) + " "; }
  void drop_staging() override { calls += "drop "; }
  void show_staging() override { calls += "show "; }

  std::string take() { return std::exchange(calls, {}); }

  std::string calls;
};

class MoveTargetTest : public testing::Test {
 protected:
  MoveTargetTest() : target_(host_) { target_.begin(20); }

  Time now_{1h};
  TargetHost host_;
  MoveTarget target_;
};

TEST_F(MoveTargetTest, ShowsTheStagingWhenTheRecordSaysSo) {
  target_.safe();
  target_.yours();
  target_.record_seen(21, true);
  EXPECT_EQ(host_.take(), "READY 20 show ");
}

TEST_F(MoveTargetTest, IsReadyAgainWhenItsRecordChanges) {
  target_.safe();
  target_.record_seen(21, false);
  EXPECT_EQ(host_.take(), "READY 20 READY 21 ");
}

TEST_F(MoveTargetTest, DropsAStagingThatIsNotReady) {
  target_.broken(now_);
  EXPECT_EQ(host_.take(), "drop ");
}

TEST_F(MoveTargetTest, RaisesItsVersionBeforeItDropsWhatIsReady) {
  target_.safe();
  target_.broken(now_);
  EXPECT_EQ(host_.take(), "READY 20 raise 20 ");
  target_.committed(CommitOutcome::unknown, 0, false, now_);
  target_.tick(now_ + 1s);
  EXPECT_EQ(host_.take(), "raise 20 ");
  target_.committed(CommitOutcome::done, 21, false, now_);
  EXPECT_EQ(host_.take(), "drop ");
}

TEST_F(MoveTargetTest, WaitsForTheRecordAfterYours) {
  target_.safe();
  target_.yours();
  target_.broken(now_);
  EXPECT_EQ(host_.take(), "READY 20 ");
  target_.tick(now_ + MoveTarget::kRecordWithin);
  EXPECT_EQ(host_.take(), "raise 20 ");
}

TEST_F(MoveTargetTest, KeepsWhatWasCommittedBeforeItsRaise) {
  target_.safe();
  target_.broken(now_);
  target_.committed(CommitOutcome::refused, 21, true, now_);
  EXPECT_EQ(target_.phase(), MoveTargetPhase::serving);
}

TEST_F(MoveTargetTest, SuccessorKeepsTheStagingOnlyIfTheRecordHasTheSlots) {
  target_.inherit(22, true);
  EXPECT_EQ(host_.take(), "show ");
  target_.inherit(23, false);
  EXPECT_EQ(host_.take(), "drop ");
}

TEST(MoveCommit, ShiftsTheSlotsOnceAndEndsTheJob) {
  FakeRecords records;
  MoveRecord job;
  job.source = "a";
  job.target = "b";
  job.slots = SlotSet({{10, 19}});
  ShardRecord source;
  source.epoch = 1;
  source.primary = {std::string(40, 'a'), std::string(16, '1')};
  source.slots = SlotSet({{0, 99}});
  ShardRecord target = source;
  target.slots = SlotSet({{100, 199}});
  records.apply({{}, {{"shards/a", to_text(source)}}});
  records.apply({{}, {{"shards/b", to_text(target)}}});
  records.apply({{}, {{"moves/7", to_text(job)}}});

  const RegisterCommit commit = move_commit("7", job, source, target, {1, 2, 3});
  EXPECT_EQ(records.apply(commit).outcome, CommitOutcome::done);
  const auto slots = [&](const char* key) {
    return parse_shard_record(*records.find(key)->value)->slots;
  };
  EXPECT_EQ(slots("shards/a"), SlotSet({{0, 9}, {20, 99}}));
  EXPECT_EQ(slots("shards/b"), SlotSet({{10, 19}, {100, 199}}));
  EXPECT_EQ(parse_move_record(*records.find("moves/7")->value)->state, MoveState::done);

  const CommitAnswer again = records.apply(commit);
  EXPECT_EQ(again.outcome, CommitOutcome::refused);
  const MoveCurrent current = move_current("7", job, source.primary, again);
  EXPECT_FALSE(current.source_has_slots);
  EXPECT_FALSE(current.is_wanted);
  EXPECT_EQ(current.versions, (MoveVersions{4, 4, 4}));
}

}  // namespace
}  // namespace mayfly
