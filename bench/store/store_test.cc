// SPDX-License-Identifier: Apache-2.0
// The suite `store`: operations that all systems do, the plan, and what Mayfly alone does.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/report/must.h"
#include "bench/store/store_suite.h"
#include "tools/scratch_directory.h"

namespace mayfly::bench {
namespace store_test {

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

TEST(TokenKey, ComesOnceAndInNoOrder) {
  std::set<std::array<char, kBenchKeyBytes>> keys;
  std::size_t ascents = 0;
  for (std::size_t number = 0; number < 20'000; ++number) {
    keys.insert(token_key(number));
    ascents += token_key(number) < token_key(number + 1) ? 1 : 0;
  }
  EXPECT_EQ(keys.size(), 20'000u);
  EXPECT_NEAR(static_cast<double>(ascents), 10'000, 500);
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

// What make_store_plan() says is wrong with `options`; empty if nothing is.
std::string complaint(const StoreOptions& options) {
  try {
    make_store_plan(options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

std::vector<std::string_view> extras_of(const StorePlan& plan) {
  std::vector<std::string_view> names;
  for (const StoreExtra* const extra : plan.extras) names.push_back(extra->name);
  return names;
}

bool has(const std::vector<const PeerRow*>& peers, std::string_view name) {
  return std::ranges::any_of(peers, [&](const PeerRow* peer) { return peer->name == name; });
}

TEST(StorePlan, WithoutWordsIsAllWorkloadsButChurnWithAMillionKeys) {
  const auto plan = make_store_plan({});
  EXPECT_EQ(plan.keys, 1'000'000u);
  EXPECT_EQ(plan.value_bytes, (std::vector<std::size_t>{60, 1024}));
  EXPECT_EQ(plan.workloads.size(), store_workloads().size());
  EXPECT_EQ(extras_of(plan), (std::vector<std::string_view>{"stream", "overwrite", "recovery"}));
  EXPECT_EQ(plan.peers.size() + plan.missing.size(), peer_rows().size());
  EXPECT_EQ(plan.peers.front()->name, "mayfly");
}

TEST(StorePlan, TakesOnlyThePeersThatAreNamedAndMayfly) {
  const auto plan = make_store_plan({.peers = "lmdb"});
  EXPECT_TRUE(has(plan.peers, "mayfly"));
  EXPECT_TRUE(has(plan.peers, "lmdb"));
  EXPECT_FALSE(has(plan.peers, "sqlite") || has(plan.missing, "sqlite"));
}

TEST(StorePlan, ReadsNumbersAndOverridesQuick) {
  const auto plan = make_store_plan(
      {.keys = "20k", .rounds = "7", .values = "8,4096", .directory = "/somewhere", .quick = true});
  EXPECT_EQ(plan.keys, 20'000u);
  EXPECT_EQ(plan.rounds, 7);
  EXPECT_EQ(plan.value_bytes, (std::vector<std::size_t>{8, 4096}));
  EXPECT_EQ(plan.directory, "/somewhere");
  EXPECT_LT(plan.single_puts, 1000u);
}

TEST(StorePlan, OnlyOneWorkloadMeansAllItsDurabilitiesAndWhatFillsItsDatabase) {
  const auto plan = make_store_plan({.only = "put-single-ttl"});
  EXPECT_EQ(plan.workloads.size(), 3u);
  std::vector<std::string_view> needed;
  for (const StoreWorkload& workload : store_workloads()) {
    if (is_needed(plan, workload)) needed.push_back(workload.name);
  }
  EXPECT_EQ(needed, (std::vector<std::string_view>{"put-ttl", "put-single-ttl", "put-single-ttl",
                                                   "put-single-ttl"}));
  EXPECT_FALSE(is_reported(plan, store_workload("put-ttl")));
}

TEST(StorePlan, OnlyChurnMeansNothingElse) {
  const auto plan = make_store_plan({.only = "churn"});
  EXPECT_EQ(extras_of(plan), (std::vector<std::string_view>{"churn"}));
  EXPECT_TRUE(plan.workloads.empty());
  EXPECT_EQ(plan.churn.puts_per_second * 3600, 72'000'000u);
}

TEST(StorePlan, NamesTheWrongWordAndTheRightOnes) {
  EXPECT_TRUE(says(complaint({.peers = "sqlit"}), "sqlite"));
  EXPECT_TRUE(says(complaint({.peers = "mayfly"}), "--peers"));  // it is always there
  EXPECT_TRUE(says(complaint({.only = "purges"}), "'purge'"));
  EXPECT_TRUE(says(complaint({.keys = "12x"}), "--keys"));
  EXPECT_TRUE(says(complaint({.keys = "99m"}), "40,000,000"));
  EXPECT_TRUE(says(complaint({.rounds = "0"}), "--rounds"));
  EXPECT_TRUE(says(complaint({.values = "60,7"}), "--values"));
}

TEST(StorePlan, SaysHowMuchSpaceIsMissing) {
  const auto plan = make_store_plan({.directory = "/small"});
  EXPECT_NO_THROW(check_space(plan, std::uint64_t{100} << 30));
  try {
    check_space(plan, 1'500'000'000);
    ADD_FAILURE() << "it fits";
  } catch (const Failure& failure) {
    for (const std::string_view part : {"/small", "1.5 GB", "--dir", "--keys"}) {
      EXPECT_TRUE(says(failure.what(), part)) << failure.what();
    }
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

struct Alone {
  ScratchDirectory scratch = *ScratchDirectory::make(std::filesystem::path(testing::TempDir()));
  Progress progress{stderr, false, 1};
};

TEST(Stream, CountsItsPutsAndTheBytesOfLogAndTree) {
  Alone alone;
  const StreamPlan plan{.puts_per_second = 1501,
                        .length = std::chrono::seconds(1),
                        .ttl = std::chrono::hours(1),  // so all of them get to the tree
                        .value_bytes = 100};
  const auto run = run_stream(plan, alone.scratch.path(), alone.progress);
  EXPECT_EQ(run.metric("unwritten_percent"), 0);
  EXPECT_GT(run.metric("log_bytes_per_put"), 112);
  EXPECT_GT(run.metric("tree_bytes_per_put"), 112);
  EXPECT_NEAR(*run.metric("bytes_per_put"),
              *run.metric("log_bytes_per_put") + *run.metric("tree_bytes_per_put"), 0.01);
  EXPECT_GE(run.metric("max_us"), run.metric("p999_us"));
  EXPECT_GE(run.metric("p999_us"), run.metric("p50_us"));
  EXPECT_GT(run.metric("p50_us"), 0);
  EXPECT_LE(run.metric("puts_per_second"), 1510);  // paced: 1,500 come 999 ms after the first
  EXPECT_GT(run.metric("file_bytes"), 1501 * 112);
  ASSERT_EQ(run.series.size(), 2u);
  for (const Series& series : run.series) EXPECT_EQ(series.points.size(), 1u);
}

TEST(Overwrites, LeaveASmallFile) {
  Alone alone;
  const auto run = run_overwrites(500, alone.scratch.path(), alone.progress);
  EXPECT_EQ(run.setting("puts"), 500);
  EXPECT_GT(run.metric("file_bytes"), 0);
  EXPECT_LT(run.metric("file_bytes"), 500 * 60 * 10);
}

TEST(Recovery, FindsAllThatTheKilledProcessHasPut) {
  Alone alone;
  for (int round = 0; round < 2; ++round) {  // the second begins anew
    const auto run = run_recovery({.segment_bytes = 1 << 20}, alone.scratch.path(), alone.progress);
    EXPECT_GT(run.metric("pending_bytes"), 1.75 * (1 << 20));
    EXPECT_GT(run.metric("entries"), 1000);
    EXPECT_GT(run.metric("open_ms"), 0);
  }
}

TEST(Recovery, FailsIfTheLogCannotBeMade) {
  Alone alone;
  EXPECT_THROW(run_recovery({}, alone.scratch.path() / "missing", alone.progress), Failure);
}

TEST(Churn, EndsWithAsManyEntriesAsLiveForOneTtl) {
  const auto scratch = ScratchDirectory::make(std::filesystem::path(testing::TempDir()));
  ASSERT_TRUE(scratch);
  const ChurnPlan plan{.puts_per_second = 30,
                       .length = std::chrono::seconds(130),
                       .ttl = std::chrono::seconds(10),
                       .batch = 20};
  Progress progress(stderr, false, churn_work(plan));
  const auto run = run_churn(plan, scratch->path(), progress);
  EXPECT_EQ(run.metric("puts"), 130 * 30);
  EXPECT_EQ(run.metric("live_entries"), 9 * 30);  // entries of the last second but nine are due
  EXPECT_EQ(run.metric("live_bytes"), 9 * 30 * 72);
  EXPECT_EQ(run.series.front().points.size(), 3u);  // after each minute, and at the end
  EXPECT_GT(run.metric("compact_bytes"), run.metric("live_bytes"));
  EXPECT_GE(run.metric("file_to_compact"), 1);
}

}  // namespace store_test
}  // namespace mayfly::bench
