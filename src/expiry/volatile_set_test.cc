// SPDX-License-Identifier: Apache-2.0
// What the volatile set promises beyond the common suite: order, ranges, estimates, and that its
// shape follows what is in it.

#include "mayfly/volatile_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "mayfly/random.h"

namespace mayfly {
namespace volatile_set_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }

class VolatileSetTest : public testing::Test {
 protected:
  void fill(Slot slots, std::uint64_t range_ms) {
    for (Slot slot = 0; slot < slots; ++slot) {
      const Time deadline = at(static_cast<std::int64_t>(random_.below(range_ms)));
      set_.schedule(slot, deadline);
      model_.emplace(deadline, slot);
    }
  }

  std::size_t count_in_model(Time now) const {
    return static_cast<std::size_t>(std::distance(model_.begin(), model_.upper_bound(now)));
  }

  void TearDown() override { EXPECT_EQ(set_.check_invariants(), ""); }

  Random random_{5};
  VolatileSet set_;
  std::multimap<Time, Slot> model_;
};

TEST_F(VolatileSetTest, VisitsInOrderOfDeadline) {
  fill(20'000, 50'000);
  std::vector<Time> seen;
  set_.visit(Time::min(), kNever, [&](Slot slot, Time deadline) {
    EXPECT_EQ(set_.deadline(slot), deadline);
    seen.push_back(deadline);
    return true;
  });
  EXPECT_EQ(seen.size(), 20'000u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(VolatileSetTest, VisitsARangeThatIncludesItsStartAndNotItsEnd) {
  fill(20'000, 50'000);
  for (int i = 0; i < 50; ++i) {
    const Time from = at(static_cast<std::int64_t>(random_.below(50'000)));
    const Time to = from + Millis(static_cast<std::int64_t>(random_.below(3'000)));
    std::size_t seen = 0;
    set_.visit(from, to, [&](Slot, Time deadline) {
      EXPECT_TRUE(from <= deadline && deadline < to);
      ++seen;
      return true;
    });
    const auto first = model_.lower_bound(from);
    EXPECT_EQ(seen, static_cast<std::size_t>(std::distance(first, model_.lower_bound(to))));
  }
}

TEST_F(VolatileSetTest, FindsTheFirstDeadlineFromAMomentOn) {
  EXPECT_EQ(set_.first_deadline(Time::min()), kNever);
  fill(20'000, 50'000);
  for (int i = 0; i < 200; ++i) {
    const Time from = at(static_cast<std::int64_t>(random_.below(51'000)));
    const auto first = model_.lower_bound(from);
    EXPECT_EQ(set_.first_deadline(from), first == model_.end() ? kNever : first->first);
  }
}

TEST_F(VolatileSetTest, FindsTheFirstDeadlineAmongManyThatAreTheSame) {
  fill(10'000, 1);
  EXPECT_EQ(set_.first_deadline(Time::min()), model_.begin()->first);
  EXPECT_EQ(set_.first_deadline(model_.begin()->first + Millis(1)), kNever);
}

TEST_F(VolatileSetTest, StopsVisitingWhenToldTo) {
  fill(1'000, 100);
  int seen = 0;
  set_.visit(Time::min(), kNever, [&](Slot, Time) { return ++seen < 10; });
  EXPECT_EQ(seen, 10);
}

TEST_F(VolatileSetTest, CountsExactlyAndEstimatesWithinABucket) {
  fill(50'000, 1'000'000);
  for (std::int64_t ms = -1; ms < 1'100'000; ms += 9'973) {
    const std::size_t exact = count_in_model(at(ms));
    const std::size_t estimate = set_.estimate_due(at(ms));
    EXPECT_EQ(set_.count_due(at(ms)), exact);
    EXPECT_LE(estimate > exact ? estimate - exact : exact - estimate, 2048u);
  }
}

// 60,000 slots in one millisecond cannot be told apart by time, so the slot itself must tell.
TEST_F(VolatileSetTest, TurnsIntoAHashWithinOneMillisecondAndBack) {
  for (Slot slot = 0; slot < 60'000; ++slot) set_.schedule(slot, at(7));
  set_.schedule(60'000, at(8));
  EXPECT_EQ(set_.check_invariants(), "");
  EXPECT_EQ(set_.count_due(at(7)), 60'000u);

  for (Slot slot = 1; slot < 60'000; ++slot) set_.cancel(slot);
  EXPECT_EQ(set_.check_invariants(), "");
  EXPECT_EQ(set_.next_deadline(), at(7));
  EXPECT_EQ(set_.count_due(at(8)), 2u);
}

TEST_F(VolatileSetTest, FollowsTimeForward) {
  std::vector<Due> due;
  for (std::int64_t ms = 0; ms < 3'000'000; ms += 100) {
    for (Slot slot = 0; slot < 3; ++slot) {
      set_.schedule(static_cast<Slot>(ms / 100 * 3 % 3'000) + slot, at(ms + 60'000 + slot));
    }
    due.clear();
    set_.take_due(at(ms), 100, due);
  }
  EXPECT_LE(set_.size(), 3'000u);
}

}  // namespace volatile_set_test
}  // namespace mayfly
