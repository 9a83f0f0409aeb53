// SPDX-License-Identifier: Apache-2.0
// The text of INFO: sections of lines `name:value`, for people and for programs.
//
//   info_text(server, {"memory", "stats"})
//
// Nothing in it is a secret.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

class Database;
struct ServerParts;

// The sections named, in any case, in INFO's own order. "default" is those of everyday use, "all"
// and "everything" are all. None named: default. Unknown names are ignored.
std::string info_text(const ServerParts& server, std::span<const std::string_view> names);

// 1536 -> "1.50K"
std::string human_bytes(std::uint64_t bytes);

// 1 if there is nothing to divide by.
constexpr double ratio(std::size_t a, std::size_t b) {
  return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
}

constexpr std::int64_t seconds_since(Time then, Time now) {
  return std::chrono::floor<std::chrono::seconds>(now - then).count();
}

// Sections; each appends lines that end in \r\n.
void info_server(const ServerParts& server, std::string& text);
void info_clients(const ServerParts& server, std::string& text);
void info_memory(const ServerParts& server, std::string& text);
void info_persistence(const ServerParts& server, std::string& text);
void info_stats(const ServerParts& server, std::string& text);
void info_expiry(const ServerParts& server, std::string& text);
double stale_percent(const ServerParts& server);  // of keys with deadlines, those that are due
void info_replication(const ServerParts& server, std::string& text);
void info_cpu(const ServerParts& server, std::string& text);
void info_command_stats(const ServerParts& server, std::string& text);
void info_error_stats(const ServerParts& server, std::string& text);
void info_latency_stats(const ServerParts& server, std::string& text);
void info_cluster(const ServerParts& server, std::string& text);
void info_keyspace(const ServerParts& server, std::string& text);

// ---- Lines ----

template <class Value>
void info_line(std::string& text, std::string_view name, const Value& value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value);
}

inline void info_line(std::string& text, std::string_view name, double value) {
  fmt::format_to(std::back_inserter(text), "{}:{:.2f}\r\n", name, value);
}

inline void info_line(std::string& text, std::string_view name, bool value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value ? 1 : 0);
}

// ---- The network ----

struct SentBytes {
  std::uint64_t all = 0;
  std::uint64_t to_replicas = 0;
};

// Cost: a look at each client.
SentBytes sent_bytes(const ServerParts& server);

// ---- Memory beside the data, also for MEMORY STATS ----

inline constexpr std::size_t kDeadlineBytes = 15;  // of an entry in an index: see VolatileSet

struct MemoryOverhead {
  std::size_t normal_clients = 0;   // all but the next ones
  std::size_t replica_clients = 0;  // clients that follow this server
  std::size_t backlog = 0;          // the replication log
  std::size_t aof_buffer = 0;       // not written yet
  std::size_t tables = 0;           // of keys and of deadlines

  std::size_t total() const {
    return normal_clients + replica_clients + backlog + aof_buffer + tables;
  }
};

// Cost: a look at each client and each database.
MemoryOverhead memory_overhead(const ServerParts& server);

// Of the deadlines of keys and members of one database.
std::size_t deadline_bytes(const Database& database);

}  // namespace mayfly
