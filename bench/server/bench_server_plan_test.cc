// SPDX-License-Identifier: Apache-2.0
// From the words of `mayfly bench server` to its plan.

#include "bench/server/bench_server_plan.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

std::string refusal(const ServerBenchWords& words) {
  const Result<ServerBenchPlan> plan = make_server_plan(words);
  return plan ? "" : plan.error().message;
}

TEST(ServerBenchPlanTest, UnlessToldMeasuresEverythingAtTheSizesOfTheBars) {
  const ServerBenchPlan plan = *make_server_plan({});
  EXPECT_TRUE(plan.speed && plan.memory && plan.on_time && plan.stall && plan.hlen && plan.persist);
  EXPECT_EQ(plan.repeats, 3);
  EXPECT_EQ(plan.requests, kReferenceRequests);
  EXPECT_EQ(plan.memory_fields, kReferenceMemoryFields);
  EXPECT_EQ(plan.idle_sizes.back(), 1'000'000u);
  EXPECT_EQ(plan.stall_fields, kReferenceStallFields);
  EXPECT_EQ(plan.hlen_fields, kReferenceHlenFields);
  EXPECT_EQ(plan.growth_keys, 2'000'000u);
  EXPECT_EQ(plan.persist_fields, kReferencePersistFields);
}

TEST(ServerBenchPlanTest, TakesOnlyThePartsThatAreNamed) {
  const ServerBenchPlan plan = *make_server_plan({.only = "ontime,hlen"});
  EXPECT_TRUE(plan.on_time && plan.hlen);
  EXPECT_FALSE(plan.speed || plan.memory || plan.stall || plan.persist);
  EXPECT_TRUE(make_server_plan({.only = "persist"})->persist);
}

TEST(ServerBenchPlanTest, TakesNumbersAsPeopleWriteThem) {
  const ServerBenchPlan plan =
      *make_server_plan({.repeats = "7", .requests = "20k", .keys = "3m", .wait = "60"});
  EXPECT_EQ(plan.repeats, 7);
  EXPECT_EQ(plan.requests, 20'000u);
  EXPECT_EQ(plan.growth_keys, 3'000'000u);
  EXPECT_EQ(plan.persist_fields, 3'000'000u);
  EXPECT_EQ(plan.patience, Millis(60'000));
  EXPECT_EQ(request_count(plan, 1), 20'000u);
  EXPECT_EQ(request_count(plan, 32), 200'000u);
}

TEST(ServerBenchPlanTest, FullGrowsToTheSizeOfTheBarAndQuickIsSmall) {
  EXPECT_EQ(make_server_plan({.full = true})->growth_keys, kReferenceGrowthKeys);
  EXPECT_EQ(make_server_plan({.keys = "4m", .full = true})->growth_keys, 4'000'000u);
  EXPECT_LT(make_server_plan({.quick = true})->stall_fields, kReferenceStallFields);
  EXPECT_LT(make_server_plan({.quick = true})->persist_fields, kReferencePersistFields);
  EXPECT_EQ(make_server_plan({.requests = "500", .quick = true})->requests, 500u);
}

TEST(ServerBenchPlanTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_NE(refusal({.only = "sped"}).find("did you mean 'speed'"), std::string::npos);
  EXPECT_NE(refusal({.repeats = "0"}).find("--repeat"), std::string::npos);
  EXPECT_NE(refusal({.requests = "10"}).find("--requests"), std::string::npos);
  EXPECT_NE(refusal({.keys = "x"}).find("--keys"), std::string::npos);
  EXPECT_NE(refusal({.wait = "-1"}).find("--wait"), std::string::npos);
  EXPECT_NE(refusal({.full = true, .quick = true}).find("--quick and --full"), std::string::npos);
}

}  // namespace
}  // namespace mayfly
