// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_child.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::string_view kOneHash = "hash:one";
constexpr std::string_view kManyHash = "hash:many";
constexpr std::string_view kVolatileOneHash = "volatile:one";
constexpr std::string_view kVolatileManyHash = "volatile:many";
constexpr std::string_view kValue = "xxx";  // as large as redis-benchmark's own
constexpr std::string_view kTtl = "3600";   // seconds; nothing expires while it is measured

struct SpeedTest {
  std::string_view command;
  std::string_view other;  // what redis-server does meanwhile
};

constexpr SpeedTest kTests[] = {
    {"SET", "SET"}, {"GET", "GET"}, {"HSET", "HSET"}, {"HGET", "HGET"}, {"HSETEX", "HSET"}};

// redis-benchmark puts a number of twelve digits for __rand_int__ if it has a range, or leaves it.
std::vector<std::string> command_words(std::string_view command, std::size_t keys) {
  const std::string_view hash = keys == 1 ? kOneHash : kManyHash;
  const std::string_view volatile_hash = keys == 1 ? kVolatileOneHash : kVolatileManyHash;
  const auto words = [](auto... word) { return std::vector<std::string>{std::string(word)...}; };
  if (command == "SET") return words("SET", "key:__rand_int__", kValue);
  if (command == "GET") return words("GET", "key:__rand_int__");
  if (command == "HSET") return words("HSET", hash, "element:__rand_int__", kValue);
  if (command == "HGET") return words("HGET", hash, "element:__rand_int__");
  return words("HSETEX", volatile_hash, "EX", kTtl, "FIELDS", "1", "element:__rand_int__", kValue);
}

void fill_one(RespPipeline& pipeline, ServerKind kind, std::string_view number,
              std::string_view hash, std::string_view volatile_hash) {
  const std::string key = fmt::format("key:{}", number);
  const std::string field = fmt::format("element:{}", number);
  pipeline.add("SET", key, kValue);
  pipeline.add("HSET", hash, field, kValue);
  if (kind == ServerKind::mayfly) {
    pipeline.add("HSETEX", volatile_hash, "EX", kTtl, "FIELDS", "1", field, kValue);
  }
}

std::vector<SpeedRow> make_rows(const ServerBenchPlan& plan) {
  std::vector<SpeedRow> rows;
  for (const int pipeline : {1, kSpeedPipeline}) {
    for (const std::size_t keys : {plan.key_range, std::size_t{1}}) {
      for (const SpeedTest& test : kTests) {
        rows.push_back({test.command, test.other, pipeline, keys});
      }
    }
  }
  return rows;
}

// A field of a line of CSV, without its quotes; the line loses it.
std::string_view take_field(std::string_view& line) {
  std::string_view field;
  if (line.starts_with('"')) {
    line.remove_prefix(1);
    field = line.substr(0, line.find("\","));
    line.remove_prefix(std::min(line.size(), field.size() + 2));
    if (field.ends_with('"')) field.remove_suffix(1);
  } else {
    field = line.substr(0, line.find(','));
    line.remove_prefix(std::min(line.size(), field.size() + 1));
  }
  return field;
}

double row_work(const ServerBenchPlan& plan, int pipeline) {
  constexpr double kSlow = 40'000;  // requests a second
  constexpr double kFast = 600'000;
  return static_cast<double>(request_count(plan, pipeline)) / (pipeline == 1 ? kSlow : kFast);
}

}  // namespace

Status fill_for_speed(const ServerChild& server, std::size_t keys) {
  Result<RespClient> client = server.connect();
  if (!client) return client.error();
  RespPipeline pipeline(*client);
  fill_one(pipeline, server.kind(), "__rand_int__", kOneHash, kVolatileOneHash);
  for (std::size_t i = 0; i < keys; ++i) {
    fill_one(pipeline, server.kind(), fmt::format("{:012}", i), kManyHash, kVolatileManyHash);
  }
  return pipeline.finish();
}

