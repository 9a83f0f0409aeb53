// SPDX-License-Identifier: Apache-2.0
// How long does it take to say what expires when? Mayfly answers TTLSTATS out of sums that it
// keeps. On any other server a client has to ask for the TTL of each key (SCAN and PTTL, in a
// pipeline) and add up itself; this is measured on Mayfly too.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/report/statistics.h"
#include "bench/server/measurements.h"
#include "mayfly/internal/stopwatch.h"
#include "mayfly/random.h"

namespace mayfly::bench {
namespace {

constexpr int kAsked = 200;                    // times that TTLSTATS is asked for
constexpr int kMoments = 119;                  // as many as the console asks for
constexpr std::string_view kScanned = "1000";  // keys of one SCAN
constexpr Millis kBucket = std::chrono::minutes(12);

void fill_ttl_keys(const ServerChild& server, std::size_t keys, Time now) {
  RespClient client = server.connect();
  RespPipeline pipeline(client);
  Random random(1);
  const auto longest = static_cast<std::uint64_t>(kFarAway.count());
  for (std::size_t i = 0; i < keys; ++i) {
    const Millis ttl = std::chrono::minutes(10) + Millis(random.below(longest));
    pipeline.add("SET", fmt::format("key:{:07}", i), "value", "PXAT", unix_ms(now + ttl));
  }
  must(pipeline.finish());
}

// The time that a client takes which asks for the TTL of each key and counts them by bucket.
std::int64_t walk_ns(const ServerChild& server, std::size_t keys) {
  RespClient client = server.connect();
  std::map<std::int64_t, std::size_t> buckets;
  std::size_t counted = 0;
  const std::int64_t start = monotonic_ns();
  std::string cursor = "0";
  do {
    ReplyValue reply = must(client.call("SCAN", cursor, "COUNT", kScanned));
    cursor = reply.items.at(0).text;
    for (const ReplyValue& key : reply.items.at(1).items) client.add("PTTL", key.text);
    must(client.send());
    for (std::size_t i = 0; i < reply.items[1].items.size(); ++i) {
      ++buckets[must(client.read_good()).integer / kBucket.count()];
      ++counted;
    }
  } while (cursor != "0");
  const std::int64_t took = monotonic_ns() - start;
  if (counted < keys) throw Failure(fmt::format("SCAN found {} of {} keys", counted, keys));
  return took;
}

Metrics answer_metrics(std::int64_t median_ns) {
  const auto ns = static_cast<double>(median_ns);
  return {{"answers_per_second", 1e9 / ns}, {"median_us", ns / 1e3}};
}

// The time of TTLSTATS, with the forecast of so many moments within a day.
Metrics ask_ttl_stats(const ServerChild& server, int moments) {
  std::vector<std::string> words = {"TTLSTATS"};
  if (moments > 0) words.emplace_back("FORECAST");
  for (int i = 1; i <= moments; ++i) words.push_back(fmt::format("{}m", 12 * i));
  const std::vector<std::string_view> views(words.begin(), words.end());
  RespClient client = server.connect();
  std::vector<std::int64_t> times;
  for (int i = 0; i < kAsked; ++i) {
    const std::int64_t start = monotonic_ns();
    client.add(Words(views));
    must(client.send());
    must(client.read_good());
    times.push_back(monotonic_ns() - start);
  }
  Metrics metrics = answer_metrics(percentile(times, 50));
  metrics.emplace_back("max_us", static_cast<double>(percentile(times, 100)) / 1e3);
  return metrics;
}

void measure_server(ServerBench& bench, const ServerChild& server, int round) {
  const std::size_t keys = bench.plan.expired_keys;
  const Settings settings = {{"keys", static_cast<double>(keys)}};
  const Metrics walk = answer_metrics(walk_ns(server, keys));
  const bool is_ours = server.program().is_ours();
  bench.add("ttlstats", "what expires when", server, settings,
            is_ours ? ask_ttl_stats(server, 0) : walk, round);
  bench.add("ttlstats", fmt::format("at {} moments", kMoments), server, settings,
            is_ours ? ask_ttl_stats(server, kMoments) : walk, round);
  bench.add("ttlstats", "SCAN and PTTL", server, settings, walk, round);
}

}  // namespace

void measure_ttl_stats(ServerBench& bench) {
  const std::vector<ServerChild> servers = start_all(bench.plan.servers);
  for (const ServerChild& server : servers) {
    bench.progress.begin(fmt::format("ttlstats: filling {}", server.name()));
    fill_ttl_keys(server, bench.plan.expired_keys, bench.moments.now());
  }
  for (int round = 0; round < bench.plan.rounds; ++round) {
    for (const ServerChild& server : servers) {
      bench.progress.begin(fmt::format("ttlstats: {}", server.name()));
      measure_server(bench, server, round);
    }
  }
}

}  // namespace mayfly::bench
