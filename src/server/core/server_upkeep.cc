// SPDX-License-Identifier: Apache-2.0
// What a server does between requests, in slices: sweeping, freeing, evicting, minding clients.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "keyspace/members/packed_view.h"
#include "mayfly/internal/stopwatch.h"
#include "server/admin/client_list.h"
#include "server/core/memory.h"
#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::size_t kSweptAtOnce = 32;   // keys and fields between two looks at the time
constexpr std::size_t kFreedAtOnce = 256;  // about 20 us
constexpr std::int64_t kFreeMicros = 300;
constexpr std::int64_t kFreeMicrosLoading = 10'000;  // nobody is served meanwhile anyway
constexpr Millis kChoreInterval{100};
constexpr std::size_t kSweptForRoom = 128;

}  // namespace

void Server::apply_config() {
  KeyspaceOptions& options = keyspace_.options();
  options.packed_entries_max =
      std::min(static_cast<std::size_t>(config_.hash_max_listpack_entries), kPackedMembersMax);
  options.packed_value_max = static_cast<std::size_t>(config_.hash_max_listpack_value);
  options.uses_lfu = uses_lfu(config_.maxmemory_policy);
  options.string_bytes_max = config_.proto_max_bulk_len;
  request_limits_.bulk_bytes = config_.proto_max_bulk_len;
  for (const auto& [id, client] : clients_) {
    client->parser().limits().bulk_bytes = config_.proto_max_bulk_len;
  }
  log_.set_level(parse_level(config_.loglevel));
  if (config_.maxmemory > 0) make_room();
  for (const auto& [id, client] : clients_) count_memory(*client);
  persistence_.apply_config();
}

std::unique_ptr<Peer> Server::accept(Link& link) {
  ++stats_.connections;
  if (clients_.size() >= static_cast<std::size_t>(config_.maxclients)) {
    ++stats_.rejected_connections;
    link.send("-ERR max number of clients reached\r\n");
    return nullptr;
  }
  if (config_.protected_mode && config_.requirepass.empty() && !link.is_loopback()) {
    ++stats_.rejected_connections;
    link.send(
        "-DENIED Mayfly is running in protected mode, because no password is set. Connect from "
        "this machine, or set a password ('requirepass' in the configuration, or CONFIG SET), or "
        "turn the mode off with CONFIG SET protected-mode no if nobody else can reach it.\r\n");
    return nullptr;
  }
  auto client = std::make_unique<Client>(*this, link, next_client_id_++, clock_.now());
  clients_.emplace(client->id(), client.get());
  log_.write(Level::verbose, fmt::format("Accepted {}", link.address()));
  return client;
}

void Server::forget(Client& client) {
  pubsub_.unsubscribe_all(client);
  watches_.unwatch_all(client);
  std::erase(monitors_, &client);
  replication_->replicas().forget(client);
  replication_->waiters().forget(client);
  client_memory_ -= std::exchange(client.counted_memory, 0);
  clients_.erase(client.id());
}

std::unique_ptr<Client> Server::adopt(Link& link) {
  auto client = std::make_unique<Client>(*this, link, next_client_id_++, clock_.now());
  clients_.emplace(client->id(), client.get());
  return client;
}

void Server::begin_turn() {
  now_ = clock_.now();
  if (loading_.is_active()) {
    // What was there before goes first: else both would be in memory at the same time.
    return keyspace_.lazy_free().is_empty() ? loading_.slice() : free_slice(kFreeMicrosLoading);
  }
  if (sweeps()) sweep_slice();
  free_slice(kFreeMicros);
}

Millis Server::before_sleep() {
  const Time now = clock_.now();
  now_ = now;
  update_pauses();
  background_.poll();
  replication_->before_sleep(now);
  persistence_.before_sleep(now);  // late, for what came before may have written something
  replication_->waiters().check(now);
  if (is_due(next_chores_, now)) {
    chores(now);
    next_chores_ = now + kChoreInterval;
  }
  evict_clients();
  if (loading_.is_active() || !keyspace_.lazy_free().is_empty()) return Millis(0);
  if (has_backlog_ && sweeps()) return Millis(0);
  Time next = std::min(next_chores_, replication_->waiters().next_timeout());
  if (sweeps()) next = std::min(next, keyspace_.next_deadline());
  if (is_paused()) next = std::min(next, pauses_.next_end());
  return remaining(next, now);
}

