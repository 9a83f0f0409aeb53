// SPDX-License-Identifier: Apache-2.0
// All of the part `persist`, on one shape of the data after the other.

#include <fmt/format.h>

#include "bench/report/option_values.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

// Fields of a hash: more than redis-server keeps packed, and fewer, which it may compress.
constexpr std::size_t kTable = 1000;
constexpr std::size_t kPacked = 100;

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
