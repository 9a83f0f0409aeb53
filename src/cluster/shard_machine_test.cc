// SPDX-License-Identifier: Apache-2.0
// Single steps of ShardMachine: each test is a claim about one node. The protocol as a whole, with
// several nodes and faults, is in shard_model_test.cc.
#include <gtest/gtest.h>

#include "cluster/shard_machine_fixture.h"

namespace mayfly {
namespace {

// ---- Leading ----

TEST_F(ShardMachineTest, PrimaryWithoutASetServesForEver) {
  see(10, 5, kSelf, {});
  EXPECT_EQ(machine_.role(), ShardRole::leading);
  EXPECT_EQ(machine_.serves_until(), kNever);
  EXPECT_FALSE(machine_.has_set());
}

TEST_F(ShardMachineTest, PrimaryServesUntilALeaseAfterTheTokenThatWasEchoed) {
  lead_with_one();
  EXPECT_EQ(machine_.serves_until(), now() + 2000ms);
  pass(1999ms);
  EXPECT_TRUE(machine_.is_serving(now()));
  pass(1ms);
  EXPECT_FALSE(machine_.is_serving(now()));
}

TEST_F(ShardMachineTest, FencedPrimaryNamesTheMembersThatAreSilent) {
  see(10, 5, kSelf, {kOne, kTwo});
  machine_.pulsed(pulse(kOne), now());
  machine_.pulsed(pulse(kTwo), now());
  machine_.tick(now());
  pass_and_tick(1000ms);
  machine_.pulsed(pulse(kOne), now());
  pass_and_tick(1010ms);  // it is removed, and the commit has no answer
  const auto says = [this](const std::string& part) {
    return std::ranges::any_of(host_.lines, [&](const std::string& line) {
      return line.find("fenced: ") != line.npos && line.find(part) != line.npos;
    });
  };
  EXPECT_TRUE(says(" silent: " + kTwo.node.substr(0, 8) + " ")) << host_.lines.back();
  EXPECT_FALSE(says(kOne.node.substr(0, 8)));
}

TEST_F(ShardMachineTest, TokenFromTheFutureIsIgnored) {
  lead_with_one();
  machine_.pulsed(pulse(kOne, -5000ms), now());
  EXPECT_EQ(machine_.serves_until(), now() + 2000ms);
}

TEST_F(ShardMachineTest, PulseOfAnotherEpochIsNotAnswered) {
  lead_with_one();
  Pulse old = pulse(kOne);
  old.epoch = 4;
  EXPECT_FALSE(machine_.pulsed(old, now()));
}

TEST_F(ShardMachineTest, SilentMemberIsRemovedByACommitAndCountsUntilItIsDone) {
  lead_with_one();
  pass_and_tick(1340ms);
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.base, 10U);
  EXPECT_TRUE(host_.sent.insync.empty());
  EXPECT_EQ(host_.sent.epoch, 5U);
  pass(700ms);
  EXPECT_FALSE(machine_.is_serving(now()));
  answer(CommitOutcome::done, 11);
  EXPECT_TRUE(machine_.is_serving(now()));
  EXPECT_EQ(machine_.version(), 11U);
}

TEST_F(ShardMachineTest, MemberWhoseClockDiffersIsRemovedIfItStaysSo) {
  lead_with_one();
  const auto pulse_with = [&](Millis ahead) {
    Pulse sent = pulse(kOne);
    sent.wall += ahead;
    machine_.pulsed(sent, now());
    pass_and_tick(250ms);
  };
  for (int i = 0; i < 20; ++i) pulse_with(i % 8 == 0 ? 500ms : -501ms);  // late, not wrong
  EXPECT_EQ(host_.commits, 0);
  for (int i = 0; i < 10 && host_.commits == 0; ++i) pulse_with(501ms);
  ASSERT_EQ(host_.commits, 1);
  EXPECT_TRUE(host_.sent.insync.empty());
  answer(CommitOutcome::done, 11);

  for (int i = 0; i < 10; ++i) pulse_with(501ms);
  EXPECT_EQ(host_.commits, 1);  // it does not come back
  ASSERT_EQ(machine_.members().size(), 1U);
  EXPECT_TRUE(machine_.members()[0].has_wrong_clock);
  EXPECT_EQ(machine_.peer_clock_ahead(), 501ms);
  EXPECT_NE(host_.lines.back().find("its clock is 501 ms ahead"), std::string::npos);
  pulse_with(500ms);
  EXPECT_EQ(host_.commits, 2);
  EXPECT_EQ(host_.sent.insync, std::vector{kOne});
}

TEST_F(ShardMachineTest, CommitWithoutAnAnswerIsSentAgainAsItWas) {
  lead_with_one();
  pass_and_tick(1340ms);
  answer(CommitOutcome::unknown);
  machine_.pulsed(pulse(kOne), now());
  pass_and_tick(60ms);
  EXPECT_EQ(host_.commits, 2);
  EXPECT_EQ(host_.base, 10U);
  EXPECT_TRUE(host_.sent.insync.empty());
}

TEST_F(ShardMachineTest, MemberThatLeavesIsRemovedAtOnce) {
  lead_with_one();
  pass(10ms);
  Pulse bye = pulse(kOne);
  bye.leaves = true;
  machine_.pulsed(bye, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 1);
}

TEST_F(ShardMachineTest, MemberWhoseNodeHasAnotherProcessIsRemovedAtOnceButOnlyByANewerRecord) {
  lead_with_one();
  see_live({kOne.node, kProcess + "0"}, 9);
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
  see_live({kOne.node, kProcess + "2"}, 11);
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 1);
}

