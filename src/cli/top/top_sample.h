// SPDX-License-Identifier: Apache-2.0
// TopView: the numbers of `mayfly top`, computed from two replies of INFO. A number that the server
// does not report is absent.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly {

using Maybe = std::optional<double>;

struct TopSample {
  std::string info;     // the reply to INFO all
  std::int64_t ns = 0;  // monotonic clock
};

struct TopLateness {
  double count = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

inline constexpr std::array<std::string_view, 5> kTopSpans = {"1s", "10s", "1m", "10m", "1h"};

struct TopView {
  std::string server;  // "mayfly 0.1.0"
  Maybe uptime_s;

  Maybe operations;                                      // per second, like all *_rate
  std::vector<std::pair<std::string, double>> commands;  // called commands, the most frequent first
  Maybe clients;
  Maybe blocked_clients;
  Maybe used_bytes;
  Maybe rss_bytes;
  Maybe most_bytes;  // absent: no limit
  Maybe fragmentation;

  double keys = 0;
  double keys_with_deadline = 0;
  Maybe keys_with_members;  // that have deadlines
  std::array<Maybe, kTopSpans.size()> keys_within;
  std::array<Maybe, kTopSpans.size()> members_within;
  Maybe expired_keys;
  Maybe expired_fields;
  Maybe expired_keys_rate;
  Maybe expired_fields_rate;
  Maybe backlog;
  std::optional<TopLateness> late_by_sweep;
  std::optional<TopLateness> late_on_access;
  Maybe evicted_keys;
  Maybe evicted_rate;
  Maybe hit_share;  // 0 to 1; since the last sample, or overall if there were no reads
  Maybe in_rate;    // bytes
  Maybe out_rate;

  Maybe unsaved_changes;
  Maybe last_save_age_s;
  bool is_saving = false;
  bool is_save_good = true;
  bool has_aof = false;
  bool is_aof_good = true;
  Maybe aof_bytes;

  std::string role;     // "master", "slave"
  Maybe replicas;       // connected
  Maybe lag_s;          // of the slowest replica; on a replica, since the last message
  std::string primary;  // "host:port", on a replica
  bool is_link_up = true;
};

// Rates cover the time since `before`; absent without one or after a restart of the server.
// `wall_s` is the current time in seconds since the epoch.
TopView view_of(const TopSample* before, const TopSample& now, double wall_s);

}  // namespace mayfly
