// SPDX-License-Identifier: Apache-2.0
// INFO expiry: what is due and not removed yet, what expires soon, and how late removals are.

#include <array>
#include <chrono>

#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/expiry/expiry_log.h"
#include "server/monitoring/info.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace {

// Keys that are due and have not been removed yet.
std::size_t dead_keys(const ServerParts& server) {
  Keyspace& keyspace = server.keyspace;
  const ExecContext context = server.reclaimer.context();
  std::size_t dead = 0;
  for (int i = 0; i < keyspace.count(); ++i)
    dead += keyspace[i].stored() - keyspace[i].size(context);
  return dead;
}

// Of hashes, sets and sorted sets.
void info_members(std::string& text, Keyspace& keyspace) {
  std::size_t members = 0;
  std::size_t with_deadline = 0;
  for (int i = 0; i < keyspace.count(); ++i) {
    for (const ValueType type : {ValueType::hash, ValueType::set, ValueType::zset}) {
      members += keyspace[i].stored_members(type);
    }
    with_deadline += keyspace[i].volatile_members();
  }
  info_line(text, "members", members);
  info_line(text, "members_with_deadline", with_deadline);
}

void info_lateness(std::string& text, std::string_view kind, const Lateness& lateness) {
  text += fmt::format("expiry_lateness_{}_count:{}\r\n", kind, lateness.count());
  text += fmt::format("expiry_lateness_{}_p50_ms:{}\r\n", kind, lateness.percentile_ms(0.5));
  text += fmt::format("expiry_lateness_{}_p99_ms:{}\r\n", kind, lateness.percentile_ms(0.99));
  text += fmt::format("expiry_lateness_{}_max_ms:{}\r\n", kind, lateness.max_ms());
}

// How many keys expire soon. A hash counts once, by its next field. Cost: the buckets of an hour, a
// thousand keys each, and a search in one of them for each span.
void info_expiring(std::string& text, Keyspace& keyspace, Time now) {
  struct Span {
    std::string_view name;
    std::chrono::seconds length;
  };
  constexpr std::array<Span, 5> kSpans = {{{"1s", std::chrono::seconds(1)},
                                           {"10s", std::chrono::seconds(10)},
                                           {"1m", std::chrono::minutes(1)},
                                           {"10m", std::chrono::minutes(10)},
                                           {"1h", std::chrono::hours(1)}}};
  std::size_t past_keys = 0;
  std::size_t past_hashes = 0;
  for (int i = 0; i < keyspace.count(); ++i) {
    past_keys += keyspace[i].deadline_count(now);
    past_hashes += keyspace[i].member_deadline_count(now);
  }
  for (const auto& [name, length] : kSpans) {
    std::size_t keys = 0;
    std::size_t hashes = 0;
    for (int i = 0; i < keyspace.count(); ++i) {
      keys += keyspace[i].deadline_count(now + length);
      hashes += keyspace[i].member_deadline_count(now + length);
    }
    text += fmt::format("expiry_keys_due_within_{}:{}\r\n", name, keys - past_keys);
    text +=
        fmt::format("expiry_keys_with_members_due_within_{}:{}\r\n", name, hashes - past_hashes);
  }
}

}  // namespace

double stale_percent(const ServerParts& server) {
  Keyspace& keyspace = server.keyspace;
  std::size_t volatile_keys = 0;
  for (int i = 0; i < keyspace.count(); ++i) {
    volatile_keys += keyspace[i].deadline_count() + keyspace[i].member_deadline_count();
  }
  if (volatile_keys == 0) return 0;
  return 100.0 * static_cast<double>(dead_keys(server)) / static_cast<double>(volatile_keys);
}

void info_expiry(const ServerParts& server, std::string& text) {
  Keyspace& keyspace = server.keyspace;
  const Time next = keyspace.next_deadline();
  info_line(text, "expiry_active", server.reclaimer.is_sweeping());
  info_members(text, keyspace);
  info_line(text, "expiry_slices", server.stats.sweep_slices);
  info_line(text, "expiry_slices_cut", server.stats.sweep_slices_cut);
  info_line(text, "expiry_cpu_microseconds", server.stats.sweep_micros);
  info_line(text, "expiry_backlog_keys", dead_keys(server));
  info_line(text, "expiry_next_deadline_ms",
            next == kNever ? -1 : remaining(next, server.now).count());
  info_expiring(text, keyspace, server.now);
  info_lateness(text, "active", keyspace.stats().late_by_sweep);
  info_lateness(text, "lazy", keyspace.stats().late_on_access);
  const ExpiryLog& log = server.expiry_log;
  const ExpiryLog::Totals totals = log.totals();
  info_line(text, "stale_leases", server.keyspace.leases().size());
  info_line(text, "expiry_log", server.config.expiry_log);
  info_line(text, "expiry_log_entries", totals.entries);
  info_line(text, "expiry_log_bytes", totals.bytes);
  info_line(text, "expiry_log_last_id", totals.last_id.text());
  info_line(text, "expiry_log_added", log.added());
  info_line(text, "expiry_log_trimmed", log.trimmed());
  info_line(text, "expiry_log_dropped", log.dropped());
}

}  // namespace mayfly
