// SPDX-License-Identifier: Apache-2.0
// MemoryOverhead: what a server takes beside the data itself, for INFO and MEMORY STATS.

#pragma once

#include <cstddef>

namespace mayfly {

class Database;
class Server;

inline constexpr std::size_t kDeadlineBytes = 15;  // of an entry in an index: see VolatileSet

struct MemoryOverhead {
  std::size_t normal_clients = 0;   // all but the next ones
  std::size_t replica_clients = 0;  // those who follow us
  std::size_t backlog = 0;          // the replication log
  std::size_t aof_buffer = 0;       // not written yet
  std::size_t tables = 0;           // of keys and of deadlines

  std::size_t total() const {
    return normal_clients + replica_clients + backlog + aof_buffer + tables;
  }
};

// Cost: a look at each client and each database.
MemoryOverhead memory_overhead(Server& server);

// Of the deadlines of keys and members of one database.
std::size_t deadline_bytes(const Database& database);

}  // namespace mayfly
