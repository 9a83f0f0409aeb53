// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stale/refresh_leases.h"

#include "keyspace/hasher.h"

namespace mayfly {

RefreshLeases::Key RefreshLeases::key_of(int database, std::string_view key) const {
  return {database, hash_bytes(key, seed_)};
}

void RefreshLeases::erase(Table::iterator lease) {
  order_.erase({lease->second.deadline, lease->first});
  leases_.erase(lease);
}

std::optional<RefreshLeases::Token> RefreshLeases::take(int database, std::string_view key,
                                                        Time now, Time deadline) {
  while (!order_.empty() && is_due(order_.begin()->first, now)) {
    erase(leases_.find(order_.begin()->second));
  }
  if (is_due(deadline, now)) return std::nullopt;
  const Key place = key_of(database, key);
  if (leases_.contains(place)) return std::nullopt;
  if (leases_.size() >= most_) erase(leases_.find(order_.begin()->second));
  const Token token = random_.next() | 1;
  leases_.emplace(place, Lease{token, deadline});
  order_.emplace(deadline, place);
  return token;
}

bool RefreshLeases::is_held(int database, std::string_view key, Token token, Time now) const {
  const auto lease = leases_.find(key_of(database, key));
  return lease != leases_.end() && lease->second.token == token &&
         !is_due(lease->second.deadline, now);
}

bool RefreshLeases::release(int database, std::string_view key, Token token, Time now) {
  if (!is_held(database, key, token, now)) return false;
  key_changed(database, key);
  return true;
}

void RefreshLeases::key_changed(int database, std::string_view key) {
  const auto lease = leases_.find(key_of(database, key));
  if (lease != leases_.end()) erase(lease);
}

void RefreshLeases::database_changed(int database) {
  auto lease = leases_.lower_bound(Key(database, 0));
  while (lease != leases_.end() && lease->first.first == database) erase(lease++);
}

std::string RefreshLeases::check_invariants() const {
  if (leases_.size() != order_.size()) return "a lease without a place in the order";
  if (leases_.size() > most_) return "too many leases";
  for (const auto& [key, lease] : leases_) {
    if (!order_.contains({lease.deadline, key})) return "a lease at a wrong place";
  }
  return "";
}

}  // namespace mayfly
