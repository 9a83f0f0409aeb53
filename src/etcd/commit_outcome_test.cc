// SPDX-License-Identifier: Apache-2.0
// What a refused repetition of a commit means.

#include "etcd/commit_outcome.h"

#include <gtest/gtest.h>

#include <string>

#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::string_view kCommitPrefix = "/m/";

const RegisterCommit kMove{.compares = {{"a", 5}, {"b", 7}, {"c", 0}},
                           .puts = {{"a", "new a"}, {"b", "new b"}, {"c", "new c"}}};

std::vector<RegisterEntry> moved() {
  return {{"a", "new a", 9}, {"b", "new b", 9}, {"c", "new c", 9}};
}

// A refusal of etcd with these records.
std::string refusal(const std::vector<RegisterEntry>& current) {
  std::string body = R"({"header":{"revision":"20"},"responses":[)";
  for (const RegisterEntry& entry : current) {
    if (&entry != current.data()) body += ',';
    body += R"({"response_range":{"kvs":[)";
    if (entry.value) {
      body += R"({"key":")" + base64(std::string(kCommitPrefix).append(entry.key)) +
              R"(","value":")" + base64(*entry.value) + R"(","mod_revision":")" +
              std::to_string(entry.version) + R"("})";
    }
    body += "]}}";
  }
  return body + "]}";
}

CommitAnswer answer_of(const RegisterCommit& commit, const std::vector<RegisterEntry>& current,
                       bool was_repeated) {
  return commit_answer({refusal(current), was_repeated}, kCommitPrefix, commit);
}

TEST(CommitOutcome, ARefusalWithoutAnEarlierAttemptIsOne) {
  const CommitAnswer answer = answer_of(kMove, moved(), false);

  EXPECT_EQ(answer.outcome, CommitOutcome::refused);
  EXPECT_EQ(answer.current.size(), 3u);
}

TEST(CommitOutcome, ARefusedRepetitionIsDoneIfTheRecordsAreOurs) {
  const CommitAnswer answer = answer_of(kMove, moved(), true);

  EXPECT_EQ(answer.outcome, CommitOutcome::done);
  EXPECT_EQ(answer.version, 9u);
}

TEST(CommitOutcome, ARefusedRepetitionIsRefusedIfOneRecordIsNotOurs) {
  auto other = moved();
  other[1].value = "other";
  EXPECT_EQ(answer_of(kMove, other, true).outcome, CommitOutcome::refused);

  auto absent = moved();
  absent[2] = {"c", std::nullopt, 0};
  EXPECT_EQ(answer_of(kMove, absent, true).outcome, CommitOutcome::refused);

  auto two_commits = moved();
  two_commits[1].version = 10;
  EXPECT_EQ(answer_of(kMove, two_commits, true).outcome, CommitOutcome::refused);
}

TEST(CommitOutcome, AValueThatWasThereBeforeIsNoSign) {
  const RegisterCommit commit{.compares = {{"a", 5}, {"b", 7}}, .puts = {{"a", "same"}}};

  EXPECT_EQ(answer_of(commit, {{"a", "same", 5}, {"b", "x", 8}}, true).outcome,
            CommitOutcome::refused);
  EXPECT_EQ(answer_of(commit, {{"a", "same", 8}, {"b", "x", 7}}, true).outcome,
            CommitOutcome::done);
}

TEST(CommitOutcome, ADeletedRecordIsASignIfItWasThere) {
  const RegisterCommit removal{.compares = {{"a", 5}}, .puts = {{"a", std::nullopt}}};
  const CommitAnswer removed = answer_of(removal, {{"a", std::nullopt, 0}}, true);
  EXPECT_EQ(removed.outcome, CommitOutcome::done);
  EXPECT_EQ(removed.version, 20u);
  EXPECT_EQ(answer_of(removal, {{"a", "x", 6}}, true).outcome, CommitOutcome::refused);
}

TEST(CommitOutcome, StaysUnknownIfNothingComparedIsChanged) {
  const RegisterCommit commit{.compares = {{"a", 5}}, .puts = {{"b", "x"}}};

  EXPECT_EQ(answer_of(commit, {{"a", "y", 6}}, true).outcome, CommitOutcome::unknown);
  EXPECT_EQ(answer_of(commit, {{"a", "y", 6}}, false).outcome, CommitOutcome::refused);
}

TEST(CommitOutcome, IsUnknownWithTheReasonIfThereIsNoAnswerOrAWrongOne) {
  const CommitAnswer none =
      commit_answer({Error{Code::io, "no answer"}, false}, kCommitPrefix, kMove);
  EXPECT_EQ(none.outcome, CommitOutcome::unknown);
  EXPECT_EQ(none.error, "no answer");

  const CommitAnswer wrong = commit_answer({std::string("{}"), false}, kCommitPrefix, kMove);
  EXPECT_EQ(wrong.outcome, CommitOutcome::unknown);
  EXPECT_NE(wrong.error, "");
}

}  // namespace
}  // namespace mayfly
