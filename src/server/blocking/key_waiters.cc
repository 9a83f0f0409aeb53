// SPDX-License-Identifier: Apache-2.0
#include "server/blocking/key_waiters.h"

#include <algorithm>
#include <utility>

#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/memory.h"
#include "server/persistence/loading.h"

namespace mayfly {

bool KeyWaiters::add(Call& call, const KeyWait& wait) {
  Client& client = client_of(call);
  if (client.blocked) {
    client.blocked->is_answered = false;
    return true;
  }
  if (loading_.is_active() || requests_.is_in_transaction() || client.is_primary) return false;

  Request request{.command = &call.command(),
                  .words = wait.words,
                  .type = wait.type,
                  .wakes_without_key = wait.wakes_without_key,
                  .database = client.database(),
                  .keys = {wait.keys.begin(), wait.keys.end()},
                  .arrival = ++arrivals_};
  if (request.words.empty()) request.words = {call.words().begin(), call.words().end()};
  std::ranges::sort(request.keys);
  const auto repeated = std::unique(request.keys.begin(), request.keys.end());
  request.keys.erase(repeated, request.keys.end());

  for (const std::string& key : request.keys) {
    Queue& queue = queues_[{request.database, key}];
    queue.clients.emplace(request.arrival, &client);
    if (request.wakes_without_key && queue.without_key++ == 0) ++without_key_;
  }
  const std::size_t bytes = memory_of(request);
  waiting_.emplace(&client, std::move(request));
  blocked_.add(client, *this, wait.until, bytes);
  return true;
}

// With its places in the queues, if no other client is in them.
std::size_t KeyWaiters::memory_of(const Request& request) {
  constexpr std::size_t kTreeNode = 48;  // of a tree with an id or a time, and a client
  constexpr std::size_t kBucket = 12;
  const std::size_t queue_node =
      allocated_for(2 * sizeof(void*) + sizeof(decltype(queues_)::value_type)) +
      allocated_for(kTreeNode) + kBucket;
  std::size_t bytes = allocated_for(sizeof(void*) + sizeof(decltype(waiting_)::value_type)) +
                      2 * allocated_for(kTreeNode) +  // in the lists of blocked clients
                      allocated_for(request.words.capacity() * sizeof(std::string)) +
                      allocated_for(request.keys.capacity() * sizeof(std::string));
  for (const std::string& word : request.words) bytes += allocated_for_text(word.size());
  for (const std::string& key : request.keys) {
    bytes += queue_node + 2 * allocated_for_text(key.size());
  }
  return bytes;
}

void KeyWaiters::forget(Client& client) {
  const auto found = waiting_.find(&client);
  for (const std::string& key : found->second.keys) {
    const auto queue = queues_.find(KeyView{found->second.database, key});
    queue->second.clients.erase(found->second.arrival);
    if (found->second.wakes_without_key && --queue->second.without_key == 0) --without_key_;
    if (queue->second.clients.empty()) queues_.erase(queue);
  }
  waiting_.erase(found);
}

void KeyWaiters::reply_at_end(Client&, Reply& reply) { reply.null_array(); }

// ---- Changes ----

void KeyWaiters::set_ready(const Key& key, Queue& queue) {
  if (!std::exchange(queue.is_ready, true)) ready_.push_back(key);
}

void KeyWaiters::key_changed(int database, std::string_view key) {
  const auto found = queues_.find(KeyView{database, key});
  if (found != queues_.end()) set_ready(found->first, found->second);
}

void KeyWaiters::database_changed(int database) {
  for (auto& [key, queue] : queues_) {
    if (key.database == database) set_ready(key, queue);
  }
}

void KeyWaiters::recheck(const std::function<bool(std::string_view key)>& is_affected) {
  std::vector<Client*> clients;
  for (const auto& [key, queue] : queues_) {
    if (!is_affected(key.key)) continue;
    for (const auto& [arrival, client] : queue.clients) clients.push_back(client);
  }
  for (Client* const client : clients) {
    const auto waiting = waiting_.find(client);
    if (waiting != waiting_.end() && !client->link().closing()) run_again(*client, waiting->second);
  }
}

// ---- Serving ----

bool KeyWaiters::can_serve() const {
  return !ready_.empty() && !is_serving_ && !pauses_.any() && !loading_.is_active();
}

void KeyWaiters::serve() {
  if (!can_serve()) return;
  is_serving_ = true;
  while (!ready_.empty()) {
    for (const Key& key : std::exchange(ready_, {})) serve_key(key);
  }
  is_serving_ = false;
}

std::optional<ValueType> KeyWaiters::type_of(const Key& key) const {
  const Database& database = keyspace_[key.database];
  const Slot slot = database.peek(reclaimer_.context(), key.key);
  if (slot == kNoSlot) return std::nullopt;
  return database.type(slot);
}

// The queue is looked up again for each client, as it changes and may vanish.
void KeyWaiters::serve_key(const Key& key) {
  auto queue = queues_.find(key);
  if (queue == queues_.end()) return;
  queue->second.is_ready = false;
  std::optional<ValueType> type = type_of(key);
  for (std::uint64_t last = 0; queue != queues_.end(); queue = queues_.find(key)) {
    if (!type && queue->second.without_key == 0) return;
    const auto next = queue->second.clients.upper_bound(last);
    if (next == queue->second.clients.end()) return;
    last = next->first;
    Client& client = *next->second;
    const Request& request = waiting_.at(&client);
    const bool wakes = request.wakes_without_key || type == request.type;
    if (!wakes || client.link().closing()) continue;
    run_again(client, request);
    type = type_of(key);
  }
}

void KeyWaiters::run_again(Client& client, const Request& request) {
  const std::vector<std::string_view> words(request.words.begin(), request.words.end());
  client.blocked->is_answered = true;
  requests_.run_again(client, *request.command, words);
  if (client.blocked->is_answered) blocked_.remove(client);
}

}  // namespace mayfly
