// SPDX-License-Identifier: Apache-2.0
// Removal: what a cache passes to its listener when it removes an entry.

#pragma once

#include <functional>

#include "mayfly/time.h"

namespace mayfly {

enum class Cause {
  expired,   // its deadline came
  replaced,  // another value was put under its key
  erased,    // erase() was called for it
  evicted,   // it had to make room
  cleared,   // clear() was called
};

constexpr const char* to_string(Cause cause) {
  constexpr const char* kNames[] = {"expired", "replaced", "erased", "evicted", "cleared"};
  return kNames[static_cast<int>(cause)];
}

// Owns the key and the value, which the listener may move away.
template <class Key, class Value>
struct Removal {
  Key key;
  Value value;
  Cause cause;
  Time deadline;  // the one it had, or kNever
  Time now;       // when it was removed; if it expired, now - deadline is how late that was
};

// Called exactly once for each removal, when the cache is whole again and no lock is held. It may
// use the cache. What it throws is caught and counted (CacheStats::listener_failures).
//
// In a Cache the calls come one after the other. In a ShardedCache they may come from several
// threads at once, and they nest if the listener itself removes something.
template <class Key, class Value>
using RemovalListener = std::function<void(Removal<Key, Value>&)>;

}  // namespace mayfly
