// SPDX-License-Identifier: Apache-2.0
// A register over members of etcd that lose requests and answers, hang, and fail.

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "etcd/etcd_register_fixture.h"
#include "etcd/gateway/requests.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

const RegisterCommit kFirst{.compares = {{"a", 0}}, .puts = {{"a", "one"}}};

TEST(EtcdRegister, ReadsAndCommits) {
  EtcdFixture etcd;
  etcd.open();

  const CommitAnswer done = etcd.commit(kFirst);
  EXPECT_EQ(done.outcome, CommitOutcome::done);
  const auto snapshot = etcd.read();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->entries.size(), 1u);
  EXPECT_EQ(snapshot->entries[0].key, "a");
  EXPECT_EQ(snapshot->entries[0].value, "one");
  EXPECT_EQ(snapshot->entries[0].version, done.version);

  const CommitAnswer refused = etcd.commit({.compares = {{"a", 0}}, .puts = {{"a", "two"}}});
  EXPECT_EQ(refused.outcome, CommitOutcome::refused);
  ASSERT_EQ(refused.current.size(), 1u);
  EXPECT_EQ(refused.current[0].value, "one");
  EXPECT_TRUE(etcd.records->stats().is_connected);
}

// For each way in which an attempt can fail: the next endpoint answers, and what has happened is
// done, once.
TEST(EtcdRegister, CommitsOnceWhateverBecomesOfTheFirstAttempt) {
  for (const Fault fault : {Fault::lose_request, Fault::lose_answer, Fault::hang, Fault::hang_after,
                            Fault::error_before, Fault::error_after}) {
    for (const std::size_t members : {1u, 3u}) {
      EtcdFixture etcd(members);
      const bool is_hang = fault == Fault::hang || fault == Fault::hang_after;
      if (is_hang) etcd.options.call_timeout = Millis(1000);
      etcd.open();
      ASSERT_TRUE(etcd.read());  // the connection is kept: libcurl would repeat a request on it
      etcd.set_faults(first(1, kTxnPath, fault));

      const CommitAnswer answer = etcd.commit(kFirst);
      EXPECT_EQ(answer.outcome, CommitOutcome::done) << static_cast<int>(fault);
      const auto history = etcd.model.history();
      ASSERT_EQ(history.size(), 1u) << static_cast<int>(fault);
      EXPECT_EQ(answer.version, history[0].version);
      const std::size_t attempts = etcd.requests(kTxnPath).size();
      EXPECT_GE(attempts, 2u) << static_cast<int>(fault);
      // A busy machine may let an attempt time out that does not hang.
      if (!is_hang) {
        EXPECT_EQ(attempts, 2u) << static_cast<int>(fault);
      }
    }
  }
}

TEST(EtcdRegister, RefusesIfSomebodyElseWasFirst) {
  EtcdFixture etcd(2);
  etcd.open();
  etcd.set_faults(first(1, kTxnPath, Fault::lose_request));
  etcd.model.put("/m/a", "other");

  const CommitAnswer answer = etcd.commit(kFirst);
  EXPECT_EQ(answer.outcome, CommitOutcome::refused);
  ASSERT_EQ(answer.current.size(), 1u);
  EXPECT_EQ(answer.current[0].value, "other");
}

TEST(EtcdRegister, IsUnknownAfterAWhileAndIsFoundOutByRepeatingIt) {
  EtcdFixture etcd;
  etcd.options.give_up_after = Millis(200);
  etcd.open();
  etcd.set_faults([](std::size_t, const ScriptedRequest&) { return Fault::error_after; });
  const CommitAnswer unknown = etcd.commit(kFirst);
  EXPECT_EQ(unknown.outcome, CommitOutcome::unknown);
  EXPECT_NE(unknown.error.find("request timed out"), std::string::npos) << unknown.error;
  EXPECT_EQ(etcd.records->stats().unknown, 1u);
  EXPECT_FALSE(etcd.records->stats().is_connected);

  etcd.set_faults(nullptr);
  const CommitAnswer answer = etcd.commit(kFirst);
  EXPECT_EQ(answer.outcome, CommitOutcome::done);
  ASSERT_EQ(etcd.model.history().size(), 1u);
  EXPECT_EQ(answer.version, etcd.model.history()[0].version);
}