TEST_F(ShardMachineTest, MemberThatIsBehindWhereTheLogWasALeaseAgoIsRemoved) {
  lead_with_one();
  host_.end = 200;
  for (int i = 0; i < 30 && host_.commits == 0; ++i) {
    pass_and_tick(100ms);
    Pulse late = pulse(kOne);
    late.offset = 150;
    machine_.pulsed(late, now());
  }
  EXPECT_EQ(host_.commits, 1);
  EXPECT_NE(host_.lines.back().find("too far behind"), std::string::npos) << host_.lines.back();
}

TEST_F(ShardMachineTest, JoinerIsAddedWhenItHasWhatIsInherited) {
  see(10, 5, kSelf, {});
  Pulse behind = pulse(kTwo);
  behind.offset = 99;
  machine_.pulsed(behind, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
  pass(10ms);
  machine_.pulsed(pulse(kTwo), now());
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.sent.insync, std::vector{kTwo});
  EXPECT_FALSE(machine_.has_set());
  answer(CommitOutcome::done, 11);
  EXPECT_TRUE(machine_.has_set());
  EXPECT_EQ(machine_.safe_offset(), 100U);
}

TEST_F(ShardMachineTest, JoinerNeedsOurHistoryAndOurTime) {
  see(10, 5, kSelf, {});
  Pulse other = pulse(kTwo);
  other.history = "other";
  machine_.pulsed(other, now());
  Pulse ahead = pulse(kOne);
  ahead.wall += 501ms;
  machine_.pulsed(ahead, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, OlderPulseDoesNotUndoANewerOne) {
  see(10, 5, kSelf, {});
  Pulse bye = pulse(kTwo);
  bye.leaves = true;
  machine_.pulsed(bye, now());
  Pulse late = pulse(kTwo);
  late.own -= 5ms;
  machine_.pulsed(late, now());
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, SafeIsWhatAllHaveAndNeverFalls) {
  see(10, 5, kSelf, {kOne, kTwo});
  machine_.pulsed(pulse(kOne), now());
  EXPECT_EQ(machine_.safe_offset(), 0U);
  machine_.pulsed(pulse(kTwo), now());
  EXPECT_EQ(machine_.safe_offset(), 100U);
  machine_.acknowledged(kOne, 180);
  machine_.acknowledged(kTwo, 150);
  EXPECT_EQ(machine_.safe_offset(), 150U);
  machine_.acknowledged(kTwo, 120);
  EXPECT_EQ(machine_.safe_offset(), 150U);
}

TEST_F(ShardMachineTest, RecordThatOthersChangedKeepsTheSet) {
  lead_with_one();
  ShardRecord moved = machine_.record();
  moved.slots = SlotSet({{0, 4}});
  machine_.record_seen(11, moved, now());
  EXPECT_TRUE(machine_.is_serving(now()));
  EXPECT_EQ(machine_.record().slots, moved.slots);
  EXPECT_EQ(machine_.set_size(), 1U);
  EXPECT_EQ(host_.calls, "lead ");
}

TEST_F(ShardMachineTest, PrimaryThatWasReplacedFollows) {
  lead_with_one();
  see(11, 6, kOne, {});
  EXPECT_EQ(machine_.role(), ShardRole::outside);
  EXPECT_FALSE(machine_.is_serving(now()));
  EXPECT_EQ(host_.calls, "lead follow ");
}

// ---- Planned handover ----

TEST_F(ShardMachineTest, HandoverWaitsForTheLogThenIsSilent) {
  lead_with_one();
  host_.end = 120;
  ASSERT_TRUE(machine_.hand_over(kOne.node, now() + 10s, now()));
  machine_.tick(now());
  EXPECT_EQ(host_.commits, 0);
  machine_.acknowledged(kOne, 120);
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.sent.primary, kOne);
  EXPECT_EQ(host_.sent.epoch, 6U);
  EXPECT_EQ(host_.sent.insync, std::vector{kSelf});
  EXPECT_EQ(host_.sent.since, host_.wall());
  EXPECT_FALSE(machine_.is_serving(now()));
  EXPECT_FALSE(machine_.pulsed(pulse(kOne), now()));
  answer(CommitOutcome::done, 11);
  EXPECT_EQ(machine_.role(), ShardRole::following);
  EXPECT_FALSE(machine_.is_handing_over());
  EXPECT_EQ(host_.calls, "lead pause detach follow go ");
}

