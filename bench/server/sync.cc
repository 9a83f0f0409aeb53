// SPDX-License-Identifier: Apache-2.0
// How much memory does a primary need while a replica gets all data? It keeps what is written
// meanwhile, until the replica has it.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/server/measurements.h"
#include "bench/server/steady_writer.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kBacklogBytes = std::size_t{10} << 20;        // 10 MB
constexpr std::size_t kOutputBytes = std::size_t{256} << 20;        // 256 MB
constexpr WriteLoad kLoad = {.keys = 10'000, .value_bytes = 1000};  // 10 MB a second
constexpr std::int64_t kSyncPatienceNs = 300'000'000'000;           // 5 min
constexpr std::int64_t kSyncAfterNs = 500'000'000;                  // 500 ms

struct SyncTimes {
  double seconds = 0;  // until the replica followed; 0 if it never did
  double peak_bytes = 0;
};

// Writes until the replica follows, and a moment longer.
SyncTimes write_meanwhile(SteadyWriter& writer, RespClient& watcher) {
  SyncTimes times;
  const std::int64_t start = monotonic_ns();
  std::int64_t next_look = start;
  std::int64_t end = start + kSyncPatienceNs;
  while (monotonic_ns() < end) {
    if (writer.send_due()) {
      writer.take_replies();
    } else {
      rest(Millis(1));
    }
    if (monotonic_ns() < next_look) continue;
    times.peak_bytes = std::max(times.peak_bytes, info_of(watcher, "memory", "used_memory"));
    const bool follows = replica_follows(must(watcher.call("INFO", "replication")).text);
    next_look = monotonic_ns() + kLookNs;
    if (!follows || times.seconds > 0) continue;
    times.seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    end = monotonic_ns() + kSyncAfterNs;
  }
  return times;
}

// Whether the replica has what was written, and as many keys as the primary.
bool is_same(RespClient& writer, RespClient& replica) {
  const auto followers = must(writer.call("WAIT", "1", "30000")).integer;
  const auto here = must(writer.call("DBSIZE")).integer;
  const Result<ReplyValue> there = replica.call("DBSIZE");
  return there && followers == 1 && here == there->integer;  // not if it still loads
}

}  // namespace

bool replica_follows(std::string_view info) {
  constexpr std::string_view kOnline = "state=online,offset=";
  const std::size_t at = info.find(kOnline);
  return at != std::string_view::npos && !info.substr(at + kOnline.size()).starts_with("0,");
}

void measure_sync(ServerBench& bench, const ServerChild& primary) {
  const ServerChild replica(primary.program());
  RespClient writer_client = primary.connect();
  RespClient watcher = primary.connect();
  RespClient follower = replica.connect();
  SteadyWriter writer(writer_client, kLoad);
  set_config(watcher, "repl-backlog-size", std::to_string(kBacklogBytes));
  set_config(watcher, "client-output-buffer-limit", fmt::format("replica {} 0 0", kOutputBytes));
  set_config(watcher, "repl-diskless-sync-delay", "0");
  writer.fill();
  const double before = used_memory(primary);
  must(follower.call("REPLICAOF", "127.0.0.1", std::to_string(primary.port())));
  const SyncTimes times = write_meanwhile(writer, watcher);
  const bool follows = is_same(writer_client, follower) && times.seconds > 0;
  bench.add("sync", "full synchronisation", primary,
            {{"fields", static_cast<double>(bench.plan.persist_fields)}},
            {{"seconds", times.seconds},
             {"written_bytes", static_cast<double>(writer.written_bytes())},
             {"before_bytes", before},
             {"growth_bytes", std::max(times.peak_bytes - before, 0.0)},
             {"limit_bytes", static_cast<double>(kBacklogBytes + kOutputBytes)},
             {"follows", follows ? 1.0 : 0.0}});
}

}  // namespace mayfly::bench
