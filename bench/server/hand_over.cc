// SPDX-License-Identifier: Apache-2.0
// How long does an element take from the client that pushes it to the one that waits for it? And
// how long do many that wait for the same key?

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/server/measurements.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::string_view kQueue = "queue";
constexpr rlim_t kSpareFiles = 256;  // that are open beside the clients

// A push, until the client that waits has its element.
void measure_one(ServerBench& bench, const ServerChild& server, int round) {
  RespClient waiting = server.connect();
  RespClient pushing = server.connect();
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < bench.plan.hand_overs; ++i) {
    waiting.add("BLPOP", kQueue, "0");
    must(waiting.send());
    while (info_of(pushing, "clients", "blocked_clients") == 0) {
    }
    const std::int64_t start = monotonic_ns();
    pushing.add("RPUSH", kQueue, "e");
    must(pushing.send());
    must(waiting.read_good());
    times.push_back(monotonic_ns() - start);
    must(pushing.read_good());
  }
  bench.add("hand_over", "BLPOP", server, {{"pushes", static_cast<double>(times.size())}},
            latency_metrics(times), round);
}

// As many clients as may have open files.
std::size_t possible_clients(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::min<std::size_t>(wanted, 512);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(wanted, limit.rlim_cur - kSpareFiles);
}

// One push for each of many clients that wait for the same key, until all have their element.
void measure_many(ServerBench& bench, const ServerChild& server, std::size_t clients) {
  RespClient pushing = server.connect();
  std::vector<RespClient> waiting;
  for (std::size_t i = 0; i < clients; ++i) {
    waiting.push_back(server.connect());
    waiting.back().add("BLPOP", kQueue, "0");
    must(waiting.back().send());
  }
  while (info_of(pushing, "clients", "blocked_clients") < static_cast<double>(clients)) {
  }
  const std::int64_t start = monotonic_ns();
  RespPipeline pipeline(pushing);
  for (std::size_t i = 0; i < clients; ++i) pipeline.add("RPUSH", kQueue, std::to_string(i));
  must(pipeline.finish());
  for (std::size_t i = 0; i < clients; ++i) {
    const ReplyValue reply = must(waiting[i].read_good());
    if (reply.items.size() != 2 || reply.items[1].text != std::to_string(i)) {
      throw Failure(fmt::format("client {} of {} got another's element", i, clients));
    }
  }
  const auto ns = static_cast<double>(monotonic_ns() - start);
  bench.add("blocked", "BLPOP of one key", server, {{"clients", static_cast<double>(clients)}},
            {{"us_per_client", ns / 1e3 / static_cast<double>(clients)}});
}

}  // namespace

void measure_hand_over(ServerBench& bench, const std::vector<ServerChild>& servers) {
  for (int round = 0; round < bench.plan.rounds; ++round) {
    in_turns(servers, round, [&](const ServerChild& server) {
      bench.progress.begin(fmt::format("types: hand-over, {}", server.name()));
      measure_one(bench, server, round);
    });
  }
  const std::size_t most = possible_clients(bench.plan.blocked_clients);
  for (const std::size_t clients : {most / 10, most}) {
    for (const ServerChild& server : servers) {
      bench.progress.begin(fmt::format("types: {} blocked clients, {}", clients, server.name()));
      measure_many(bench, server, clients);
    }
  }
}

}  // namespace mayfly::bench
