// SPDX-License-Identifier: Apache-2.0
// Medians, ratios, goals, tables, and results that are written and read again.

#include "bench/report/report.h"

#include <gtest/gtest.h>

#include <numeric>

#include "bench/report/statistics.h"

namespace mayfly::bench {
namespace report_test {

TEST(Median, IsTheMiddleOfAnOddNumberInAnyOrder) { EXPECT_EQ(median({9, 1, 5}), 5); }

TEST(Median, IsTheMeanOfTheTwoInTheMiddleOfAnEvenNumber) { EXPECT_EQ(median({8, 1, 2, 4}), 3); }

TEST(Median, IgnoresHowFarAnOutlierLies) { EXPECT_EQ(median({1, 2, 1e9}), 2); }

class PercentileTest : public testing::Test {
 protected:
  PercentileTest() : hundred_(100) { std::iota(hundred_.rbegin(), hundred_.rend(), 1); }

  std::vector<int> hundred_;  // 100 down to 1
};

TEST_F(PercentileTest, IsTheNearestRank) {
  EXPECT_EQ(percentile(hundred_, 50), 50);
  EXPECT_EQ(percentile(hundred_, 99), 99);
  EXPECT_EQ(percentile(hundred_, 98.5), 99);
}

TEST_F(PercentileTest, ReachesBothEnds) {
  EXPECT_EQ(percentile(hundred_, 0), 1);
  EXPECT_EQ(percentile(hundred_, 100), 100);
}

TEST_F(PercentileTest, OfOneValueIsThatValue) {
  EXPECT_EQ(percentile(std::vector<int>{7}, 1), 7);
  EXPECT_EQ(percentile(std::vector<int>{7}, 99), 7);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Run store_run(std::string name, std::string system, int round, double rate, double keys = 1e6) {
  return {.suite = "store",
          .part = "rates",
          .name = std::move(name),
          .system = std::move(system),
          .round = round,
          .settings = {{"keys", keys}, {"value_bytes", 60.0}},
          .metrics = {{"ops_per_second", rate}}};
}

// Two rounds, of which the second met a machine that was half as fast.
Results example(double keys = 1e6) {
  Results results{.version = "1.2.3", .commit = "abc", .time = "2026-01-01 00:00:00"};
  results.machine = {"Example \"9000\"", 2, "g++ 12", false};
  results.systems = {{"lmdb", "by hand"}};
  results.notes = {"rocksdb: not built in"};
  results.add(store_run("get, random", "mayfly", 0, 900e3, keys));
  results.add(store_run("get, random", "lmdb", 0, 1000e3, keys));
  results.add(store_run("get, random", "lmdb", 1, 500e3, keys));
  results.add(store_run("get, random", "mayfly", 1, 490e3, keys));
  return results;
}

TEST(Results, AreTheSameWhenTheyAreReadAgain) {
  Results results = example();
  results.seconds = 1.5;
  results.runs[0].series = {{"file", "bytes", {{0.5, 1}, {1, 2.25}}}};
  results.runs[0].settings.emplace_back("durability", "normal");
  const std::string text = to_json(results);
  const auto read = results_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->runs.size(), 4u);
  EXPECT_EQ(read->runs[0].series[0].points[1].second, 2.25);
  EXPECT_EQ(read->machine.processor, "Example \"9000\"");
}

TEST(Results, OfAnotherFormAreRefused) {
  EXPECT_FALSE(results_from_json("{"));
  EXPECT_FALSE(results_from_json("{\"benchmark\": \"store\"}"));
}

TEST(NumberText, HasAboutThreeDigitsAndSeparatesThousands) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.0412), "0.041");
  EXPECT_EQ(number_text(1.234), "1.23");
  EXPECT_EQ(number_text(45), "45");
  EXPECT_EQ(number_text(45.67), "45.7");
  EXPECT_EQ(number_text(999.4), "999");
  EXPECT_EQ(number_text(1'234'567.8), "1,234,568");
  EXPECT_EQ(number_text(-12'345), "-12,345");
}

TEST(Rows, HoldTheRunsOfOneCaseWithTheSameSettings) {
  Results results = example();
  results.add(store_run("get, random", "mayfly", 0, 1, 2e6));
  const auto rows = rows_of(results, "store", "rates");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].runs.size(), 4u);
  EXPECT_EQ(rows[0].systems, (std::vector<std::string>{"mayfly", "lmdb"}));
  EXPECT_EQ(rows[0].median_of("lmdb", "ops_per_second"), 750e3);
  EXPECT_FALSE(rows[0].median_of("sqlite", "ops_per_second"));
}

