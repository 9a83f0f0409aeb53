// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench server` found out, as plain data: report, charts, bars and JSON all read this.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report/statistics.h"

namespace mayfly {

// One run of redis-benchmark.
struct SpeedRun {
  double per_second = 0;   // requests
  double server_us = 0;    // of the processor, that the server spent on a request
  double client_busy = 0;  // share of the time that redis-benchmark used a processor
};

// One command, at a time or pipelined, with one key or many, on both servers.
struct SpeedRow {
  std::string_view command;  // to ours
  std::string_view other;    // to redis-server, which does not know all of ours
  int pipeline = 1;
  std::size_t keys = 1;
  std::vector<SpeedRun> ours = {};  // one for each repeat
  std::vector<SpeedRun> redis = {};
};

// The median over the repeats of one of the numbers. Nothing if it was not measured.
inline std::optional<double> middle(const std::vector<SpeedRun>& runs, double SpeedRun::*number) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const SpeedRun& run : runs) values.push_back(run.*number);
  if (values.empty()) return {};
  return median(values);
}

// How many times redis-server's number ours is: the median over the repeats, since what is measured
// in the same repeat was measured on the same machine in the same mood.
inline std::optional<double> ratio(const SpeedRow& row, double SpeedRun::*number) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.ours.size() && i < row.redis.size(); ++i) {
    // The processor's time is told in steps, of which a short run may take none.
    if (row.redis[i].*number > 0) ratios.push_back(row.ours[i].*number / (row.redis[i].*number));
  }
  if (ratios.empty()) return {};
  return median(ratios);
}

// Bytes that a field takes in hashes of one size.
struct MemoryRow {
  std::size_t fields_each = 0;
  bool with_ttl = false;
  double bar = 0;
  double ours = 0;
  std::optional<double> redis = {};  // which has no deadlines for fields
};

// How late the events of many entries with one deadline came.
struct OnTimeRow {
  bool fields = false;   // or keys
  std::size_t idle = 0;  // other entries with deadlines that are far away
  struct Events {
    std::size_t count = 0;  // that came at all, within `waited_ms`
    double p50_ms = 0;
    double last_ms = 0;
  };
  Events ours = {};
  std::optional<Events> redis = {};
};

// How long requests took.
struct ReplyTimes {
  std::size_t count = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};

// Of all requests, each with its time in nanoseconds. All zero if there were none.
inline ReplyTimes summarize(const std::vector<std::int64_t>& times_ns) {
  if (times_ns.empty()) return {};
  const auto at = [&](double percent) {
    return static_cast<double>(percentile(times_ns, percent)) / 1e3;
  };
  return {times_ns.size(), at(50), at(99), at(99.9), at(100)};
}

// GETs of another client while fields expire, over all repeats.
struct StallRow {
  std::size_t fields_each = 0;  // in a hash
  std::size_t expired = 0;      // of `stall_fields`, when a measurement ended; the least
  double seconds = 0;           // from the deadline until then; the median
  ReplyTimes before = {};       // in the second before it: what the machine does by itself
  ReplyTimes during = {};
};

// Rounds of some SETs of new keys and a PING of another client.
struct GrowthRow {
  std::string_view server;
  double per_second = 0;  // keys
  ReplyTimes growing = {};
  double longest_at_keys = 0;  // how many keys there were at the longest round
  ReplyTimes steady = {};      // the same with keys that exist: what the machine does by itself
};

// How long one thing took, or how often it was done, on both servers: one number for each repeat.
struct Pair {
  std::vector<double> ours = {};
  std::vector<double> redis = {};  // empty if it is not installed
};

inline std::optional<double> middle(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  return median(numbers);
}

// The median over the repeats of how many times the one number the other is, as for SpeedRow.
inline std::optional<double> ratio(const std::vector<double>& above,
                                   const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size() && i < below.size(); ++i) {
    if (below[i] > 0) ratios.push_back(above[i] / below[i]);
  }
  return middle(ratios);
}

// SAVE of the data set: fields with deadlines in ours, without in redis-server.
struct SaveRow {
  std::size_t fields_each = 0;
  bool compressed = true;  // `rdbcompression`: a hash may be written as one compressed string
  double our_bytes = 0;    // of the file
  double redis_bytes = 0;
  Pair seconds = {};
};

// The same file read into an empty server.
struct LoadRow {
  std::size_t fields_each = 0;
  Pair seconds = {};
};

// GETs of a client while a child of the server writes all data to a file.
struct ChildRow {
  std::string_view work;  // the command that starts it
  struct Run {
    double seconds = 0;      // that the child took
    ReplyTimes before = {};  // in the half second before it: what the machine does by itself
    ReplyTimes during = {};
  };
  std::vector<Run> ours = {};
  std::vector<Run> redis = {};
};

// Requests a second with the append-only file, and without.
struct AofRow {
  std::string_view command;
  std::string_view other;  // what redis-server does meanwhile
  Pair with = {};
  Pair without = {};
};

// What a primary needs to make a replica that begins with nothing.
struct SyncRow {
  std::string_view server;
  bool is_done = false;     // the replica has followed, and holds as many keys
  double seconds = 0;       // until it had
  double before_bytes = 0;  // used_memory
  double peak_bytes = 0;
  double written_bytes = 0;  // of the values that were written meanwhile
  double bound_bytes = 0;    // backlog and output limit
};

struct PersistResults {
  std::vector<SaveRow> saves = {};
  std::vector<LoadRow> loads = {};
  std::vector<ChildRow> children = {};
  std::vector<AofRow> aof = {};
  std::vector<SyncRow> syncs = {};
};

// How many times redis-server's bytes a second ours are.
inline std::optional<double> save_ratio(const SaveRow& row) {
  const std::optional<double> quicker = ratio(row.seconds.redis, row.seconds.ours);
  if (!quicker || row.redis_bytes == 0) return {};
  return *quicker * row.our_bytes / row.redis_bytes;
}

// How many times redis-server's fields a second.
inline std::optional<double> load_ratio(const LoadRow& row) {
  return ratio(row.seconds.redis, row.seconds.ours);
}

// How many times redis-server's p99.9 of a GET.
inline std::optional<double> child_ratio(const ChildRow& row) {
  const auto p999 = [](const std::vector<ChildRow::Run>& runs) {
    std::vector<double> numbers;
    numbers.reserve(runs.size());
    for (const ChildRow::Run& run : runs) numbers.push_back(run.during.p999_us);
    return numbers;
  };
  return ratio(p999(row.ours), p999(row.redis));
}

struct HlenResult {
  double first_us = 0;  // of the first call after the deadline
  double mean_us = 0;
  double max_us = 0;
};

struct ServerResults {
  std::vector<SpeedRow> speed = {};
  std::vector<MemoryRow> memory = {};
  std::vector<OnTimeRow> on_time = {};
  std::vector<StallRow> stalls = {};
  std::vector<GrowthRow> growth = {};
  std::optional<HlenResult> hlen = {};
  std::optional<PersistResults> persist = {};
  std::string redis_version = {};
  double seconds = 0;  // that all of it took
};

}  // namespace mayfly
