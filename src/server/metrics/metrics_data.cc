// SPDX-License-Identifier: Apache-2.0
// Metrics about keys, their deadlines and memory.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "keyspace/forecast/expiry_forecast.h"
#include "mayfly/ttl_histogram.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/expiry/expiry_log.h"
#include "server/metrics/metric_helpers.h"
#include "server/metrics/metrics.h"
#include "server/monitoring/info.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

// Bounds of 2^n - 1 ms, since that is where the histogram is exact.
void lateness_histogram(PrometheusText& out, std::string_view cause, const Lateness& lateness) {
  constexpr std::size_t kBuckets = 23;  // 0 ms to 70 minutes
  std::array<MetricBucket, kBuckets> buckets;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t ms = (std::uint64_t{1} << i) - 1;
    const std::uint64_t until = lateness.count_until(ms);
    buckets[i] = {static_cast<double>(ms) / 1000, until - before};
    before = until;
  }
  out.histogram({{"cause", cause}}, buckets, lateness.sum_ms() / 1000, lateness.count() - before);
}

// Calls `see` with each database that has keys, and its number as a label.
template <class See>
void each_database(const ServerParts& server, See see) {
  Keyspace& keyspace = server.keyspace;
  const int shown = server.config.cluster_enabled ? 1 : keyspace.count();  // not what is imported
  for (int number = 0; number < shown; ++number) {
    const Database& database = keyspace[number];
    if (database.stored() > 0) see(database, std::to_string(number));
  }
}

// Sums from now on, so that a query takes the difference of two.
void metrics_of_forecast(Keyspace& keyspace, Time now, PrometheusText& out) {
  std::vector<Time> moments;
  for (const TtlBound& bound : kTtlBounds) moments.push_back(deadline_after(now, bound.within));
  const std::vector<ForecastPoint> points = forecast(keyspace, now, moments);
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, help, MetricType::gauge);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_last = i + 1 == points.size();
      out.sample({{"within", is_last ? "ever" : kTtlBounds[i].name}}, value(points[i]));
    }
  };
  each("mayfly_expiring_keys", "Keys that expire within this time from now.",
       [](const ForecastPoint& point) { return point.keys; });
  each("mayfly_expiring_members", "Members that expire within this time from now.",
       [](const ForecastPoint& point) { return point.members; });
  each("mayfly_expiring_bytes", "Memory that expiries will free within this time from now.",
       [](const ForecastPoint& point) { return point.bytes; });
  const std::size_t used = used_memory();
  each("mayfly_memory_forecast_bytes", "Memory in use at this time from now, without new data.",
       [&](const ForecastPoint& point) { return used - std::min<std::size_t>(used, point.bytes); });
}

// Keys or members of each type that has some.
void metrics_by_type(const ServerParts& server, PrometheusText& out) {
  constexpr ValueType kTypes[] = {ValueType::string, ValueType::list, ValueType::set,
                                  ValueType::zset,   ValueType::hash, ValueType::stream};
  out.family("mayfly_stored_keys", "Keys that are stored, by database and type.",
             MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    for (const ValueType type : kTypes) {
      out.sample({{"db", number}, {"type", type_name(type)}}, database.stored(type));
    }
  });
  out.family("mayfly_stored_members", "Members that are stored, by database and type of key.",
             MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    for (const ValueType type : {ValueType::set, ValueType::zset, ValueType::hash}) {
      out.sample({{"db", number}, {"type", type_name(type)}}, database.stored_members(type));
    }
  });
  out.family("mayfly_volatile_members", "Members with a deadline, by database.", MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    out.sample({{"db", number}}, database.volatile_members());
  });
}

}  // namespace

void metrics_of_keys(const ServerParts& server, PrometheusText& out) {
  const ExecContext context = server.reclaimer.context();
  out.family("mayfly_keys", "Keys that exist, by database.", MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    out.sample({{"db", number}}, database.size(context));
  });
  out.family("mayfly_volatile_keys", "Keys with a deadline, by database.", MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    out.sample({{"db", number}}, database.deadline_count());
  });
  out.family("mayfly_keys_with_volatile_members",
             "Hashes, sets and sorted sets with members that have a deadline, by database.",
             MetricType::gauge);
  each_database(server, [&](const Database& database, const std::string& number) {
    out.sample({{"db", number}}, database.member_deadline_count());
  });
  metrics_by_type(server, out);
  one_counter(out, "mayfly_keyspace_hits_total", "Look-ups of keys that exist.", server.stats.hits);
  one_counter(out, "mayfly_keyspace_misses_total", "Look-ups of keys that do not exist.",
              server.stats.misses);
  one_counter(out, "mayfly_evicted_keys_total", "Keys that were evicted because of maxmemory.",
              server.keyspace.stats().evicted_keys);
}

