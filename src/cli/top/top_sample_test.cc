// SPDX-License-Identifier: Apache-2.0
// What two replies of INFO say together.
#include "cli/top/top_sample.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace top_sample_test {

// A sample at `seconds`, of a server that has done so many commands.
TopSample sample(double seconds, int commands, int gets, std::string_view run_id = "one") {
  TopSample made;
  made.ns = static_cast<std::int64_t>(seconds * 1e9);
  made.info.append("# Server\r\nvalkey_version:9.0.0\r\nredis_version:7.2.4\r\nrun_id:");
  made.info.append(run_id).append("\r\ntotal_commands_processed:").append(std::to_string(commands));
  made.info.append("\r\nkeyspace_hits:3\r\nkeyspace_misses:1\r\ncmdstat_get:calls=");
  made.info.append(std::to_string(gets)).append(",usec=1\r\ncmdstat_set:calls=5,usec=1\r\n");
  made.info.append("db0:keys=3,expires=1,avg_ttl=7\r\ndb9:keys=4,expires=2,avg_ttl=7\r\n");
  return made;
}

TEST(TopSample, RatesAreWhatWasAddedByTheTimeThatPassed) {
  const TopSample before = sample(10, 1000, 100);
  const TopView view = view_of(&before, sample(12, 1500, 400), 0);
  EXPECT_EQ(view.operations, 250);
  ASSERT_EQ(view.commands.size(), 1U);
  EXPECT_EQ(view.commands[0].first, "get");
  EXPECT_EQ(view.commands[0].second, 150);
}

TEST(TopSample, ThereAreNoRatesWithoutASampleBeforeOrAfterARestart) {
  const TopSample before = sample(10, 1000, 100, "another");
  EXPECT_FALSE(view_of(nullptr, sample(12, 1500, 400), 0).operations);
  EXPECT_FALSE(view_of(&before, sample(12, 1500, 400), 0).operations);
  EXPECT_TRUE(view_of(&before, sample(12, 1500, 400), 0).commands.empty());
  const TopSample reset = sample(10, 2000, 100);
  EXPECT_FALSE(view_of(&reset, sample(12, 1500, 400), 0).operations);
}

TEST(TopSample, WhatTheServerDoesNotTellIsAbsent) {
  const TopView view = view_of(nullptr, sample(1, 1, 1), 0);
  EXPECT_EQ(view.server, "valkey 9.0.0");
  EXPECT_EQ(view.keys, 7);
  EXPECT_EQ(view.keys_with_deadline, 3);
  EXPECT_EQ(view.hit_share, 0.75);
  EXPECT_FALSE(view.late_by_sweep);
  EXPECT_FALSE(view.keys_within[0]);
  EXPECT_FALSE(view.keys_with_members);
}

}  // namespace top_sample_test
}  // namespace mayfly
