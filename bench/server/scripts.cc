// SPDX-License-Identifier: Apache-2.0
// How fast are scripts? EVALSHA of those that libraries send most, by redis-benchmark against all
// servers, in turn. And how much memory do many different scripts take?

#include <fmt/format.h>

#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kManyScripts = 100'000;

struct ScriptTest {
  std::string_view name;
  std::string_view key;
  std::string_view code;
};

// The limiter gets a moment for its argument, from a range that is as wide as its window.
constexpr ScriptTest kScriptTests[] = {
    {"GET", "script:string", "return redis.call('GET', KEYS[1])"},
    {"release of a lock", "script:lock",
     "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
     "return 0"},
    {"limiter of a sliding window", "script:window",
     "local now = tonumber(ARGV[1]) "
     "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - 1000) "
     "if redis.call('ZCARD', KEYS[1]) < 100 then "
     "redis.call('ZADD', KEYS[1], now, ARGV[1]) redis.call('PEXPIRE', KEYS[1], 1000) return 1 end "
     "return 0"},
    {"counter with a TTL", "script:counter",
     "local n = redis.call('INCR', KEYS[1]) "
     "if n == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end return n"},
};

void measure_script_test(ServerBench& bench, const std::vector<ServerChild>& servers, int round,
                         const ScriptTest& test, int pipeline) {
  const std::string name = fmt::format("{}{}", test.name, pipeline == 1 ? "" : " -P 32");
  in_turns(servers, round, [&](const ServerChild& server) {
    bench.progress.begin(fmt::format("scripts: {}, {}", name, server.name()));
    RespClient client = server.connect();
    const std::string digest = must(client.call("SCRIPT", "LOAD", test.code)).text;
    bench.add("scripts", name, server, {{"requests", static_cast<double>(bench.plan.requests)}},
              call_benchmark(server, {.words = {"EVALSHA", digest, "1", std::string(test.key),
                                                "1__rand_int__"},
                                      .pipeline = pipeline,
                                      .range = bench.plan.key_range,
                                      .requests = bench.plan.request_count(pipeline)}),
              round);
    must(client.call("DEL", test.key));
  });
}

// A program that puts its arguments into the text of a script sends a new one each time.
void measure_many_scripts(ServerBench& bench, const ServerProgram& program) {
  bench.progress.begin(fmt::format("scripts: {} different ones, {}", kManyScripts, program.name));
  const ServerChild server(program);
  RespClient client = server.connect();
  must(client.call("EVAL", "return 0", "0"));
  const double before = used_memory(server);
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < kManyScripts; ++i) {
    pipeline.add("EVAL", fmt::format("return redis.call('GET', 'key:{}')", i), "0");
  }
  must(pipeline.finish());
  bench.add("script_memory", "different scripts", server,
            {{"scripts", static_cast<double>(kManyScripts)}},
            {{"megabytes", (used_memory(server) - before) / 1e6}});
}

}  // namespace

void measure_scripts(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  const std::vector<ServerProgram> programs = plan.servers_with(&ServerProgram::has_scripts);
  {
    const std::vector<ServerChild> servers = start_all(programs);
    for (const ServerChild& server : servers) {
      must(server.connect().call("SET", "script:string", "0123456789"));
    }
    for (int round = 0; round < plan.rounds; ++round) {
      for (const int pipeline : {1, kSpeedPipeline}) {
        for (const ScriptTest& test : kScriptTests) {
          measure_script_test(bench, servers, round, test, pipeline);
        }
      }
    }
  }
  for (const ServerProgram& program : programs) measure_many_scripts(bench, program);
}

}  // namespace mayfly::bench
