// SPDX-License-Identifier: Apache-2.0
#include "server/login/login_attempts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "server/monitoring/secrets.h"

namespace mayfly {
namespace {

constexpr std::size_t kUserMost = 64;  // bytes of a name that are shown

constexpr Millis kWholeDebt = LoginAttempts::kTokens * LoginAttempts::kTokenEvery;

// Names come from strangers: a line of the log stays one line.
std::string shown(std::string_view user) {
  std::string text;
  for (const char letter : user.substr(0, kUserMost)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= ' ' && byte < 0x7f && letter != '\\') {
      text += letter;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  if (user.size() > kUserMost) text += "...";
  return text;
}

}  // namespace

std::string network_of(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  if (!host.starts_with('[') || !host.ends_with(']')) return std::string(host);
  const std::string text(host.substr(1, host.size() - 2));
  in6_addr in{};
  if (::inet_pton(AF_INET6, text.c_str(), &in) != 1) return text;
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (IN6_IS_ADDR_V4MAPPED(&in)) {
    ::inet_ntop(AF_INET, &in.s6_addr[12], name.data(), name.size());
    return name.data();
  }
  if (IN6_IS_ADDR_LOOPBACK(&in)) return text;
  std::memset(&in.s6_addr[8], 0, 8);
  ::inet_ntop(AF_INET6, &in, name.data(), name.size());
  return std::string(name.data()).append("/64");
}

void LoginAttempts::update(Address& address, Time now) {
  const Millis passed = std::max(now - address.counted, Millis(0));
  address.debt = std::max(address.debt - passed, Millis(0));
  address.counted = now;
}

bool LoginAttempts::has_token(std::string_view address, Time now) {
  if (addresses_.empty()) return true;
  const auto found = addresses_.find(network_of(address));
  if (found == addresses_.end()) return true;
  update(found->second, now);
  return found->second.debt + kTokenEvery <= kWholeDebt;
}

void LoginAttempts::failed(std::string_view address, std::string_view user, Time now) {
  ++stats_.failed_logins;
  std::string name = network_of(address);
  auto found = addresses_.find(name);
  if (found == addresses_.end()) {
    if (addresses_.size() >= kAddressesMost) make_room(now);
    found = addresses_.try_emplace(std::move(name)).first;
    found->second.counted = now;
  }
  Address& failing = found->second;
  update(failing, now);
  failing.debt = std::min(failing.debt + kTokenEvery, kWholeDebt);
  ++failing.failed;
  failing.user = config_.hide_user_data_from_log ? std::string(kRedacted) : shown(user);
  if (is_due(failing.next_line, now)) write_line(found->first, failing, now);
}

void LoginAttempts::write_line(const std::string& name, Address& address, Time now) {
  log_.warning("Failed logins from {}: {} (last user {})", name, address.failed, address.user);
  address.failed = 0;
  address.next_line = now + kLogInterval;
}

void LoginAttempts::run_periodic(Time now) {
  for (auto at = addresses_.begin(); at != addresses_.end();) {
    Address& address = at->second;
    update(address, now);
    const bool is_line_due = is_due(address.next_line, now);
    if (is_line_due && address.failed > 0) write_line(at->first, address, now);
    const bool is_over = is_line_due && address.failed == 0 && address.debt == Millis(0);
    at = is_over ? addresses_.erase(at) : std::next(at);
  }
}

// Forgets the address with the most tokens, and logs its failures before.
void LoginAttempts::make_room(Time now) {
  for (auto& [name, address] : addresses_) update(address, now);
  const auto least =
      std::ranges::min_element(addresses_, {}, [](const auto& each) { return each.second.debt; });
  if (least->second.failed > 0) write_line(least->first, least->second, now);
  addresses_.erase(least);
}

}  // namespace mayfly
