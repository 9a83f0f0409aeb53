// SPDX-License-Identifier: Apache-2.0
// Does the server keep its clients waiting while very many members expire at once?
//
// All clients here are one thread, which waits for one reply before it asks for the next. So two
// processors are enough for the server and its clients, and what is measured is not the scheduler.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bench/report/option_values.h"
#include "bench/report/statistics.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kSpread = 10;          // members of a key, where there are many
constexpr std::size_t kMembersAtOnce = 100;  // members of one command, where there is one
constexpr Millis kBefore(1000);              // the time before the deadline
constexpr Millis kMargin(1200);              // with some for the clients to connect
constexpr std::int64_t kStallPatienceNs = 60'000'000'000;  // 1 min
constexpr std::int64_t kAfterNs = 200'000'000;             // 200 ms, for what is freed in the end

Millis lead_for(std::size_t members) { return Millis(1000 + static_cast<int>(members / 300)); }

void fill(RespClient& client, const MemberType& type, std::size_t members, std::size_t members_each,
          Time deadline) {
  RespPipeline pipeline(client, 64);
  const std::size_t at_once = std::min(members_each, kMembersAtOnce);
  for (std::size_t i = 0; i < members; i += at_once) {
    add_members(pipeline, type, key_name(type, i / members_each),
                {i, std::min(i + at_once, members)}, deadline);
  }
  must(pipeline.finish());
}

// What one or more expiries showed.
struct Samples {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> during;
  std::vector<std::int64_t> after;
  std::vector<double> seconds;  // from the deadline until all were removed
  std::size_t left = 0;         // that were not removed in a minute, at most
};

// Asks from before the deadline until all is gone, and a moment longer.
void probe(const ServerChild& server, std::size_t members, const Moments& moments, Time deadline,
           Samples& samples) {
  RespClient client = server.connect();
  RespClient watcher = server.connect();
  must(client.call("SET", "probe", "x"));
  const double base = info_of(watcher, "stats", "expired_fields");  // members of any type
  const auto ask = [&](std::vector<std::int64_t>& times) {
    const std::int64_t start = monotonic_ns();
    must(client.call("GET", "probe"));
    const std::int64_t end = monotonic_ns();
    times.push_back(end - start);
    return moments.after(deadline, end);
  };
  moments.wait_for(deadline - kBefore);
  std::int64_t passed = -1;
  while (passed < 0) passed = ask(samples.before);
  // The last one was asked before the deadline, and answered after it.
  samples.during.push_back(samples.before.back());
  samples.before.pop_back();

  std::size_t expired = 0;
  std::int64_t next_look = kLookNs;
  while (expired < members && passed < kStallPatienceNs) {
    passed = ask(samples.during);
    if (passed < next_look) continue;
    expired = static_cast<std::size_t>(info_of(watcher, "stats", "expired_fields") - base);
    next_look = moments.after(deadline, monotonic_ns()) + kLookNs;
  }
  samples.left = std::max(samples.left, members - std::min(members, expired));
  samples.seconds.push_back(static_cast<double>(passed) / 1e9);
  const std::int64_t end = passed + kAfterNs;
  while (passed < end) passed = ask(samples.after);
}

// Some hundred GETs fit into an expiry, too few for a p99.9; so the percentiles are over those of
// all rounds. The longest GET may come a moment later, when memory is freed.
void measure_stall(ServerBench& bench, const MemberType& type, std::size_t members_each) {
  const std::size_t members = bench.plan.stall_members;
  const std::string where = shape_title(type, members_each, members);
  Samples samples;
  std::optional<ServerChild> server;
  for (int round = 0; round < bench.plan.rounds; ++round) {
    bench.progress.begin(fmt::format("stall: {} expire, {}", size_title(members), where));
    server.reset();
    server.emplace(bench.plan.servers.front());
    RespClient writer = server->connect();
    const Time deadline = fill_before(bench.moments, lead_for(members), kMargin, [&](Time moment) {
      fill(writer, type, members, members_each, moment);
    });
    probe(*server, members, bench.moments, deadline, samples);
  }
  const Settings settings = {{"members", static_cast<double>(members)}};
  bench.add("stall", where + ", before", *server, settings, latency_metrics(samples.before));
  Metrics during = latency_metrics(samples.during);
  const auto longest = std::ranges::max_element(samples.after);
  during.back().second = std::max(during.back().second, static_cast<double>(*longest) / 1e3);
  during.emplace_back("seconds", median(samples.seconds));
  during.emplace_back("left", static_cast<double>(samples.left));
  bench.add("stall", where + ", expiring", *server, settings, std::move(during));
}

}  // namespace

void measure_stalls(ServerBench& bench) {
  measure_stall(bench, kHashType, bench.plan.stall_members);
  measure_stall(bench, kHashType, kSpread);
  measure_stall(bench, kSortedSetType, bench.plan.stall_members);
  measure_stall(bench, kSetType, kSpread);
}

}  // namespace mayfly::bench
