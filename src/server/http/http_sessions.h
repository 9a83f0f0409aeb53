// SPDX-License-Identifier: Apache-2.0
// HttpSessions: who has logged in to the console, and who tries too often.
//
//   const auto token = sessions.log_in(address, password, config, now);   // for the cookie
//   sessions.is_logged_in(token, config, now);                            // at every request
//
// A session has a random name of 256 bits. It ends after http-session-timeout without a request, 12
// hours after it began, when it is logged out, when the server stops, and when requirepass changes.
// There are at most 64: the one that was used least recently makes room.
//
// After 5 wrong passwords in a row, an address has to wait before the next attempt: 1 s, 2 s, and
// so on up to a minute. At most 1024 addresses are remembered, the last ones.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "server/config/config.h"

namespace mayfly {

class HttpSessions {
 public:
  static constexpr std::size_t kSessionsMost = 64;
  static constexpr std::size_t kAddressesMost = 1024;
  static constexpr int kFreeAttempts = 5;
  static constexpr Millis kLifetime = std::chrono::hours(12);
  static constexpr Millis kLongestWait = std::chrono::minutes(1);

  struct LogIn {
    std::string token;  // empty: refused
    Millis wait{0};     // above 0: the password was not looked at, as there were too many attempts
  };
  LogIn log_in(std::string_view address, std::string_view password, const Config& config, Time now);

  // Counts as a use.
  bool is_logged_in(std::string_view token, const Config& config, Time now);

  void log_out(std::string_view token);

  std::size_t size() const { return sessions_.size(); }

  // For HTTP Basic as for log_in(), without a session.
  LogIn check_password(std::string_view address, std::string_view password, const Config& config,
                       Time now);

 private:
  struct Session {
    std::string token;
    Time began{};
    Time used{};
  };
  struct Attempts {
    int failures = 0;
    Time next = Time::min();  // not before
    Time last{};
  };

  void drop_ended(const Config& config, Time now);
  Attempts& attempts_of(std::string_view address, Time now);

  std::vector<Session> sessions_;
  std::string password_;  // of the sessions: they end when it changes
  std::map<std::string, Attempts, std::less<>> attempts_;
};

}  // namespace mayfly
