// SPDX-License-Identifier: Apache-2.0
// Results of `mayfly bench server` made up by hand: how ratios are taken, how bars are judged, and
// what is said of them to people and programs.

#include "bench/server/bench_server_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "bench/report/bench_example.h"
#include "bench/server/bench_server_bars.h"

namespace mayfly {
namespace {

std::vector<SpeedRun> runs(std::initializer_list<double> rates, double server_us) {
  std::vector<SpeedRun> result;
  for (const double rate : rates) result.push_back({rate, server_us, 0.5});
  return result;
}

ServerBenchPlan example_plan() {
  ServerBenchPlan plan = *make_server_plan({.full = true});
  plan.has_redis = true;
  return plan;
}

ServerResults example_results() {
  ServerResults results;
  results.redis_version = "7.0.15";
  results.speed = {
      {"GET", "GET", 1, 100'000, runs({110, 500, 110}, 5), runs({100, 500, 100}, 10)},
      {"GET", "GET", 1, 1, runs({90}, 5), runs({100}, 10)},
      {"GET", "GET", 32, 1, runs({130'000}, 0.5), runs({100'000}, 1)},
      {"HSETEX", "HSET", 32, 1, runs({100'000}, 0.5), runs({100'000}, 1)},
  };
  results.memory = {{.fields_each = 10, .with_ttl = false, .bar = 38, .ours = 37, .redis = 44},
                    {.fields_each = 500'000, .with_ttl = true, .bar = 66, .ours = 66.5}};
  results.on_time = {
      {.idle = 0, .ours = {1000, 0.5, 1.5}, .redis = OnTimeRow::Events{1000, 50, 99}},
      {.idle = 1'000'000, .ours = {1000, 1, 49.5}, .redis = OnTimeRow::Events{69, 50, 9000}},
      {.fields = true, .idle = 1'000'000, .ours = {999, 1, 2}}};
  results.stalls = {{.fields_each = 1'000'000,
                     .expired = 1'000'000,
                     .seconds = 0.7,
                     .before = {1000, 10, 20, 30, 40},
                     .during = {900, 11, 300, 1999, 5000}},
                    {.fields_each = 10,
                     .expired = 1'000'000,
                     .seconds = 0.8,
                     .before = {1000, 10, 20, 30, 40},
                     .during = {900, 11, 300, 2000, 5000}}};
  results.growth = {{.server = "Mayfly",
                     .per_second = 500'000,
                     .growing = {1000, 30, 50, 90, 1900},
                     .longest_at_keys = 4'194'304},
                    {.server = "redis-server", .growing = {1000, 30, 50, 90, 9000}}};
  results.hlen = HlenResult{900, 20, 950};
  return results;
}

// The verdicts on the claims that have `words` in them: y holds, n does not, - is not judged.
std::string verdicts(const ServerBenchPlan& plan, const ServerResults& results,
                     std::string_view words) {
  std::string found;
  for (const Bar& bar : judge_server(plan, results)) {
    if (bar.claim.find(words) == std::string::npos) continue;
    found += !bar.is_judged ? '-' : bar.holds ? 'y' : 'n';
  }
  return found;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ServerResultsTest, RatiosAreMediansOfRatiosWithinARepeat) {
  SpeedRow row{"GET", "GET", 1, 1, runs({10, 400, 30}, 5), runs({10, 100, 10}, 10)};
  EXPECT_EQ(*ratio(row, &SpeedRun::per_second), 3);
  EXPECT_EQ(*ratio(row, &SpeedRun::server_us), 0.5);
  EXPECT_EQ(*middle(row.ours, &SpeedRun::per_second), 30);
  row.redis.clear();
  EXPECT_FALSE(ratio(row, &SpeedRun::per_second));
  EXPECT_FALSE(middle(row.redis, &SpeedRun::per_second));
}

TEST(ServerResultsTest, ARunTooShortForTheProcessorsClockHasNoRatio) {
  const SpeedRow row{"GET", "GET", 1, 1, runs({10}, 5), runs({10}, 0)};
  EXPECT_FALSE(ratio(row, &SpeedRun::server_us));
}

TEST(ServerResultsTest, SummarizesTimesInMicroseconds) {
  std::vector<std::int64_t> times(1001);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = static_cast<std::int64_t>(i + 1) * 1000;
  const ReplyTimes summary = summarize(times);
  EXPECT_EQ(summary.count, 1001u);
  EXPECT_EQ(summary.p50_us, 501);
  EXPECT_EQ(summary.p99_us, 991);
  EXPECT_EQ(summary.p999_us, 1000);
  EXPECT_EQ(summary.max_us, 1001);
  EXPECT_EQ(summarize({}).count, 0u);
}

TEST(ServerBarsTest, SpeedIsJudgedWhereItIsWorstAndHarderWithPipelining) {
  const ServerBenchPlan plan = example_plan();
  ServerResults results = example_results();
  EXPECT_EQ(verdicts(plan, results, "GET: "), "n");  // with one key it is 0.9
  EXPECT_EQ(verdicts(plan, results, "GET with -P 32: "), "y");
  EXPECT_EQ(verdicts(plan, results, "HSETEX with -P 32: "), "y");  // against HSET, 1.0 will do
  results.speed[2].ours[0].per_second = 129'000;
  EXPECT_EQ(verdicts(plan, results, "GET with -P 32: "), "n");
}

TEST(ServerBarsTest, WithoutRedisServerThereIsNothingToSayOfSpeed) {
  ServerResults results = example_results();
  for (SpeedRow& row : results.speed) row.redis.clear();
  EXPECT_EQ(verdicts(example_plan(), results, "throughput"), "");
}

TEST(ServerBarsTest, MemoryIsJudgedShapeByShape) {
  EXPECT_EQ(verdicts(example_plan(), example_results(), "bytes a field"), "yn");
}

TEST(ServerBarsTest, AnEventThatNeverCameIsLate) {
  ServerResults results = example_results();
  EXPECT_EQ(verdicts(example_plan(), results, "1000 keys"), "y");
  EXPECT_EQ(verdicts(example_plan(), results, "999 of 1000 fields"), "n");
  results.on_time[0].ours.last_ms = 50.5;
  EXPECT_EQ(verdicts(example_plan(), results, "1000 keys"), "n");
}

TEST(ServerBarsTest, StallsAreJudgedByTheirP999AndGrowthByItsLongestPause) {
  ServerResults results = example_results();
  EXPECT_EQ(verdicts(example_plan(), results, "p99.9 of GET"), "yn");
  EXPECT_EQ(verdicts(example_plan(), results, "longest pause"), "y");
  EXPECT_EQ(verdicts(example_plan(), results, "HLEN"), "y");
  results.stalls[0].expired = 999'999;
  results.growth[0].growing.max_us = 2001;
  results.hlen->mean_us = 1000;
  EXPECT_EQ(verdicts(example_plan(), results, "p99.9 of GET"), "nn");
  EXPECT_EQ(verdicts(example_plan(), results, "longest pause"), "n");
  EXPECT_EQ(verdicts(example_plan(), results, "HLEN"), "n");
}

TEST(ServerBarsTest, AtOtherSizesNothingIsJudged) {
  const ServerBenchPlan quick = *make_server_plan({.quick = true});
  for (const Bar& bar : judge_server(quick, example_results())) EXPECT_FALSE(bar.is_judged);
  EXPECT_EQ(verdicts(*make_server_plan({}), example_results(), "longest pause"), "-");
}

TEST(ServerReportTest, TellsWhatWasMeasuredAndWhatWasNotReached) {
  const std::string text =
      render_server_report(example_plan(), example_results(), example::machine(), Colours(false));
  for (const std::string_view part :
       {"redis-server 7.0.15", "HSETEX (HSET there)", "1.30x", "MISSED", "66.5",
        "after 10.0 s 69 of 1000", "one hash, expiring", "100 K hashes, before", "at 4.19 M keys",
        "mean 20.0 us, the first 900 us"}) {
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  }
}

TEST(ServerReportTest, LeavesOutWhatWasNotMeasured) {
  ServerBenchPlan plan = example_plan();
  plan.has_redis = false;
  const std::string text =
      render_server_report(plan, ServerResults{}, example::machine(), Colours(false));
  EXPECT_TRUE(has(text, "redis-server is not installed"));
  for (const std::string_view part : {"How fast", "memory", "on time", "pause", "HLEN", "saved",
                                      "append-only", "replica", "expected"}) {
    EXPECT_FALSE(has(text, part)) << part;
  }
  EXPECT_TRUE(make_server_charts(plan, ServerResults{}).empty());
}

TEST(ServerReportTest, SaysWhenTheClientWasTheLimit) {
  ServerResults results = example_results();
  const auto speed = [&] { return render_server_speed(example_plan(), results, Colours(false)); };
  EXPECT_FALSE(has(speed(), "never idle"));
  results.speed[2].ours[0].client_busy = 0.99;
  EXPECT_TRUE(has(speed(), "never idle"));
}

TEST(ServerReportTest, ProgramsGetAllNumbers) {
  const std::string json = server_to_json(example_plan(), example_results(), example::machine());
  for (const std::string_view part :
       {"\"benchmark\": \"server\"", "\"command\": \"HSETEX\"", "\"redis_command\": \"HSET\"",
        "\"bytes_per_field\": 66.5", "\"last_ms\": 49.5", "\"p99.9_us\": 1999",
        "\"longest_at_keys\": 4194304", "\"mean_us\": 20", "\"bars\""}) {
    EXPECT_TRUE(has(json, part)) << part << "\n" << json;
  }
}

TEST(ServerReportTest, DrawsAChartForEachPartThatCompares) {
  const std::vector<Chart> charts = make_server_charts(example_plan(), example_results());
  ASSERT_EQ(charts.size(), 4u);
  EXPECT_EQ(charts[0].file_name, "server_speed.svg");
  for (const Chart& chart : charts) EXPECT_TRUE(has(chart.svg, "Mayfly")) << chart.file_name;
}

}  // namespace
}  // namespace mayfly
