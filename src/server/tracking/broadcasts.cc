// SPDX-License-Identifier: Apache-2.0
#include "server/tracking/broadcasts.h"

#include <algorithm>

#include "server/core/client.h"

namespace mayfly {

std::string_view Broadcasts::add(std::string_view prefix, Client& client) {
  auto found = prefixes_.find(prefix);
  if (found == prefixes_.end()) {
    found = prefixes_.try_emplace(std::string(prefix)).first;
    ++lengths_[prefix.size()];
  }
  std::vector<Client*>& clients = found->second.clients;
  const auto place = std::ranges::lower_bound(clients, client.id(), {}, &Client::id);
  if (place == clients.end() || *place != &client) clients.insert(place, &client);
  return found->first;
}

std::size_t Broadcasts::bytes_of(std::string_view prefix) {
  constexpr std::size_t kLinks = 32;  // of a node of a tree
  return allocated_for(kLinks + sizeof(std::map<std::string, Prefix>::value_type)) +
         allocated_for(sizeof(Client*)) + allocated_for_text(prefix.size());
}

void Broadcasts::remove(std::string_view prefix, const Client& client) {
  const auto found = prefixes_.find(prefix);
  std::vector<Client*>& clients = found->second.clients;
  clients.erase(std::ranges::lower_bound(clients, client.id(), {}, &Client::id));
  if (!clients.empty()) return;
  std::erase(changed_prefixes_, prefix);
  const auto length = lengths_.find(prefix.size());
  if (--length->second == 0) lengths_.erase(length);
  prefixes_.erase(found);
}

void Broadcasts::collect(std::string_view key, std::uint64_t by) {
  for (const auto& [length, count] : lengths_) {
    if (length > key.size()) return;
    collect_for(key.substr(0, length), key, by);
  }
}

void Broadcasts::collect_for(std::string_view name, std::string_view key, std::uint64_t by) {
  const auto prefix = prefixes_.find(name);
  if (prefix == prefixes_.end()) return;
  Changes& changed = prefix->second.changed;
  if (changed.empty()) {
    const auto place = std::ranges::lower_bound(changed_prefixes_, name);
    changed_prefixes_.insert(place, prefix->first);
  }
  const auto found = changed.find(key);
  if (found == changed.end()) {
    changed.emplace(key, by);
  } else if (found->second != by) {
    found->second = 0;  // by several: all are told
  }
}

}  // namespace mayfly
