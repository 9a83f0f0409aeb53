// SPDX-License-Identifier: Apache-2.0
// Strangers: clients that must log in and have never done so. Their cost is small and fixed:
//
//   output       16 KiB each: one that has more waiting for it is closed, and its pipeline stops
//   input        160 KiB each, as 10 words of 16 KiB (resp/request.h)
//   time         `auth-timeout` each
//   memory       16 MiB of input and output together: the largest are closed
//   connections  at maxclients the oldest of them makes room
//
// A client that was logged in once, and is not any more (RESET), is no stranger.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "mayfly/time.h"
#include "server/config/config.h"
#include "server/core/log.h"
#include "server/monitoring/stats.h"

namespace mayfly {

class Client;

class Strangers {
 public:
  static constexpr std::size_t kOutputMost = 16 * 1024;
  static constexpr std::size_t kInputMost = 160 * 1024;
  static constexpr std::size_t kMemoryMost = std::size_t{16} << 20;

  static constexpr std::size_t kRoomAtOnce = std::size_t{1} << 20;

  Strangers(const Config& config, Log& log, Stats& stats)
      : config_(config), log_(log), stats_(stats) {}

  void add(Client& client);

  // It has logged in, or is gone. Fine if it is no stranger.
  void remove(Client& client);

  // After something was written for it.
  void check_output(Client& client);

  // After it was read from; `input` bytes are left.
  void count_memory(Client& client, std::size_t input);

  // Closes the client that connected first, and returns it; null without strangers.
  Client* close_oldest();

  void close_overdue(Time now);  // by auth-timeout

  std::size_t size() const { return all_.size(); }
  std::size_t memory() const { return memory_; }
  std::uint64_t looks_at_all() const { return looks_at_all_; }

 private:
  void close(Client& client, std::string_view why);
  void set_counted(Client& client, std::size_t bytes);
  void close_largest();

  const Config& config_;
  Log& log_;
  Stats& stats_;
  std::map<std::uint64_t, Client*> all_;  // by id: in the order in which they have connected
  std::size_t memory_ = 0;
  std::uint64_t looks_at_all_ = 0;  // to make room
};

}  // namespace mayfly
