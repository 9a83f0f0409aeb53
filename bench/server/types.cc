// SPDX-License-Identifier: Apache-2.0
// How fast are lists, streams, bits, HyperLogLogs and places? redis-benchmark against all servers,
// in turn. And how much memory do lists and streams take?

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kRangeElements = 600;  // of the list that LRANGE reads
constexpr std::size_t kReadEntries = 1000;   // of the stream that XREAD reads
constexpr std::size_t kPlaces = 100'000;     // in the key that GEOSEARCH searches
constexpr std::size_t kBitBytes = 4096;      // of the string that BITCOUNT reads

struct TypeTest {
  std::string_view name;
  std::string_view words;     // of the command, with spaces between them
  std::size_t fewer = 1;      // requests: what a request costs, about
  std::string_view key = {};  // that it fills or empties; it is filled or removed before each run
};
constexpr TypeTest kTypeTests[] = {
    {"LPUSH", "LPUSH list:push e__rand_int__", 1, "list:push"},
    {"RPOP", "RPOP list:pop", 1, "list:pop"},
    {"LRANGE 100", "LRANGE list:range 0 99", 4},
    {"LRANGE 600", "LRANGE list:range 0 599", 20},
    {"XADD", "XADD stream:add * temperature 21.5 humidity 40 place e__rand_int__", 1, "stream:add"},
    {"XREAD", "XREAD COUNT 10 STREAMS stream:read 500-0", 2},
    {"SETBIT", "SETBIT bits:__rand_int__ 7 1"},
    {"BITCOUNT", "BITCOUNT bits"},
    {"PFADD", "PFADD visitors e__rand_int__"},
    {"GEOSEARCH", "GEOSEARCH places FROMLONLAT 13.4 52.5 BYRADIUS 2 km ASC", 200},
};

// 13 bytes.
std::string element(std::size_t i) { return fmt::format("e{:012}", i); }

void push_elements(RespClient& client, std::string_view key, std::size_t count) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < count; ++i) pipeline.add("RPUSH", key, element(i));
  must(pipeline.finish());
}

void add_entry(RespPipeline& pipeline, std::string_view key, std::size_t i) {
  pipeline.add("XADD", key, fmt::format("{}-0", i + 1), "temperature", "21.5", "humidity", "40",
               "place", element(i));
}

// Spread over some 100 km around one place, the same on each server.
void fill_places(RespClient& client) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const auto east = static_cast<double>((i * 0x9E3779B97F4A7C15 >> 40) % 20'000) / 10'000;
    const auto north = static_cast<double>((i * 0xC2B2AE3D27D4EB4F >> 40) % 10'000) / 10'000;
    pipeline.add("GEOADD", "places", fmt::format("{:.4f}", 12.4 + east),
                 fmt::format("{:.4f}", 52 + north), element(i));
  }
  must(pipeline.finish());
}

void fill_types(const ServerChild& server) {
  RespClient client = server.connect();
  push_elements(client, "list:range", kRangeElements);
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < kReadEntries; ++i) add_entry(pipeline, "stream:read", i);
  must(pipeline.finish());
  must(client.call("SET", "bits", std::string(kBitBytes, '\x5A')));
  fill_places(client);
}

void measure_type_test(ServerBench& bench, const std::vector<ServerChild>& servers, int round,
                       const TypeTest& test, int pipeline) {
  const std::string name = fmt::format("{}{}", test.name, pipeline == 1 ? "" : " -P 32");
  const std::size_t requests =
      std::max<std::size_t>(bench.plan.request_count(pipeline) / test.fewer, 100);
  in_turns(servers, round, [&](const ServerChild& server) {
    bench.progress.begin(fmt::format("types: {}, {}", name, server.name()));
    RespClient client = server.connect();
    if (test.name == "RPOP") push_elements(client, test.key, requests);
    bench.add("types", name, server, {{"requests", static_cast<double>(bench.plan.requests)}},
              call_benchmark(server, {.words = split_words(test.words),
                                      .pipeline = pipeline,
                                      .range = bench.plan.key_range,
                                      .requests = requests}),
              round);
    if (!test.key.empty()) must(client.call("DEL", test.key));
  });
}

// ---- Memory ----

struct TypeShape {
  std::string_view name;
  bool is_stream;
  std::size_t each;  // elements or entries of a key; 0: all in one
};
constexpr TypeShape kTypeShapes[] = {{"lists of 10", false, 10},
                                     {"lists of 100", false, 100},
                                     {"one list", false, 0},
                                     {"streams of 100, 3 fields", true, 100},
                                     {"one stream, 3 fields", true, 0}};

void fill_shape(const ServerChild& server, const TypeShape& shape, std::size_t count) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("key:{}", shape.each == 0 ? 0 : i / shape.each);
    if (shape.is_stream) {
      add_entry(pipeline, key, i);
    } else {
      pipeline.add("RPUSH", key, element(i));
    }
  }
  must(pipeline.finish());
}

void measure_type_memory(ServerBench& bench, const ServerProgram& program, const TypeShape& shape) {
  bench.progress.begin(fmt::format("types: memory of {}, {}", shape.name, program.name));
  const std::size_t count = bench.plan.memory_fields;
  const ServerChild server(program);
  const double before = used_memory(server);
  fill_shape(server, shape, count);
  const double bytes = (used_memory(server) - before) / static_cast<double>(count);
  bench.add("type_memory", std::string(shape.name), server,
            {{"elements", static_cast<double>(count)}}, {{"bytes_per_element", bytes}});
}

}  // namespace

void measure_types(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  const std::vector<ServerProgram> programs = plan.servers_with(&ServerProgram::has_lists);
  {
    bench.progress.begin("types: filling");
    const std::vector<ServerChild> servers = start_all(programs);
    for (const ServerChild& server : servers) fill_types(server);
    for (int round = 0; round < plan.rounds; ++round) {
      for (const int pipeline : {1, kSpeedPipeline}) {
        for (const TypeTest& test : kTypeTests) {
          measure_type_test(bench, servers, round, test, pipeline);
        }
      }
    }
    measure_hand_over(bench, servers);
  }
  for (const TypeShape& shape : kTypeShapes) {
    for (const ServerProgram& program : programs) measure_type_memory(bench, program, shape);
  }
}

}  // namespace mayfly::bench
