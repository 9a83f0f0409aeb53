// SPDX-License-Identifier: Apache-2.0
// Which key is removed when memory is full, and the 24 bits of each key that record its use.
//
// LRU: the second of the last use. LFU: the minute of the last decrement in 16 bits, and a
// logarithmic counter in 8, as Redis keeps them.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

class Keyspace;
struct ExecContext;

inline constexpr std::uint32_t kAccessMask = 0xFFFFFF;

// The access word of a new key, and that of one that is used again.
std::uint32_t first_access(bool lfu, Time now);
std::uint32_t touched_access(std::uint32_t access, bool lfu, Time now, Random& random);

std::uint64_t idle_seconds(std::uint32_t access, Time now);
unsigned lfu_frequency(std::uint32_t access, Time now);

// The words that idle for so many seconds, or are used so often: for RESTORE and loading.
std::uint32_t access_of_idle(std::uint64_t idle, Time now);
std::uint32_t access_of_frequency(unsigned frequency, Time now);

enum class Eviction {
  none,
  allkeys_lru,
  allkeys_lfu,
  allkeys_random,
  volatile_lru,
  volatile_lfu,
  volatile_random,
  volatile_ttl,  // exact: the nearest deadline first
};

std::optional<Eviction> parse_eviction(std::string_view name);
std::string_view name_of(Eviction policy);
bool uses_lfu(Eviction policy);

// Removes one key that is alive, and tells the listener. Looks at `samples` keys. Returns false if
// the policy finds none. What is due should have been swept before.
bool evict_one(const ExecContext& context, Keyspace& keyspace, Eviction policy, int samples);

}  // namespace mayfly