Result<SpeedRun> run_benchmark(const ServerChild& server, const SpeedRow& row,
                               std::size_t requests) {
  std::vector<std::string> words = {"redis-benchmark",
                                    "--csv",
                                    "-p",
                                    std::to_string(server.port()),
                                    "-c",
                                    std::to_string(kSpeedClients),
                                    "-n",
                                    std::to_string(requests),
                                    "-P",
                                    std::to_string(row.pipeline)};
  if (row.keys > 1) words.insert(words.end(), {"-r", std::to_string(row.keys)});
  const bool is_ours = server.kind() == ServerKind::mayfly;
  for (std::string& word : command_words(is_ours ? row.command : row.other, row.keys)) {
    words.push_back(std::move(word));
  }

  const Result<double> cpu_before = server.cpu_seconds();
  if (!cpu_before) return cpu_before.error();
  const std::int64_t start = monotonic_ns();
  Result<Child> child = Child::start(words);
  if (!child) return child.error();
  const Result<Child::End> end = child->wait();
  const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  if (!end) {
    return Error{end.error().code, fmt::format("redis-benchmark failed: {}", end.error().message)};
  }
  const Result<double> cpu_after = server.cpu_seconds();
  if (!cpu_after) return cpu_after.error();
  const Result<double> per_second = parse_benchmark_csv(end->output);
  if (!per_second) return per_second.error();
  return SpeedRun{*per_second, (*cpu_after - *cpu_before) * 1e6 / static_cast<double>(requests),
                  std::min(end->cpu_seconds / seconds, 1.0)};
}

Result<std::vector<SpeedRow>> measure_speed(const ServerBenchPlan& plan, Progress& progress) {
  std::vector<ServerChild> servers;
  for (const ServerKind kind : {ServerKind::mayfly, ServerKind::redis}) {
    if (kind == ServerKind::redis && !plan.has_redis) continue;
    progress.begin(fmt::format("speed: filling {}", title_of(kind)));
    Result<ServerChild> server = ServerChild::start(kind);
    if (!server) return server.error();
    if (const Status status = fill_for_speed(*server, plan.key_range); !status)
      return status.error();
    servers.push_back(std::move(*server));
  }

  std::vector<SpeedRow> rows = make_rows(plan);
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    for (SpeedRow& row : rows) {
      // The one that begins is another one in each repeat.
      for (std::size_t i = 0; i < servers.size(); ++i) {
        const ServerChild& server =
            servers[(i + static_cast<std::size_t>(repeat)) % servers.size()];
        const bool is_ours = server.kind() == ServerKind::mayfly;
        progress.begin(fmt::format("speed: {}{}, {}", is_ours ? row.command : row.other,
                                   row.pipeline == 1 ? "" : " -P 32", title_of(server.kind())));
        const Result<SpeedRun> run = run_benchmark(server, row, request_count(plan, row.pipeline));
        if (!run) return run.error();
        (is_ours ? row.ours : row.redis).push_back(*run);
        progress.add(row_work(plan, row.pipeline));
      }
    }
  }
  return rows;
}

Result<double> parse_benchmark_csv(std::string_view text) {
  std::optional<double> found;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    (void)take_field(line);  // the name of the test
    const std::string_view rate = take_field(line);
    double number = 0;
    const auto [end, failure] = std::from_chars(rate.data(), rate.data() + rate.size(), number);
    if (failure == std::errc() && end == rate.data() + rate.size() && number > 0) found = number;
  }
  if (found) return *found;
  return Error{Code::corrupt, "redis-benchmark printed no rate: is it older than version 3?"};
}

double speed_work(const ServerBenchPlan& plan) {
  double work = 0;
  for (const SpeedRow& row : make_rows(plan)) work += row_work(plan, row.pipeline);
  return work * plan.repeats * (plan.has_redis ? 2 : 1);
}

}  // namespace mayfly