// Only a primary decides what expires.
bool Server::sweeps() const {
  return is_sweeping_ && !is_paused() && !is_replica() && !loading_.is_active() &&
         !config_.import_mode;
}

void Server::sweep_slice() {
  if (!is_due(keyspace_.next_deadline(), now_)) {
    has_backlog_ = false;
    slice_growth_ = 0;
    return;
  }
  // While there is a backlog slices grow, up to 1.5 times the length: what is overdue is memory
  // that somebody waits for.
  const std::int64_t base = config_.expire_slice_us * (9 + config_.active_expire_effort) / 10;
  const std::int64_t slice_ns = base * (8 + std::min(slice_growth_, 4)) / 8 * 1000;
  const std::int64_t begin = monotonic_ns();
  std::int64_t passed = 0;
  std::size_t swept = 0;
  const ExecContext context = this->context();
  do {
    swept = keyspace_.sweep(context, kSweptAtOnce);
    passed = monotonic_ns() - begin;
  } while (swept > 0 && passed < slice_ns);

  has_backlog_ = swept > 0;
  slice_growth_ = has_backlog_ ? slice_growth_ + 1 : 0;
  ++stats_.sweep_slices;
  stats_.sweep_slices_cut += has_backlog_ ? 1 : 0;
  stats_.sweep_micros += static_cast<std::uint64_t>(passed / 1000);
  latency_.add("expire-cycle", passed / 1'000'000, config_.latency_monitor_threshold, now_);
}

void Server::free_slice(std::int64_t micros) {
  if (keyspace_.lazy_free().is_empty()) return;
  const std::int64_t begin = monotonic_ns();
  while (keyspace_.lazy_free().free_some(kFreedAtOnce) > 0 &&
         monotonic_ns() - begin < micros * 1000) {
  }
}

void Server::chores(Time now) {
  stats_.memory_peak = std::max<std::uint64_t>(stats_.memory_peak, used_memory());
  const double seconds = std::chrono::duration<double>(kChoreInterval).count();
  counted_commands_ = std::min(counted_commands_, stats_.commands);  // CONFIG RESETSTAT
  const double rate = static_cast<double>(stats_.commands - counted_commands_) / seconds;
  stats_.commands_per_second += (rate - stats_.commands_per_second) / 8;  // smoothed
  counted_commands_ = stats_.commands;

  std::vector<Client*> clients;
  for (const auto& [id, client] : clients_) clients.push_back(client);
  for (Client* const client : clients) {
    check_output(*client);
    const bool may_idle = client->is_subscriber() || client->is_monitor || client->is_paused ||
                          client->is_primary || client->is_attached_replica() || client->wait;
    if (config_.timeout > 0 && !may_idle &&
        is_due(client->used + std::chrono::seconds(config_.timeout), now)) {
      client->link().close_now("it was idle for longer than `timeout`");
    }
  }
}

void Server::check_input(Client& client, std::size_t waiting) {
  if (waiting <= config_.client_query_buffer_limit) return;
  ++stats_.query_limit_disconnections;
  log_.write(Level::warning, fmt::format("Closing client {}: {} bytes of one request exceed "
                                         "client-query-buffer-limit",
                                         client.link().address(), waiting));
  client.link().close_now("its request exceeds client-query-buffer-limit");
}

void Server::check_output(Client& client) {
  count_memory(client);
  const bool is_attached = client.is_attached_replica();
  OutputLimit limit = client.is_subscriber() ? config_.output_pubsub : config_.output_normal;
  if (is_attached) limit = replica_limit();
  const std::uint64_t waiting =
      is_attached ? replication_->replicas().pending(client) : client.link().pending();
  stats_.output_waiting_max = std::max<std::uint64_t>(stats_.output_waiting_max, waiting);
  bool over = limit.hard_bytes > 0 && waiting > limit.hard_bytes;
  if (limit.soft_bytes > 0 && waiting > limit.soft_bytes) {
    if (client.above_soft_limit_since == Time::min()) {
      client.above_soft_limit_since = now_;
    }
    over = over ||
           is_due(client.above_soft_limit_since + std::chrono::seconds(limit.soft_seconds), now_);
  } else {
    client.above_soft_limit_since = Time::min();
  }
  if (!over || client.link().closing()) return;
  ++stats_.output_limit_disconnections;
  log_.write(Level::warning,
             fmt::format("Closing client {}: it does not read, and {} bytes wait for it",
                         client.link().address(), waiting));
  client.drops_output = true;
  client.link().close_now("its output exceeds client-output-buffer-limit");
}

