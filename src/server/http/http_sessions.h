// SPDX-License-Identifier: Apache-2.0
// HttpSessions: the sessions of the console, by the names in cookies.
//
//   const std::string token = sessions.begin(config, now);   // for the cookie, after a login
//   sessions.is_logged_in(token, config, now);               // at every request
//
// A session has a random name of 256 bits. It ends after http-session-timeout without a request, 12
// hours after it began, when it is logged out, when the server stops, and when requirepass changes.
// There are at most 64: the one that was used least recently makes room.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "server/config/config.h"

namespace mayfly {

class HttpSessions {
 public:
  static constexpr std::size_t kSessionsMost = 64;
  static constexpr Millis kLifetime = std::chrono::hours(12);

  // The name of a new session; empty if the system has no random bytes, which it always has.
  std::string begin(const Config& config, Time now);

  // Counts as a use.
  bool is_logged_in(std::string_view token, const Config& config, Time now);

  void log_out(std::string_view token);

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    std::string token;
    Time began{};
    Time used{};
  };

  void drop_ended(const Config& config, Time now);

  std::vector<Session> sessions_;
  std::string password_;  // of the sessions: they end when it changes
};

}  // namespace mayfly
