// SPDX-License-Identifier: Apache-2.0
// Accepting, pausing and removing clients.

#include "server/core/clients.h"

#include <algorithm>
#include <utility>

#include "server/admin/client_list.h"
#include "server/replication/replication_stream.h"

namespace mayfly {

std::unique_ptr<Client> Clients::accept(Link& link) {
  ++stats_.connections;
  if (!has_room()) {
    ++stats_.rejected_connections;
    link.send("-ERR max number of clients reached\r\n");
    return nullptr;
  }
  if (config_.protected_mode && config_.requirepass.empty() && !link.is_loopback()) {
    ++stats_.rejected_connections;
    link.send(
        "-DENIED Mayfly is running in protected mode, because no password is set. Connect from "
        "this machine, or set a password ('requirepass' in the configuration, or CONFIG SET), or "
        "turn the mode off with CONFIG SET protected-mode no if no other machine reaches it.\r\n");
    return nullptr;
  }
  log_.verbose("Accepted {}", link.address());
  auto client = adopt(link);
  if (!client->is_authenticated()) strangers_.add(*client);
  return client;
}

// A client that is closed here is among all of them until the turn ends.
bool Clients::has_room() {
  const auto most = static_cast<std::size_t>(config_.maxclients);
  if (all_.size() - leaving_ < most) return true;
  Client* const oldest = strangers_.close_oldest();
  if (oldest == nullptr) return false;
  oldest->limits.is_leaving = true;
  ++leaving_;
  return true;
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
  strangers_.remove(client);
  if (client.limits.is_leaving) --leaving_;
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
    if (config_.requirepass.empty() && !client->is_authenticated()) log_in(*client);
    count_memory(*client);
  }
}

void Clients::run_periodic(Time now) {
  std::vector<Client*> clients;
  for (const auto& [id, client] : all_) clients.push_back(client);
  strangers_.close_overdue(now);
  attempts_.run_periodic(now);
  for (Client* const client : clients) {
    check_output(*client);
    const bool may_idle = client->is_subscriber() || client->options.is_monitor ||
                          client->limits.is_paused || client->limits.awaits_end ||
                          client->is_primary || client->is_import ||
                          client->is_attached_replica() || client->blocked;
    if (config_.timeout > 0 && !may_idle &&
        is_due(client->info.used + std::chrono::seconds(config_.timeout), now)) {
      client->link().close_now("idle for longer than `timeout`");
    }
  }
}

// ---- Logins ----

void Clients::log_in(Client& client) {
  client.set_authenticated(true);
  strangers_.remove(client);
}

bool Clients::delays_login(Client& client) {
  const Time now = clock_.now();
  Time& until = client.limits.login_at;
  if (until != Time::min()) {
    if (!is_due(until, now)) return true;  // something else has resumed it
    until = Time::min();
    return false;
  }
  if (config_.requirepass.empty() || client.is_primary ||
      attempts_.has_token(client.link().address(), now)) {
    return false;
  }
  until = now + LoginAttempts::kDelay;
  delayed_.emplace_back(until, client.id());
  return true;
}

void Clients::resume_logins(Time now) {
  for (; !delayed_.empty() && is_due(delayed_.front().first, now); delayed_.pop_front()) {
    Client* const client = find(delayed_.front().second);
    if (client == nullptr || !std::exchange(client->limits.is_paused, false)) continue;
    client->link().resume_reading();
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

// ---- Pauses ----

void Clients::pause(PauseReason reason, Time until, PauseLevel level) {
  pauses_.begin(reason, until, level);
  resume_after_pause();
}

void Clients::unpause(PauseReason reason) {
  pauses_.end(reason);
  resume_after_pause();
}

void Clients::update_pauses() {
  if (!pauses_.any()) return;
  pauses_.update(clock_.now());
  resume_after_pause();
}

void Clients::resume_waiting() {
  for (const auto& [id, client] : all_) {
    if (!std::exchange(client->limits.is_paused, false)) continue;
    client->link().resume_reading();
  }
}

// If fewer requests have to wait than before, all requests that wait are checked again.
void Clients::resume_after_pause() {
  const PauseLevel before = std::exchange(enforced_pause_, pauses_.level());
  if (enforced_pause_ >= before) return;
  resume_waiting();
  if (!pauses_.any()) on_resume_();
}

}  // namespace mayfly
