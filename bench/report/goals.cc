// SPDX-License-Identifier: Apache-2.0
// The goals, and whether results reach them. Declared in report.h.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "bench/report/report.h"

namespace mayfly::bench {
namespace {

// A system in a case. No case: in all of them.
struct Side {
  std::string_view system;
  std::string_view name = {};
};
constexpr std::string_view kAnyPeer = "*";  // one verdict for each system that is not Mayfly
constexpr std::string_view kNone = {};

// A metric, or with `other` how many times the other side's it is, reaches `value`.
struct Goal {
  std::string_view suite;
  std::string_view part;
  std::string_view metric;
  Side ours;
  Side other;
  bool at_least;
  double value;
  std::string_view size = {};  // the goal speaks of cases where this setting is `size_value`
  double size_value = 0;       // or more
};

constexpr Goal expiry(std::string_view metric, std::string_view system, bool at_least,
                      double value) {
  return {"expiry", "index", metric, {system}, {"heap"}, at_least, value, "entries", 1e6};
}
constexpr Goal late(std::string_view system, double most_ms) {
  return {"expiry", "lateness", "max_ms", {system}, {kNone}, false, most_ms};
}
constexpr Goal store(double factor, std::string_view peer, std::string_view name) {
  return {"store", "rates", "ops_per_second", {"mayfly", name}, {peer, name}, true, factor,
          "keys",  1e6};
}
constexpr Goal store_itself(double factor, std::string_view name, std::string_view other) {
  return {"store", "rates", "ops_per_second", {"mayfly", name}, {"mayfly", other}, true, factor,
          "keys",  1e6};
}
constexpr Goal store_alone(std::string_view part, std::string_view metric, double most,
                           std::string_view size, double size_value) {
  return {"store", part, metric, {"mayfly"}, {kNone}, false, most, size, size_value};
}
constexpr Goal speed(double factor, std::string_view name) {
  return {"server",   "speed", "ops_per_second", {"mayfly", name}, {kAnyPeer, name}, true, factor,
          "requests", 1e5};
}
constexpr Goal memory(double most, std::string_view name) {
  return {"server", "memory", "bytes_per_field", {"mayfly", name}, {kNone}, false, most,
          "fields", 5e5};
}
constexpr Goal sets(double factor, std::string_view name) {
  return {"server",  "sets", "ops_per_second", {"mayfly", name}, {kAnyPeer, name}, true, factor,
          "members", 1e6};
}
constexpr Goal set_pair(double factor, std::string_view name) {
  return {"server",         "set_pairs",      "ops_per_second",
          {"mayfly", name}, {kAnyPeer, name}, true,
          factor,           "members",        1e5};
}
constexpr Goal types(double factor, std::string_view name) {
  return {"server",   "types", "ops_per_second", {"mayfly", name}, {kAnyPeer, name}, true, factor,
          "requests", 1e5};
}
constexpr Goal scripts(double factor, std::string_view name) {
  return {"server",   "scripts", "ops_per_second", {"mayfly", name}, {kAnyPeer, name}, true, factor,
          "requests", 1e5};
}
constexpr Goal type_memory(std::string_view name) {
  return {"server",
          "type_memory",
          "bytes_per_element",
          {"mayfly", name},
          {kAnyPeer, name},
          false,
          1,
          "elements",
          5e5};
}
constexpr Goal set_memory(double most, std::string_view name) {
  return {"server",  "set_memory", "bytes_per_member", {"mayfly", name}, {kNone}, false, most,
          "members", 5e5};
}
constexpr Goal server(std::string_view part, std::string_view metric, std::string_view name,
                      bool at_least, double value, std::string_view size, double size_value) {
  return {"server", part, metric, {"mayfly", name}, {kNone}, at_least, value, size, size_value};
}
constexpr Goal persist(std::string_view part, std::string_view metric, std::string_view name,
                       bool at_least, double factor) {
  return {"server", part,     metric, {"mayfly", name}, {kAnyPeer, name}, at_least,
          factor,   "fields", 5e6};
}
constexpr Goal aof(std::string_view with, std::string_view without) {
  return {"server",   "aof", "ops_per_second", {"mayfly", with}, {"mayfly", without}, true, 0.8,
          "requests", 2e6};
}
constexpr Goal python(double factor, std::string_view name, std::string_view ours,
                      std::string_view peer) {
  return {"python", "store", "us", {ours, name}, {peer, name}, false, 1 / factor, "entries", 1e5};
}

constexpr Goal kGoals[] = {
    expiry("expire_per_second", "wheel", true, 4),
    expiry("cycle_ns", "wheel", false, 1),
    expiry("expire_per_second", "volatile-set", true, 4),
    expiry("cycle_ns", "volatile-set", false, 1),
    {"expiry", "cache", "bytes", {"volatile-set"}, {kNone}, false, 16, "entries", 1e6},
    late("wheel", 0),
    late("volatile-set", 0),
    late("windows", 999),  // a window, less the millisecond that it ends at
    {"cache",
     "gets",
     "gets_per_second",
     {"ShardedCache", "2 threads"},
     {"ShardedCache", "1 thread"},
     true,
     1.6},

    store(0.95, "lmdb", "get, random"),
    store(0.9, "lmdb", "scan"),
    store(0.9, "lmdb", "put, sequential (off)"),
    store(0.9, "lmdb", "put, random (off)"),
    store(0.9, "lmdb", "single put, sequential (off)"),
    store(0.9, "lmdb", "single put, random (off)"),
    store(0.9, "lmdb", "single put, sequential (full)"),
    store(0.9, "lmdb", "single put, random (full)"),
    store(0.9, "lmdb", "get, TTLs present"),
    store(0.9, "lmdb", "scan, TTLs present"),
    store(0.95, "lmdb", "get, at rest"),
    store(0.9, "lmdb", "scan, at rest"),
    store(0.9, "lmdb", "get, TTLs present, at rest"),
    store(0.9, "lmdb", "scan, TTLs present, at rest"),
    store(0.9, "lmdb", "put with TTL (off)"),
    store(0.9, "lmdb", "single put with TTL (off)"),
    store(0.9, "lmdb", "single put with TTL (full)"),
    store(0.9, "lmdb", "mixed 70/20/10 (off)"),
    store(0.9, "lmdb", "purge (off)"),
    {"store",
     "rates",
     "ops_per_second",
     {"mayfly-c", "get, autocommit"},
     {"lmdb", "get, random"},
     true,
     0.6,
     "keys",
     1e6},
    store(4, "sqlite", "get, TTLs present"),
    store(5, "sqlite", "put with TTL (normal)"),
    store(4, "sqlite", "purge (normal)"),
    store(4, "sqlite", "scan"),
    store(4, "sqlite", "scan, TTLs present"),
    store_itself(4, "single put, random (normal)", "single put, random (full)"),
    store_itself(4, "single put with TTL (normal)", "single put with TTL (full)"),
    store_itself(4, "single put, 8 threads (full)", "single put, random (full)"),
    store(3, "sqlite", "single put, random (normal)"),
    store(1, "rocksdb", "single put, random (normal)"),
    store(4, "sqlite", "single put with TTL (normal)"),
    store(3, "sqlite", "single put, sustained (normal)"),
    store(1, "rocksdb", "single put, sustained (normal)"),
    store(4, "sqlite", "single put with TTL, sustained (normal)"),
    store(1.2, "sqlite", "single put, random (full)"),
    store(3, "sqlite", "single put, random (off)"),
    store(3, "sqlite", "single put with TTL (off)"),
    store_alone("stream", "file_bytes", 64e6, "seconds", 60),
    store_alone("stream", "bytes_per_put", 400, "seconds", 60),
    store_alone("stream", "p999_us", 5000, "seconds", 60),
    store_alone("overwrite", "file_bytes", 2e6, "puts", 3000),
    store_alone("recovery", "open_ms", 1000, "segment_bytes", 32 << 20),
    store_alone("churn", "file_to_compact", 2, "simulated_seconds", 3600),

    speed(1, "SET"),
    speed(1, "GET"),
    speed(1, "HSET"),
    speed(1, "HGET"),
    speed(1, "HSETEX"),
    speed(1.3, "SET -P 32"),
    speed(1.3, "GET -P 32"),
    speed(1.3, "HSET -P 32"),
    speed(1.3, "HGET -P 32"),
    speed(1, "HSETEX -P 32"),
    sets(1, "SADD"),
    sets(1, "SISMEMBER"),
    sets(1, "ZADD"),
    sets(1, "ZRANGEBYSCORE"),
    sets(1, "ZRANK"),
    sets(1, "ZPOPMIN"),
    sets(1.3, "SADD -P 32"),
    sets(1.3, "SISMEMBER -P 32"),
    sets(1.3, "ZADD -P 32"),
    sets(1.3, "ZRANGEBYSCORE -P 32"),
    sets(1.3, "ZRANK -P 32"),
    sets(1.3, "ZPOPMIN -P 32"),
    set_pair(1.2, "SINTER"),
    set_pair(1.2, "ZUNIONSTORE"),
    memory(38, "hashes of 10"),
    memory(33, "hashes of 100"),
    memory(56, "one hash"),
    memory(48, "hashes of 10, TTLs"),
    memory(42, "hashes of 100, TTLs"),
    memory(66, "one hash, TTLs"),
    types(1, "LPUSH"),
    types(1, "RPOP"),
    types(1, "LRANGE 100"),
    types(1, "LRANGE 600"),
    types(1, "XADD"),
    types(1, "XREAD"),
    types(1, "SETBIT"),
    types(1, "BITCOUNT"),
    types(1, "PFADD"),
    types(1, "GEOSEARCH"),
    types(1.3, "LPUSH -P 32"),
    types(1.3, "RPOP -P 32"),
    types(1.3, "LRANGE 100 -P 32"),
    types(1.3, "LRANGE 600 -P 32"),
    types(1.3, "XADD -P 32"),
    types(1.3, "XREAD -P 32"),
    types(1.3, "SETBIT -P 32"),
    types(1.3, "BITCOUNT -P 32"),
    types(1.3, "PFADD -P 32"),
    types(1.3, "GEOSEARCH -P 32"),
    scripts(1, "GET"),
    scripts(1, "release of a lock"),
    scripts(1, "limiter of a sliding window"),
    scripts(1.2, "GET -P 32"),
    scripts(1.2, "release of a lock -P 32"),
    scripts(1.2, "limiter of a sliding window -P 32"),
    {"server",
     "script_memory",
     "megabytes",
     {"mayfly", "different scripts"},
     {kNone},
     false,
     10,
     "scripts",
     1e5},
    type_memory("lists of 10"),
    type_memory("lists of 100"),
    type_memory("one list"),
    type_memory("streams of 100, 3 fields"),
    type_memory("one stream, 3 fields"),
    {"server",
     "hand_over",
     "p50_us",
     {"mayfly", "BLPOP"},
     {kAnyPeer, "BLPOP"},
     false,
     1,
     "pushes",
     2000},
    set_memory(20, "sets of 10"),
    set_memory(18, "sets of 100"),
    set_memory(38, "one set"),
    set_memory(30, "sets of 10, TTLs"),
    set_memory(25, "sets of 100, TTLs"),
    set_memory(52, "one set, TTLs"),
    set_memory(30, "sorted sets of 10"),
    set_memory(26, "sorted sets of 100"),
    set_memory(70, "one sorted set"),
    set_memory(40, "sorted sets of 10, TTLs"),
    set_memory(33, "sorted sets of 100, TTLs"),
    set_memory(86, "one sorted set, TTLs"),
    {"server",
     "set_memory",
     "bytes_per_member",
     {"mayfly", "sets of 100 integers"},
     {kAnyPeer, "sets of 100 integers"},
     false,
     1,
     "members",
     5e5},
    server("ontime", "last_ms", "keys", false, 50, "others", 1e6),
    server("ontime", "last_ms", "fields", false, 50, "others", 1e6),
    server("ontime", "last_ms", "set members", false, 50, "others", 1e6),
    server("ontime", "last_ms", "sorted set members", false, 50, "others", 1e6),
    server("stall", "p999_us", "one hash, expiring", false, 2000, "members", 1e6),
    server("stall", "p999_us", "hashes of 10, expiring", false, 2000, "members", 1e6),
    server("stall", "p999_us", "one sorted set, expiring", false, 2000, "members", 1e6),
    server("stall", "p999_us", "sets of 10, expiring", false, 2000, "members", 1e6),
    server("stall", "left", "", false, 0, "members", 1e6),
    server("growth", "max_us", "growing", false, 2000, "keys", 1e7),
    server("hlen", "mean_us", "HLEN", false, 1000, "fields", 1e6),
    persist("save", "bytes_per_second", "hashes of 1,000", true, 1),
    persist("save", "bytes_per_second", "hashes of 100", true, 1),
    persist("save", "bytes_per_second", "hashes of 100, rdbcompression no", true, 1),
    persist("load", "fields_per_second", "hashes of 1,000", true, 1),
    persist("load", "fields_per_second", "hashes of 100", true, 1),
    persist("child", "p999_us", "BGSAVE", false, 2),
    persist("child", "p999_us", "BGREWRITEAOF", false, 2),
    aof("SET, AOF", "SET, no AOF"),
    aof("HSETEX, AOF", "HSETEX, no AOF"),
    server("sync", "growth_bytes", "", false, 266 << 20, "fields", 5e6),
    server("sync", "follows", "", true, 1, "fields", 5e6),

    python(3, "random get", "mayfly get", "sqlite3 SELECT"),
    python(3, "batched put with TTL", "mayfly put_many", "sqlite3 executemany"),
    python(3, "batched put with TTL", "mayfly loop", "sqlite3 executemany"),
    python(1, "dbm-like use", "mayfly.dbm", "dbm.gnu"),
    python(1, "dbm-like use", "mayfly.dbm", "shelve"),
};

struct Worst {
  double value;
  const Row* row;
  bool is_judged;
};

// The settings must agree, unless the cases are different ones.
const Row* other_row(const std::vector<Row>& rows, const Row& row, std::string_view name) {
  if (name.empty() || name == row.name) return &row;
  const auto found = std::ranges::find_if(
      rows, [&](const Row& other) { return other.name == name && other.settings == row.settings; });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<double> value_of(const Goal& goal, const std::vector<Row>& rows, const Row& row,
                               std::string_view peer) {
  if (goal.other.system.empty()) return row.median_of(goal.ours.system, goal.metric);
  const Row* const other = other_row(rows, row, goal.other.name);
  if (other == nullptr) return {};
  return ratio_of(row, goal.ours.system, *other, peer, goal.metric);
}

// Cases of the size that the goal speaks of count, or if there are none, all others.
std::optional<Worst> worst_of(const Goal& goal, const std::vector<Row>& rows,
                              std::string_view peer) {
  std::optional<Worst> worst;
  for (const Row& row : rows) {
    if (!goal.ours.name.empty() && row.name != goal.ours.name) continue;
    const std::optional<double> value = value_of(goal, rows, row, peer);
    if (!value) continue;
    const bool is_judged =
        goal.size.empty() || row.runs.front()->setting(goal.size).value_or(0) >= goal.size_value;
    const bool is_worse = worst && (goal.at_least ? *value < worst->value : *value > worst->value);
    const bool counts_more = worst && is_judged && !worst->is_judged;
    const bool counts_less = worst && !is_judged && worst->is_judged;
    if (!worst || counts_more || (is_worse && !counts_less)) worst = {*value, &row, is_judged};
  }
  return worst;
}

Verdict verdict_of(const Goal& goal, const Worst& worst, std::string_view peer) {
  const bool is_ratio = !goal.other.system.empty();
  const auto show = [&](double value) { return is_ratio ? ratio_text(value) : number_text(value); };
  std::string compared = is_ratio ? fmt::format(" of {}", peer) : "";
  if (is_ratio && !goal.other.name.empty() && goal.other.name != worst.row->name) {
    compared += fmt::format(", {}", goal.other.name);
  }
  const bool is_reached = goal.at_least ? worst.value >= goal.value : worst.value <= goal.value;
  return {fmt::format("{}, {}: {} {}{} ({}; goal: at {} {})", goal.ours.system, worst.row->name,
                      goal.metric, show(worst.value), compared, settings_text(worst.row->settings),
                      goal.at_least ? "least" : "most", show(goal.value)),
          worst.is_judged, is_reached};
}

std::vector<std::string> peers_of(const Goal& goal, const std::vector<Row>& rows) {
  if (goal.other.system != kAnyPeer) return {std::string(goal.other.system)};
  std::vector<std::string> peers;
  for (const Row& row : rows) {
    for (const std::string& system : row.systems) {
      const bool is_new = std::ranges::find(peers, system) == peers.end();
      if (system != goal.ours.system && is_new) peers.push_back(system);
    }
  }
  return peers;
}

}  // namespace

std::vector<Verdict> judge(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const Goal& goal : kGoals) {
    const std::vector<Row> rows = rows_of(results, goal.suite, goal.part);
    for (const std::string& peer : peers_of(goal, rows)) {
      const std::optional<Worst> worst = worst_of(goal, rows, peer);
      if (worst) verdicts.push_back(verdict_of(goal, *worst, peer));
    }
  }
  return verdicts;
}

}  // namespace mayfly::bench
