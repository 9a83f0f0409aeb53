// SPDX-License-Identifier: Apache-2.0
// The tables of the report: titles and columns, one row for each part of a suite. Declared in
// report.h.

#include "bench/report/report.h"

namespace mayfly::bench {
namespace {

constexpr double kThousand = 1e3;
constexpr double kMillion = 1e6;

const std::vector<Column> kLatency = {{"count", "requests"},
                                      {"p50_us", "p50", "us"},
                                      {"p99_us", "p99", "us"},
                                      {"p999_us", "p99.9", "us"},
                                      {"max_us", "max", "us"}};

std::vector<Column> latency_and(std::vector<Column> more) {
  std::vector<Column> columns = kLatency;
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

// clang-format off
std::vector<Table> cache_tables() {
  return {
      {"expiry", "index", "What does an expiry index cost?",
       "The index alone. cycle: schedule, move and cancel one more entry. expire: all entries are\n"
       "  due at once and are taken in batches of 256. idle: a poll with nothing due, every ms.",
       {{"insert_ns", "insert", "ns"},
        {"change_ns", "change", "ns"},
        {"cancel_ns", "cancel", "ns"},
        {"cycle_ns", "cycle", "ns", 1, true},
        {"expire_per_second", "expire", "M/s", kMillion, true},
        {"idle_ns", "idle", "ns"},
        {"bytes", "memory", "bytes"}}, false, "heap"},
      {"expiry", "cache", "What does it cost in a cache?",
       "Calls of the cache. memory: bytes an entry beyond key, value and hash slot.",
       {{"insert_ns", "put", "ns"},
        {"get_ns", "get", "ns"},
        {"change_ns", "expire", "ns"},
        {"cancel_ns", "persist", "ns"},
        {"expire_per_second", "purge", "M/s", kMillion, true},
        {"bytes", "memory", "bytes"}}, false, "heap"},
      {"expiry", "lateness", "How late are expired entries removed?",
       "A simulation: one put and one read every ms of virtual time. peak: the largest share of\n"
       "  the entries in memory that had expired. left: expired entries in memory at the end.",
       {{"p50_ms", "p50", "ms"},
        {"p99_ms", "p99", "ms"},
        {"max_ms", "max", "ms"},
        {"peak_percent", "peak", "%"},
        {"expired", "expired"},
        {"left", "left"}}},
      {"cache", "gets", "How fast are reads of the cache?",
       "Random gets of live entries with numbers for keys, all threads together.",
       {{"gets_per_second", "gets", "M/s", kMillion, true}}, false, "bare hash map (SlotMap)"},
  };
}

std::vector<Table> store_tables() {
  return {
      {"store", "rates", "How fast is the store?",
       "Thousands of operations a second; beside them, how many times as fast Mayfly is.\n"
       "  put, mixed: in transactions of 1,000. single put: each a transaction. purge: of 256.\n"
       "  sustained: as many puts as keys, or ten seconds. at rest: after closing and opening.\n"
       "  off, normal, full: the durability of a commit; without one, only reads are measured.",
       {{"ops_per_second", "rate", "k/s", kThousand, true}}, true},
      {"store", "stream", "Do entries that live for a moment keep the file small and puts even?",
       "Single puts of new keys with a TTL, in real time; nobody purges. behind: how far puts\n"
       "  were late at most. a put: bytes to log and tree. unwritten: never got to the tree.\n"
       "  file: at the end, after closing.",
       {{"puts_per_second", "puts", "k/s", kThousand},
        {"p50_us", "p50", "us"},
        {"p999_us", "p99.9", "us"},
        {"max_us", "max", "ms", kThousand},
        {"late_ms", "behind", "ms"},
        {"log_bytes_per_put", "log", "bytes"},
        {"bytes_per_put", "a put", "bytes"},
        {"unwritten_percent", "unwritten", "%"},
        {"file_bytes", "file", "MB", kMillion}}},
      {"store", "overwrite", "How large is the file after many overwrites of one key?",
       "Single puts; the file after closing.",
       {{"file_bytes", "file", "MB", kMillion}}},
      {"store", "recovery", "How long does opening take after a kill?",
       "A process that writes is killed when both segments of the log are nearly full.",
       {{"entries", "entries"},
        {"pending_bytes", "in the log", "MB", kMillion},
        {"open_ms", "open", "ms"}}},
      {"store", "churn", "How large does the file get while entries come and go?",
       "compact: the file after a compacting backup, with the same entries.",
       {{"live_entries", "live"},
        {"live_bytes", "live", "MB", kMillion},
        {"compact_bytes", "compact", "MB", kMillion},
        {"file_bytes", "file", "MB", kMillion},
        {"file_to_compact", "of compact", "x"},
        {"puts_per_second", "puts", "k/s", kThousand}}},
  };
}

std::vector<Table> server_tables() {
  return {
      {"server", "speed", "How fast is the server?",
       "redis-benchmark with 50 clients. k/s: requests; then, how many times as fast Mayfly is.\n"
       "  us: processor time of the server for a request. %: how busy redis-benchmark is; near\n"
       "  100 % the rate is its own limit, and the processor time tells the servers apart.",
       {{"ops_per_second", "rate", "k/s", kThousand, true},
        {"server_us", "CPU", "us", 1, true},
        {"client_busy_percent", "client", "%"}}, true},
      {"server", "sets", "How fast are large sets and sorted sets?",
       "As above, on members at random. ZRANGEBYSCORE: ten members from a score on. ZPOPMIN: from\n"
       "  a sorted set that is filled again before.",
       {{"ops_per_second", "rate", "k/s", kThousand, true},
        {"server_us", "CPU", "us", 1, true},
        {"client_busy_percent", "client", "%"}}, true},
      {"server", "set_pairs", "How fast are two sets, or two sorted sets, combined?",
       "redis-benchmark with one client; half of the members of each are in the other too.",
       {{"ops_per_second", "rate", "/s", 1, true},
        {"server_us", "CPU", "ms", kThousand, true},
        {"client_busy_percent", "client", "%"}}, true},
      {"server", "types", "How fast are lists, streams, bits, HyperLogLogs and places?",
       "As above. LPUSH and XADD: to one key, elements of 13 bytes, entries of 3 fields.\n"
       "  BITCOUNT: of 4 KiB. XREAD: ten entries. GEOSEARCH: some 90 of 100,000, by distance.",
       {{"ops_per_second", "rate", "k/s", kThousand, true},
        {"server_us", "CPU", "us", 1, true},
        {"client_busy_percent", "client", "%"}}, true},
      {"server", "hand_over", "How long does an element take to a client that waits?",
       "From the push of one client to the reply of BLPOP at another.",
       {{"p50_us", "p50", "us", 1, true}, {"p99_us", "p99", "us", 1, true}}, true},
      {"server", "blocked", "How long do many clients take that wait for the same key?",
       "One push for each, in a pipeline; from the first push until all have their element.",
       {{"us_per_client", "a client", "us", 1, true}}, true},
      {"server", "type_memory", "How much memory does an element of a list or a stream take?",
       "Elements of 13 bytes, entries of 3 fields; used_memory, so all overheads are in it.",
       {{"bytes_per_element", "memory", "bytes", 1, true}}, true},
      {"server", "memory", "How much memory does a field of a hash take?",
       "Fields of 13 bytes with values of 13; used_memory, so keys and all overheads are in it.",
       {{"bytes_per_field", "memory", "bytes", 1, true}}, true},
      {"server", "set_memory", "How much memory does a member of a set or a sorted set take?",
       "Members of 13 bytes, scores in no order; used_memory, so all overheads are in it.",
       {{"bytes_per_member", "memory", "bytes", 1, true}}, true},
  };
}

std::vector<Table> server_expiry_tables() {
  return {
      {"server", "ontime", "Are expired entries removed on time?",
       "Entries with one deadline, among others that are due in a day. From the deadline to the\n"
       "  events that a subscriber gets. last: the time waited, if not all came.",
       {{"removed", "removed"}, {"p50_ms", "p50", "ms"}, {"last_ms", "last", "ms"}}},
      {"server", "expired", "How much of what has expired is still in memory?",
       "Half of the entries expire within ttl_seconds, the others in a day; nobody reads them.\n"
       "  peak: the most expired entries in memory at once. left: at the end.",
       {{"peak_entries", "peak", "entries"},
        {"left_entries", "left", "entries"},
        {"left_bytes", "left", "MB", kMillion},
        {"bytes_per_entry", "an entry", "bytes"}}},
      {"server", "expirylog", "What does the expiry log cost?",
       "Keys with one deadline expire without and with it; keys removed in a second of sweeping.",
       {{"off_per_second", "without", "k/s", kThousand},
        {"on_per_second", "with", "k/s", kThousand},
        {"ratio", "ratio"}}},
      {"server", "ttlstats", "How long does it take to say what expires when?",
       "Keys with deadlines within a day. Mayfly: TTLSTATS, and TTLSTATS FORECAST; a peer: a\n"
       "  client that asks for the TTL of each key. Median, and the longest of 200.",
       {{"answers_per_second", "answers", "/s", 1, true},
        {"median_us", "median", "us"},
        {"max_us", "max", "us"}}, true},
      {"server", "stall", "Do clients wait while very many members expire at once?",
       "GETs of another client in a row, in the second before the deadline and from it until all\n"
       "  fields or members are removed.",
       latency_and({{"seconds", "took", "s"}, {"left", "left", "members"}})},
      {"server", "growth", "Does the server pause while a database grows?",
       "Rounds of 32 SETs of new keys and a PING of another client, until both have replies.",
       latency_and({{"keys_per_second", "rate", "k/s", kThousand},
                    {"longest_at_keys", "longest at", "M keys", kMillion}})},
      {"server", "hlen", "How long does HLEN take when half of the fields are due?",
       "After the deadline, with active expiry off. Every reply must be exact.",
       {{"mean_us", "mean", "us"}, {"first_us", "first", "us"}, {"max_us", "max", "us"}}},
  };
}

std::vector<Table> script_tables() {
  return {
      {"server", "scripts", "How fast are scripts?",
       "As above: EVALSHA of the scripts that libraries for locks and limiters send.",
       {{"ops_per_second", "rate", "k/s", kThousand, true},
        {"server_us", "CPU", "us", 1, true},
        {"client_busy_percent", "client", "%"}}, true},
      {"server", "script_memory", "How much memory do 100,000 different scripts take?",
       "By EVAL, as a program sends them that puts its arguments into the text.",
       {{"megabytes", "memory", "MB", 1, true}}, true},
  };
}

std::vector<Table> tracking_tables() {
  return {
      {"server", "tracking", "What does client-side caching cost?",
       "Processor time of the server. Each of many clients has read keys of its own.",
       {{"server_us", "CPU", "us", 1, true}}, true},
      {"server", "tracking_memory", "How much memory does client-side caching take?",
       "For a key of 16 bytes; used_memory, so all overheads are in it.",
       {{"bytes_per_key", "memory", "bytes", 1, true}}, true},
  };
}

std::vector<Table> persistence_tables() {
  return {
      {"server", "save", "How fast are all data saved?",
       "SAVE, from the command to its reply. Fields have deadlines if the server has any.",
       {{"seconds", "took", "s"},
        {"bytes", "file", "MB", kMillion},
        {"bytes_per_second", "rate", "MB/s", kMillion, true}}, true},
      {"server", "load", "How fast are they loaded?",
       "The same files, the compressed ones, by DEBUG RELOAD NOSAVE into empty servers.",
       {{"seconds", "took", "s"}, {"fields_per_second", "fields", "k/s", kThousand, true}}, true},
      {"server", "child", "What do clients wait while a child saves?",
       "GETs in a row and 10,000 SETs a second, by one thread: in the half second before, and\n"
       "  until the child has ended.",
       latency_and({{"seconds", "took", "s"}})},
      {"server", "aof", "What does the append-only file cost?",
       "redis-benchmark -P 32 with 50 clients; `appendfsync everysec`, and without the file.",
       {{"ops_per_second", "rate", "k/s", kThousand, true}}, true},
      {"server", "sync", "How much memory does a primary need while a replica gets all data?",
       "With 10 MB a second written meanwhile. limit: the backlog and the output buffer.",
       {{"seconds", "took", "s"},
        {"written_bytes", "written", "MB", kMillion},
        {"before_bytes", "before", "MB", kMillion},
        {"growth_bytes", "growth", "MB", kMillion},
        {"limit_bytes", "limit", "MB", kMillion},
        {"follows", "follows"}}},
  };
}

std::vector<Table> python_tables() {
  return {
      {"python", "store", "How fast is the Python package?",
       "Microseconds for one operation.",
       {{"us", "time", "us"}}},
      {"python", "batches", "Puts with a TTL from Python",
       "Microseconds for one put, the first write and closing included.",
       {{"us", "time", "us", 1, true}}, false, "sqlite3"},
  };
}
// clang-format on

}  // namespace

std::span<const Table> tables() {
  static const std::vector<Table> kTables = [] {
    std::vector<Table> all;
    for (const auto make : {cache_tables, store_tables, server_tables, server_expiry_tables,
                            script_tables, tracking_tables, persistence_tables, python_tables}) {
      for (Table& table : make()) all.push_back(std::move(table));
    }
    return all;
  }();
  return kTables;
}

}  // namespace mayfly::bench