TEST(Ratio, IsTheMedianOfTheRatiosWithinARound) {
  const Results results = example();
  const Row row = rows_of(results, "store", "rates").front();
  EXPECT_NEAR(*ratio_of(row, "mayfly", row, "lmdb", "ops_per_second"), 0.94, 1e-9);
  EXPECT_FALSE(ratio_of(row, "mayfly", row, "sqlite", "ops_per_second"));
}

TEST(Goals, AreJudgedAtTheirSizeAndOnlyShownBelowIt) {
  const auto judged = judge(example());
  ASSERT_EQ(judged.size(), 1u);  // there is only one that speaks of LMDB and this case
  EXPECT_TRUE(judged[0].is_judged);
  EXPECT_FALSE(judged[0].is_reached);
  EXPECT_TRUE(has(judged[0].text, "0.94x of lmdb")) << judged[0].text;
  EXPECT_FALSE(judge(example(1000)).front().is_judged);
}

TEST(Goals, CompareCasesAndJudgeTheWorst) {
  Results results;
  for (const auto& [name, rate] : {std::pair{"single put, random (normal)", 41.0},
                                   std::pair{"single put, random (full)", 10.0}}) {
    results.add(store_run(name, "mayfly", 0, rate));
    results.add(store_run(name, "sqlite", 0, 50));
  }
  const auto verdicts = judge(results);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_TRUE(has(verdicts[0].text, "4.10x of mayfly, single put, random (full)"));
  EXPECT_TRUE(verdicts[0].is_reached);
  EXPECT_TRUE(has(verdicts[1].text, "0.82x of sqlite"));
  EXPECT_TRUE(has(verdicts[2].text, "0.20x of sqlite"));
}

TEST(Goals, OfMayflyAloneAreLimits) {
  Results results;
  for (const double bytes : {41e3, 3e6}) {
    results.add({.suite = "store",
                 .part = "overwrite",
                 .name = "one key",
                 .system = "mayfly",
                 .settings = {{"puts", 3000.0}},
                 .metrics = {{"file_bytes", bytes}}});
    const auto verdicts = judge(results);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_TRUE(verdicts[0].is_judged);
    EXPECT_EQ(verdicts[0].is_reached, bytes < 2e6);
    results.runs.clear();
  }
}

TEST(Goals, OfTheServerAreJudgedAgainstEachPeer) {
  Results results;
  for (const char* const system : {"mayfly", "valkey", "redis-server"}) {
    results.add({.suite = "server",
                 .part = "speed",
                 .name = "GET",
                 .system = system,
                 .settings = {{"requests", 1e5}},
                 .metrics = {{"ops_per_second", 100}}});
  }
  const auto verdicts = judge(results);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_TRUE(has(verdicts[0].text, "of valkey") && verdicts[0].is_reached) << verdicts[0].text;
  EXPECT_TRUE(has(verdicts[1].text, "of redis-server"));
}

// Runs of the server in one case, each system with a value.
void add_case(Results& results, std::string part, std::string name, Settings settings,
              std::string metric, const std::vector<std::pair<std::string, double>>& values) {
  for (const auto& [system, value] : values) {
    results.add({.suite = "server",
                 .part = part,
                 .name = name,
                 .system = system,
                 .settings = settings,
                 .metrics = {{metric, value}}});
  }
}

