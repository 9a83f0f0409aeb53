// SPDX-License-Identifier: Apache-2.0
// The measurements of the suite `server`, and what they have in common.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report/results.h"
#include "bench/server/member_type.h"
#include "bench/server/moments.h"
#include "bench/server/server_child.h"
#include "bench/server/server_suite.h"
#include "mayfly/time.h"
#include "tools/resp_client.h"
#include "tools/terminal/progress.h"

namespace mayfly::bench {

// What every measurement gets.
struct ServerBench {
  const ServerPlan& plan;
  const Moments& moments;
  Results& results;
  Progress& progress;

  // Adds a run of this suite. A system that measures in several rounds adds one for each.
  void add(std::string part, std::string name, const ServerChild& server, Settings settings,
           Metrics metrics, int round = 0, std::vector<Series> series = {}) {
    results.add({"server", std::move(part), std::move(name), server.name(), round,
                 std::move(settings), std::move(metrics), std::move(series)});
  }
};

// How fast: redis-benchmark against all servers, in turn.
void measure_speed(ServerBench& bench);

// The same on large sets and sorted sets.
void measure_sets(ServerBench& bench);

// The same on lists, streams, bits, HyperLogLogs and places, and the memory of lists and streams.
void measure_types(ServerBench& bench);
void measure_scripts(ServerBench& bench);

// How fast a client that waits gets what another one pushes, alone and among many.
void measure_hand_over(ServerBench& bench, const std::vector<ServerChild>& servers);

// What client-side caching costs: reads that are tracked, writes of keys that clients have read.
void measure_tracking(ServerBench& bench);

// How much memory a member takes, by used_memory: so with its share of the key, of the indexes, and
// of what the allocator rounds up.
void measure_memory(ServerBench& bench);

// How late many entries with one deadline are removed, among others that are due much later.
void measure_on_time(ServerBench& bench);

// How many entries have expired but are still in memory, over time, while nobody reads them.
void measure_expired(ServerBench& bench);

// How fast very many keys expire without and with the expiry log.
void measure_expiry_log(ServerBench& bench);

// How long it takes to say what expires when: TTLSTATS, or SCAN and PTTL of all keys.
void measure_ttl_stats(ServerBench& bench);

// What other clients wait while very many members expire at once, and while a database grows.
void measure_stalls(ServerBench& bench);
void measure_growth(ServerBench& bench);

// HLEN of a hash of which half is due and not removed.
void measure_hlen(ServerBench& bench);

// Files that are saved and loaded, clients meanwhile, the append-only file, and replicas.
void measure_persistence(ServerBench& bench);
void measure_child(ServerBench& bench, const std::vector<ServerChild>& servers,
                   std::string_view work);  // BGSAVE or BGREWRITEAOF
void measure_aof(ServerBench& bench);
void measure_sync(ServerBench& bench, const ServerChild& primary);

inline constexpr Millis kFarAway = std::chrono::hours(24);
inline constexpr std::int64_t kLookNs = 20'000'000;  // 20 ms between two looks at a server

// Words of one call of redis-benchmark: what it measures, on which keys.
struct SpeedTest {
  std::string_view command;
  int pipeline = 1;
  std::size_t keys = 1;
};
inline constexpr int kSpeedPipeline = 32;

// Makes all keys and fields exist before anything is measured, so that it makes no difference which
// test runs first, or how many requests there are.
void fill_for_speed(const ServerChild& server, std::size_t keys);

// One run of redis-benchmark: ops_per_second, server_us, client_busy_percent. It puts a number of
// twelve digits, below `range`, for __rand_int__.
struct BenchmarkCall {
  std::vector<std::string> words;  // of the command that is measured
  int clients = 50;
  int pipeline = 1;
  std::size_t range = 1;  // 1: __rand_int__ stays as it is
  std::size_t requests = 0;
};
Metrics call_benchmark(const ServerChild& server, BenchmarkCall call);

// The same for a test. A server without HSETEX does HSET instead.
Metrics run_benchmark(const ServerChild& server, const SpeedTest& test, std::size_t requests);

// Requests a second, out of what `redis-benchmark --csv` prints for one test: with a line of titles
// (since 7.0) or without. What is printed before it does no harm.
Result<double> parse_benchmark_csv(std::string_view text);

// Waits until the server reports the same number three times, because it rehashes and frees for a
// moment after the last command.
double used_memory(const ServerChild& server);

// p50, p99, p99.9 and the longest of these times, in microseconds, and how many there were.
Metrics latency_metrics(const std::vector<std::int64_t>& times_ns);

// Hashes of `fields_each` fields. Each field has a deadline of its own, from `far` on, if the
// server has any for fields.
void fill_hashes(const ServerChild& server, std::size_t fields, std::size_t fields_each, Time far);

// What is between spaces.
std::vector<std::string> split_words(std::string_view text);

// As RespClient::call(), for what takes a server minutes.
ReplyValue call_slowly(RespClient& client, Words words);
template <class... Word>
ReplyValue call_slowly(RespClient& client, const Word&... words) {
  return call_slowly(client, Words(std::array<std::string_view, sizeof...(words)>{words...}));
}

void set_config(RespClient& client, std::string_view name, std::string_view value);

// A number out of INFO.
double info_of(RespClient& client, std::string_view section, std::string_view name);

// Whether a child of the server writes a file, or is about to.
bool has_child(RespClient& client);

// With or without the append-only file, synced every second, and never rewritten by itself.
// Returns when the first file of it is written.
void set_aof(const ServerChild& server, bool on);

// Whether the first replica in the primary's INFO has loaded what it was sent: it acknowledges
// what came after it. It may be online before, when all of it is on the way.
bool replica_follows(std::string_view info);

}  // namespace mayfly::bench
