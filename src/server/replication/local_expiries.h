// SPDX-License-Identifier: Apache-2.0
// LocalExpiries: keys with deadlines that clients of a writable replica have written. The primary
// does not know of them, so the replica removes them itself.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/time.h"

namespace mayfly {

class Keyspace;

class LocalExpiries {
 public:
  explicit LocalExpiries(Keyspace& keyspace) : keyspace_(keyspace) {}

  // A client of this server changed a key.
  void record(int database, std::string_view key) { changed_.emplace(database, key); }
  void clear();
  std::size_t size() const { return deadlines_.size(); }

  // Sorts the changed keys by their next deadline, and removes what is due.
  void sweep(Time now);

 private:
  using Key = std::pair<int, std::string>;

  void refresh(const Key& key);

  Keyspace& keyspace_;
  std::set<Key> changed_;
  std::map<Key, Time> deadlines_;
  std::set<std::pair<Time, Key>> order_;  // the same, soonest first
};

}  // namespace mayfly
