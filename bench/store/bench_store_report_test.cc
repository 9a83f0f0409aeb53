// SPDX-License-Identifier: Apache-2.0
// Results of `mayfly bench store` made up by hand: how bars are judged, and what is said of them to
// people and programs.

#include "bench/store/bench_store_report.h"

#include <gtest/gtest.h>

#include "bench/report/bench_example.h"
#include "bench/store/bench_store_bars.h"

namespace mayfly {
namespace {

StoreRow row(std::string_view name, Durability durability, std::size_t value_bytes,
             std::vector<std::pair<std::string_view, std::vector<double>>> rates) {
  StoreRow result{&store_workload(name, durability), value_bytes, {}};
  for (auto& [peer, values] : rates) result.cells.push_back({&peer_named(peer), values});
  return result;
}

// Gets with small and large values, and single puts.
StoreResults example_results(std::size_t keys = 1'000'000) {
  StoreResults results;
  results.keys = keys;
  results.rows = {
      row("get", Durability::off, 60,
          {{"mayfly", {97, 500, 98}}, {"lmdb", {100, 500, 100}}, {"sqlite", {10, 10, 10}}}),
      row("put-single", Durability::normal, 60, {{"mayfly", {20'000}}, {"sqlite", {31'000}}}),
      row("put-single", Durability::full, 60, {{"mayfly", {4000}}, {"sqlite", {3000}}}),
      row("get", Durability::off, 1024, {{"mayfly", {90, 90, 90}}, {"lmdb", {100, 100, 100}}}),
  };
  return results;
}

const Bar* find(const std::vector<Bar>& bars, std::string_view part) {
  for (const Bar& bar : bars) {
    if (bar.claim.find(part) != std::string::npos) return &bar;
  }
  return nullptr;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

StoreBenchPlan example_plan() {
  StoreBenchPlan plan = *make_store_plan({.peers = "lmdb,sqlite", .only = "get,put-single"});
  plan.peers = {&peer_named("mayfly"), &peer_named("lmdb"), &peer_named("sqlite")};
  plan.missing = {&peer_named("rocksdb")};
  return plan;
}

ChurnResult example_churn() {
  return {.puts = 72'000'000,
          .live_entries = 1'200'000,
          .live_bytes = 86'400'000,
          .file_bytes = 300'000'000,
          .compact_bytes = 200'000'000,
          .seconds = 600,
          .file_bytes_each_minute = {100'000'000, 300'000'000}};
}

TEST(Ratio, IsTheMedianOfWhatWasMeasuredTogether) {
  const StoreResults results = example_results();
  EXPECT_DOUBLE_EQ(*ratio(results.rows[0].find("mayfly"), results.rows[0].find("lmdb")), 0.98);
  EXPECT_FALSE(ratio(results.rows[0].find("mayfly"), results.rows[0].find("rocksdb")));
}

TEST(StoreBars, AreJudgedByTheWorstSizeOfValues) {
  const auto bars = judge_store(example_results());
  const Bar* const get = find(bars, "get, random: 0.90x LMDB (1024 B values; bar: 0.95x)");
  ASSERT_NE(get, nullptr);
  EXPECT_FALSE(get->holds);
  EXPECT_TRUE(get->is_judged);
}

TEST(StoreBars, CompareNormalWithOurOwnFullAndWithSqlite) {
  const auto bars = judge_store(example_results());
  const Bar* const own = find(bars, "single put, random (normal): 5.00x itself at full");
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(own->holds);
  const Bar* const sqlite = find(bars, "single put, random (normal): 0.65x SQLite");
  ASSERT_NE(sqlite, nullptr);
  EXPECT_FALSE(sqlite->holds);
}

TEST(StoreBars, CompareTheCApiWithGetsInATransaction) {
  StoreResults results = example_results();
  results.rows.push_back(row("get-auto", Durability::off, 60, {{"mayfly-c", {70, 350, 70}}}));
  const auto bars = judge_store(results);
  const Bar* const bar = find(bars, "C API: get, autocommit: 0.70x LMDB's 'get, random'");
  ASSERT_NE(bar, nullptr);
  EXPECT_TRUE(bar->holds);
}

TEST(StoreBars, AboutAMillionKeysAreNotJudgedByFewer) {
  for (const Bar& bar : judge_store(example_results(5000))) EXPECT_FALSE(bar.is_judged);
}

TEST(StoreBars, OfTheFileUnderChurnIsAtMostTwiceItsCopy) {
  StoreResults results;
  results.churn = example_churn();
  ASSERT_EQ(judge_store(results).size(), 1u);
  EXPECT_TRUE(judge_store(results)[0].holds);
  EXPECT_TRUE(judge_store(results)[0].is_judged);
  results.churn->file_bytes = 400'000'001;
  EXPECT_FALSE(judge_store(results)[0].holds);
  results.churn->puts = 1000;  // a simulation of less than an hour
  EXPECT_FALSE(judge_store(results)[0].is_judged);
}

TEST(StoreReport, ShowsRatesRatiosBarsAndWhoIsMissing) {
  const std::string text =
      render_store_report(example_plan(), example_results(), example::machine(), Colours(false));
  EXPECT_TRUE(says(text, "RocksDB: not built in; `make bench` installs it\n")) << text;
  EXPECT_TRUE(says(text, "0.98x")) << text;
  EXPECT_TRUE(says(text, "MISSED  get, random: 0.90x LMDB")) << text;
  EXPECT_TRUE(says(text, "ok      single put, random (normal): 5.00x itself at full")) << text;
}

TEST(StoreReport, SaysWhatTheFileUnderChurnIsComparedWith) {
  const std::string text = render_churn({}, example_churn(), Colours(false));
  EXPECT_TRUE(says(text, "300.0 MB, 1.50x the copy, 3.47x keys and values")) << text;
  EXPECT_TRUE(says(text, "120 k puts and removals a second")) << text;
}

TEST(StoreJson, HasEveryRepeatAndEveryBar) {
  StoreResults results = example_results();
  results.churn = example_churn();
  const std::string text = store_to_json(example_plan(), results, example::machine());
  for (const std::string_view part :
       {"\"benchmark\": \"store\"", "\"put-single\"", "\"normal\"", "31000", "\"missing\"",
        "\"rocksdb\"", "\"holds\": false", "\"compact_bytes\": 200000000"}) {
    EXPECT_TRUE(says(text, part)) << part << '\n' << text;
  }
}

TEST(StoreCharts, AreOneForEachSizeOfValues) {
  const auto charts = make_store_charts(example_results());
  ASSERT_EQ(charts.size(), 2u);
  EXPECT_EQ(charts[0].file_name, "store_60.svg");
  EXPECT_TRUE(says(charts[0].svg, "single put, random (full)"));
  EXPECT_TRUE(says(charts[1].svg, "values of 1024 bytes"));
}

}  // namespace
}  // namespace mayfly
