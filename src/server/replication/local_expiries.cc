// SPDX-License-Identifier: Apache-2.0
// Expiry of keys that only this replica has.

#include "server/replication/local_expiries.h"

#include <algorithm>
#include <utility>

#include "keyspace/keyspace.h"

namespace mayfly {
namespace {

constexpr std::size_t kLocalKeysAtOnce = 128;  // keys, and fields of each

}  // namespace

void LocalExpiries::clear() {
  changed_.clear();
  deadlines_.clear();
  order_.clear();
}

void LocalExpiries::refresh(const Key& key) {
  if (const auto found = deadlines_.find(key); found != deadlines_.end()) {
    order_.erase({found->second, key});
    deadlines_.erase(found);
  }
  const Database& database = keyspace_[key.first];
  const Slot slot = database.stored_slot(key.second);
  if (slot == kNoSlot) return;
  const Time next = std::min(database.deadline(slot), database.earliest_field(slot));
  if (next == kNever) return;
  deadlines_.emplace(key, next);
  order_.emplace(next, key);
}

void LocalExpiries::sweep(Time now) {
  for (const Key& key : std::exchange(changed_, {})) refresh(key);
  for (std::size_t i = 0; i < kLocalKeysAtOnce && !order_.empty(); ++i) {
    const auto [deadline, key] = *order_.begin();
    if (!is_due(deadline, now)) return;
    keyspace_.set_policy(Policy::reclaim);
    keyspace_[key.first].sweep_key(key.second, kLocalKeysAtOnce);
    refresh(key);
  }
}

}  // namespace mayfly