TEST_F(ShardMachineTest, HandoverThatIsLateIsGivenUp) {
  lead_with_one();
  host_.end = 120;
  ASSERT_TRUE(machine_.hand_over(kOne.node, now() + 100ms, now()));
  pass_and_tick(110ms);
  EXPECT_FALSE(machine_.is_handing_over());
  EXPECT_TRUE(machine_.is_serving(now()));
  EXPECT_EQ(host_.calls, "lead pause go ");
}

TEST_F(ShardMachineTest, HandoverThatIsRefusedByAChangeOfSlotsGoesOnServing) {
  lead_with_one();
  ASSERT_TRUE(machine_.hand_over(kOne.node, now() + 10s, now()));
  machine_.tick(now());
  ShardRecord moved = machine_.record();
  moved.slots = SlotSet({{0, 4}});
  refuse(11, moved);
  EXPECT_TRUE(machine_.is_serving(now()));
  EXPECT_EQ(host_.calls, "lead pause detach lead go ");
}

TEST_F(ShardMachineTest, HandoverNeedsThePrimaryAndAMember) {
  lead_with_one();
  EXPECT_FALSE(machine_.hand_over(kTwo.node, now() + 10s, now()));
  see(11, 6, kOne, {kSelf});
  EXPECT_FALSE(machine_.hand_over(kOne.node, now() + 10s, now()));
}

TEST_F(ShardMachineTest, PlannedSuccessorServesAtOnceByTheLastEcho) {
  follow_one();
  const Time echo = now();
  pass(100ms);
  see(11, 6, kSelf, {kOne});
  EXPECT_EQ(machine_.role(), ShardRole::leading);
  EXPECT_EQ(machine_.serves_until(), echo + 2000ms);
  EXPECT_EQ(host_.floor_given, Time(1000s));
}

// ---- Following ----

TEST_F(ShardMachineTest, ReplicaPulsesWithTheLastToken) {
  follow_one();
  const Time token = now();
  pass_and_tick(250ms);
  ASSERT_EQ(host_.pulses.size(), 2U);
  EXPECT_EQ(host_.pulses[0].second.token, Time{});
  EXPECT_EQ(host_.pulses[1].second.token, token);
  EXPECT_EQ(host_.pulses[1].first, kOne);
}

TEST_F(ShardMachineTest, NodeOffersNothingBeforeItsOwnLiveRecordIsSeen) {
  see(10, 5, kOne, {kTwo});
  pass_and_tick(10ms);
  EXPECT_EQ(host_.pulses.back().second.history, "");
  EXPECT_FALSE(machine_.in_record());
  see_live(kSelf, 8);
  pass_and_tick(250ms);
  EXPECT_EQ(host_.pulses.back().second.history, "") << "nobody knows that it has data";
  see_live(kSelf, 9, 0, 0, 5);
  pass_and_tick(250ms);
  EXPECT_EQ(host_.pulses.back().second.history, "h");
}

