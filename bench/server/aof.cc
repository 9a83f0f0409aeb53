// SPDX-License-Identifier: Apache-2.0
// What does the append-only file cost, synced every second? redis-benchmark against two servers of
// each kind, one with it and one without, in turn.

#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kLonger =
    2;  // than a run of the part `speed`: the file is synced a few times

struct AofServers {
  bool with_aof;
  std::vector<ServerChild> servers;
};

}  // namespace

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

}  // namespace mayfly::bench
