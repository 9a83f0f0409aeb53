// SPDX-License-Identifier: Apache-2.0
// Expiry: what a user says about an entry's life becomes a deadline, never early, without overflow,
// and with jitter that is even, bounded and reproducible.

#include "mayfly/expiry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mayfly/cache.h"
#include "mayfly/internal/cache_core.h"

namespace mayfly::internal {
namespace expiry_test {

using namespace std::chrono_literals;

constexpr Time kNow = Time(Millis(1'800'000'000'000));
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Expiry, GivesADeadlineOneTtlFromNow) {
  EXPECT_EQ(Expiry(30s).deadline(kNow), kNow + 30s);
  EXPECT_EQ(Expiry(1ms).deadline(kNow), kNow + 1ms);
}

TEST(Expiry, KeepsADeadlineThatWasGiven) {
  EXPECT_EQ(Expiry(kNow - 5s).deadline(kNow), kNow - 5s);
  EXPECT_EQ(Expiry(Time::min()).deadline(kNow), Time::min());
}

TEST(Expiry, NeverHasNoDeadline) { EXPECT_EQ(Expiry::never().deadline(kNow), kNever); }

TEST(Expiry, RoundsFinerUnitsUp) {
  EXPECT_EQ(Expiry(1us).deadline(kNow), kNow + 1ms);
  EXPECT_EQ(Expiry(1ns).deadline(kNow), kNow + 1ms);
  EXPECT_EQ(Expiry(1'000'001ns).deadline(kNow), kNow + 2ms);
  EXPECT_EQ(Expiry(std::chrono::duration<double>(0.0005)).deadline(kNow), kNow + 1ms);
}

TEST(Expiry, IsDueAtOnceWhenTheTtlIsZeroOrNegative) {
  EXPECT_TRUE(is_due(Expiry(0ms).deadline(kNow), kNow));
  EXPECT_TRUE(is_due(Expiry(-1h).deadline(kNow), kNow));
  EXPECT_TRUE(is_due(Expiry(-1ns).deadline(kNow), kNow));
  EXPECT_TRUE(is_due(Expiry(std::chrono::hours::min()).deadline(kNow), kNow));
  EXPECT_TRUE(is_due(Expiry(Millis::min()).deadline(Time(Millis(-5))), Time(Millis(-5))));
}

TEST(Expiry, IsNeverWhenTheTtlIsTooLongForTheCalendar) {
  EXPECT_EQ(Expiry(Millis::max()).deadline(kNow), kNever);
  EXPECT_EQ(Expiry(std::chrono::hours::max()).deadline(kNow), kNever);
  EXPECT_EQ(Expiry(std::chrono::duration<double>(1e300)).deadline(kNow), kNever);
  EXPECT_EQ(Expiry(Millis(kHuge - 5)).deadline(Time(Millis(10))), kNever);
}

TEST(Expiry, SlidingStartsWithTheSoonerOfIdleAndCap) {
  EXPECT_EQ(Expiry::sliding(30s).deadline(kNow), kNow + 30s);
  EXPECT_EQ(Expiry::sliding(30s, 8h).deadline(kNow), kNow + 30s);
  EXPECT_EQ(Expiry::sliding(30s, 10s).deadline(kNow), kNow + 10s);
}

TEST(Expiry, OnlySlidingOnesSlide) {
  EXPECT_TRUE(Expiry::sliding(30s).is_sliding());
  EXPECT_FALSE(Expiry(30s).is_sliding());
  EXPECT_FALSE(Expiry(kNow).is_sliding());
  EXPECT_FALSE(Expiry::never().is_sliding());
}

TEST(Expiry, BecomesStaleOnlyIfAsked) {
  EXPECT_EQ(Expiry(60s).refresh_at(kNow), kNever);
  EXPECT_EQ(Expiry(60s).refresh_after(45s).refresh_at(kNow), kNow + 45s);
  EXPECT_EQ(Expiry(60s).refresh_after(45s).deadline(kNow), kNow + 60s);
  EXPECT_EQ(Expiry(60s).refresh_after(Millis::max()).refresh_at(kNow), kNever);
}

class JitterTest : public testing::Test {
 protected:
  Millis ttl(const Expiry& expiry, double percent) {
    return jittered(expiry, percent, random_).deadline(kNow) - kNow;
  }