TEST(Goals, OfLargeSetsAreRatios) {
  Results results;
  const Settings large = {{"members", 1e6}};
  add_case(results, "sets", "ZADD", large, "ops_per_second", {{"mayfly", 10}, {"redis", 10}});
  add_case(results, "sets", "ZADD -P 32", large, "ops_per_second", {{"mayfly", 12}, {"redis", 10}});
  add_case(results, "set_pairs", "SINTER", {{"members", 1e5}}, "ops_per_second",
           {{"mayfly", 12}, {"redis", 10}});
  add_case(results, "set_memory", "sets of 100 integers", {{"members", 5e5}}, "bytes_per_member",
           {{"mayfly", 5}, {"redis", 4}});
  const auto verdicts = judge(results);
  ASSERT_EQ(verdicts.size(), 4u);
  for (const Verdict& verdict : verdicts) EXPECT_TRUE(verdict.is_judged) << verdict.text;
  EXPECT_TRUE(verdicts[0].is_reached) << verdicts[0].text;
  EXPECT_FALSE(verdicts[1].is_reached) << verdicts[1].text;
  EXPECT_TRUE(verdicts[2].is_reached) << verdicts[2].text;
  EXPECT_FALSE(verdicts[3].is_reached) << verdicts[3].text;
  EXPECT_TRUE(has(verdicts[3].text, "1.25x of redis")) << verdicts[3].text;
}

TEST(Goals, OfSetsAndSortedSetsAreTheirOwn) {
  Results results;
  const Settings half = {{"members", 5e5}};
  add_case(results, "set_memory", "sets of 10", half, "bytes_per_member",
           {{"mayfly", 25}, {"redis", 20}});
  add_case(results, "set_memory", "sorted sets of 10", half, "bytes_per_member", {{"mayfly", 25}});
  add_case(results, "set_memory", "one sorted set, TTLs", half, "bytes_per_member",
           {{"mayfly", 86}});
  add_case(results, "ontime", "set members", {{"others", 1e6}}, "last_ms", {{"mayfly", 51}});
  add_case(results, "stall", "one sorted set, expiring", {{"members", 1e6}}, "p999_us",
           {{"mayfly", 1999}});
  std::vector<bool> reached;
  for (const Verdict& verdict : judge(results)) reached.push_back(verdict.is_reached);
  EXPECT_EQ(reached, (std::vector<bool>{false, true, true, false, true}));
}

TEST(Report, ShowsTheMachineTheTablesAndTheGoals) {
  const std::string text = render_report(example(), Colours(false));
  for (const std::string_view part :
       {"commit abc", "Example \"9000\"", "Medians of up to 2", "rocksdb: not built in",
        "With keys 1,000,000, value_bytes 60.", "get, random", "695", "750", "0.94x", "MISSED"}) {
    EXPECT_TRUE(has(text, part)) << part << " in\n" << text;
  }
  EXPECT_FALSE(has(text, "\x1b"));
}

TEST(Report, GivesSettingsThatDifferAColumn) {
  Results results = example();
  results.add(store_run("get, random", "mayfly", 0, 1e3, 2e6));
  const std::string text = render_report(results, Colours(false));
  EXPECT_TRUE(has(text, "2,000,000")) << text;
  EXPECT_TRUE(has(text, "With value_bytes 60.")) << text;
}

TEST(Report, SaysThatABuildWithAssertionsMeasuresNothing) {
  Results results = example();
  results.machine.has_assertions = true;
  EXPECT_TRUE(has(render_report(results, Colours(false)), "these numbers mean nothing"));
}

TEST(Tables, HaveEachPartOnce) {
  for (const Table& table : tables()) {
    EXPECT_FALSE(table.columns.empty()) << table.part;
    for (const Table& other : tables()) {
      EXPECT_TRUE(&table == &other || table.suite != other.suite || table.part != other.part);
    }
  }
}

}  // namespace report_test
}  // namespace mayfly::bench
