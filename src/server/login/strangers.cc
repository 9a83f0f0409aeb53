// SPDX-License-Identifier: Apache-2.0
#include "server/login/strangers.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "server/core/client.h"

namespace mayfly {
namespace {

std::size_t input_of(const Client& client) {
  const InputBuffer& input = client.link().input();
  return std::max(input.capacity(), input.size());
}

}  // namespace

void Strangers::add(Client& client) {
  client.limits.is_stranger = true;
  all_.emplace(client.id(), &client);
}

void Strangers::remove(Client& client) {
  if (!client.limits.is_stranger) return;
  client.limits.is_stranger = false;
  set_counted(client, 0);
  all_.erase(client.id());
}

void Strangers::set_counted(Client& client, std::size_t bytes) {
  memory_ -= client.limits.stranger_memory;
  client.limits.stranger_memory = bytes;
  memory_ += bytes;
}

// It remains in the list of clients until the turn ends, but is not chosen again.
void Strangers::close(Client& client, std::string_view why) {
  remove(client);
  if (client.link().closing()) return;
  ++stats_.stranger_disconnections;
  log_.verbose("Closing client {}, which has not logged in: {}", client.link().address(), why);
  client.limits.drops_output = true;
  client.link().close_now(why);
}

void Strangers::check_output(Client& client) {
  const std::size_t most = config_.enforces_reply_list ? 0 : kOutputMost;
  const std::size_t waiting = client.link().pending();
  if (waiting > most) {
    ++stats_.output_limit_disconnections;
    return close(client, "too much output waits for it");
  }
  // A string that grows by itself would take twice as much.
  if (waiting > kOutputMost / 4 && client.link().output_capacity() < kOutputMost) {
    client.output().reserve(kOutputMost);
  }
}

void Strangers::count_memory(Client& client, std::size_t input) {
  const std::size_t kept = std::max(input, client.link().input().capacity());
  set_counted(client, kept + client.link().output_capacity());
  if (memory_ > kMemoryMost) close_largest();
}

// Outputs may have been sent since they were counted. All are looked at, so some room is made at
// once: else each new connection of a flood would cost a look at every other one.
void Strangers::close_largest() {
  ++looks_at_all_;
  std::vector<Client*> clients;
  for (const auto& [id, client] : all_) {
    set_counted(*client, input_of(*client) + client->link().output_capacity());
    clients.push_back(client);
  }
  std::ranges::sort(clients, [](const Client* a, const Client* b) {
    return a->limits.stranger_memory > b->limits.stranger_memory;
  });
  for (Client* const client : clients) {
    if (memory_ <= kMemoryMost - kRoomAtOnce) return;
    close(*client, "the clients that have not logged in take too much memory");
  }
}

Client* Strangers::close_oldest() {
  if (all_.empty()) return nullptr;
  Client& oldest = *all_.begin()->second;
  close(oldest, "there are too many clients (maxclients), and others want to connect");
  return &oldest;
}

void Strangers::close_overdue(Time now) {
  if (config_.auth_timeout == 0) return;
  const auto longest = std::chrono::seconds(config_.auth_timeout);
  while (!all_.empty() && is_due(all_.begin()->second->info.created + longest, now)) {
    close(*all_.begin()->second, "auth-timeout is over");
  }
}

}  // namespace mayfly
