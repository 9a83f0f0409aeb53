// SPDX-License-Identifier: Apache-2.0
// Does each remaining time count in the bucket whose bound is the first that it does not exceed?

#include "mayfly/ttl_histogram.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace ttl_histogram_test {

using std::chrono::milliseconds;

constexpr Time kNow = Time(Millis(1'000'000));

TEST(TtlHistogram, ABoundBelongsToItsBucketAndAMillisecondMoreToTheNext) {
  for (std::size_t i = 0; i + 1 < kTtlBuckets; ++i) {
    EXPECT_EQ(ttl_bucket(kTtlBounds[i].within), i) << kTtlBounds[i].name;
    EXPECT_EQ(ttl_bucket(kTtlBounds[i].within + milliseconds(1)), i + 1) << kTtlBounds[i].name;
  }
  EXPECT_EQ(ttl_bucket(milliseconds(1)), 0u);
  EXPECT_EQ(ttl_bucket(Millis::max()), kTtlBuckets - 1);
}

TEST(TtlHistogram, WhatIsDueIsOverdueAndNotInABucket) {
  TtlHistogram histogram;
  histogram.add(kNow, kNow, {1, 10});
  histogram.add(kNow - milliseconds(5), kNow, {2, 20});
  histogram.add(kNow + milliseconds(1), kNow, {1, 7});
  EXPECT_EQ(histogram.overdue, (TtlCount{3, 30}));
  EXPECT_EQ(histogram.oldest_overdue, kNow - milliseconds(5));
  EXPECT_EQ(histogram.total(), (TtlCount{1, 7}));
  EXPECT_EQ(histogram.buckets[0], (TtlCount{1, 7}));
}

TEST(TtlHistogram, TheEndsOfTheCalendarHaveTheirPlaces) {
  TtlHistogram histogram;
  histogram.add(kNever, kNow, {1, 1});
  EXPECT_EQ(histogram, TtlHistogram());
  histogram.add(kNever - milliseconds(1), Time::min(), {1, 0});
  histogram.add(Time::min(), kNow, {1, 0});
  EXPECT_EQ(histogram.buckets.back().entries, 1u);
  EXPECT_EQ(histogram.oldest_overdue, Time::min());
}

TEST(TtlHistogram, ASumHasBothAndTheOlderOverdueDeadline) {
  TtlHistogram one;
  one.add(kNow - milliseconds(1), kNow, {1, 1});
  one.add(kNow + std::chrono::hours(1), kNow, {1, 2});
  TtlHistogram other;
  other.add(kNow - milliseconds(9), kNow, {1, 3});
  other.add(kNow + std::chrono::hours(1), kNow, {1, 4});
  one += other;
  EXPECT_EQ(one.overdue, (TtlCount{2, 4}));
  EXPECT_EQ(one.oldest_overdue, kNow - milliseconds(9));
  EXPECT_EQ(one.buckets[4], (TtlCount{2, 6}));
  EXPECT_EQ(one.total(), (TtlCount{2, 6}));
}

}  // namespace ttl_histogram_test
}  // namespace mayfly
