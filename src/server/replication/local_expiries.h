// SPDX-License-Identifier: Apache-2.0
// LocalExpiries: what clients of a writable replica gave a deadline. Nobody else will ever remove
// it, as the primary does not know of it. So the replica does, itself.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/time.h"

namespace mayfly {

class Server;

class LocalExpiries {
 public:
  explicit LocalExpiries(Server& server) : server_(server) {}

  // A client of ours changed a key.
  void note(int database, std::string_view key) { changed_.emplace(database, key); }
  void clear();
  std::size_t size() const { return deadlines_.size(); }

  // Files what was changed by its next deadline, and removes what is due.
  void sweep(Time now);

 private:
  using Key = std::pair<int, std::string>;

  void file(const Key& key);

  Server& server_;
  std::set<Key> changed_;
  std::map<Key, Time> deadlines_;
  std::set<std::pair<Time, Key>> order_;  // the same, soonest first
};

}  // namespace mayfly
