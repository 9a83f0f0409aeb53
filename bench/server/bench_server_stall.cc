// SPDX-License-Identifier: Apache-2.0
// GETs while fields expire. Declared in bench_server_stall.h.

#include "bench/server/bench_server_stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/report/statistics.h"
#include "bench/server/bench_server_child.h"

namespace mayfly {
namespace {

constexpr std::size_t kSpread = 10;                   // fields of a hash, where there are many
constexpr std::size_t kWritten = 100;                 // fields of one command, where there is one
constexpr Millis kBefore(1000);                       // the time before the deadline
constexpr Millis kMargin(1200);                       // with some for the clients to connect
constexpr std::int64_t kPatienceNs = 60'000'000'000;  // 1 min
constexpr std::int64_t kLookNs = 20'000'000;          // 20 ms between two looks at the statistics
constexpr std::int64_t kAfterNs = 200'000'000;        // 200 ms, for what is freed in the end

Millis lead_for(std::size_t fields) { return Millis(1000 + static_cast<int>(fields / 300)); }

Status fill(RespClient& client, std::size_t fields, std::size_t fields_each, Time deadline) {
  RespPipeline pipeline(client, 64);
  const std::string at = unix_ms(deadline);
  const std::size_t at_once = std::min(fields_each, kWritten);
  std::vector<std::string> names(at_once);
  for (std::size_t i = 0; i < fields; i += at_once) {
    const std::size_t count = std::min(at_once, fields - i);
    const std::string key = fmt::format("hash:{:07}", i / fields_each);
    const std::string number = std::to_string(count);
    std::vector<std::string_view> words = {"HSETEX", key, "PXAT", at, "FIELDS", number};
    for (std::size_t j = 0; j < count; ++j) {
      names[j] = fmt::format("field:{:07}", i + j);
      words.insert(words.end(), {names[j], "value:0000000"});
    }
    pipeline.add(Words(words));
  }
  return pipeline.finish();
}

Result<double> expired_fields(RespClient& client) {
  const Result<ReplyValue> info = client.call("INFO", "stats");
  if (!info) return info.error();
  return info_number(info->text, "expired_fields");
}

// What one or more expiries showed.
struct Samples {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> during;
  std::vector<std::int64_t> after;
  std::vector<double> seconds;
};

// Asks from before the deadline until all is gone, and a moment longer.
Status probe(const ServerChild& server, std::size_t fields, const Moments& moments, Time deadline,
             Samples& samples, StallRow& row) {
  Result<RespClient> client = server.connect();
  Result<RespClient> watcher = server.connect();
  if (!client) return client.error();
  if (!watcher) return watcher.error();
  if (const auto set = client->call("SET", "probe", "x"); !set) return set.error();
  const Result<double> base = expired_fields(*watcher);
  if (!base) return base.error();

  const auto ask = [&](std::vector<std::int64_t>& times) -> Result<std::int64_t> {
    const std::int64_t start = monotonic_ns();
    if (const auto reply = client->call("GET", "probe"); !reply) return reply.error();
    const std::int64_t end = monotonic_ns();
    times.push_back(end - start);
    return moments.after(deadline, end);
  };
  moments.wait_for(deadline - kBefore);
  Result<std::int64_t> passed = -1;
  while (passed && *passed < 0) passed = ask(samples.before);
  if (!passed) return passed.error();
  // The last one was asked before the deadline, and answered after it.
  samples.during.push_back(samples.before.back());
  samples.before.pop_back();

  std::size_t expired = 0;
  std::int64_t next_look = kLookNs;
  while (expired < fields && *passed < kPatienceNs) {
    passed = ask(samples.during);
    if (!passed) return passed.error();
    if (*passed < next_look) continue;
    const Result<double> seen = expired_fields(*watcher);
    if (!seen) return seen.error();
    expired = static_cast<std::size_t>(*seen - *base);
    next_look = moments.after(deadline, monotonic_ns()) + kLookNs;
  }
  row.expired = std::min(row.expired, expired);
  samples.seconds.push_back(static_cast<double>(*passed) / 1e9);
  const std::int64_t end = *passed + kAfterNs;
  while (passed && *passed < end) passed = ask(samples.after);
  if (!passed) return passed.error();
  return Done{};
}

Status measure_once(const ServerBenchPlan& plan, const Moments& moments, Samples& samples,
                    StallRow& row) {
  const Result<ServerChild> server = ServerChild::start(ServerKind::mayfly);
  if (!server) return server.error();
  Result<RespClient> writer = server->connect();
  if (!writer) return writer.error();
  const std::size_t fields = plan.stall_fields;
  const Result<Time> deadline = fill_before(moments, lead_for(fields), kMargin, [&](Time moment) {
    return fill(*writer, fields, row.fields_each, moment);
  });
  if (!deadline) return deadline.error();
  return probe(*server, fields, moments, *deadline, samples, row);
}

}  // namespace

// Some hundred GETs fit into an expiry, too few for a p99.9; so those of all repeats are one heap.
Result<std::vector<StallRow>> measure_stalls(const ServerBenchPlan& plan, const Moments& moments,
                                             Progress& progress) {
  std::vector<StallRow> rows;
  for (const std::size_t fields_each : {plan.stall_fields, kSpread}) {
    StallRow row{.fields_each = fields_each, .expired = plan.stall_fields};
    Samples samples;
    for (int repeat = 0; repeat < plan.repeats; ++repeat) {
      progress.begin(fmt::format("stall: {} fields expire, {} a hash",
                                 size_title(plan.stall_fields), size_title(fields_each)));
      if (const Status status = measure_once(plan, moments, samples, row); !status) {
        return status.error();
      }
      progress.add(stalls_work(plan) / 2 / plan.repeats);
    }
    row.seconds = median(samples.seconds);
    row.before = summarize(samples.before);
    row.during = summarize(samples.during);
    row.during.max_us = std::max(row.during.max_us, summarize(samples.after).max_us);
    rows.push_back(row);
  }
  return rows;
}

double stalls_work(const ServerBenchPlan& plan) {
  return 2 * plan.repeats * (3 + static_cast<double>(lead_for(plan.stall_fields).count()) / 1e3);
}

}  // namespace mayfly