TEST_F(ShardMachineTest, OneThatOfferedItselfIsOutWhenThePrimarySaysSo) {
  see_live(kSelf, 8, 0, 0, 5);
  see(10, 5, kOne, {kTwo});
  pass_and_tick(10ms);
  EXPECT_TRUE(machine_.in_record());
  PulseReply out = reply();
  out.is_in_sync = false;
  machine_.pulse_answered(kOne, out, now());  // to the pulse by which it may just be added
  EXPECT_TRUE(machine_.in_record());
  machine_.leave();
  pass_and_tick(10ms);
  EXPECT_TRUE(host_.pulses.back().second.leaves);
  out.echo = now();
  machine_.pulse_answered(kOne, out, now());
  EXPECT_FALSE(machine_.in_record());
}

TEST_F(ShardMachineTest, MemberThatHearsAServingPrimaryRefuses) {
  follow_one();
  const Canvass canvass{10, 5, kTwo, 100, Time(7s)};
  const auto answer = machine_.canvassed(canvass, now());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_granted);
  EXPECT_EQ(machine_.epoch(), 5U);
}

TEST_F(ShardMachineTest, MemberThatHearsNobodyPromisesAndLeavesTheEpoch) {
  follow_one();
  pass(2500ms);
  const auto answer = machine_.canvassed({10, 5, kTwo, 100, Time(7s)}, now());
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_granted);
  EXPECT_EQ(answer->token, Time(7s));
  EXPECT_EQ(machine_.epoch(), 6U);
  EXPECT_EQ(host_.calls, "follow detach ");
  const std::size_t pulses = host_.pulses.size();
  pass_and_tick(2490ms);
  EXPECT_EQ(host_.pulses.size(), pulses) << "nothing to the old primary";
  EXPECT_EQ(machine_.role(), ShardRole::following) << "it keeps its promise";
}

TEST_F(ShardMachineTest, MemberGoesBackOnlyWithANewerVersion) {
  follow_one();
  pass(2500ms);
  machine_.canvassed({10, 5, kTwo, 100, Time(7s)}, now());
  PulseReply late = reply();
  late.epoch = 5;
  machine_.pulse_answered(kOne, late, now());
  EXPECT_EQ(machine_.epoch(), 6U);
  see(11, 5, kOne, {kSelf});
  EXPECT_EQ(machine_.epoch(), 5U);
  EXPECT_EQ(machine_.stats().returns, 1U);
  EXPECT_EQ(host_.calls, "follow detach follow ");
}

TEST_F(ShardMachineTest, MemberThatIsAheadRefuses) {
  follow_one();
  pass(2500ms);
  const auto answer = machine_.canvassed({10, 5, kTwo, 99, Time(7s)}, now());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_granted);
  EXPECT_EQ(answer->offset, 100U);
}

// ---- Takeover ----

TEST_F(ShardMachineTest, ReplicaKeepsItsPromiseThenCanvassesAndCommits) {
  follow_one();
  pass_and_tick(2490ms);
  EXPECT_EQ(machine_.role(), ShardRole::following);
  pass_and_tick(10ms);
  EXPECT_EQ(machine_.role(), ShardRole::canvassing);
  ASSERT_EQ(host_.canvasses.size(), 1U);
  EXPECT_EQ(host_.canvasses[0].first, kTwo);
  const Time token = host_.canvasses[0].second.token;
  machine_.canvass_answered({10, kTwo, true, 90, token}, now());
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.base, 10U);
  EXPECT_EQ(host_.sent.epoch, 6U);
  EXPECT_EQ(host_.sent.primary, kSelf);
  EXPECT_EQ(host_.sent.insync, std::vector{kTwo});
  EXPECT_EQ(machine_.role(), ShardRole::taking);
  EXPECT_EQ(host_.calls, "follow detach ");
  answer(CommitOutcome::done, 11);
  EXPECT_EQ(machine_.serves_until(), token + 2000ms);
}

