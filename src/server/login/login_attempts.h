// SPDX-License-Identifier: Apache-2.0
// LoginAttempts: slows down the guessing of passwords, and logs its source addresses.
//
//   if (!attempts.has_token(address, now)) ...   // the login waits for kDelay, then it is tried
//   attempts.failed(address, user, now);         // a wrong password
//
// An address has 100 tokens and gets 10 more a second; a wrong login takes one. Without tokens the
// next login of a connection waits for a second before its password is looked at, and then it is
// looked at in any case: an attacker cannot lock out other users of the same address. AUTH, HELLO
// and HTTP share the tokens. An IPv6 address stands for its network of 64 bits.
//
// The log gets a line for each address, and another one every 10 s while logins fail.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mayfly/time.h"
#include "server/config/config.h"
#include "server/core/log.h"
#include "server/monitoring/stats.h"

namespace mayfly {

class LoginAttempts {
 public:
  static constexpr std::int64_t kTokens = 100;
  static constexpr Millis kTokenEvery{100};  // 10 a second
  static constexpr Millis kDelay{1000};
  static constexpr Millis kLogInterval{10'000};
  static constexpr std::size_t kAddressesMost = 4096;  // remembered

  LoginAttempts(const Config& config, Log& log, Stats& stats)
      : config_(config), log_(log), stats_(stats) {}

  // `address` is the address of a link: "127.0.0.1:5000", "[::1]:5000", "path:0".
  bool has_token(std::string_view address, Time now);

  void failed(std::string_view address, std::string_view user, Time now);

  void run_periodic(Time now);  // writes the lines that are due, and forgets addresses

  std::size_t size() const { return addresses_.size(); }

 private:
  struct Address {
    Millis debt{0};            // until all tokens are there again: kTokenEvery for each
    Time counted{};            // when the debt was that
    std::uint64_t failed = 0;  // since the last line in the log
    std::string user;          // of the last of them
    Time next_line = Time::min();
  };

  static void update(Address& address, Time now);
  void write_line(const std::string& name, Address& address, Time now);
  void make_room(Time now);

  const Config& config_;
  Log& log_;
  Stats& stats_;
  std::map<std::string, Address, std::less<>> addresses_;
};

// The part of a link's address that stands for one machine, or one network of 64 bits.
std::string network_of(std::string_view address);

}  // namespace mayfly
