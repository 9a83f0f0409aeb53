// SPDX-License-Identifier: Apache-2.0
// How fast are large sets and sorted sets? redis-benchmark against all servers, in turn. Members
// and scores are at random, and exist before.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kSetWritten = 100;      // members of one command
constexpr std::string_view kPopped = "zpop";  // the sorted set that ZPOPMIN takes from

struct SetTest {
  std::string_view name;
  std::string_view words;  // of the command, with spaces between them
};
constexpr SetTest kSingle[] = {
    {"SADD", "SADD set element:__rand_int__"},
    {"SISMEMBER", "SISMEMBER set element:__rand_int__"},
    {"ZADD", "ZADD zset __rand_int__ element:__rand_int__"},
    {"ZRANGEBYSCORE", "ZRANGEBYSCORE zset __rand_int__ +inf LIMIT 0 10"},
    {"ZRANK", "ZRANK zset element:__rand_int__"},
    {"ZPOPMIN", "ZPOPMIN zpop"},
};
constexpr SetTest kPairs[] = {
    {"SINTER", "SINTER set:a set:b"},
    {"ZUNIONSTORE", "ZUNIONSTORE zset:union 2 zset:a zset:b"},
};

// Members as redis-benchmark names them, in no order of their scores.
void fill_set(RespClient& client, std::string_view command, std::string_view key,
              MemberRange members) {
  RespPipeline pipeline(client, 16);
  const std::size_t count = members.last - members.first;
  for (std::size_t i = members.first; i < members.last; i += kSetWritten) {
    std::vector<std::string> words = {std::string(command), std::string(key)};
    for (std::size_t j = i; j < std::min(i + kSetWritten, members.last); ++j) {
      if (command == "ZADD") words.push_back(std::to_string(score_of(j) % count));
      words.push_back(fmt::format("element:{:012}", j));
    }
    const std::vector<std::string_view> views(words.begin(), words.end());
    pipeline.add(Words(views));
  }
  must(pipeline.finish());
}

// Half of the members of each of two are in the other one too.
void fill_all(const ServerChild& server, const ServerPlan& plan) {
  RespClient client = server.connect();
  const std::size_t half = plan.pair_members / 2;
  for (const auto& [command, type] : {std::pair{"SADD", "set"}, std::pair{"ZADD", "zset"}}) {
    fill_set(client, command, type, {0, plan.set_members});
    fill_set(client, command, fmt::format("{}:a", type), {0, 2 * half});
    fill_set(client, command, fmt::format("{}:b", type), {half, 3 * half});
  }
}

void measure_single(ServerBench& bench, const std::vector<ServerChild>& servers, int round,
                    const SetTest& test, int pipeline) {
  const std::size_t members = bench.plan.set_members;
  const std::string name = fmt::format("{}{}", test.name, pipeline == 1 ? "" : " -P 32");
  const bool pops = test.name == "ZPOPMIN";
  std::size_t requests = bench.plan.request_count(pipeline);
  if (pops) requests = std::min(requests, members / 2);  // so that it stays large
  in_turns(servers, round, [&](const ServerChild& server) {
    bench.progress.begin(fmt::format("sets: {}, {}", name, server.name()));
    RespClient client = server.connect();
    if (pops) fill_set(client, "ZADD", kPopped, {0, members});
    bench.add(
        "sets", name, server,
        {{"members", static_cast<double>(members)}, {"requests", static_cast<double>(requests)}},
        call_benchmark(server, {.words = split_words(test.words),
                                .pipeline = pipeline,
                                .range = members,
                                .requests = requests}),
        round);
    if (pops) must(client.call("DEL", kPopped));
  });
}

// One client: each request is as much work as thousands of others.
void measure_pair(ServerBench& bench, const std::vector<ServerChild>& servers, int round,
                  const SetTest& test) {
  const std::size_t requests = bench.plan.pair_requests;
  in_turns(servers, round, [&](const ServerChild& server) {
    bench.progress.begin(fmt::format("sets: {}, {}", test.name, server.name()));
    bench.add("set_pairs", std::string(test.name), server,
              {{"members", static_cast<double>(bench.plan.pair_members)},
               {"requests", static_cast<double>(requests)}},
              call_benchmark(
                  server, {.words = split_words(test.words), .clients = 1, .requests = requests}),
              round);
  });
}

}  // namespace

void measure_sets(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  bench.progress.begin("sets: filling");
  const std::vector<ServerProgram> programs = plan.servers_with(&ServerProgram::has_sets);
  const std::vector<ServerChild> servers = start_all(programs);
  for (const ServerChild& server : servers) fill_all(server, plan);
  for (int round = 0; round < plan.rounds; ++round) {
    for (const int pipeline : {1, kSpeedPipeline}) {
      for (const SetTest& test : kSingle) measure_single(bench, servers, round, test, pipeline);
    }
    for (const SetTest& test : kPairs) measure_pair(bench, servers, round, test);
  }
}

}  // namespace mayfly::bench
