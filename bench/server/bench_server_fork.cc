// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_fork.h"

#include <cstdint>

#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::int64_t kBeforeNs = 500'000'000;  // 500 ms
constexpr std::int64_t kLookNs = 20'000'000;     // 20 ms between two looks at the child

// The client that is measured, and the one that writes.
class Clients {
 public:
  Clients(RespClient& reader, SteadyWriter& writer) : reader_(reader), writer_(writer) {}

  // A GET, behind a batch of SETs if it is time for one.
  Status ask(std::vector<std::int64_t>& times) {
    const Result<bool> sent = writer_.send_due();
    if (!sent) return sent.error();
    const std::int64_t start = monotonic_ns();
    if (const auto reply = reader_.call("GET", "probe"); !reply) return reply.error();
    times.push_back(monotonic_ns() - start);
    return *sent ? writer_.take_replies() : Status(Done{});
  }

  Status ask_until(std::int64_t end_ns, std::vector<std::int64_t>& times) {
    while (monotonic_ns() < end_ns) {
      if (const Status status = ask(times); !status) return status;
    }
    return Done{};
  }

 private:
  RespClient& reader_;
  SteadyWriter& writer_;
};

// The command is sent, but its reply not awaited: the first GET has the time of the fork in it.
Result<ChildRow::Run> watch(Clients& clients, RespClient& watcher, std::string_view work) {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> during;
  Status status = clients.ask_until(monotonic_ns() + kBeforeNs, before);
  watcher.add(work);
  const std::int64_t start = monotonic_ns();
  if (status) status = watcher.send();
  if (status) status = clients.ask(during);
  if (!status) return status.error();
  if (const auto reply = watcher.read_good(); !reply) return reply.error();
  while (true) {
    const Result<bool> goes_on = has_child(watcher);
    if (!goes_on) return goes_on.error();
    if (!*goes_on) break;
    status = clients.ask_until(monotonic_ns() + kLookNs, during);
    if (!status) return status.error();
  }
  const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  return ChildRow::Run{seconds, summarize(before), summarize(during)};
}

Result<ChildRow::Run> run_once(const ServerSeat& seat, std::string_view work) {
  Result<RespClient> reader = seat.server.connect();
  Result<RespClient> writer_client = seat.server.connect();
  Result<RespClient> watcher = seat.server.connect();
  if (!reader) return reader.error();
  if (!writer_client) return writer_client.error();
  if (!watcher) return watcher.error();
  if (const auto set = reader->call("SET", "probe", "x"); !set) return set.error();
  SteadyWriter writer(*writer_client, kForkLoad);
  if (const Status status = writer.fill(); !status) return status.error();
  Clients clients(*reader, writer);
  return watch(clients, *watcher, work);
}

}  // namespace

Result<ChildRow> measure_child(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                               std::string_view work) {
  ChildRow row{.work = work};
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    const Status status = in_turns(seats, repeat, [&](const ServerSeat& seat) -> Status {
      const Result<ChildRow::Run> run = run_once(seat, work);
      if (!run) return run.error();
      (seat.server.kind() == ServerKind::mayfly ? row.ours : row.redis).push_back(*run);
      return Done{};
    });
    if (!status) return status.error();
  }
  return row;
}

}  // namespace mayfly
