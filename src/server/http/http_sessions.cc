// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_sessions.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "server/monitoring/secrets.h"

namespace mayfly {
namespace {

// Empty if the system has no random bytes, which it always has once it is up.
std::string random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

}  // namespace

HttpSessions::Attempts& HttpSessions::attempts_of(std::string_view address, Time now) {
  auto found = attempts_.find(address);
  if (found == attempts_.end()) {
    if (attempts_.size() >= kAddressesMost) {
      attempts_.erase(std::ranges::min_element(attempts_, {},
                                               [](const auto& each) { return each.second.last; }));
    }
    found = attempts_.try_emplace(std::string(address)).first;
  }
  found->second.last = now;
  return found->second;
}

HttpSessions::LogIn HttpSessions::check_password(std::string_view address,
                                                 std::string_view password, const Config& config,
                                                 Time now) {
  Attempts& attempts = attempts_of(address, now);
  if (!is_due(attempts.next, now)) return {.token = {}, .wait = attempts.next - now};
  if (!config.requirepass.empty() && is_same_secret(password, config.requirepass)) {
    attempts_.erase(attempts_.find(address));
    return {.token = "right", .wait = Millis(0)};
  }
  ++attempts.failures;
  if (attempts.failures >= kFreeAttempts) {
    const int doublings = std::min(attempts.failures - kFreeAttempts, 6);
    attempts.next = now + std::min(Millis(1000) * (1 << doublings), kLongestWait);
  }
  return {};
}

HttpSessions::LogIn HttpSessions::log_in(std::string_view address, std::string_view password,
                                         const Config& config, Time now) {
  LogIn result = check_password(address, password, config, now);
  if (result.token.empty()) return result;
  result.token = random_token();
  if (result.token.empty()) return result;
  drop_ended(config, now);
  password_ = config.requirepass;
  if (sessions_.size() == kSessionsMost) {
    sessions_.erase(std::ranges::min_element(sessions_, {}, &Session::used));
  }
  sessions_.push_back({.token = result.token, .began = now, .used = now});
  return result;
}

bool HttpSessions::is_logged_in(std::string_view token, const Config& config, Time now) {
  drop_ended(config, now);
  bool is_known = false;
  for (Session& session : sessions_) {  // all of them, so that the time tells nothing
    if (!is_same_secret(token, session.token)) continue;
    session.used = now;
    is_known = true;
  }
  return is_known;
}

void HttpSessions::log_out(std::string_view token) {
  std::erase_if(sessions_,
                [&](const Session& session) { return is_same_secret(token, session.token); });
}

void HttpSessions::drop_ended(const Config& config, Time now) {
  if (config.requirepass != password_) sessions_.clear();
  const Millis idle = std::chrono::seconds(config.http_session_timeout);
  std::erase_if(sessions_, [&](const Session& session) {
    return is_due(session.began + kLifetime, now) || is_due(session.used + idle, now);
  });
}

}  // namespace mayfly
