// SPDX-License-Identifier: Apache-2.0
// ListenerQueue: delivers removals to a listener one after the other, also when the listener itself
// causes more of them.

#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "mayfly/removal.h"

namespace mayfly::internal {

// Belongs to one thread. A removal that comes while another is being delivered, because the
// listener used the cache, waits for its turn: listeners are never called from within each other,
// and the stack does not grow.
template <class Key, class Value>
class ListenerQueue {
 public:
  // Returns how many calls threw. REQUIRES: the listener is not empty.
  std::size_t deliver(const RemovalListener<Key, Value>& listener,
                      std::vector<Removal<Key, Value>> removals) {
    for (auto& removal : removals) waiting_.push_back(std::move(removal));
    if (is_delivering_) return 0;

    is_delivering_ = true;
    std::size_t failures = 0;
    while (!waiting_.empty()) {
      Removal<Key, Value> removal = std::move(waiting_.front());
      waiting_.pop_front();
      try {
        listener(removal);
      } catch (...) {
        ++failures;  // the entry is gone all the same, and the others must be delivered too
      }
    }
    is_delivering_ = false;
    return failures;
  }

 private:
  std::deque<Removal<Key, Value>> waiting_;
  bool is_delivering_ = false;
};

}  // namespace mayfly::internal
