// SPDX-License-Identifier: Apache-2.0
// Accepting clients, and enforcing the limits on them.

#include "server/core/clients.h"

#include <algorithm>
#include <utility>

#include "server/admin/client_list.h"
#include "server/replication/replication_stream.h"

namespace mayfly {

std::unique_ptr<Client> Clients::accept(Link& link) {
  ++stats_.connections;
  if (all_.size() >= static_cast<std::size_t>(config_.maxclients)) {
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
  log_.verbose("Accepted {}", link.address());
  return adopt(link);
}

std::unique_ptr<Client> Clients::adopt(Link& link) {
  RequestLimits limits;
  limits.bulk_bytes = config_.proto_max_bulk_len;
  auto client = std::make_unique<Client>(requests_, link, next_id_++, clock_.now(), limits);
  client->set_authenticated(config_.requirepass.empty());
  all_.emplace(client->id(), client.get());
  return client;
}

void Clients::remove(Client& client) {
  std::erase(monitors_, &client);
  memory_ -= std::exchange(client.limits.counted_memory, 0);
  all_.erase(client.id());
}

Client* Clients::find(std::uint64_t id) const {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second;
}

void Clients::apply_config() {
  for (const auto& [id, client] : all_) {
    client->parser().limits().bulk_bytes = config_.proto_max_bulk_len;
    count_memory(*client);
  }
}

void Clients::run_periodic(Time now) {
  std::vector<Client*> clients;
  for (const auto& [id, client] : all_) clients.push_back(client);
  for (Client* const client : clients) {
    check_output(*client);
    const bool may_idle = client->is_subscriber() || client->options.is_monitor ||
                          client->limits.is_paused || client->is_primary ||
                          client->is_attached_replica() || client->wait;
    if (config_.timeout > 0 && !may_idle &&
        is_due(client->info.used + std::chrono::seconds(config_.timeout), now)) {
      client->link().close_now("idle for longer than `timeout`");
    }
  }
}

void Clients::add_monitor(Client& client) {
  if (std::exchange(client.options.is_monitor, true)) return;
  monitors_.push_back(&client);
}

void Clients::remove_monitor(Client& client) {
  client.options.is_monitor = false;
  std::erase(monitors_, &client);
}

// ---- Memory, input and output ----

void Clients::check_input(Client& client, std::size_t waiting) {
  if (waiting <= config_.client_query_buffer_limit) return;
  ++stats_.query_limit_disconnections;
  log_.warning("Closing client {}: its request of {} bytes exceeds client-query-buffer-limit",
               client.link().address(), waiting);
  client.link().close_now("request exceeds client-query-buffer-limit");
}

std::uint64_t Clients::waiting_for(const Client& client) const {
  const std::uint64_t output = client.link().pending();
  if (!client.is_attached_replica() || client.replica->phase <= ReplicaPhase::waiting) {
    return output;
  }
  return output + stream_.log().end() - client.replica->cursor;
}

void Clients::enforce_output_limit(Client& client) {
  count_memory(client);
  OutputLimit limit = client.is_subscriber() ? config_.output_pubsub : config_.output_normal;
  if (client.is_attached_replica()) limit = replica_limit();
  const std::uint64_t waiting = waiting_for(client);
  stats_.output_waiting_max = std::max(stats_.output_waiting_max, waiting);
  bool is_over = limit.hard_bytes > 0 && waiting > limit.hard_bytes;
  Time& since = client.limits.above_soft_limit;
  if (limit.soft_bytes > 0 && waiting > limit.soft_bytes) {
    if (since == Time::min()) since = now_;
    is_over = is_over || is_due(since + std::chrono::seconds(limit.soft_seconds), now_);
  } else {
    since = Time::min();
  }
  if (!is_over || client.link().closing()) return;
  ++stats_.output_limit_disconnections;
  log_.warning("Closing client {}: it does not read, and {} bytes wait for it",
               client.link().address(), waiting);
  client.limits.drops_output = true;
  client.link().close_now("output exceeds client-output-buffer-limit");
}

// A limit below the backlog would save nothing: those bytes are kept anyway.
OutputLimit Clients::replica_limit() const {
  OutputLimit limit = config_.output_replica;
  for (std::uint64_t* const bytes : {&limit.hard_bytes, &limit.soft_bytes}) {
    if (*bytes > 0) *bytes = std::max(*bytes, config_.repl_backlog_size);
  }
  return limit;
}

std::size_t Clients::memory_limit() const {
  constexpr std::size_t kLeast = 128 * 1024;  // with less no client could send anything
  const std::int64_t given = config_.maxmemory_clients;
  if (given == 0 || (given < 0 && config_.maxmemory == 0)) return 0;
  const std::uint64_t bytes = given > 0
                                  ? static_cast<std::uint64_t>(given)
                                  : config_.maxmemory / 100 * static_cast<std::uint64_t>(-given);
  return std::max<std::size_t>(bytes, kLeast);
}

void Clients::count_memory(Client& client) {
  std::size_t& counted = client.limits.counted_memory;
  if (config_.maxmemory_clients == 0 && counted == 0) return;
  const bool counts =
      config_.maxmemory_clients != 0 && !client.is_primary && !client.is_attached_replica();
  memory_ -= counted;
  counted = counts ? memory_of(client) : 0;
  memory_ += counted;
}

void Clients::evict() {
  const std::size_t limit = memory_limit();
  if (limit == 0 || memory_ < limit) return;
  std::vector<Client*> candidates;
  for (const auto& [id, client] : all_) {
    count_memory(*client);  // some has been sent meanwhile
    if (client->limits.counted_memory > 0 && !client->options.no_evict) {
      candidates.push_back(client);
    }
  }
  std::ranges::sort(candidates, [](const Client* a, const Client* b) {
    return a->limits.counted_memory > b->limits.counted_memory;
  });
  for (Client* const client : candidates) {
    if (memory_ < limit) return;
    memory_ -= std::exchange(client->limits.counted_memory, 0);
    if (client->link().closing()) continue;
    ++stats_.evicted_clients;
    log_.notice("Evicting client: {}", describe(*client, now_));
    client->limits.drops_output = true;
    client->link().close_now("clients take more memory than maxmemory-clients");
  }
}

// ---- Pauses ----

void Clients::pause(PauseReason reason, Time until, PauseLevel level) {
  pauses_.begin(reason, until, level);
  enforce_pauses();
}

void Clients::unpause(PauseReason reason) {
  pauses_.end(reason);
  enforce_pauses();
}

void Clients::update_pauses() {
  if (!pauses_.any()) return;
  pauses_.update(clock_.now());
  enforce_pauses();
}

// If fewer requests have to wait than before, all requests that wait are checked again.
void Clients::enforce_pauses() {
  const PauseLevel before = std::exchange(enforced_pause_, pauses_.level());
  if (enforced_pause_ >= before) return;
  for (const auto& [id, client] : all_) {
    if (!std::exchange(client->limits.is_paused, false)) continue;
    client->link().resume_reading();
  }
  if (!pauses_.any()) on_resume_();
}

}  // namespace mayfly
