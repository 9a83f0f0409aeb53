// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/slot_staging.h"

#include <string>

#include "server/replication/propagation.h"

namespace mayfly {

void SlotStaging::adopt(const SlotSet& own) {
  if (size() == 0) return;
  own_ = own;
  next_ = 0;
  is_merging_ = true;
}

// The name is copied, as it goes with the key.
void SlotStaging::merge(Slot slot) {
  const std::string key(staged().key(slot));
  if (!own_.contains(hash_slot(key))) {
    staged().forget(slot);
    propagation_.add(kDatabase, Propagated{"UNLINK", key});
    return;
  }
  Database& database = keyspace_[0];
  if (const Slot old = database.stored_slot(key); old != kNoSlot) {
    // There should be none. A MOVE does not replace it.
    database.forget(old);
    propagation_.add(0, Propagated{"UNLINK", key});
  }
  staged().move(slot, database, key);
  propagation_.add(kDatabase, Propagated{"MOVE", key, "0"});
}

void SlotStaging::merge_key(std::string_view key) {
  const Slot slot = staged().stored_slot(key);
  if (slot != kNoSlot) merge(slot);
}

void SlotStaging::merge_some(std::size_t limit) {
  if (!is_merging_) return;
  const std::size_t extent = staged().slot_extent();
  for (; limit > 0 && next_ < extent; --limit, ++next_) {
    if (staged().is_used(next_)) merge(next_);
  }
  propagation_.flush(false);
  if (next_ >= extent) is_merging_ = false;
}

void SlotStaging::merge_all() { merge_some(staged().slot_extent() + 1); }

void SlotStaging::drop() {
  is_merging_ = false;
  if (size() == 0) return;
  staged().clear();
  propagation_.add(kDatabase, Propagated{"FLUSHDB", "ASYNC"});
  propagation_.flush();
}

}  // namespace mayfly
