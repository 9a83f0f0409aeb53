// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_sessions.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "server/monitoring/secrets.h"

namespace mayfly {
namespace {

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

std::string HttpSessions::begin(const Config& config, Time now) {
  std::string token = random_token();
  if (token.empty()) return token;
  drop_ended(config, now);
  password_ = config.requirepass;
  if (sessions_.size() == kSessionsMost) {
    sessions_.erase(std::ranges::min_element(sessions_, {}, &Session::used));
  }
  sessions_.push_back({.token = token, .began = now, .used = now});
  return token;
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
