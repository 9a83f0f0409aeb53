// SPDX-License-Identifier: Apache-2.0
// What only this replica knows, removed by this replica.

#include "server/core/local_expiries.h"

#include <algorithm>

#include "server/core/server.h"

namespace mayfly {
namespace {

constexpr std::size_t kAtOnce = 128;  // keys, and fields of each

}  // namespace

void LocalExpiries::clear() {
  changed_.clear();
  deadlines_.clear();
  order_.clear();
}

void LocalExpiries::file(const Key& key) {
  if (const auto found = deadlines_.find(key); found != deadlines_.end()) {
    order_.erase({found->second, key});
    deadlines_.erase(found);
  }
  const Database& database = server_.keyspace()[key.first];
  const Slot slot = database.stored_slot(key.second);
  if (slot == kNoSlot) return;
  const Time next = std::min(database.deadline(slot), database.earliest_member_deadline(slot));
  if (next == kNever) return;
  deadlines_.emplace(key, next);
  order_.emplace(next, key);
}

void LocalExpiries::sweep(Time now) {
  for (const Key& key : std::exchange(changed_, {})) file(key);
  Keyspace& keyspace = server_.keyspace();
  for (std::size_t i = 0; i < kAtOnce && !order_.empty(); ++i) {
    const auto [deadline, key] = *order_.begin();
    if (!is_due(deadline, now)) return;
    keyspace[key.first].sweep_key({.now = now}, key.second, kAtOnce);
    file(key);
  }
}

}  // namespace mayfly
