// SPDX-License-Identifier: Apache-2.0
// Transactions: the keys that clients watch, and MULTI, EXEC, DISCARD, WATCH and UNWATCH.

#include <algorithm>
#include <cstring>

#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/stats.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/transactions/watches.h"

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

namespace {

void multi(Call& call) {
  Client& client = client_of(call);
  if (client.transaction.is_open) return call.fail("ERR MULTI calls can not be nested");
  client.transaction.is_open = true;
  call.reply().ok();
}

void discard(Call& call) {
  if (!client_of(call).transaction.is_open) return call.fail("ERR DISCARD without MULTI");
  parts_of(call).requests.leave_multi(client_of(call));
  call.reply().ok();
}

void exec(Call& call) {
  ServerCall& here = server_call(call);
  Client& client = here.client;
  if (!client.transaction.is_open) return call.fail("ERR EXEC without MULTI");
  if (client.transaction.is_broken) {
    here.server.requests.leave_multi(client);
    return call.fail("EXECABORT Transaction discarded because of previous errors.");
  }
  const bool is_broken =
      client.transaction.is_watch_broken ||
      here.server.watches.has_expired(call.context(), client, here.server.keyspace);
  const std::vector<Queued> queue = std::move(client.transaction.queue);
  here.server.requests.leave_multi(client);
  if (is_broken) return call.reply().null_array();
  call.reply().array(queue.size());
  here.server.requests.run_queue(client, queue);
}

void watch(Call& call) {
  ServerCall& here = server_call(call);
  if (here.client.transaction.is_open) return call.fail("ERR WATCH inside MULTI is not allowed");
  for (std::size_t i = 1; i < call.count(); ++i) {
    here.server.watches.watch(call.context(), here.client, call.database(), call.word(i));
  }
  call.reply().ok();
}

void unwatch(Call& call) {
  ServerCall& here = server_call(call);
  here.server.watches.unwatch_all(here.client);
  call.reply().ok();
}

constexpr std::uint32_t kTransactionFlags =
    flag::noscript | flag::loading | flag::stale | flag::fast | flag::allow_busy;

// clang-format off
constexpr Command kTransactionCommands[] = {
    {"multi", multi, 1, kTransactionFlags | flag::unqueued | flag::from_primary, {}, "transactions",
     "1.2.0", "", "Begins a transaction."},
    {"exec", exec, 1, flag::noscript | flag::loading | flag::stale | flag::skip_slowlog |
     flag::unqueued | flag::runs_queue | flag::from_primary, {}, "transactions", "1.2.0", "",
     "Runs the queued commands, all at once."},
    {"discard", discard, 1, kTransactionFlags | flag::unqueued, {}, "transactions", "2.0.0", "",
     "Drops the queued commands."},
    {"watch", watch, -2, kTransactionFlags | flag::unqueued, {1, -1, 1, access::ro}, "transactions",
     "2.2.0", "key...", "Makes the next EXEC do nothing if a key changes before."},
    {"unwatch", unwatch, 1, kTransactionFlags, {}, "transactions", "2.2.0", "",
     "Ends the watch of all keys."},
};
// clang-format on

}  // namespace

std::span<const Command> transaction_commands() { return kTransactionCommands; }

}  // namespace mayfly
