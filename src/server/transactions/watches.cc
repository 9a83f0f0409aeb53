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

int Watches::database_of(std::string_view name) {
  int database = 0;
  std::memcpy(&database, name.data(), sizeof database);
  return database;
}

void Watches::watch(const ExecContext& context, Client& client, Database& database,
                    std::string_view key) {
  const bool is_alive = database.peek(context, key) != kNoSlot;
  ByKey::value_type& watched = *by_key_.try_emplace(name_of(database.number(), key)).first;
  if (!by_client_[&client].emplace(&watched, is_alive).second) return;
  ++client.transaction.watched_keys;
  client.transaction.watched_bytes += bytes_of(watched.first);
  watched.second.push_back(&client);
}

// Memory of a watch, if no other client has it: nodes and buckets of both tables, and the name.
std::size_t Watches::bytes_of(std::string_view name) {
  constexpr std::size_t kLinks = 16;    // of a node: the next one, and the hash
  constexpr std::size_t kBuckets = 24;  // in both
  return allocated_for(kLinks + sizeof(ByKey::value_type)) +
         allocated_for(sizeof(void*) + sizeof(Watched::value_type)) + kBuckets +
         allocated_for(sizeof(Client*)) + allocated_for_text(name.size());
}

void Watches::unwatch_all(Client& client) {
  client.transaction.is_watch_broken = false;
  client.transaction.watched_keys = 0;
  client.transaction.watched_bytes = 0;
  const auto found = by_client_.find(&client);
  if (found == by_client_.end()) return;
  for (const auto& [watched, was_alive] : found->second) {
    std::erase(watched->second, &client);
    if (watched->second.empty()) by_key_.erase(by_key_.find(watched->first));
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
    if (by_client_[client][&*found]) client->transaction.is_watch_broken = true;
  }
}

void Watches::break_watches(const std::function<bool(std::string_view key)>& is_affected) {
  for (const auto& [name, clients] : by_key_) {
    if (!is_affected(key_of(name))) continue;
    for (Client* const client : clients) client->transaction.is_watch_broken = true;
  }
}

void Watches::database_changed(const ExecContext& context, int database, Keyspace& keyspace) {
  // A key that was not there and is not there now has not changed.
  for (auto& [client, watched] : by_client_) {
    for (const auto& [entry, was_alive] : watched) {
      const std::string& name = entry->first;
      if (database_of(name) != database) continue;
      const bool is_alive = keyspace[database].peek(context, key_of(name)) != kNoSlot;
      if (was_alive || is_alive) client->transaction.is_watch_broken = true;
    }
  }
}

void Watches::each_key(Client& client,
                       const std::function<void(std::string_view key)>& visit) const {
  const auto found = by_client_.find(&client);
  if (found == by_client_.end()) return;
  for (const auto& [entry, was_alive] : found->second) visit(key_of(entry->first));
}

bool Watches::has_expired(const ExecContext& context, Client& client, Keyspace& keyspace) const {
  const auto found = by_client_.find(&client);
  if (found == by_client_.end()) return false;
  return std::ranges::any_of(found->second, [&](const auto& watched) {
    const auto& [entry, was_alive] = watched;
    const std::string& name = entry->first;
    return was_alive && keyspace[database_of(name)].peek(context, key_of(name)) == kNoSlot;
  });
}

}  // namespace mayfly
