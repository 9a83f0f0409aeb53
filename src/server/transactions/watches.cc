// SPDX-License-Identifier: Apache-2.0
#include "server/transactions/watches.h"

#include <algorithm>
#include <cstring>

#include "server/core/client.h"

namespace mayfly {

std::string Watches::name_of(int database, std::string_view key) {
  std::string name(sizeof database, '\0');
  std::memcpy(name.data(), &database, sizeof database);
  return name.append(key);
}

void Watches::watch(const ExecContext& context, Client& client, Database& database,
                    std::string_view key) {
  std::vector<Watched>& watched = by_client_[&client];
  const bool known = std::ranges::any_of(watched, [&](const Watched& one) {
    return one.database == database.number() && one.key == key;
  });
  if (known) return;
  ++client.transaction.watched_keys;
  watched.push_back({database.number(), std::string(key), database.peek(context, key) != kNoSlot});
  by_key_[name_of(database.number(), key)].push_back(&client);
}

void Watches::unwatch_all(Client& client) {
  client.transaction.is_watch_broken = false;
  client.transaction.watched_keys = 0;
  const auto found = by_client_.find(&client);
  if (found == by_client_.end()) return;
  for (const Watched& one : found->second) {
    const auto key = by_key_.find(name_of(one.database, one.key));
    std::erase(key->second, &client);
    if (key->second.empty()) by_key_.erase(key);
  }
  by_client_.erase(found);
}

void Watches::key_changed(int database, std::string_view key) {
  if (by_key_.empty()) return;
  const auto found = by_key_.find(name_of(database, key));
  if (found == by_key_.end()) return;
  for (Client* const client : found->second) client->transaction.is_watch_broken = true;
}

void Watches::key_expired(int database, std::string_view key) {
  if (by_key_.empty()) return;
  const auto found = by_key_.find(name_of(database, key));
  if (found == by_key_.end()) return;
  for (Client* const client : found->second) {
    const bool was_alive = std::ranges::any_of(by_client_[client], [&](const Watched& one) {
      return one.was_alive && one.database == database && one.key == key;
    });
    if (was_alive) client->transaction.is_watch_broken = true;
  }
}

void Watches::database_changed(const ExecContext& context, int database, Keyspace& keyspace) {
  // A key that was not there and is not there now has not changed.
  for (auto& [client, watched] : by_client_) {
    for (const Watched& one : watched) {
      if (one.database != database) continue;
      const bool is_alive = keyspace[database].peek(context, one.key) != kNoSlot;
      if (one.was_alive || is_alive) client->transaction.is_watch_broken = true;
    }
  }
}

bool Watches::has_expired(const ExecContext& context, Client& client, Keyspace& keyspace) const {
  const auto found = by_client_.find(&client);
  if (found == by_client_.end()) return false;
  return std::ranges::any_of(found->second, [&](const Watched& one) {
    return one.was_alive && keyspace[one.database].peek(context, one.key) == kNoSlot;
  });
}

}  // namespace mayfly
