// SPDX-License-Identifier: Apache-2.0
// ForeignKeys: keys in database 0 whose slots belong to another shard, since their slots have
// moved. Nobody sees them: requests for them are redirected. A primary removes them in slices and
// tells its replicas. No event is sent, as the keys live on elsewhere.

#pragma once

#include <cstddef>

#include "cluster/slot_set.h"
#include "keyspace/keyspace.h"

namespace mayfly {

class KeyEvents;
class Propagation;

class ForeignKeys {
 public:
  ForeignKeys(Keyspace& keyspace, KeyEvents& events, Propagation& propagation)
      : keyspace_(keyspace), events_(events), propagation_(propagation) {}

  // Which slots belong to this server's shard.
  void set_own(const SlotSet& own);

  // Other data was loaded, or this server has become a primary.
  void look_again();

  // How many keys there are, dead ones included. O(slots) while there are any, else O(1).
  std::size_t count();

  bool may_have_any() const { return may_have_any_; }

  // Of these slots.
  std::size_t count(const SlotSet& slots);

  // The same, but for the log of expiries, which every server keeps for itself: see remove_some().
  std::size_t count_removable(const SlotSet& slots);

  // Whether this key is one of them. REQUIRES: count() is not 0, else it is not.
  bool contains(std::string_view key) const { return !own_.contains(hash_slot(key)); }

  // Looks at `limit` places for keys. Returns whether there is more to do.
  bool remove_some(const ExecContext& context, std::size_t limit);

 private:
  Keyspace& keyspace_;
  KeyEvents& events_;
  Propagation& propagation_;
  SlotSet own_ = SlotSet::all();
  bool may_have_any_ = false;
  Slot next_ = 0;  // to be looked at
};

}  // namespace mayfly
