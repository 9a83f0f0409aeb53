// SPDX-License-Identifier: Apache-2.0
// The histogram of lateness.

#include "keyspace/lateness.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace lateness_test {

TEST(LatenessTest, IsEmptyAtFirst) {
  const Lateness late;
  EXPECT_EQ(late.count(), 0u);
  EXPECT_EQ(late.percentile_ms(0.99), 0u);
}

TEST(LatenessTest, IsExactForFewMilliseconds) {
  Lateness late;
  for (int ms = 0; ms < 8; ++ms) late.add(Time(), Time(Millis(ms)));
  EXPECT_EQ(late.percentile_ms(0), 0u);
  EXPECT_EQ(late.percentile_ms(0.5), 4u);
  EXPECT_EQ(late.max_ms(), 7u);
}

TEST(LatenessTest, IsAtMostAQuarterTooHighAbove) {
  for (std::int64_t ms = 8; ms < 10'000'000; ms = ms * 9 / 8 + 1) {
    Lateness late;
    late.add(Time(), Time(Millis(ms)));
    late.add(Time(), Time(Millis(ms * 100)));  // so that the greatest does not hide the bucket
    const auto found = static_cast<std::int64_t>(late.percentile_ms(0.4));
    EXPECT_GE(found, ms);
    EXPECT_LE(found, ms + ms / 4);
  }
}

TEST(LatenessTest, TakesWhatIsEarlyForOnTime) {
  Lateness late;
  late.add(Time(), Time(Millis(-5)));
  EXPECT_EQ(late.max_ms(), 0u);
}

TEST(LatenessTest, HoldsTheLongestTimeThereIs) {
  Lateness late;
  late.add(Time(), Time(Millis::max()));
  EXPECT_EQ(late.percentile_ms(0.99), late.max_ms());
}

TEST(LatenessTest, MomentsMayBeAsFarApartAsCanBe) {
  Lateness late;
  late.add(Time::min(), Time::max());
  EXPECT_EQ(late.max_ms(), UINT64_MAX);
  EXPECT_EQ(late.percentile_ms(0.99), UINT64_MAX);
  late.add(Time::min(), Time::max());
  EXPECT_EQ(late.sum_ms(), 0x1p65);
  late.add(Time::max(), Time::min());
  EXPECT_EQ(late.count(), 3u);
  EXPECT_EQ(late.percentile_ms(0), 0u);
}

TEST(LatenessTest, CountsExactlyUpToPowersOfTwo) {
  Lateness late;
  const Time deadline(Millis(1'000'000));
  for (const std::int64_t ms : {0, 1, 7, 8, 15, 16, 1023, 1024}) {
    late.add(deadline, deadline + Millis(ms));
  }
  EXPECT_EQ(late.count_until(0), 1u);
  EXPECT_EQ(late.count_until(7), 3u);
  EXPECT_EQ(late.count_until(15), 5u);
  EXPECT_EQ(late.count_until(1023), 7u);
  EXPECT_EQ(late.count_until(2047), 8u);
  EXPECT_EQ(late.sum_ms(), 0 + 1 + 7 + 8 + 15 + 16 + 1023 + 1024);
}

}  // namespace lateness_test
}  // namespace mayfly
