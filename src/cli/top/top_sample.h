// SPDX-License-Identifier: Apache-2.0
// What `mayfly top` knows of a server: two replies of INFO, a while apart, and what they say
// together. A number that the server does not tell is absent.

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
  std::int64_t ns = 0;  // when it came, by the monotonic clock
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

  Maybe operations;  // each second, as are all that are called _rate
  std::vector<std::pair<std::string, double>> commands;  // those that were called, the most first
  Maybe clients;
  Maybe blocked_clients;
  Maybe used_bytes;
  Maybe rss_bytes;
  Maybe most_bytes;  // absent: no limit
  Maybe fragmentation;

  double keys = 0;
  double keys_with_deadline = 0;
  Maybe hashes_with_deadlines;  // of fields
  std::array<Maybe, kTopSpans.size()> keys_within;
  std::array<Maybe, kTopSpans.size()> hashes_within;
  Maybe expired_keys;
  Maybe expired_fields;
  Maybe expired_keys_rate;
  Maybe expired_fields_rate;
  Maybe backlog;
  std::optional<TopLateness> late_by_sweep;
  std::optional<TopLateness> late_on_access;
  Maybe evicted_keys;
  Maybe evicted_rate;
  Maybe hit_share;  // from 0 to 1; since the sample before, or of all if there was no read since
  Maybe in_rate;    // bytes
  Maybe out_rate;

  Maybe unsaved_changes;
  Maybe last_save_age_s;
  bool is_saving = false;
  bool is_save_good = true;
  bool has_aof = false;
  bool is_aof_good = true;
  Maybe aof_bytes;

  std::string role;  // "master", "slave"
  Maybe replicas;    // that follow it
  Maybe lag_s;       // of the one that is furthest behind; of a replica, since it heard something
  std::string primary;  // "host:port", of a replica
  bool is_link_up = true;
};

// What there is to see at `now`. Rates are since `before`: absent where there is none, or where the
// server was restarted meanwhile. `wall_s` is the present time in seconds since the epoch.
TopView view_of(const TopSample* before, const TopSample& now, double wall_s);

}  // namespace mayfly
