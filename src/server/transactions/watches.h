// SPDX-License-Identifier: Apache-2.0
// Watches: which clients watch which keys, for WATCH and EXEC. A name is stored once, however many
// clients watch it.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "keyspace/keyspace.h"

namespace mayfly {

class Client;

class Watches {
 public:
  // REQUIRES: the key is looked at by its client for the first time, or again.
  void watch(const ExecContext& context, Client& client, Database& database, std::string_view key);
  void unwatch_all(Client& client);

  // Marks the clients that watch the key, or any key of the database.
  void key_changed(int database, std::string_view key);
  // The same for a key that was found expired, but for clients that knew it as expired.
  void key_expired(int database, std::string_view key);
  // The same for all keys for which this is true.
  void break_watches(const std::function<bool(std::string_view key)>& is_affected);
  void database_changed(const ExecContext& context, int database, Keyspace& keyspace);

  // Whether a watched key has expired meanwhile, though it is not removed yet.
  bool has_expired(const ExecContext& context, Client& client, Keyspace& keyspace) const;

  // The keys that the client watches.
  void each_key(Client& client, const std::function<void(std::string_view key)>& visit) const;

  bool is_empty() const { return by_key_.empty(); }
  std::size_t keys() const { return by_key_.size(); }

 private:
  // A database and a key in one text, and back.
  static std::string name_of(int database, std::string_view key);
  static int database_of(std::string_view name);
  static std::string_view key_of(std::string_view name) { return name.substr(sizeof(int)); }

  using ByKey = std::unordered_map<std::string, std::vector<Client*>>;  // by name
  using Watched = std::unordered_map<ByKey::value_type*, bool>;         // whether the key was alive

  static std::size_t bytes_of(std::string_view name);

  ByKey by_key_;
  std::unordered_map<Client*, Watched> by_client_;
};

}  // namespace mayfly
