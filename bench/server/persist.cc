// SPDX-License-Identifier: Apache-2.0
// The part `persist`, on one shape of the data after the other: how fast all data are written to a
// file and read from it, and what is measured while they are there. All servers in turn, on the
// same fields, which have deadlines where a server has any for fields.

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "bench/report/option_values.h"
#include "bench/server/measurements.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) / 1e9;
}

double dump_bytes(const ServerChild& server) {
  std::error_code why;
  const auto bytes = std::filesystem::file_size(server.directory() / "dump.rdb", why);
  if (!why) return static_cast<double>(bytes);
  throw Failure(fmt::format("{} has saved nothing: {}", server.name(), why.message()));
}

// Whether all hashes are there again, and the first one is whole.
void check_loaded(RespClient& client, std::size_t keys, std::size_t fields_each) {
  const auto size = must(client.call("DBSIZE")).integer;
  const auto length = must(client.call("HLEN", "hash:0000000")).integer;
  if (size == static_cast<std::int64_t>(keys) && length == static_cast<std::int64_t>(fields_each)) {
    return;
  }
  throw Failure(fmt::format("loaded {} keys with {} fields in the first, instead of {} and {}",
                            size, length, keys, fields_each));
}

Settings settings_of(const ServerPlan& plan) {
  return {{"fields", static_cast<double>(plan.persist_fields)}};
}

// Fields of a hash: more than redis-server keeps packed, and fewer, which it may compress.
constexpr std::size_t kTable = 1000;
constexpr std::size_t kPacked = 100;

// REQUIRES: the servers hold hashes of `fields_each`, and nothing else.
void measure_save(ServerBench& bench, const std::vector<ServerChild>& servers,
                  std::size_t fields_each, bool compressed) {
  const std::string name = fmt::format("hashes of {}{}", size_title(fields_each),
                                       compressed ? "" : ", rdbcompression no");
  for (int round = 0; round < bench.plan.rounds; ++round) {
    in_turns(servers, round, [&](const ServerChild& server) {
      RespClient client = server.connect();
      set_config(client, "rdbcompression", compressed ? "yes" : "no");
      // From the command to its reply, so with the sync of the file.
      const std::int64_t start = monotonic_ns();
      call_slowly(client, "SAVE");
      const double seconds = seconds_since(start);
      const double bytes = dump_bytes(server);
      bench.add("save", name, server, settings_of(bench.plan),
                {{"seconds", seconds}, {"bytes", bytes}, {"bytes_per_second", bytes / seconds}},
                round);
    });
  }
}

void measure_load(ServerBench& bench, const std::vector<ServerChild>& servers,
                  std::size_t fields_each) {
  const std::size_t fields = bench.plan.persist_fields;
  const std::size_t keys = (fields + fields_each - 1) / fields_each;
  for (int round = 0; round < bench.plan.rounds; ++round) {
    in_turns(servers, round, [&](const ServerChild& server) {
      // What was there is freed before the stopwatch starts, as a server that starts has nothing.
      RespClient client = server.connect();
      call_slowly(client, "FLUSHALL", "SYNC");
      used_memory(server);
      const std::int64_t start = monotonic_ns();
      call_slowly(client, "DEBUG", "RELOAD", "NOSAVE");
      const double seconds = seconds_since(start);
      check_loaded(client, keys, fields_each);
      bench.add(
          "load", "hashes of " + size_title(fields_each), server, settings_of(bench.plan),
          {{"seconds", seconds}, {"fields_per_second", static_cast<double>(fields) / seconds}},
          round);
    });
  }
}

}  // namespace

void measure_persistence(ServerBench& bench) {
  const ServerPlan& plan = bench.plan;
  const auto begin = [&](std::string_view what, std::size_t fields_each) {
    bench.progress.begin(fmt::format("persist: {}, {} fields, {} a hash", what,
                                     size_title(plan.persist_fields), size_title(fields_each)));
  };
  for (const std::size_t fields_each : {kTable, kPacked}) {
    const std::vector<ServerChild> servers = start_all(plan.servers);
    const Time far = deadline_after(bench.moments.now(), kFarAway);
    for (const ServerChild& server : servers) {
      begin("filling " + server.name(), fields_each);
      fill_hashes(server, plan.persist_fields, fields_each, far);
    }
    // The compressed file, which is the default of servers, comes last: it is the one that is
    // loaded. Fields are too short to be compressed, but not a whole packed hash.
    begin("SAVE", fields_each);
    if (fields_each == kPacked) measure_save(bench, servers, fields_each, false);
    measure_save(bench, servers, fields_each, true);
    begin("loading", fields_each);
    measure_load(bench, servers, fields_each);
    if (fields_each != kPacked) continue;
    for (const std::string_view work : {"BGSAVE", "BGREWRITEAOF"}) {
      begin(fmt::format("GETs during {}", work), fields_each);
      for (const ServerChild& server : servers) set_aof(server, work == "BGREWRITEAOF");
      measure_child(bench, servers, work);
    }
    for (const ServerChild& server : servers) set_aof(server, false);
    for (const ServerChild& server : servers) {
      begin("a replica of " + server.name(), fields_each);
      measure_sync(bench, server);
    }
  }
  measure_aof(bench);
}

}  // namespace mayfly::bench
