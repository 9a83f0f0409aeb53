// SPDX-License-Identifier: Apache-2.0
// CommandLogs: the latest commands that took long (SLOWLOG), and those with large requests and
// large replies (COMMANDLOG).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "resp/request.h"

namespace mayfly {

struct Config;

enum class LogKind { slow, large_request, large_reply };

class CommandLog {
 public:
  struct Entry {
    std::int64_t id = 0;
    Time at{};
    std::int64_t value = 0;          // microseconds, or bytes of the request or the reply
    std::vector<std::string> words;  // at most 32, of at most 128 bytes each
    std::string client_address;
    std::string client_name;
  };

  const std::deque<Entry>& entries() const { return entries_; }  // the newest first
  void reset() { entries_.clear(); }

  // Drops the oldest until there are at most so many.
  void trim(std::size_t most) {
    if (entries_.size() > most) entries_.resize(most);
  }

 private:
  friend class CommandLogs;

  std::deque<Entry> entries_;
  std::int64_t next_id_ = 0;
};

// A command that has run.
struct LoggedCommand {
  Words words;
  std::int64_t micros = 0;
  std::size_t reply_bytes = 0;
  Time at{};
  std::string_view client_address;
  std::string_view client_name;
};

class CommandLogs {
 public:
  CommandLog& operator[](LogKind kind) { return logs_[static_cast<std::size_t>(kind)]; }

  // Keeps the command in the logs whose limits it reaches. Called for every command: the usual case
  // is short.
  void record(const Config& config, const LoggedCommand& command);

  // To the lengths that the configuration allows.
  void trim(const Config& config);

 private:
  void add(LogKind kind, std::int64_t value, std::int64_t most, const LoggedCommand& command);

  std::array<CommandLog, 3> logs_;
};

}  // namespace mayfly
