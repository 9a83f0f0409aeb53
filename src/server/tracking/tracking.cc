// SPDX-License-Identifier: Apache-2.0
#include "server/tracking/tracking.h"

#include <algorithm>
#include <random>
#include <set>

#include "commands/command.h"
#include "keyspace/key_node.h"
#include "resp/reply.h"
#include "server/core/client.h"
#include "server/core/clients.h"
#include "server/tracking/invalidation.h"

namespace mayfly {
namespace {

constexpr std::size_t kDroppedMore = 10;     // keys, by a request, than it has added
constexpr std::size_t kDroppedInTurn = 100;  // in the first turn, and so many more in each
constexpr std::size_t kFreedInTurn = 5000;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The keys that changed, without those that this client has changed itself; empty if none is left.
std::string encoded_changes(const Broadcasts::Changes& changed, std::uint64_t except) {
  std::string keys;
  Reply reply(keys, 3);
  std::size_t count = 0;
  for (const auto& [key, by] : changed) {
    if (except != 0 && by == except) continue;
    reply.bulk(key);
    ++count;
  }
  if (count > 0) reply.array_at(0, count);
  return keys;
}

}  // namespace

Tracking::Tracking(const Config& config, Clients& clients)
    : config_(config),
      clients_(clients),
      table_(random_seed(), [this](std::uint64_t id) { return !trackers_.contains(id); }) {}

// ---- Clients ----

void Tracking::enable(Client& client, ClientTracking tracking,
                      std::span<const std::string_view> prefixes) {
  if (client.tracking) {
    tracking.prefixes = std::move(client.tracking->prefixes);
    tracking.prefix_bytes = client.tracking->prefix_bytes;
    tracking.caching = client.tracking->caching;
  }
  trackers_.emplace(client.id(), &client);
  const auto add = [&](std::string_view prefix) {
    const std::string_view kept = broadcasts_.add(prefix, client);
    const auto place = std::ranges::lower_bound(tracking.prefixes, kept);
    if (place != tracking.prefixes.end() && *place == kept) return;
    tracking.prefixes.insert(place, kept);
    tracking.prefix_bytes += Broadcasts::bytes_of(prefix);
  };
  if (tracking.is_broadcast) {
    std::ranges::for_each(prefixes, add);
    if (prefixes.empty()) add({});
  }
  client.tracking = std::move(tracking);
}

// Its id stays in the table until its keys change: to look for it would take long.
void Tracking::disable(Client& client) {
  if (!client.tracking) return;
  for (const std::string_view prefix : client.tracking->prefixes) {
    broadcasts_.remove(prefix, client);
  }
  client.tracking.reset();
  trackers_.erase(client.id());
  if (trackers_.empty()) clear_table();
}

void Tracking::clear_table() {
  if (table_.keys() == 0) return;
  table_.clear();
  for (const auto& [id, client] : clients_.all()) client->tracked_bytes = 0;
}

// ---- Reading ----

bool Tracking::remembers(const Client& client) const {
  const ClientTracking& tracking = *client.tracking;
  if (tracking.is_broadcast) return false;
  if (tracking.opts_in) return tracking.caching;
  return !tracking.opts_out || !tracking.caching;
}

// Of a script, which is skipped by MONITOR, only the commands that it calls count.
void Tracking::remember(Client& client, const Command& command, Words words) {
  constexpr std::uint64_t kChecked = flag::readonly | flag::skip_monitor | flag::pubsub;
  if ((command.flags & kChecked) != flag::readonly || !remembers(client)) return;
  const std::size_t before = table_.keys();
  const auto add = [&](std::string_view key) {
    if (key.size() > kNodeBytesMax) return;  // it cannot exist
    if (table_.add(key, client.id())) client.tracked_bytes += TrackedKeys::bytes_of(key);
  };
  const KeyRange& keys = command.keys;
  if (keys.first == 1 && keys.last == 1 && keys.count_at == 0 && keys.target == 0) {
    add(words[1]);  // the usual case, without a list
  } else {
    for (const std::size_t i : key_positions(command, words)) add(words[i]);
  }
  has_sent_all_ = false;
  if (excess() > 0) drop_keys(table_.keys() - before + kDroppedMore);
}

// CLIENT CACHING is for the next command that is none of CLIENT, or for the next transaction.
void Tracking::request_ended(Client& client, const Command* command) {
  if (client.transaction.is_open || client.is_blocked()) return;
  if (command == nullptr || command->parent != "client") client.tracking->caching = false;
}

// ---- Changes ----

void Tracking::invalidate(std::string_view key, std::uint64_t by) {
  if (!broadcasts_.is_empty()) broadcasts_.collect(key, by);
  if (const std::optional<TrackedKey> taken = table_.take(key)) tell_readers(*taken, by);
}

void Tracking::key_evicted(std::string_view key) {
  if (!broadcasts_.is_empty()) broadcasts_.collect(key, 0);
  if (std::optional<TrackedKey> taken = table_.take(key)) evicted_.push_back(std::move(*taken));
}

void Tracking::send_evicted() {
  for (const TrackedKey& key : std::exchange(evicted_, {})) tell_readers(key, 0);
}

void Tracking::tell_readers(const TrackedKey& key, std::uint64_t except) {
  Invalidation invalidation = Invalidation::of_key(key.key());
  const std::size_t bytes = TrackedKeys::bytes_of(key.key());
  for (const std::uint64_t id : key.readers()) {
    const auto found = trackers_.find(id);
    Client* const reader = found != trackers_.end() ? found->second : clients_.find(id);
    if (reader != nullptr) reader->tracked_bytes -= std::min(bytes, reader->tracked_bytes);
    if (found == trackers_.end()) continue;
    Client& client = *found->second;
    // It may have read the key before it changed to BCAST.
    if (client.tracking->is_broadcast || (client.tracking->no_loop && id == except)) continue;
    invalidation.send(clients_, client);
  }
}

void Tracking::invalidate_all() {
  clear_table();
  if (std::exchange(has_sent_all_, true)) return;
  Invalidation invalidation = Invalidation::of_all_keys();
  for (const auto& [id, client] : trackers_) invalidation.send(clients_, *client);
}

// ---- Turns ----

void Tracking::before_sleep() {
  has_sent_all_ = false;
  send_evicted();
  broadcasts_.send_all([this](const Broadcasts::Prefix& prefix) { send_changes(prefix); });
  turns_above_limit_ = excess() > 0 ? turns_above_limit_ + 1 : 0;
  drop_keys(turns_above_limit_ * kDroppedInTurn);
  table_.free_some(kFreedInTurn);
}

void Tracking::send_changes(const Broadcasts::Prefix& prefix) {
  Invalidation to_most = Invalidation::of_keys(encoded_changes(prefix.changed, 0));
  std::set<std::uint64_t> changed_by;
  for (const auto& [key, by] : prefix.changed) changed_by.insert(by);
  for (Client* const client : prefix.clients) {
    if (!client->tracking->no_loop || !changed_by.contains(client->id())) {
      to_most.send(clients_, *client);
      continue;
    }
    std::string keys = encoded_changes(prefix.changed, client->id());
    if (!keys.empty()) Invalidation::of_keys(std::move(keys)).send(clients_, *client);
  }
}

std::size_t Tracking::excess() const {
  const auto limit = static_cast<std::size_t>(config_.tracking_table_max_keys);
  return limit == 0 ? 0 : table_.keys() - std::min(table_.keys(), limit);
}

void Tracking::drop_keys(std::size_t most) {
  for (std::size_t count = std::min(most, excess()); count > 0; --count) {
    tell_readers(*table_.take_any(), 0);
  }
}

}  // namespace mayfly
