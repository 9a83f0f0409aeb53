// SPDX-License-Identifier: Apache-2.0
// Are the operations that all systems do what they are said to be?

#include "bench/store/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mayfly::bench {
namespace {

std::string text(const StoreOp& op) { return std::string(op.key_view()); }

TEST(BenchKey, HasTwelveBytesAndTheOrderOfItsNumber) {
  const auto key = bench_key(42);
  EXPECT_EQ(std::string(key.data(), key.size()), "key:00000042");
  EXPECT_LT(bench_key(9), bench_key(10));
  EXPECT_LT(bench_key(9'999'999), bench_key(10'000'000));
}

TEST(MakeOps, AreTheSameForTheSameSeedAndOthersForAnother) {
  const OpsRequest request{.keys = 1000, .count = 1000};
  const auto first = make_ops(request);
  const auto again = make_ops(request);
  OpsRequest reseeded = request;
  reseeded.seed = 2;
  const auto other = make_ops(reseeded);
  EXPECT_TRUE(std::ranges::equal(first, again, {}, text, text));
  EXPECT_FALSE(std::ranges::equal(first, other, {}, text, text));
}

TEST(MakeOps, ShuffledHaveEachKeyOnceAndNotInOrder) {
  const auto ops = make_ops({.keys = 500, .count = 500, .order = KeyOrder::shuffled});
  std::set<std::string> keys;
  for (const StoreOp& op : ops) keys.insert(text(op));
  EXPECT_EQ(keys.size(), 500u);
  EXPECT_FALSE(std::ranges::is_sorted(ops, {}, text));
}

TEST(MakeOps, AppendedComeBehindAllThatIsThere) {
  const auto ops = make_ops({.keys = 500, .count = 20, .order = KeyOrder::appended});
  EXPECT_EQ(text(ops.front()), "key:00000500");
  EXPECT_TRUE(std::ranges::is_sorted(ops, {}, text));
}

TEST(MakeOps, MixedAreSevenGetsToTwoPutsToOneErasure) {
  const auto ops = make_ops({.keys = 1000, .count = 10'000, .mixed = true});
  std::map<StoreOp::Kind, int> kinds;
  for (const StoreOp& op : ops) ++kinds[op.kind];
  EXPECT_NEAR(kinds[StoreOp::Kind::get], 7000, 200);
  EXPECT_NEAR(kinds[StoreOp::Kind::put], 2000, 200);
  EXPECT_NEAR(kinds[StoreOp::Kind::erase], 1000, 200);
}

TEST(MakeOps, OnlyHaveDeadlinesWhereTtlsAreWanted) {
  for (const StoreOp& op : make_ops({.keys = 10, .count = 10})) EXPECT_EQ(op.deadline, kNever);
  for (const StoreOp& op : make_ops({.keys = 10, .count = 10, .ttl = true})) {
    EXPECT_GT(op.deadline, kStoreBenchStart);
    EXPECT_LE(op.deadline, kStoreBenchStart + std::chrono::hours(1));
  }
}

TEST(BenchDeadline, StaysOnItsSideOfTheMiddleInAllGenerations) {
  int due = 0;
  for (std::size_t number = 0; number < 10'000; ++number) {
    const bool first = is_due(bench_deadline(number, 0), kStoreBenchHalfDue);
    for (unsigned generation = 1; generation < 8; ++generation) {
      ASSERT_NE(bench_deadline(number, generation), bench_deadline(number, 0));
      ASSERT_EQ(is_due(bench_deadline(number, generation), kStoreBenchHalfDue), first) << number;
    }
    due += first ? 1 : 0;
  }
  EXPECT_NEAR(due, 5000, 300);
}

TEST(ValuePool, GivesValuesOfItsSizeThatDifferByGeneration) {
  const ValuePool values(60, 1);
  const auto old = make_ops({.keys = 100, .count = 100, .order = KeyOrder::sequential});
  const auto young =
      make_ops({.keys = 100, .count = 100, .order = KeyOrder::sequential, .generation = 1});
  int same = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    EXPECT_EQ(values[old[i]].size(), 60u);
    same += values[old[i]] == values[young[i]] ? 1 : 0;
  }
  EXPECT_LE(same, 1);
}

TEST(Digest, SeesTheSizeTheFirstAndTheLastByte) {
  const std::string value(60, 'a');
  std::string other = value;
  other.front() = 'b';
  EXPECT_NE(digest(value), digest(other));
  other = value;
  other.back() = 'b';
  EXPECT_NE(digest(value), digest(other));
  EXPECT_NE(digest(value), digest(value + "a"));
  EXPECT_EQ(digest("abc"), 3u);
}

}  // namespace
}  // namespace mayfly::bench
