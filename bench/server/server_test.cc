// SPDX-License-Identifier: Apache-2.0
// What redis-benchmark and the system say about a run, and the programs that are started for it.

#include "bench/server/bench_server_speed.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "bench/server/bench_server_child.h"

namespace mayfly::bench {
namespace {

TEST(BenchmarkCsvTest, ReadsTheRateBehindALineOfTitles) {
  const Result<double> rate = parse_benchmark_csv(
      "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\"\n"
      "\"HSET hash:many element:__rand_int__ xxx\",\"61349.69\",\"0.412\",\"0.120\",\"0.399\"\n");
  ASSERT_TRUE(rate);
  EXPECT_EQ(*rate, 61349.69);
}

TEST(BenchmarkCsvTest, ReadsTheRateWithoutTitlesOrBehindAWarning) {
  EXPECT_EQ(*parse_benchmark_csv("\"SET\",\"1000.50\"\n"), 1000.5);
  EXPECT_EQ(*parse_benchmark_csv("SET,1000.50\r\n"), 1000.5);
  EXPECT_EQ(*parse_benchmark_csv("WARNING: Could not fetch server CONFIG\n\"SET\",\"7\""), 7);
}

TEST(BenchmarkCsvTest, WithoutARateThereIsAnError) {
  EXPECT_FALSE(parse_benchmark_csv(""));
  EXPECT_FALSE(parse_benchmark_csv("\"test\",\"rps\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("\"SET\",\"0.00\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("\"SET\",\"1x\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("Could not connect\n"));
}

TEST(CpuTicksTest, AddsUserAndSystemTimeWhateverTheProgramIsCalled) {
  const std::string_view rest = " S 1 2 3 4 5 6 7 8 9 10 120 34 0 0 20 0 1 0";
  EXPECT_EQ(*cpu_ticks("42 (mayfly)" + std::string(rest)), 154);
  EXPECT_EQ(*cpu_ticks("42 (a) b (c)" + std::string(rest)), 154);
  EXPECT_FALSE(cpu_ticks(""));
  EXPECT_FALSE(cpu_ticks("42 (mayfly) S 1 2 3"));
  EXPECT_FALSE(cpu_ticks("42 (mayfly) S 1 2 3 4 5 6 7 8 9 10 x 34 0"));
}

TEST(ChildTest, GivesWhatAProgramPrintedAndSaysIfItFailed) {
  const auto run = [](std::vector<std::string> words) { return Child::start(words)->wait(); };
  const Result<Child::End> good = run({"sh", "-c", "echo out; echo err >&2"});
  ASSERT_TRUE(good);
  EXPECT_EQ(good->output, "out\nerr\n");
  const Result<Child::End> bad = run({"sh", "-c", "echo why; exit 3"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "why");
  EXPECT_FALSE(run({"there-is-no-such-program"}));
}

TEST(ChildTest, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    Result<Child> child = Child::start({"tail", "-f", "/dev/null"});
    ASSERT_TRUE(child);
    EXPECT_FALSE(child->has_ended());
    pid = child->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(IsInstalledTest, LooksInThePath) {
  EXPECT_TRUE(is_installed("sh"));
  EXPECT_FALSE(is_installed("there-is-no-such-program"));
}

}  // namespace
}  // namespace mayfly::bench
