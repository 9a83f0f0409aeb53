// SPDX-License-Identifier: Apache-2.0
// What do clients wait while a child of the server writes all data to a file? The child shares its
// memory with the server, which copies each page that it changes, and takes one processor.
//
// One thread sends GETs in a row and SETs beside them at a fixed rate, so that with two processors
// the server and its clients have one, and the child the other.

#include <cstdint>
#include <string>

#include "bench/server/measurements.h"
#include "bench/server/steady_writer.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::int64_t kBeforeNs = 500'000'000;  // 500 ms

// The client that is measured, and the one that writes.
class Clients {
 public:
  Clients(RespClient& reader, SteadyWriter& writer) : reader_(reader), writer_(writer) {}

  // A GET, behind a batch of SETs if it is time for one.
  void ask(std::vector<std::int64_t>& times) {
    const bool sent = writer_.send_due();
    const std::int64_t start = monotonic_ns();
    must(reader_.call("GET", "probe"));
    times.push_back(monotonic_ns() - start);
    if (sent) writer_.take_replies();
  }

  void ask_until(std::int64_t end_ns, std::vector<std::int64_t>& times) {
    while (monotonic_ns() < end_ns) ask(times);
  }

 private:
  RespClient& reader_;
  SteadyWriter& writer_;
};

struct ChildTimes {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> during;
  double seconds = 0;  // that the child took
};

// The command is sent, but its reply is not awaited: the first GET includes the time of the fork.
ChildTimes watch(Clients& clients, RespClient& watcher, std::string_view work) {
  ChildTimes times;
  clients.ask_until(monotonic_ns() + kBeforeNs, times.before);
  watcher.add(work);
  const std::int64_t start = monotonic_ns();
  must(watcher.send());
  clients.ask(times.during);
  must(watcher.read_good());
  while (has_child(watcher)) clients.ask_until(monotonic_ns() + kLookNs, times.during);
  times.seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  return times;
}

}  // namespace

void measure_child(ServerBench& bench, const std::vector<ServerChild>& servers,
                   std::string_view work) {
  const Settings settings = {{"fields", static_cast<double>(bench.plan.persist_fields)}};
  for (int round = 0; round < bench.plan.rounds; ++round) {
    in_turns(servers, round, [&](const ServerChild& server) {
      RespClient reader = server.connect();
      RespClient writer_client = server.connect();
      RespClient watcher = server.connect();
      must(reader.call("SET", "probe", "x"));
      SteadyWriter writer(writer_client, {});
      writer.fill();
      Clients clients(reader, writer);
      const ChildTimes times = watch(clients, watcher, work);
      bench.add("child", "before " + std::string(work), server, settings,
                latency_metrics(times.before), round);
      Metrics during = latency_metrics(times.during);
      during.emplace_back("seconds", times.seconds);
      bench.add("child", std::string(work), server, settings, std::move(during), round);
    });
  }
}

}  // namespace mayfly::bench