TEST(EtcdRegister, StaysWithTheEndpointThatAnswers) {
  EtcdFixture etcd(3);
  etcd.open();
  std::vector<std::size_t> asked;
  std::mutex mutex;
  etcd.set_faults([&](std::size_t member, const ScriptedRequest&) {
    const std::lock_guard lock(mutex);
    asked.push_back(member);
    return member == 1 ? Fault::none : Fault::lose_request;
  });

  for (int i = 0; i < 5; ++i) ASSERT_TRUE(etcd.read());
  const std::lock_guard lock(mutex);
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1, 1, 1, 1, 1}));
}

TEST(EtcdRegister, SaysWhyNobodyAnswers) {
  EtcdFixture etcd;
  etcd.servers.clear();  // nobody listens there any more
  etcd.open();

  const auto snapshot = etcd.read();
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().message,
            "etcd at " + etcd.options.endpoints[0] +
                " cannot be reached: connection refused (is it running? see cluster-etcd)");
  const CommitAnswer answer = etcd.commit(kFirst);
  EXPECT_EQ(answer.outcome, CommitOutcome::unknown);
  EXPECT_EQ(answer.error, snapshot.error().message);
}

TEST(EtcdRegister, EndsAtOnceWhileItWaitsForAnAnswer) {
  EtcdFixture etcd;
  etcd.options.call_timeout = Millis(100'000);
  etcd.options.give_up_after = Millis(100'000);
  etcd.open();
  etcd.set_faults([](std::size_t, const ScriptedRequest&) { return Fault::hang; });
  etcd.records->watch([](const std::vector<RegisterEntry>&) {});
  etcd.records->commit(kFirst, [](const CommitAnswer&) { FAIL(); });
  etcd.wait_until([&] { return !etcd.requests(kTxnPath).empty(); });

  const std::int64_t begun = monotonic_ns();
  etcd.records.reset();
  EXPECT_LT(monotonic_ns() - begun, 10'000'000'000);
}

// Ends and questions from several threads must not meet: opened and closed in all states.
TEST(EtcdRegister, MayEndAtAnyMoment) {
  EtcdFixture etcd(2);
  for (int i = 0; i < 50; ++i) {
    etcd.open();
    etcd.records->watch([](const std::vector<RegisterEntry>&) {});
    etcd.records->announce("live/1", std::to_string(i));
    if (i % 3 != 0) static_cast<void>(etcd.read());
    if (i % 3 == 2) static_cast<void>(etcd.commit(kFirst));
    etcd.records.reset();
  }
}

// Random faults at three members. Each value is put by one commit only, so the history of the model
// tells what became of each.
TEST(EtcdRegister, TellsTheTruthUnderRandomFaults) {
  EtcdFixture etcd(3);
  etcd.options.call_timeout = Millis(40);
  etcd.options.give_up_after = Millis(120);
  etcd.options.retry_pause = Millis(1);
  etcd.open();
  std::mt19937 random(7);
  etcd.set_faults([&random](std::size_t, const ScriptedRequest& request) {
    const unsigned dice = static_cast<unsigned>(random() % 40);
    const bool is_hang = dice == 3 || dice == 4;
    if (is_hang && request.path != kTxnPath) return Fault::none;
    return dice <= 6 ? static_cast<Fault>(dice) : dice < 12 ? Fault::lose_answer : Fault::none;
  });

  std::uint64_t version = 0;
  std::map<std::string, std::uint64_t> done;
  std::set<std::string> refused;
  for (int i = 0; i < 300; ++i) {
    const std::string value = std::to_string(i);
    const RegisterCommit commit{.compares = {{"a", version}}, .puts = {{"a", value}}};
    CommitAnswer answer = etcd.commit(commit);
    while (answer.outcome == CommitOutcome::unknown) answer = etcd.commit(commit);
    if (answer.outcome == CommitOutcome::done) {
      done.emplace(value, answer.version);
      version = answer.version;
    } else {
      refused.insert(value);
      version = answer.current.at(0).version;
    }
    if (i % 10 == 9) etcd.model.put("/m/a", "somebody else's");
  }

  std::map<std::string, std::uint64_t> happened;
  for (const auto& change : etcd.model.history()) {
    if (change.value.find(' ') != std::string::npos) continue;
    EXPECT_TRUE(happened.emplace(change.value, change.version).second) << change.value;
  }
  EXPECT_EQ(happened, done);
  EXPECT_EQ(done.size() + refused.size(), 300u);
  EXPECT_EQ(refused.size(), 29u);
}

}  // namespace
}  // namespace mayfly