void metrics_of_expiry(const ServerParts& server, PrometheusText& out) {
  Keyspace& keyspace = server.keyspace;
  const KeyspaceStats& stats = keyspace.stats();
  const auto by_cause = [&](std::string_view name, std::string_view help, const auto& counts) {
    out.family(name, help, MetricType::counter);
    out.sample({{"cause", "access"}}, counts[static_cast<std::size_t>(FoundBy::access)]);
    out.sample({{"cause", "sweep"}}, counts[static_cast<std::size_t>(FoundBy::sweep)]);
    out.sample({{"cause", "past"}}, counts[static_cast<std::size_t>(FoundBy::past)]);
  };
  by_cause("mayfly_expired_keys_total", "Keys that expired, by what found them.",
           stats.expired_keys_by);
  by_cause("mayfly_expired_members_total", "Members that expired, by what found them.",
           stats.expired_members_by);
  out.family("mayfly_expiry_lateness_seconds", "How long after its deadline an entry was removed.",
             MetricType::histogram);
  lateness_histogram(out, "access", stats.late_on_access);
  lateness_histogram(out, "sweep", stats.late_by_sweep);

  const Time now = server.now;
  const Overdue late = overdue(keyspace, now);
  one_gauge(out, "mayfly_expiry_backlog_entries",
            "Keys and members that are due and wait to be removed.", late.keys + late.members);
  metrics_of_forecast(keyspace, now, out);
  const ExpiryLog::Totals log = server.expiry_log.totals();
  one_gauge(out, "mayfly_expiry_log_entries", "Entries of the expiry logs.", log.entries);
  one_gauge(out, "mayfly_expiry_log_bytes", "Memory of the expiry logs.", log.bytes);
  one_counter(out, "mayfly_expiry_log_added_total", "Entries that were logged.",
              server.expiry_log.added());
  one_counter(out, "mayfly_expiry_log_dropped_total",
              "Expiries that could not be logged; the log of the server says why.",
              server.expiry_log.dropped());
  one_counter(out, "mayfly_expiry_slices_total", "Slices of the sweep.", server.stats.sweep_slices);
  one_counter(out, "mayfly_expiry_slices_cut_total",
              "Slices of the sweep that ended by their time limit, with more to do.",
              server.stats.sweep_slices_cut);
  one_counter(out, "mayfly_expiry_cpu_seconds_total", "Time that the sweep took.",
              static_cast<double>(server.stats.sweep_micros) / 1e6);
}

void metrics_of_memory(const ServerParts& server, PrometheusText& out) {
  const MemoryNumbers numbers = memory_numbers();
  const MemoryOverhead overhead = memory_overhead(server);
  const Functions& functions = server.scripting.functions();
  one_gauge(out, "mayfly_memory_used_bytes", "Memory that the server has allocated.", numbers.used);
  one_gauge(out, "mayfly_memory_resident_bytes", "Memory of the process, as the system counts it.",
            numbers.rss);
  one_gauge(out, "mayfly_memory_peak_bytes", "The most memory that was allocated.",
            std::max<std::uint64_t>(server.stats.memory_peak, numbers.used));
  one_gauge(out, "mayfly_memory_startup_bytes", "Memory that was allocated at the start.",
            server.stats.memory_startup);
  one_gauge(out, "mayfly_memory_max_bytes", "The limit maxmemory; 0: none.",
            server.config.maxmemory);
  one_gauge(out, "mayfly_memory_dataset_bytes", "Memory of keys and values.",
            numbers.used - std::min(overhead.total(), numbers.used));
  out.family("mayfly_memory_overhead_bytes", "Memory beside keys and values, by what it is for.",
             MetricType::gauge);
  out.sample({{"part", "aof_buffer"}}, overhead.aof_buffer);
  out.sample({{"part", "clients"}}, overhead.normal_clients);
  out.sample({{"part", "replicas"}}, overhead.replica_clients);
  out.sample({{"part", "replication_backlog"}}, overhead.backlog);
  out.sample({{"part", "tables"}}, overhead.tables);
  one_gauge(out, "mayfly_memory_lua_bytes", "Memory of the interpreters of scripts and functions.",
            server.scripting.lua_bytes() + functions.lua_bytes());
  one_gauge(out, "mayfly_lazyfree_pending_objects", "Values that wait to be freed.",
            server.keyspace.lazy_free().pending());
  one_gauge(out, "mayfly_scripts", "Scripts that are kept.", server.scripting.count());
  one_gauge(out, "mayfly_functions", "Functions that are loaded.", functions.count());
  one_counter(out, "mayfly_evicted_scripts_total", "Scripts that were evicted.",
              server.stats.evicted_scripts);
}

}  // namespace mayfly
