// SPDX-License-Identifier: Apache-2.0
// How much of what has expired is still in memory? Half of the entries get a short TTL, each
// another one; the other half lives for a day, as in a server that holds sessions and tokens.
// Nobody reads them. All servers are watched at the same time: none has other work.
//
// What is still in memory is what is due by now less what the server says it has removed: the
// counters expired_keys, and expired_fields or expired_subkeys, of INFO.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/server/measurements.h"
#include "mayfly/random.h"

namespace mayfly::bench {
namespace {

constexpr Millis kWatchStep(250);
constexpr std::size_t kValueBytes = 100;
constexpr std::size_t kFieldsEach = 10;

// The deadlines of the short-lived half, sorted.
std::vector<Time> make_deadlines(const ServerPlan& plan, Time first) {
  Random random(1);
  std::vector<Time> deadlines(plan.expired_keys / 2);
  const auto longest = static_cast<std::uint64_t>(plan.expired_ttl.count());
  for (Time& deadline : deadlines) {
    deadline = first + Millis(static_cast<std::int64_t>(random.below(longest)));
  }
  std::ranges::sort(deadlines);
  return deadlines;
}

void fill(const ServerChild& server, bool fields, const std::vector<Time>& deadlines, Time far) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  const std::string value(kValueBytes, 'x');
  for (std::size_t i = 0; i < 2 * deadlines.size(); ++i) {
    const std::string at = unix_ms(i % 2 == 0 ? deadlines[i / 2] : far);
    if (fields) {
      pipeline.add("HSETEX", fmt::format("hash:{:07}", i / kFieldsEach), "PXAT", at, "FIELDS", "1",
                   fmt::format("field:{:07}", i), value);
    } else {
      pipeline.add("SET", fmt::format("key:{:07}", i), value, "PXAT", at);
    }
  }
  must(pipeline.finish());
}

double removed_entries(RespClient& client, bool fields) {
  const ReplyValue info = must(client.call("INFO", "stats"));
  if (!fields) return must(info_number(info.text, "expired_keys"));
  const Result<double> number = info_number(info.text, "expired_fields");
  return number ? *number : must(info_number(info.text, "expired_subkeys"));
}

struct Watched {
  const ServerChild* server;
  RespClient client;
  double bytes_per_entry;
  double removed_before;
  Series series{"expired but in memory", "entries"};
};

void watch(ServerBench& bench, bool fields, std::vector<Watched>& all,
           const std::vector<Time>& deadlines) {
  const Time first = deadlines.front();
  for (Time look = first; look <= first + bench.plan.expired_watch; look += kWatchStep) {
    bench.moments.wait_for(look);
    for (Watched& one : all) {
      // What was due when the server was asked, and is not removed when it answers.
      const Time now = bench.moments.now();
      const auto due = std::ranges::upper_bound(deadlines, now) - deadlines.begin();
      const double removed = removed_entries(one.client, fields) - one.removed_before;
      one.series.points.emplace_back(static_cast<double>((now - first).count()) / 1e3,
                                     std::max(static_cast<double>(due) - removed, 0.0));
    }
  }
}

void measure_kind(ServerBench& bench, bool fields) {
  const ServerPlan& plan = bench.plan;
  const std::vector<ServerProgram> programs =
      fields ? plan.servers_with(&ServerProgram::has_field_ttl) : plan.servers;
  if (fields && programs.size() == 1) return;  // nothing to compare with
  const std::string name = fields ? "fields" : "keys";
  const std::vector<ServerChild> servers = start_all(programs);
  std::vector<double> before;
  for (const ServerChild& server : servers) before.push_back(used_memory(server));
  std::vector<Time> deadlines;
  const Millis lead = Millis(500 + static_cast<int>(plan.expired_keys * servers.size() / 150));
  fill_before(bench.moments, lead, Millis(2000), [&](Time first) {
    deadlines = make_deadlines(plan, first);
    for (const ServerChild& server : servers) {
      bench.progress.begin(fmt::format("expired: filling {}, {}", server.name(), name));
      fill(server, fields, deadlines, deadline_after(first, kFarAway));
    }
  });
  bench.progress.begin("expired: watching " + name);
  std::vector<Watched> all;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const double bytes = used_memory(servers[i]) - before[i];
    RespClient client = servers[i].connect();
    const double removed = removed_entries(client, fields);
    all.push_back(
        {&servers[i], std::move(client), bytes / static_cast<double>(plan.expired_keys), removed});
  }
  watch(bench, fields, all, deadlines);
  for (Watched& one : all) {
    const auto& points = one.series.points;
    const auto peak = std::ranges::max_element(points, {}, &std::pair<double, double>::second);
    bench.add("expired", name, *one.server,
              {{"entries", static_cast<double>(plan.expired_keys)},
               {"short_lived", static_cast<double>(deadlines.size())},
               {"ttl_seconds", static_cast<double>(plan.expired_ttl.count()) / 1e3},
               {"value_bytes", static_cast<double>(kValueBytes)}},
              {{"peak_entries", peak->second},
               {"left_entries", points.back().second},
               {"left_bytes", points.back().second * one.bytes_per_entry},
               {"bytes_per_entry", one.bytes_per_entry}},
              0, {one.series});
  }
}

}  // namespace

void measure_expired(ServerBench& bench) {
  measure_kind(bench, false);
  measure_kind(bench, true);
}

}  // namespace mayfly::bench
