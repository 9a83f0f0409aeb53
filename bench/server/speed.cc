// SPDX-License-Identifier: Apache-2.0
// How fast is the server? redis-benchmark against all servers, in turn.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "bench/server/measurements.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::string_view kOneHash = "hash:one";
constexpr std::string_view kManyHash = "hash:many";
constexpr std::string_view kVolatileOneHash = "volatile:one";
constexpr std::string_view kVolatileManyHash = "volatile:many";
constexpr std::string_view kValue = "xxx";     // as large as redis-benchmark's own
constexpr std::string_view kHashTtl = "3600";  // seconds; nothing expires while it is measured

std::vector<std::string> command_words(std::string_view command, std::size_t keys) {
  const std::string_view hash = keys == 1 ? kOneHash : kManyHash;
  const std::string_view volatile_hash = keys == 1 ? kVolatileOneHash : kVolatileManyHash;
  const auto words = [](auto... word) { return std::vector<std::string>{std::string(word)...}; };
  if (command == "SET") return words("SET", "key:__rand_int__", kValue);
  if (command == "GET") return words("GET", "key:__rand_int__");
  if (command == "HSET") return words("HSET", hash, "element:__rand_int__", kValue);
  if (command == "HGET") return words("HGET", hash, "element:__rand_int__");
  return words("HSETEX", volatile_hash, "EX", kHashTtl, "FIELDS", "1", "element:__rand_int__",
               kValue);
}

void fill_one(RespPipeline& pipeline, bool has_field_ttl, std::string_view number,
              std::string_view hash, std::string_view volatile_hash) {
  const std::string key = fmt::format("key:{}", number);
  const std::string field = fmt::format("element:{}", number);
  pipeline.add("SET", key, kValue);
  pipeline.add("HSET", hash, field, kValue);
  if (has_field_ttl) {
    pipeline.add("HSETEX", volatile_hash, "EX", kHashTtl, "FIELDS", "1", field, kValue);
  }
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

constexpr std::size_t kLonger =
    2;  // than a run of the part `speed`: the file is synced a few times
constexpr std::size_t kMoreRequests = 10;

std::vector<std::string> benchmark_words(const ServerChild& server, const BenchmarkCall& call) {
  std::vector<std::string> words = {"redis-benchmark",
                                    "--csv",
                                    "-p",
                                    std::to_string(server.port()),
                                    "-c",
                                    std::to_string(call.clients),
                                    "-n",
                                    std::to_string(call.requests),
                                    "-P",
                                    std::to_string(call.pipeline)};
  if (call.range > 1) words.insert(words.end(), {"-r", std::to_string(call.range)});
  words.insert(words.end(), call.words.begin(), call.words.end());
  return words;
}

struct AofServers {
  bool with_aof;
  std::vector<ServerChild> servers;
};

}  // namespace

void fill_for_speed(const ServerChild& server, std::size_t keys) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  const bool has_field_ttl = server.program().has_field_ttl;
  fill_one(pipeline, has_field_ttl, "__rand_int__", kOneHash, kVolatileOneHash);
  for (std::size_t i = 0; i < keys; ++i) {
    fill_one(pipeline, has_field_ttl, fmt::format("{:012}", i), kManyHash, kVolatileManyHash);
  }
  must(pipeline.finish());
}

// The tool counts whole milliseconds; a run that takes less than one has no finite rate, and is
// repeated with more requests.
Metrics call_benchmark(const ServerChild& server, BenchmarkCall call) {
  for (;; call.requests *= kMoreRequests) {
    const std::vector<std::string> words = benchmark_words(server, call);
    const double cpu_before = server.cpu_seconds();
    const std::int64_t start = monotonic_ns();
    const Child::End end = Child(words).wait();
    const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    const double cpu = server.cpu_seconds() - cpu_before;
    const double rate = must(parse_benchmark_csv(end.output));
    if (!std::isfinite(rate)) continue;
    return {{"ops_per_second", rate},
            {"server_us", cpu * 1e6 / static_cast<double>(call.requests)},
            {"client_busy_percent", 100 * std::min(end.cpu_seconds / seconds, 1.0)}};
  }
}

Metrics run_benchmark(const ServerChild& server, const SpeedTest& test, std::size_t requests) {
  const bool is_known = test.command != "HSETEX" || server.program().has_field_ttl;
  return call_benchmark(server,
                        {.words = command_words(is_known ? test.command : "HSET", test.keys),
                         .pipeline = test.pipeline,
                         .range = test.keys,
                         .requests = requests});
}

void measure_speed(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  bench.progress.begin("speed: filling");
  const std::vector<ServerChild> servers = start_all(plan.servers);
  for (const ServerChild& server : servers) fill_for_speed(server, plan.key_range);
  for (int round = 0; round < plan.rounds; ++round) {
    for (const int pipeline : {1, kSpeedPipeline}) {
      for (const std::size_t keys : {plan.key_range, std::size_t{1}}) {
        for (const std::string_view command : {"SET", "GET", "HSET", "HGET", "HSETEX"}) {
          const std::string name = fmt::format("{}{}", command, pipeline == 1 ? "" : " -P 32");
          const std::size_t requests = plan.request_count(pipeline);
          in_turns(servers, round, [&](const ServerChild& server) {
            bench.progress.begin(fmt::format("speed: {}, {}", name, server.name()));
            bench.add(
                "speed", name, server,
                {{"keys", static_cast<double>(keys)}, {"requests", static_cast<double>(requests)}},
                run_benchmark(server, {command, pipeline, keys}, requests), round);
          });
        }
      }
    }
  }
}

// What does the append-only file cost, synced every second? Two servers of each kind, one with it
// and one without, in turn.
void measure_aof(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  const std::size_t requests = plan.request_count(kSpeedPipeline) * kLonger;
  std::vector<AofServers> all;
  for (const bool with_aof : {false, true}) {
    all.push_back({with_aof, start_all(plan.servers)});
    for (const ServerChild& server : all.back().servers) {
      set_aof(server, with_aof);
      fill_for_speed(server, plan.key_range);
    }
  }
  for (int round = 0; round < plan.rounds; ++round) {
    for (const std::string_view command : {"SET", "HSETEX"}) {
      // With or without the file: which of them comes first changes with the round.
      for (std::size_t i = 0; i < all.size(); ++i) {
        const AofServers& those = all[(i + static_cast<std::size_t>(round)) % all.size()];
        const std::string name = std::string(command) + (those.with_aof ? ", AOF" : ", no AOF");
        bench.progress.begin("persist: " + name);
        in_turns(those.servers, round, [&](const ServerChild& server) {
          bench.add("aof", name, server, {{"requests", static_cast<double>(requests)}},
                    run_benchmark(server, {command, kSpeedPipeline, plan.key_range}, requests),
                    round);
        });
      }
    }
  }
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

}  // namespace mayfly::bench
