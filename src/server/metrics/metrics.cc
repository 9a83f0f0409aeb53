// SPDX-License-Identifier: Apache-2.0
// All metrics in their order, and those about the process and its commands.

#include "server/metrics/metrics.h"

#include <sys/resource.h>

#include <array>

#include "base/prometheus_text.h"
#include "base/version.h"
#include "server/core/server_call.h"
#include "server/http/http_server.h"
#include "server/http/readiness.h"
#include "server/metrics/metric_helpers.h"
#include "server/monitoring/command_log.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace {

double cpu_seconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Every second bucket of the statistics: a time of less than 2^i microseconds is in bucket i or
// below.
void duration_histogram(PrometheusText& out, std::string_view name, const CommandStats& stats) {
  constexpr std::size_t kBuckets = 13;  // 1 us to 16.8 s, each 4 times the one before
  std::array<MetricBucket, kBuckets> buckets;
  std::size_t next = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets[i].upper = static_cast<double>(std::uint64_t{1} << (2 * i)) / 1e6;
    for (; next <= 2 * i; ++next) buckets[i].count += stats.micros_log2[next];
  }
  std::uint64_t above = 0;
  for (; next < stats.micros_log2.size(); ++next) above += stats.micros_log2[next];
  out.histogram({{"command", name}}, buckets, static_cast<double>(stats.micros) / 1e6, above);
}

}  // namespace

void metrics_of_process(const ServerParts& server, PrometheusText& out) {
  out.family("mayfly_build_info", "The version of the program; the value is 1.", MetricType::gauge);
  out.sample({{"version", kMayflyVersion}, {"compatible_with", kCompatibleVersion}}, 1);
  one_gauge(out, "mayfly_start_time_seconds", "When the server started, as a Unix time.",
            metric_seconds(server.stats.started.time_since_epoch()));
  one_counter(out, "mayfly_cpu_seconds_total", "CPU time of the process, user and system.",
              cpu_seconds());
  one_flag(out, "mayfly_ready", "Whether GET /ready is answered by 200.", !why_not_ready(server));
  const HttpStats& http = server.http.stats();
  one_gauge(out, "mayfly_http_connections", "Open connections of HTTP.",
            server.http.connections().size());
  one_gauge(out, "mayfly_http_sessions", "Sessions of the web console.", server.http.sessions());
  one_counter(out, "mayfly_http_connections_total", "Connections of HTTP.", http.connections);
  one_counter(out, "mayfly_http_rejected_connections_total",
              "Connections of HTTP that were refused because of http-maxconnections.",
              http.rejected_connections);
  one_counter(out, "mayfly_http_requests_total", "Requests of HTTP that were answered.",
              http.requests);
  one_counter(out, "mayfly_http_refused_requests_total",
              "Requests of HTTP that were answered by a status of 400 or above.", http.refused);
}

void metrics_of_commands(const ServerParts& server, PrometheusText& out) {
  const auto commands = commands_by_name(server.stats);
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, help, MetricType::counter);
    for (const auto& [command, stats] : commands) {
      out.sample({{"command", command}}, value(*stats));
    }
  };
  one_counter(out, "mayfly_commands_processed_total", "Commands that were run, of all kinds.",
              server.stats.commands);
  each("mayfly_commands_total", "Commands that were run.",
       [](const CommandStats& stats) { return stats.calls; });
  each("mayfly_commands_failed_total", "Commands that were run and replied with an error.",
       [](const CommandStats& stats) { return stats.failed; });
  each("mayfly_commands_rejected_total", "Commands that were refused and not run.",
       [](const CommandStats& stats) { return stats.rejected; });
  out.family("mayfly_command_duration_seconds", "The time that commands took to run.",
             MetricType::histogram);
  for (const auto& [command, stats] : commands) duration_histogram(out, command, *stats);
  out.family("mayfly_error_replies_total", "Error replies, by the first word of the error.",
             MetricType::counter);
  for (const auto& [code, count] : server.stats.by_error) out.sample({{"code", code}}, count);
  one_gauge(out, "mayfly_slowlog_entries", "Entries in the slow log.",
            server.command_logs[LogKind::slow].entries().size());
}

std::string metrics_text(const ServerParts& server) {
  PrometheusText out;
  metrics_of_process(server, out);
  metrics_of_commands(server, out);
  metrics_of_clients(server, out);
  metrics_of_keys(server, out);
  metrics_of_expiry(server, out);
  metrics_of_memory(server, out);
  metrics_of_persistence(server, out);
  metrics_of_replication(server, out);
  metrics_of_cluster(server, out);
  return out.text();
}

}  // namespace mayfly
