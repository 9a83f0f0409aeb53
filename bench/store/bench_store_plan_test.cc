// SPDX-License-Identifier: Apache-2.0
// Do the words of `mayfly bench store` become the plan that they say, and mistakes good advice?

#include "bench/store/bench_store_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace mayfly {
namespace {

// What make_store_plan() says is wrong with `words`; empty if nothing is.
std::string complaint(const StoreBenchWords& words) {
  const auto plan = make_store_plan(words);
  return plan ? "" : plan.error().message;
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

bool has(const std::vector<const PeerRow*>& peers, std::string_view name) {
  return std::ranges::any_of(peers, [&](const PeerRow* peer) { return peer->name == name; });
}

TEST(StoreBenchPlan, WithoutWordsIsAllWorkloadsButChurnWithAMillionKeys) {
  const auto plan = make_store_plan({});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->keys, 1'000'000u);
  EXPECT_EQ(plan->value_bytes, (std::vector<std::size_t>{60, 1024}));
  EXPECT_EQ(plan->workloads.size(), store_workloads().size());
  EXPECT_FALSE(plan->churn);
  EXPECT_EQ(plan->peers.size() + plan->missing.size(), peer_rows().size());
  EXPECT_EQ(plan->peers.front()->name, "mayfly");
}

TEST(StoreBenchPlan, TakesOnlyThePeersThatAreNamedAndMayfly) {
  const auto plan = make_store_plan({.peers = "lmdb"});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(plan->peers, "mayfly"));
  EXPECT_TRUE(has(plan->peers, "lmdb"));
  EXPECT_FALSE(has(plan->peers, "sqlite") || has(plan->missing, "sqlite"));
}

TEST(StoreBenchPlan, ReadsNumbersAndOverridesQuick) {
  const auto plan = make_store_plan({.keys = "20k",
                                     .repeats = "7",
                                     .values = "8,4096",
                                     .directory = "/somewhere",
                                     .quick = true});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->keys, 20'000u);
  EXPECT_EQ(plan->repeats, 7);
  EXPECT_EQ(plan->value_bytes, (std::vector<std::size_t>{8, 4096}));
  EXPECT_EQ(plan->directory, "/somewhere");
  EXPECT_LT(plan->single_puts, 1000u);
}

TEST(StoreBenchPlan, OnlyOneWorkloadMeansAllItsDurabilitiesAndWhatFillsItsDatabase) {
  const auto plan = make_store_plan({.only = "put-single-ttl"});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->workloads.size(), 3u);
  std::vector<std::string_view> needed;
  for (const StoreWorkload& workload : store_workloads()) {
    if (is_needed(*plan, workload)) needed.push_back(workload.name);
  }
  EXPECT_EQ(needed, (std::vector<std::string_view>{"put-ttl", "put-single-ttl", "put-single-ttl",
                                                   "put-single-ttl"}));
  EXPECT_FALSE(is_asked(*plan, store_workload("put-ttl")));
}

TEST(StoreBenchPlan, OnlyChurnMeansNothingElse) {
  const auto plan = make_store_plan({.only = "churn"});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->churn);
  EXPECT_TRUE(plan->workloads.empty());
  EXPECT_EQ(plan->churn_plan.puts_per_second * 3600, 72'000'000u);
}

TEST(StoreBenchPlan, NamesTheWrongWordAndTheRightOnes) {
  EXPECT_TRUE(says(complaint({.peers = "sqlit"}), "sqlite"));
  EXPECT_TRUE(says(complaint({.peers = "mayfly"}), "--peers"));  // it is always there
  EXPECT_TRUE(says(complaint({.only = "purges"}), "'purge'"));
  EXPECT_TRUE(says(complaint({.keys = "12x"}), "--keys"));
  EXPECT_TRUE(says(complaint({.keys = "99m"}), "40 M"));
  EXPECT_TRUE(says(complaint({.repeats = "0"}), "--repeats"));
  EXPECT_TRUE(says(complaint({.values = "60,7"}), "--values"));
}

TEST(StoreBenchPlan, SaysHowMuchSpaceIsMissing) {
  const auto plan = make_store_plan({.directory = "/small"});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(check_space(*plan, std::uint64_t{100} << 30));
  const Status status = check_space(*plan, 1'500'000'000);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::full);
  for (const std::string_view part : {"/small", "1.5 GB", "--dir", "--keys"}) {
    EXPECT_TRUE(says(status.error().message, part)) << status.error().message;
  }
}

TEST(StoreWorkloads, BeginFreshAndDifferInNameOrDurability) {
  EXPECT_TRUE(store_workloads().front().fresh);
  std::set<std::pair<std::string_view, Durability>> seen;
  const StoreWorkload* filled = nullptr;
  for (const StoreWorkload& workload : store_workloads()) {
    EXPECT_TRUE(seen.insert({workload.name, workload.durability}).second) << workload.name;
    if (workload.fresh) filled = &workload;
    EXPECT_EQ(workload.ttl, filled->ttl) << workload.name;  // it uses what that one has filled
  }
}

}  // namespace
}  // namespace mayfly
