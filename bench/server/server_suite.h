// SPDX-License-Identifier: Apache-2.0
// The suite `server`: Mayfly's server beside any other that speaks the same protocol.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/report/results.h"
#include "bench/server/server_child.h"
#include "mayfly/time.h"

namespace mayfly::bench {

// As the user wrote them. Empty means the default.
struct ServerOptions {
  std::string mayfly = {};              // the program
  std::vector<std::string> peers = {};  // NAME=PROGRAM
  std::string only = {};
  std::string rounds = {};
  std::string requests = {};
  std::string keys = {};
  std::string wait = {};
  bool full = false;
  bool quick = false;
};

struct ServerPlan {
  std::vector<ServerProgram> servers;   // Mayfly first
  std::vector<std::string_view> parts;  // of server_parts()
  int rounds = 3;
  std::size_t requests = 100'000;  // of one run of redis-benchmark; pipelined, ten times as many
  std::size_t key_range = 100'000;
  std::size_t set_members = 1'000'000;  // of the large set and the large sorted set
  std::size_t pair_members = 100'000;   // of each of two that a command combines,
  std::size_t pair_requests = 20;       // which takes it long
  std::size_t hand_overs = 2000;        // pushes to one client that waits
  std::size_t blocked_clients = 10'000;
  std::size_t tracking_clients = 10'000;
  std::size_t tracked_keys = 1'000'000;
  std::size_t memory_fields = 500'000;
  std::vector<std::size_t> idle_sizes = {0, 10'000, 100'000, 1'000'000};
  std::size_t due = 1000;
  Millis patience = std::chrono::seconds(10);  // how long to wait for late entries
  std::size_t expired_keys = 1'000'000;
  Millis expired_ttl = std::chrono::seconds(60);    // the longest of the short TTLs
  Millis expired_watch = std::chrono::seconds(80);  // from the moment when all are written
  std::size_t stall_members = 1'000'000;
  std::size_t growth_keys = 2'000'000;
  std::size_t hlen_fields = 1'000'000;
  int hlen_calls = 1000;
  std::size_t persist_fields = 5'000'000;

  bool has(std::string_view part) const;

  // Those that know some commands.
  std::vector<ServerProgram> servers_with(bool ServerProgram::*commands) const;

  // How many requests a run of redis-benchmark makes.
  std::size_t request_count(int pipeline) const {
    return pipeline == 1 ? requests : requests * 10;  // or it would be too short to measure
  }
};

// speed, sets, types, scripts, tracking, memory, ontime, expired, expirylog, ttlstats,
// stall, hlen, persist.
std::vector<std::string_view> server_parts();

// Throws Failure if an option is wrong. Looks for no program.
ServerPlan make_server_plan(const ServerOptions& options);

// Finds the programs of the servers, starts each once to ask for its version, and adds them to the
// plan. Throws Failure if one is missing.
void find_servers(const ServerOptions& options, ServerPlan& plan, Results& results);

void run_server(const ServerPlan& plan, Results& results);

}  // namespace mayfly::bench
