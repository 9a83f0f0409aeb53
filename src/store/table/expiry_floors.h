// SPDX-License-Identifier: Apache-2.0
// ExpiryFloors: where the deadlines of each family begin, so that a walk over them does not pass
// again what the tables have erased and LMDB has not removed yet.
//
// A floor holds for all snapshots whose tail is at or behind its position: no entry of the family
// has a (deadline, key) before it. It is a fact about the history, not a tree: a checkpoint changes
// nothing. A walk that has passed dead rows raises it; an operation that gives an earlier deadline
// lowers it. It compares nothing with a clock.
//
// Threads: any thread may ask. raise(), lower() and clear() are for the thread that applies
// records.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "mayfly/time.h"
#include "store/log/record.h"

namespace mayfly::internal {

// The key is the user's key, or its first kLongPrefixBytes: up to there the rows of LMDB have the
// order of keys. kNever: nothing has a deadline.
struct ExpiryFloor {
  Time deadline = Time::min();
  std::string key{};

  bool operator==(const ExpiryFloor&) const = default;

  // Whether an entry with this deadline may lie before it.
  bool is_beyond(Time other) const {
    return other < deadline || (other == deadline && !key.empty());
  }
};

class ExpiryFloors {
 public:
  // Cost: O(log families).
  ExpiryFloor find(std::uint32_t family, Position tail) const;

  // The floor holds from the position `since` on. Does nothing if there is no memory for it.
  void raise(std::uint32_t family, const ExpiryFloor& floor, Position since) noexcept;

  // An entry has got this deadline.
  void lower(std::uint32_t family, Time deadline) noexcept {
    if (deadline <= greatest_.load(std::memory_order_relaxed)) [[unlikely]]
      lower_family(family, deadline);
  }

  void clear() noexcept;

 private:
  struct Known {
    ExpiryFloor floor{};
    Position since = 0;
  };

  void lower_family(std::uint32_t family, Time deadline) noexcept;

  std::atomic<Time> greatest_{Time::min()};  // no floor is behind it
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Known> known_;  // guarded by mutex_
};

}  // namespace mayfly::internal
