// SPDX-License-Identifier: Apache-2.0
// Waiting for replicas.

#include "server/replication/waiters.h"

#include <algorithm>

#include "server/config/config.h"
#include "server/core/client.h"
#include "server/persistence/aof_writer.h"
#include "server/replication/replicas.h"

namespace mayfly {

bool Waiters::is_met(const Wait& wait) const {
  const auto wanted = static_cast<std::size_t>(wait.replicas);
  if (!wait.is_aof) return replicas_.acked(wait.offset) >= wanted;
  return (wait.local == 0 || is_safe_here(wait)) && replicas_.acked_aof(wait.offset) >= wanted;
}

// Nothing is safe while no append-only file is in force.
bool Waiters::is_safe_here(const Wait& wait) const {
  const std::uint64_t synced = aof_.synced_offset();
  return synced > 0 && synced >= wait.aof_offset;
}

// The append-only file was switched off meanwhile.
bool Waiters::has_lost_its_file(const Wait& wait) const {
  return wait.is_aof && wait.local > 0 && !config_.appendonly;
}

void Waiters::reply(Client& client, const Wait& wait) {
  Reply reply(client.output(), client.protocol());
  if (!wait.is_aof) {
    return reply.integer(static_cast<std::int64_t>(replicas_.acked(wait.offset)));
  }
  if (has_lost_its_file(wait)) {
    return reply.error(
        "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
  }
  reply.array(2);
  reply.integer(config_.appendonly && is_safe_here(wait) ? 1 : 0);
  reply.integer(static_cast<std::int64_t>(replicas_.acked_aof(wait.offset)));
}

void Waiters::add(Client& client, const Wait& wait, bool may_block) {
  if (!may_block || is_met(wait)) return reply(client, wait);
  client.wait = wait;
  client.wait->is_silent = client.options.reply_mode != ReplyMode::on;
  client.link().pause_reading();
  clients_.push_back(&client);
  replicas_.ask_for_acks();
}

void Waiters::forget(Client& client) { std::erase(clients_, &client); }

void Waiters::release(Client& client, std::string_view error) {
  const Wait wait = *client.wait;
  client.wait.reset();
  if (!wait.is_silent && error.empty()) reply(client, wait);
  if (!wait.is_silent && !error.empty()) Reply(client.output(), client.protocol()).error(error);
  client.link().resume_reading();
}

void Waiters::check(Time now, bool everybody) {
  if (clients_.empty()) return;
  constexpr std::string_view kWoken =
      "UNBLOCKED force unblock from blocking operation, instance state changed "
      "(master -> replica?)";
  std::erase_if(clients_, [&](Client* client) {
    const Wait& wait = *client->wait;
    const bool is_over = is_met(wait) || has_lost_its_file(wait) || is_due(wait.until, now);
    if (!everybody && !is_over) return false;
    release(*client, everybody ? kWoken : std::string_view());
    return true;
  });
}

bool Waiters::unblock(Client& client, bool with_error) {
  if (std::erase(clients_, &client) == 0) return false;
  release(client, with_error ? "UNBLOCKED client unblocked via CLIENT UNBLOCK" : "");
  return true;
}

std::size_t Waiters::with_timeout() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      clients_, [](const Client* client) { return client->wait->until != kNever; }));
}

Time Waiters::next_timeout() const {
  Time next = kNever;
  for (const Client* const client : clients_) next = std::min(next, client->wait->until);
  return next;
}

}  // namespace mayfly
