// SPDX-License-Identifier: Apache-2.0
// Sums of deadlines against a list of all entries.

#include "keyspace/forecast/deadline_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace {

using Entry = DeadlineSums::Entry;

DeadlineSum sum_of(const std::vector<Entry>& entries, Time end) {
  DeadlineSum sum;
  for (const Entry& entry : entries) {
    if (entry.deadline < end) sum += {1, entry.bytes};
  }
  return sum;
}

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(DeadlineSumsTest, RoundsUpToTheEndOfACell) {
  EXPECT_EQ(DeadlineSums::round_up(at(0)), at(0));
  EXPECT_EQ(DeadlineSums::round_up(at(1)), at(128));
  EXPECT_EQ(DeadlineSums::round_up(at(128)), at(128));
  EXPECT_EQ(DeadlineSums::round_up(at(129)), at(256));
  EXPECT_EQ(DeadlineSums::round_up(at(-1)), at(0));
  EXPECT_EQ(DeadlineSums::round_up(kNever), kNever);
}

TEST(DeadlineSumsTest, IsEmptyWithoutEntries) {
  const DeadlineSums sums;
  EXPECT_EQ(sums.total(), DeadlineSum{});
  EXPECT_EQ(sums.until(std::vector{at(0), at(128)}), std::vector<DeadlineSum>(2));
  EXPECT_EQ(sums.allocated_bytes(), 0u);
}

TEST(DeadlineSumsTest, KeepsDeadlinesOutsideOfAllCalendars) {
  DeadlineSums sums;
  sums.add(at(INT64_MIN + 1), 1);
  sums.add(at(INT64_MAX - 1), 2);
  sums.add(at(-5), 4);
  const std::vector moments{at(INT64_MIN + 1024), at(0), at(128)};
  const std::vector<DeadlineSum> found = sums.until(moments);
  EXPECT_EQ(found[0].entries, 1u);
  EXPECT_EQ(found[1].entries, 2u);
  EXPECT_EQ(found[2].bytes, 5u);
  EXPECT_EQ(sums.check_invariants(), "");
}

TEST(DeadlineSumsTest, TakesLittleMemoryForSparseDeadlines) {
  DeadlineSums sums;
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    sums.add(at(static_cast<std::int64_t>(random.below(65'536))), 100);
  }
  EXPECT_LT(sums.allocated_bytes(), 1000u);
  for (int i = 0; i < 300; ++i) sums.add(at(1), 100);  // too many for small numbers
  EXPECT_LT(sums.allocated_bytes(), 3000u);
  EXPECT_EQ(sums.until(std::vector{at(65'536)}).front(), (DeadlineSum{450, 45'000}));
  EXPECT_EQ(sums.check_invariants(), "");
  for (int i = 0; i < 300; ++i) sums.remove(at(1), 100);
  EXPECT_EQ(sums.check_invariants(), "");
}

TEST(DeadlineSumsTest, CountsManyBytesExactly) {
  constexpr std::uint64_t kLarge = std::uint64_t{3} << 30;
  DeadlineSums sums;
  for (int i = 0; i < 100; ++i) sums.add(at(i * 128), kLarge);
  EXPECT_EQ(sums.total(), (DeadlineSum{100, 100 * kLarge}));
  EXPECT_EQ(sums.until(std::vector{at(50 * 1024)}).front(), sums.total());
  EXPECT_EQ(sums.check_invariants(), "");
  for (int i = 0; i < 99; ++i) sums.remove(at(i * 128), kLarge);
  EXPECT_EQ(sums.until(std::vector{kNever}).front(), (DeadlineSum{1, kLarge}));
  EXPECT_EQ(sums.check_invariants(), "");
}

TEST(DeadlineSumsTest, TakesLittleMemoryForOneTimeAndGivesItBack) {
  DeadlineSums sums;
  for (int i = 0; i < 100'000; ++i) sums.add(at(1'000'000'000), 100);
  EXPECT_LT(sums.allocated_bytes(), 300u);
  for (int i = 0; i < 100'000; ++i) sums.remove(at(1'000'000'000), 100);
  EXPECT_EQ(sums.total(), DeadlineSum{});
  EXPECT_EQ(sums.check_invariants(), "");
}

// Random entries, of which many share a block or a cell, and some are far away.
class DeadlineSumsModelTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  Time random_deadline() {
    switch (random_.below(4)) {
      case 0:
        return at(static_cast<std::int64_t>(random_.below(2'000)));
      case 1:
        return at(static_cast<std::int64_t>(random_.below(66'000)));
      case 2:
        return at(static_cast<std::int64_t>(random_.below(3'600'000)));
      default:
        return at(static_cast<std::int64_t>(random_.below(std::uint64_t{1} << 40)));
    }
  }

  void check(const std::vector<Entry>& entries) {
    std::vector<Time> moments;
    for (int i = 0; i < 6; ++i) moments.push_back(DeadlineSums::round_up(random_deadline()));
    moments.push_back(kNever);
    std::ranges::sort(moments);
    const std::vector<DeadlineSum> found = sums_.until(moments);
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const DeadlineSum expected = sum_of(entries, moments[i]);
      ASSERT_EQ(found[i].entries, expected.entries);
      const bool is_exact = moments[i].time_since_epoch().count() % 1024 == 0;
      if (is_exact) {
        ASSERT_EQ(found[i].bytes, expected.bytes);
      }
    }
    ASSERT_EQ(sums_.total(), sum_of(entries, kNever));
    ASSERT_EQ(sums_.check_invariants(), "");
  }

  Random random_{GetParam()};
  DeadlineSums sums_;
};

TEST_P(DeadlineSumsModelTest, EqualsAListOfEntries) {
  std::vector<Entry> entries;
  for (int step = 0; step < 6'000; ++step) {
    const bool grows = random_.below(step % 2'000 < 1'200 ? 4 : 2) != 0;
    if (grows || entries.empty()) {
      entries.push_back({random_deadline(), random_.below(1000)});
      sums_.add(entries.back().deadline, entries.back().bytes);
    } else {
      std::swap(entries[random_.below(entries.size())], entries.back());
      Entry& last = entries.back();
      if (random_.below(4) == 0) {
        const Entry before = last;
        if (random_.below(2) == 0) last.deadline = random_deadline();
        if (random_.below(2) == 0) last.bytes = random_.below(1000);
        sums_.replace(before, last);
      } else {
        sums_.remove(last.deadline, last.bytes);
        entries.pop_back();
      }
    }
    if (step % 50 == 0) check(entries);
  }
  for (; !entries.empty(); entries.pop_back()) {
    sums_.remove(entries.back().deadline, entries.back().bytes);
  }
  check(entries);
  EXPECT_EQ(sums_.until(std::vector{kNever}).front(), DeadlineSum{});
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeadlineSumsModelTest, testing::Range<std::uint64_t>(1, 7));

}  // namespace
}  // namespace mayfly