TEST_F(ShardMachineTest, TakerStartsNoEarlierThanThePrimaryMayHaveEnded) {
  follow_one();
  const Time wall = host_.wall() + 300ms;
  pass_and_tick(2700ms);
  ASSERT_EQ(host_.commits, 1);
  answer(CommitOutcome::done, 11);
  EXPECT_GE(host_.floor_given, wall + 2000ms);
  EXPECT_LE(host_.floor_given, wall + 2700ms);
}

TEST_F(ShardMachineTest, TakerIsDeafUntilTheOutcomeIsKnown) {
  follow_one();
  pass_and_tick(2700ms);
  ASSERT_EQ(machine_.role(), ShardRole::taking);
  answer(CommitOutcome::unknown);
  machine_.pulse_answered(kOne, reply(), now());
  EXPECT_FALSE(machine_.canvassed({10, 5, kTwo, 100, Time(7s)}, now()));
  const std::size_t pulses = host_.pulses.size();
  pass_and_tick(1000ms);
  EXPECT_EQ(machine_.role(), ShardRole::taking);
  EXPECT_EQ(host_.pulses.size(), pulses);
  EXPECT_EQ(host_.commits, 2);
}

TEST_F(ShardMachineTest, TakerThatIsRefusedFollowsTheWinner) {
  follow_one();
  pass_and_tick(2700ms);
  ShardRecord other = machine_.record();
  other.epoch = 6;
  other.primary = kTwo;
  other.insync.clear();
  refuse(11, other);
  EXPECT_EQ(machine_.role(), ShardRole::outside);
  EXPECT_EQ(host_.calls, "follow detach follow ");
}

TEST_F(ShardMachineTest, TakerFindsThatItsLostCommitWasDone) {
  follow_one();
  pass_and_tick(2700ms);
  answer(CommitOutcome::unknown);
  pass_and_tick(60ms);
  refuse(11, host_.sent);
  EXPECT_EQ(machine_.role(), ShardRole::leading);
}

TEST_F(ShardMachineTest, RefusalIsHeededTwice) {
  follow_one();
  pass_and_tick(2500ms);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(host_.canvasses.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(host_.commits, 0);
    machine_.canvass_answered({10, kTwo, false, 200, now()}, now());
    pass_and_tick(510ms);
  }
  EXPECT_EQ(host_.commits, 1);
  EXPECT_TRUE(host_.sent.insync.empty());
}

TEST_F(ShardMachineTest, ReplicaWantsATickWhenItsPromiseEnds) {
  follow_one();
  const Time end = now() + 2500ms;
  while (machine_.next_tick() < end) {
    host_.now = std::max(machine_.next_tick(), now() + 1ms);
    machine_.tick(now());
  }
  EXPECT_EQ(machine_.next_tick(), end);
}

TEST_F(ShardMachineTest, PrimaryThatAnswersEndsTheCanvass) {
  follow_one();
  pass_and_tick(2500ms);
  machine_.pulse_answered(kOne, reply(), now());
  EXPECT_EQ(machine_.role(), ShardRole::following);
  pass_and_tick(1000ms);
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, PromiseToADeadPrimaryNeedNotBeKept) {
  follow_one();
  see_live({kOne.node, kProcess + "0"}, 9);
  machine_.tick(now());
  EXPECT_EQ(machine_.role(), ShardRole::following) << "an older record proves nothing";
  see_live({kOne.node, kProcess + "2"}, 11);
  machine_.tick(now());
  EXPECT_EQ(machine_.role(), ShardRole::canvassing);
}

TEST_F(ShardMachineTest, NodeThatLeavesDoesNotTakeOver) {
  follow_one();
  machine_.leave();
  pass_and_tick(5000ms);
  EXPECT_EQ(host_.commits, 0);
  EXPECT_FALSE(machine_.canvassed({10, 5, kTwo, 100, Time(7s)}, now()));
  machine_.stay();
  pass_and_tick(300ms);
  EXPECT_EQ(host_.commits, 1);
}

TEST_F(ShardMachineTest, ForcedTakeoverGivesNoMorePromisesAndKeepsTheLastOne) {
  follow_one();
  host_.pulses.clear();
  ASSERT_TRUE(machine_.take_when_safe(now()));
  pass_and_tick(1000ms);
  EXPECT_TRUE(host_.pulses.empty());
  machine_.pulse_answered(kOne, reply(), now());  // to a pulse that was on its way
  pass_and_tick(1490ms);
  EXPECT_EQ(machine_.role(), ShardRole::following) << "the promise has not ended";
  pass_and_tick(10ms);
  EXPECT_EQ(machine_.role(), ShardRole::canvassing);
}

