// SPDX-License-Identifier: Apache-2.0
// Stats: what a server has done since it started, or since CONFIG RESETSTAT.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "mayfly/time.h"
#include "net/transport.h"

namespace mayfly {

struct Command;

struct CommandStats {
  std::uint64_t calls = 0;
  std::uint64_t micros = 0;
  std::uint64_t rejected = 0;                   // not run: wrong arity, no memory, unblocked
  std::uint64_t failed = 0;                     // run, with an error for a reply
  std::array<std::uint64_t, 32> micros_log2{};  // a histogram, for percentiles

  void add_call(std::int64_t took) {
    const auto time = static_cast<std::uint64_t>(took);
    ++calls;
    micros += time;
    ++micros_log2[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(time)), 31)];
  }
};

// How fast a count grows, smoothed over some 16 samples.
class Rate {
 public:
  void sample(std::uint64_t count, double seconds) {
    const std::uint64_t before = std::min(std::exchange(last_, count), count);  // RESETSTAT
    per_second_ += (static_cast<double>(count - before) / seconds - per_second_) / 8;
  }
  double per_second() const { return per_second_; }

 private:
  std::uint64_t last_ = 0;
  double per_second_ = 0;
};

struct Rates {
  Rate commands;
  Rate bytes_in;
  Rate bytes_out;
  Rate replication_bytes_in;
  Rate replication_bytes_out;
  Rate turns;
  Rate busy_ns;
};

struct Stats {
  Time started{};
  std::uint64_t connections = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t commands = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;  // of closed connections; open ones count their own
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t errors = 0;
  std::uint64_t dirty = 0;  // changes since the last save
  std::uint64_t memory_peak = 0;
  std::uint64_t memory_startup = 0;      // before anything was loaded
  std::uint64_t output_waiting_max = 0;  // the most that waited for one client
  std::uint64_t output_limit_disconnections = 0;
  std::uint64_t query_limit_disconnections = 0;
  std::uint64_t evicted_clients = 0;
  std::uint64_t stranger_disconnections = 0;  // see login/strangers.h
  std::uint64_t failed_logins = 0;
  std::uint64_t evicted_scripts = 0;
  std::uint64_t unexpected_errors = 0;  // of commands of the primary, or of a replica
  std::uint64_t sweep_slices = 0;
  std::uint64_t sweep_slices_cut = 0;  // by time: there was more to do
  std::uint64_t sweep_micros = 0;
  std::uint64_t full_syncs = 0;     // that replicas asked for
  std::uint64_t partial_syncs = 0;  // that could be granted
  std::uint64_t refused_partial_syncs = 0;
  std::uint64_t ttl_violations = 0;  // requests that a rule of ttl-policy refused
  // Of the bytes above: from the primary, and to replicas (also by a child).
  std::uint64_t replication_bytes_in = 0;
  std::uint64_t replication_bytes_out = 0;
  std::uint64_t command_ns = 0;    // that requests took
  std::uint64_t lazily_freed = 0;  // keys and members, elements, entries
  LoopCounts loop_before;          // what the loop had done at CONFIG RESETSTAT
  Rates rates;
  std::unordered_map<const Command*, CommandStats> by_command;
  std::map<std::string, std::uint64_t, std::less<>> by_error;  // "ERR", "WRONGTYPE", ...

  // For CONFIG RESETSTAT. What is a state rather than a count stays: when the server started, the
  // changes since the last save, the rate.
  void reset();
};

// In the order of the alphabet. The pointers are valid until the next command is counted.
std::map<std::string, const CommandStats*> commands_by_name(const Stats& stats);

// The longest time that bucket `i` of CommandStats::micros_log2 stands for.
constexpr std::uint64_t bucket_micros(std::size_t i) { return (std::uint64_t{1} << i) - 1; }

// The time that `share` of the calls (0.5, 0.99) did not exceed, at most twice too high.
std::uint64_t percentile_micros(const CommandStats& stats, double share);

}  // namespace mayfly
