// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/foreign_keys.h"

#include <string>
#include <utility>
#include <vector>

#include "server/core/key_events.h"
#include "server/replication/propagation.h"

namespace mayfly {
namespace {

constexpr std::size_t kRemovedAtOnce = 64;  // in one request to replicas

}  // namespace

void ForeignKeys::set_own(const SlotSet& own) {
  if (own == own_) return;
  own_ = own;
  look_again();
}

void ForeignKeys::look_again() {
  may_have_any_ = count(SlotSet::all() - own_) > 0;
  next_ = 0;
}

std::size_t ForeignKeys::count() {
  if (!may_have_any_) return 0;
  const std::size_t found = count(SlotSet::all() - own_);
  may_have_any_ = found > 0;
  return found;
}

std::size_t ForeignKeys::count(const SlotSet& slots) {
  std::size_t found = 0;
  slots.each([&](HashSlot slot) { found += keyspace_[0].stored_in_hash_slot(slot); });
  return found;
}

std::size_t ForeignKeys::count_removable(const SlotSet& slots) {
  const std::string_view kept = keyspace_.options().kept_key;
  const bool has_kept =
      !kept.empty() && slots.contains(hash_slot(kept)) && keyspace_[0].stored_slot(kept) != kNoSlot;
  return count(slots) - (has_kept ? 1U : 0U);
}

bool ForeignKeys::remove_some(const ExecContext& context, std::size_t limit) {
  if (!may_have_any_) return false;
  Database& database = keyspace_[0];
  const std::size_t extent = database.slot_extent();
  const std::string_view kept = keyspace_.options().kept_key;
  Propagated request = {"UNLINK"};
  const auto send = [&] {
    if (request.size() > 1) propagation_.add(0, std::exchange(request, {"UNLINK"}));
  };
  for (; limit > 0 && next_ < extent; --limit, ++next_) {
    if (!database.is_used(next_) || !contains(database.key(next_))) continue;
    const std::string key(database.key(next_));
    if (key == kept) continue;
    database.forget(next_);
    events_.key_changed(context, 0, key);
    request.push_back(key);
    if (request.size() > kRemovedAtOnce) send();
  }
  send();
  propagation_.flush(false);
  if (next_ < extent) return true;
  next_ = 0;
  may_have_any_ = false;  // no key of such a slot is made
  return false;
}

}  // namespace mayfly
