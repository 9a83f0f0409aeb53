// SPDX-License-Identifier: Apache-2.0
// SlotStaging: keys of slots that are on their way to this server. They are in a database of their
// own, which nobody sees, counts, evicts or sweeps; replicas and the append-only file have it, too.
//
//   the slots become ours:   adopt(), then merge_some() in every turn; merge_key() before a command
//                            that names the key, so that handlers look at database 0 only
//   they do not:             drop()
//
// Propagated as MOVE key 0 and FLUSHDB ASYNC of that database. A replica changes nothing by itself.

#pragma once

#include <cstddef>
#include <string_view>

#include "cluster/slot_set.h"
#include "keyspace/keyspace.h"

namespace mayfly {

class Propagation;

class SlotStaging {
 public:
  static constexpr int kDatabase = 1;

  SlotStaging(Keyspace& keyspace, Propagation& propagation)
      : keyspace_(keyspace), propagation_(propagation) {}

  std::size_t size() { return staged().stored(); }

  // Keys of these slots belong to this server now. Others are removed. Does nothing if there are no
  // keys.
  void adopt(const SlotSet& own);
  bool is_merging() const { return is_merging_; }

  // REQUIRES: is_merging(). The caller ends the unit of propagation.
  void merge_key(std::string_view key);

  // Looks at `limit` places for keys.
  void merge_some(std::size_t limit);
  void merge_all();

  // Removes all keys, at once for everybody.
  void drop();

  // It is no primary any more: what happens to the keys is the affair of another server.
  void leave() { is_merging_ = false; }

 private:
  Database& staged() { return keyspace_[kDatabase]; }
  void merge(Slot slot);

  Keyspace& keyspace_;
  Propagation& propagation_;
  SlotSet own_;
  bool is_merging_ = false;
  Slot next_ = 0;  // of the staging, to be looked at
};

}  // namespace mayfly
