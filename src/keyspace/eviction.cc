// SPDX-License-Identifier: Apache-2.0
// Choosing a victim by looking at a few keys.

#include "keyspace/eviction.h"

#include <algorithm>
#include <array>

#include "keyspace/keyspace.h"

namespace mayfly {
namespace {

constexpr unsigned kNewFrequency = 5;  // so that a new key is not the next victim
constexpr double kLogFactor = 10;
constexpr std::int64_t kMinute = 60'000;

struct EvictionName {
  Eviction policy;
  std::string_view name;
};
constexpr std::array kEvictionNames = {
    EvictionName{Eviction::none, "noeviction"},
    EvictionName{Eviction::allkeys_lru, "allkeys-lru"},
    EvictionName{Eviction::allkeys_lfu, "allkeys-lfu"},
    EvictionName{Eviction::allkeys_random, "allkeys-random"},
    EvictionName{Eviction::volatile_lru, "volatile-lru"},
    EvictionName{Eviction::volatile_lfu, "volatile-lfu"},
    EvictionName{Eviction::volatile_random, "volatile-random"},
    EvictionName{Eviction::volatile_ttl, "volatile-ttl"},
};

std::uint32_t seconds(Time now) {
  return static_cast<std::uint32_t>(now.time_since_epoch().count() / 1000) & kAccessMask;
}

std::uint32_t minutes(Time now) {
  return static_cast<std::uint32_t>(now.time_since_epoch().count() / kMinute) & 0xFFFF;
}

bool is_volatile(Eviction policy) {
  return policy == Eviction::volatile_lru || policy == Eviction::volatile_lfu ||
         policy == Eviction::volatile_random || policy == Eviction::volatile_ttl;
}

struct Victim {
  Database* database = nullptr;
  Slot slot = kNoSlot;
  std::uint64_t worth = 0;  // the least is evicted
};

std::uint64_t worth_of(const Database& database, Slot slot, Eviction policy, Time now) {
  const std::uint32_t access = database.node(slot).access;
  switch (policy) {
    case Eviction::allkeys_lru:
    case Eviction::volatile_lru:
      return kAccessMask - idle_seconds(access, now);
    case Eviction::allkeys_lfu:
    case Eviction::volatile_lfu:
      return lfu_frequency(access, now);
    case Eviction::volatile_ttl:
      return static_cast<std::uint64_t>(database.deadline(slot).time_since_epoch().count());
    default:
      return 0;
  }
}

// Returns whether the key may be evicted at all.
bool consider(Victim& victim, Database& database, Slot slot, Eviction policy, Time now) {
  const std::string_view kept = database.keyspace().options().kept_key;
  if (!kept.empty() && database.key(slot) == kept) return false;
  const std::uint64_t worth = worth_of(database, slot, policy, now);
  if (victim.slot == kNoSlot || worth < victim.worth) victim = {&database, slot, worth};
  return true;
}

// The soonest `count` deadlines of the database.
void consider_soonest(Victim& victim, Database& database, Eviction policy, int count, Time now) {
  database.visit_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
    if (consider(victim, database, slot, policy, now)) --count;
    return count > 0;
  });
}

void consider_random(const ExecContext& context, Victim& victim, Database& database,
                     Eviction policy, int count) {
  const bool only_volatile = is_volatile(policy);
  int seen = 0;
  for (int tries = count * 8; tries > 0 && seen < count; --tries) {
    const Slot slot = database.random(context, database.keyspace().random());
    if (slot == kNoSlot) return;
    if (only_volatile && database.node(slot).has_deadline == 0) continue;
    if (consider(victim, database, slot, policy, context.now)) ++seen;
  }
  // Volatile keys are rare: choose among the soonest deadlines.
  if (seen == 0 && only_volatile) consider_soonest(victim, database, policy, count, context.now);
}

}  // namespace

std::uint32_t first_access(bool lfu, Time now) {
  return lfu ? access_of_frequency(kNewFrequency, now) : seconds(now);
}

std::uint32_t touched_access(std::uint32_t access, bool lfu, Time now, Random& random) {
  if (!lfu) return seconds(now);
  unsigned frequency = lfu_frequency(access, now);
  const double above = frequency > kNewFrequency ? frequency - kNewFrequency : 0;
  if (frequency < 255 && random.fraction() < 1 / (above * kLogFactor + 1)) ++frequency;
  return access_of_frequency(frequency, now);
}

std::uint64_t idle_seconds(std::uint32_t access, Time now) {
  return (seconds(now) - access) & kAccessMask;
}

unsigned lfu_frequency(std::uint32_t access, Time now) {
  const unsigned frequency = access & 0xFF;
  const unsigned passed = (minutes(now) - (access >> 8)) & 0xFFFF;
  return passed > frequency ? 0 : frequency - passed;
}

std::uint32_t access_of_idle(std::uint64_t idle, Time now) {
  return static_cast<std::uint32_t>(seconds(now) - std::min<std::uint64_t>(idle, kAccessMask)) &
         kAccessMask;
}

std::uint32_t access_of_frequency(unsigned frequency, Time now) {
  return (minutes(now) << 8 | std::min(frequency, 255u)) & kAccessMask;
}

std::optional<Eviction> parse_eviction(std::string_view name) {
  for (const EvictionName& row : kEvictionNames) {
    if (row.name == name) return row.policy;
  }
  return std::nullopt;
}

std::string_view name_of(Eviction policy) {
  return std::ranges::find(kEvictionNames, policy, &EvictionName::policy)->name;
}

bool uses_lfu(Eviction policy) {
  return policy == Eviction::allkeys_lfu || policy == Eviction::volatile_lfu;
}

bool evict_one(const ExecContext& context, Keyspace& keyspace, Eviction policy, int samples) {
  if (policy == Eviction::none) return false;
  Victim victim;
  for (int i = 0; i < keyspace.count(); ++i) {
    Database& database = keyspace[i];
    if (database.stored() == 0 || i == keyspace.options().staging) continue;
    if (policy == Eviction::volatile_ttl) {
      consider_soonest(victim, database, policy, 1, context.now);
    } else {
      consider_random(context, victim, database, policy, samples);
    }
  }
  if (victim.slot == kNoSlot) return false;
  const std::string key(victim.database->key(victim.slot));
  victim.database->erase(victim.slot);
  ++keyspace.stats().evicted_keys;
  keyspace.listener().key_evicted(*victim.database, key);
  return true;
}

}  // namespace mayfly