  Random random_{42};
};

TEST_F(JitterTest, StaysWithinItsPercentage) {
  for (int i = 0; i < 10'000; ++i) {
    const Millis jittered = ttl(Expiry(1h), 15);
    ASSERT_GE(jittered, 51min);
    ASSERT_LE(jittered, 69min);
  }
}

TEST_F(JitterTest, UsesItsWholeRangeEvenly) {
  std::vector<int> tenths(10);
  for (int i = 0; i < 20'000; ++i) {
    const auto above = (ttl(Expiry(1'000'000ms), 10) - 900'000ms).count();
    ++tenths[static_cast<std::size_t>(std::min<std::int64_t>(above / 20'000, 9))];
  }
  for (const int count : tenths) EXPECT_NEAR(count, 2'000, 200);
}

// Whole milliseconds are coarse for a short TTL; yet it must become shorter as often as longer.
TEST_F(JitterTest, KeepsTheMeanOfAShortTtl) {
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) sum += static_cast<double>(ttl(Expiry(20ms), 50).count());
  EXPECT_NEAR(sum / 20'000, 20, 0.6);
}

TEST_F(JitterTest, IsTheSameForTheSameSeedOnly) {
  Random same(42);
  Random other(43);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const Millis one = ttl(Expiry(1h), 15);
    EXPECT_EQ(one, jittered(Expiry(1h), 15, same).deadline(kNow) - kNow);
    equal += one == jittered(Expiry(1h), 15, other).deadline(kNow) - kNow ? 1 : 0;
  }
  EXPECT_LT(equal, 5);
}

TEST_F(JitterTest, LeavesDeadlinesSlidingTtlsAndNeverAsTheyAre) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ttl(Expiry(kNow + 1h), 50), 1h);
    EXPECT_EQ(ttl(Expiry::sliding(1h), 50), 1h);
    EXPECT_EQ(jittered(Expiry::never(), 50, random_).deadline(kNow), kNever);
    EXPECT_EQ(ttl(Expiry(1h), 0), 1h);
  }
}

TEST_F(JitterTest, NeitherRevivesNorKillsAtOnce) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(is_due(jittered(Expiry(-1h), 50, random_).deadline(kNow), kNow));
    EXPECT_TRUE(is_due(jittered(Expiry(0ms), 50, random_).deadline(kNow), kNow));
    EXPECT_FALSE(is_due(jittered(Expiry(1ms), 50, random_).deadline(kNow), kNow));
  }
}

TEST_F(JitterTest, LeavesAnEndlessTtlEndlessOrNearlySo) {
  for (int i = 0; i < 1'000; ++i) {
    const Time deadline = jittered(Expiry(Millis::max()), 10, random_).deadline(kNow);
    ASSERT_GT(deadline, kNow + std::chrono::years(1'000'000));
  }
}

TEST_F(JitterTest, StaysWithinItsPercentageForAnyTtl) {
  EXPECT_TRUE(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto ms = *rc::gen::inRange<std::int64_t>(1, 4'000'000'000'000);
    const auto percent = *rc::gen::inRange(0, 100);
    const auto actual =
        (jittered(Expiry(Millis(ms)), percent, random).deadline(kNow) - kNow).count();
    const double most = static_cast<double>(ms) * percent / 100;
    RC_ASSERT(static_cast<double>(actual - ms) <= std::ceil(most));
    RC_ASSERT(static_cast<double>(ms - actual) <= std::ceil(most));
  }));
}

class CacheExpiryTest : public testing::Test {
 protected:
  Time deadline(int key) { return cache_.find(key)->deadline; }

  ManualClock clock_{kNow};
  Cache<int, int> cache_{clock_, {.default_expiry = 1min}};
};

TEST_F(CacheExpiryTest, DefaultIsThatOfTheCache) {
  cache_.put(1, 1);
  cache_.put(2, 2, Expiry());
  EXPECT_EQ(deadline(1), kNow + 1min);
  EXPECT_EQ(deadline(2), kNow + 1min);
}

TEST_F(CacheExpiryTest, UnchangedKeepsTheDeadlineOfALiveEntryOnly) {
  cache_.put(1, 1, 10s);
  cache_.put(2, 2, 3s);
  clock_.advance(5s);
  for (const int key : {1, 2, 3}) cache_.put(key, 7, Expiry::unchanged());
  EXPECT_EQ(deadline(1), kNow + 10s);
  EXPECT_EQ(deadline(2), kNow + 5s + 1min);
  EXPECT_EQ(deadline(3), kNow + 5s + 1min);
  EXPECT_TRUE(cache_.expire(1, Expiry::unchanged()));
  EXPECT_EQ(deadline(1), kNow + 10s);
}

}  // namespace expiry_test
}  // namespace mayfly::internal