TEST_F(ShardMachineTest, ForcedTakeoverIsNotPutOffByARefusal) {
  follow_one();
  ASSERT_TRUE(machine_.take_when_safe(now()));
  pass_and_tick(2500ms);
  ASSERT_EQ(host_.canvasses.size(), 1U);
  const Canvass& question = host_.canvasses[0].second;
  machine_.canvass_answered({10, kTwo, false, 100, question.token}, now());
  machine_.tick(now());
  ASSERT_EQ(host_.commits, 1) << "no second round";
  EXPECT_EQ(host_.base, 10U);
  EXPECT_EQ(host_.sent.epoch, 6U);
  EXPECT_TRUE(host_.sent.insync.empty()) << "the one that said no has promised nothing";
}

TEST_F(ShardMachineTest, ForcedTakeoverEndsTheWaitAfterARefusal) {
  follow_one();
  pass_and_tick(2500ms);
  machine_.canvass_answered({10, kTwo, false, 100, host_.canvasses[0].second.token}, now());
  machine_.tick(now());
  ASSERT_EQ(machine_.role(), ShardRole::following);
  ASSERT_TRUE(machine_.take_when_safe(now()));
  machine_.tick(now());
  EXPECT_EQ(machine_.role(), ShardRole::canvassing);
}

TEST_F(ShardMachineTest, ForcedTakeoverEndsWhenTheNodeIsTakenOutOfTheSet) {
  follow_one();
  ASSERT_TRUE(machine_.take_when_safe(now()));
  see(11, 5, kOne, {kTwo});
  host_.pulses.clear();
  pass_and_tick(300ms);
  EXPECT_FALSE(host_.pulses.empty()) << "it wants to come in again";
  pass_and_tick(5000ms);
  EXPECT_EQ(host_.commits, 0);
}

TEST_F(ShardMachineTest, ForcedTakeoverNeedsAMemberOfTheSet) {
  EXPECT_FALSE(machine_.take_when_safe(now())) << "no record";
  see(10, 5, kOne, {kTwo});
  const Status outside = machine_.take_when_safe(now());
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().message.find("not in sync"), std::string::npos);
  see(11, 5, kOne, {kSelf, kTwo});
  host_.is_complete = false;
  EXPECT_FALSE(machine_.take_when_safe(now()));
  host_.is_complete = true;
  EXPECT_TRUE(machine_.take_when_safe(now()));
  see(12, 6, kSelf, {});
  EXPECT_FALSE(machine_.take_when_safe(now())) << "it leads";
}

TEST_F(ShardMachineTest, ForceWaitsForNothing) {
  follow_one();
  ASSERT_TRUE(machine_.take_by_force(now()));
  ASSERT_EQ(host_.commits, 1);
  EXPECT_EQ(host_.sent.epoch, 6U);
  EXPECT_TRUE(host_.sent.insync.empty());
  answer(CommitOutcome::done, 11);
  EXPECT_TRUE(machine_.is_serving(now()));
  EXPECT_FALSE(machine_.take_by_force(now()));
}

// ---- A register that has lost what it had ----

TEST_F(ShardMachineTest, ALaterVersionWithAnEarlierEpochIsNotAdopted) {
  see(5, 3, kSelf, {kOne});
  ASSERT_EQ(machine_.role(), ShardRole::leading);
  see(9, 2, kOne, {kSelf});
  EXPECT_EQ(machine_.role(), ShardRole::leading);
  EXPECT_EQ(machine_.version(), 5u);
  EXPECT_EQ(machine_.epoch(), 3u);
}

TEST_F(ShardMachineTest, TheSameEpochWithAnotherPrimaryIsNotAdopted) {
  see(5, 3, kOne, {kSelf});
  see(9, 3, kTwo, {kSelf});
  EXPECT_EQ(machine_.record().primary, kOne);
  see(10, 4, kTwo, {kSelf});
  EXPECT_EQ(machine_.record().primary, kTwo);
}

}  // namespace
}  // namespace mayfly
