// SPDX-License-Identifier: Apache-2.0
// What does the expiry log cost? Keys with one deadline expire without and with it, in turns, and
// the server says how long its sweep took. Mayfly only: no other has such a log.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kLogKeys = 1'000'000;

void fill_log_keys(const ServerChild& server, std::size_t keys, Time deadline) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  const std::string at = unix_ms(deadline);
  for (std::size_t i = 0; i < keys; ++i) {
    pipeline.add("SET", fmt::format("key:{:07}", i), "value", "PXAT", at);
  }
  must(pipeline.finish());
}

// Keys removed in a second of sweeping.
double sweep_rate(ServerBench& bench, bool is_on) {
  const std::size_t keys = std::min(kLogKeys, bench.plan.expired_keys);
  const ServerChild server(bench.plan.servers.front());
  RespClient client = server.connect();
  set_config(client, "expiry-log", is_on ? "yes" : "no");
  const Millis lead = Millis(500 + static_cast<int>(keys / 150));
  double before = 0;
  const Time deadline = fill_before(bench.moments, lead, Millis(500), [&](Time at) {
    must(client.call("FLUSHALL"));
    fill_log_keys(server, keys, at);
    before = info_of(client, "stats", "expired_keys");
  });
  const double micros = info_of(client, "expiry", "expiry_cpu_microseconds");
  bench.moments.wait_for(deadline);
  while (info_of(client, "stats", "expired_keys") - before < static_cast<double>(keys)) {
    rest(Millis(20));
  }
  const double took = info_of(client, "expiry", "expiry_cpu_microseconds") - micros;
  return static_cast<double>(keys) / took * 1e6;
}

}  // namespace

void measure_expiry_log(ServerBench& bench) {
  const ServerChild named(bench.plan.servers.front());
  for (int round = 0; round < bench.plan.rounds; ++round) {
    bench.progress.begin("expirylog: without and with it");
    const double off = sweep_rate(bench, false);
    const double on = sweep_rate(bench, true);
    const auto keys = static_cast<double>(std::min(kLogKeys, bench.plan.expired_keys));
    bench.add("expirylog", "mass expiry", named, {{"keys", keys}},
              {{"off_per_second", off}, {"on_per_second", on}, {"ratio", on / off}}, round);
  }
}

}  // namespace mayfly::bench