// A limit below the backlog would save nothing: those bytes are kept anyway.
OutputLimit Server::replica_limit() const {
  OutputLimit limit = config_.output_replica;
  for (std::uint64_t* const bytes : {&limit.hard_bytes, &limit.soft_bytes}) {
    if (*bytes > 0) *bytes = std::max(*bytes, config_.repl_backlog_size);
  }
  return limit;
}

void Server::pause(PauseReason reason, Time until, PauseLevel level) {
  pauses_.begin(reason, until, level);
  enforce_pauses();
}

void Server::unpause(PauseReason reason) {
  pauses_.end(reason);
  enforce_pauses();
}

void Server::update_pauses() {
  if (!is_paused()) return;
  pauses_.update(clock_.now());
  enforce_pauses();
}

// If fewer requests have to wait than before, all those that wait are judged anew.
void Server::enforce_pauses() {
  const PauseLevel before = std::exchange(enforced_pause_, pauses_.level());
  if (enforced_pause_ >= before) return;
  for (const auto& [id, client] : clients_) {
    if (!client->is_paused) continue;
    client->is_paused = false;
    client->link().resume_reading();
  }
  // maxmemory may have been lowered. In a transaction time stands still: the next write does it.
  if (!is_paused() && config_.maxmemory > 0 && !is_in_transaction_) make_room();
}

bool Server::make_room() {
  if (is_replica() || loading_.is_active()) return true;  // the primary evicts for us
  if (is_paused()) return true;
  if (config_.maxmemory == 0 || used_memory() <= config_.maxmemory) return true;
  if (config_.import_mode) return false;  // what is imported neither expires nor is evicted
  now_ = clock_.now();
  const ExecContext context = this->context();
  // What is due goes first, and what nobody can see any more.
  while (used_memory() > config_.maxmemory && keyspace_.sweep(context, kSweptForRoom) > 0) {
  }
  while (used_memory() > config_.maxmemory && keyspace_.lazy_free().free_some(kFreedAtOnce) > 0) {
  }
  while (used_memory() > config_.maxmemory) {
    if (!evict_one(context, keyspace_, config_.maxmemory_policy,
                   static_cast<int>(config_.maxmemory_samples))) {
      return false;
    }
    while (keyspace_.lazy_free().free_some(kFreedAtOnce) > 0) {
    }
  }
  return true;
}

std::size_t Server::client_memory_limit() const {
  constexpr std::size_t kLeast = 128 * 1024;  // with less nobody could say a word
  const std::int64_t given = config_.maxmemory_clients;
  if (given == 0 || (given < 0 && config_.maxmemory == 0)) return 0;
  const std::uint64_t bytes = given > 0
                                  ? static_cast<std::uint64_t>(given)
                                  : config_.maxmemory / 100 * static_cast<std::uint64_t>(-given);
  return std::max<std::size_t>(bytes, kLeast);
}

void Server::count_memory(Client& client) {
  if (config_.maxmemory_clients == 0 && client.counted_memory == 0) return;
  const bool counts =
      config_.maxmemory_clients != 0 && !client.is_primary && !client.is_attached_replica();
  client_memory_ -= client.counted_memory;
  client.counted_memory = counts ? memory_of(client) : 0;
  client_memory_ += client.counted_memory;
}

// The largest clients are closed until those that are left take less than maxmemory-clients.
void Server::evict_clients() {
  const std::size_t limit = client_memory_limit();
  if (limit == 0 || client_memory_ < limit) return;
  std::vector<Client*> candidates;
  for (const auto& [id, client] : clients_) {
    count_memory(*client);  // some has been sent meanwhile
    if (client->counted_memory > 0 && !client->no_evict) candidates.push_back(client);
  }
  std::ranges::sort(candidates, std::greater<>(), &Client::counted_memory);
  for (Client* const client : candidates) {
    if (client_memory_ < limit) return;
    client_memory_ -= std::exchange(client->counted_memory, 0);
    if (client->link().closing()) continue;
    ++stats_.evicted_clients;
    log_.write(Level::notice, fmt::format("Evicting client: {}", describe(*client, *this)));
    client->drops_output = true;
    client->link().close_now("clients take more memory than maxmemory-clients");
  }
}

}  // namespace mayfly
