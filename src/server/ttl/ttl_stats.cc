// SPDX-License-Identifier: Apache-2.0
// TTLSTATS: what expires when, in all databases or in one key, how late removals are, and how much
// memory will be free.
//
//   TTLSTATS [KEY key] [FORECAST moment [moment ...]]

#include <algorithm>
#include <vector>

#include "commands/ttl/moment.h"
#include "keyspace/forecast/expiry_forecast.h"
#include "mayfly/ttl_histogram.h"
#include "server/core/server_call.h"
#include "server/monitoring/memory.h"

namespace mayfly {
namespace {

constexpr std::size_t kMomentsMost = 1000;

struct TtlRequest {
  std::string_view key;
  bool has_key = false;
  std::vector<Time> moments;  // of FORECAST, as they were given
};

std::optional<TtlRequest> read_request(Call& call) {
  TtlRequest request;
  std::size_t i = 1;
  if (i + 1 < call.count() && call.is(i, "key")) {
    request.key = call.word(i + 1);
    request.has_key = true;
    i += 2;
  }
  if (i + 1 < call.count() && call.is(i, "forecast")) {
    for (++i; i < call.count(); ++i) {
      const std::optional<Time> moment = moment_argument(call, i);
      if (!moment) return std::nullopt;
      request.moments.push_back(std::max(*moment, call.now()));
    }
  }
  if (i == call.count() && request.moments.size() <= kMomentsMost) return request;
  if (i == call.count()) {
    call.fail("ERR FORECAST takes at most 1000 moments");
  } else {
    call.fail_syntax();
  }
  return std::nullopt;
}

std::int64_t in_ms(Time moment) {
  return moment == kNever ? -1 : moment.time_since_epoch().count();
}

void add_number(Reply& reply, std::string_view name, std::uint64_t value) {
  reply.bulk(name);
  reply.integer(static_cast<std::int64_t>(value));
}

// Points are sums from now on; a bucket is the difference of two points. A bucket without entries
// has no bytes, not even a rest of interpolated or due ones.
void reply_histogram(Reply& reply, std::span<const ForecastPoint> points) {
  reply.bulk("histogram");
  reply.array(points.size());
  ForecastPoint before{.until = Time::min()};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ForecastPoint& point = points[i];
    const bool is_empty = point.entries() == before.entries();
    reply.map(6);
    reply.bulk("within");
    reply.bulk(kTtlBounds[i].name);
    reply.bulk("until");
    reply.integer(in_ms(point.until));
    add_number(reply, "keys", point.keys - before.keys);
    add_number(reply, "members", point.members - before.members);
    add_number(reply, "entries", point.entries() - before.entries());
    const std::uint64_t counted = before.entry_bytes;
    before = point;
    if (is_empty) before.entry_bytes = counted;
    add_number(reply, "bytes", before.entry_bytes - counted);
  }
}

void reply_lateness(Reply& reply, std::string_view name, const Lateness& lateness) {
  reply.bulk(name);
  reply.map(6);
  add_number(reply, "count", lateness.count());
  add_number(reply, "p50", lateness.percentile_ms(0.5));
  add_number(reply, "p90", lateness.percentile_ms(0.9));
  add_number(reply, "p99", lateness.percentile_ms(0.99));
  add_number(reply, "p999", lateness.percentile_ms(0.999));
  add_number(reply, "max", lateness.max_ms());
}

// In the order in which the moments were given.
void reply_forecast(Reply& reply, std::span<const Time> moments, std::span<const Time> sorted,
                    std::span<const ForecastPoint> points, std::size_t memory) {
  reply.bulk("forecast");
  reply.array(moments.size());
  for (const Time moment : moments) {
    const auto found = std::ranges::lower_bound(sorted, moment);
    const ForecastPoint& point = points[static_cast<std::size_t>(found - sorted.begin())];
    reply.map(4);
    reply.bulk("at");
    reply.integer(in_ms(moment));
    add_number(reply, "entries", point.entries());
    add_number(reply, "bytes", point.bytes);
    add_number(reply, "memory", memory - std::min<std::size_t>(memory, point.bytes));
  }
}

// One call for the histogram and the moments of FORECAST.
struct TtlAnswer {
  std::vector<Time> sorted;  // the moments of FORECAST
  std::vector<ForecastPoint> histogram;
  std::vector<ForecastPoint> forecast;
  Overdue overdue;
};

TtlAnswer answer(Call& call, const TtlRequest& request, Slot slot) {
  TtlAnswer answer;
  const Time now = call.now();
  std::vector<Time> bounds;
  for (const TtlBound& bound : kTtlBounds) bounds.push_back(deadline_after(now, bound.within));
  answer.sorted = request.moments;
  std::ranges::sort(answer.sorted);
  if (request.has_key) {
    const Database& database = call.database();
    answer.histogram = forecast(database, slot, now, bounds);
    answer.forecast = forecast(database, slot, now, answer.sorted);
    answer.overdue = overdue(database, slot, now);
  } else {
    answer.histogram = forecast(call.keyspace(), now, bounds);
    answer.forecast = forecast(call.keyspace(), now, answer.sorted);
    answer.overdue = overdue(call.keyspace(), now);
  }
  return answer;
}

void ttlstats(Call& call) {
  const std::optional<TtlRequest> request = read_request(call);
  if (!request) return;
  const Slot slot = request->has_key ? call.find(request->key) : kNoSlot;
  if (request->has_key && slot == kNoSlot) return call.reply().null();

  const TtlAnswer found = answer(call, *request, slot);
  const std::size_t memory = used_memory();
  const Overdue& overdue = found.overdue;
  const std::uint64_t late = overdue.keys + overdue.members;
  Reply& reply = call.reply();
  reply.map(request->moments.empty() ? 10 : 11);
  reply.bulk("now");
  reply.integer(in_ms(call.now()));
  const ForecastPoint& all = found.histogram.back();
  add_number(reply, "entries", all.entries());
  add_number(reply, "keys", all.keys);
  add_number(reply, "members", all.members);
  add_number(reply, "bytes", all.entries() == 0 ? 0 : all.entry_bytes);
  add_number(reply, "memory", memory);
  add_number(reply, "overdue", late);
  reply.bulk("oldest_overdue_ms");
  reply.integer(late == 0 ? 0 : (call.now() - std::min(overdue.oldest, call.now())).count());
  reply_histogram(reply, found.histogram);
  reply.bulk("lateness");
  reply.map(2);
  reply_lateness(reply, "sweep", call.keyspace().stats().late_by_sweep);
  reply_lateness(reply, "access", call.keyspace().stats().late_on_access);
  if (request->moments.empty()) return;
  reply_forecast(reply, request->moments, found.sorted, found.forecast, memory);
}

}  // namespace

std::span<const Command> ttl_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"ttlstats", ttlstats, -1, flag::readonly | flag::arbitrary_keys, {}, "server", kOnlyHere,
       "[KEY key:key] [FORECAST moment...]",
       "Returns what expires when, how late removals are, and how much memory will be free."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
