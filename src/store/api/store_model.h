// SPDX-License-Identifier: Apache-2.0
// A store as plain as can be, to compare the real one with: maps in memory, and the rules about
// time spelt out once more.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mayfly/condition.h"
#include "mayfly/expiry.h"
#include "mayfly/store_stats.h"
#include "mayfly/time.h"

namespace mayfly::internal {

struct ModelEntry {
  std::string value;
  Time deadline = kNever;

  bool operator==(const ModelEntry&) const = default;
};

// One family. What has expired stays until it is removed, as in a file: a clock that goes back
// shows it again.
class ModelFamily {
 public:
  std::map<std::string, ModelEntry> entries;
  std::optional<Millis> default_ttl;

  // The entry, if a reader at `now` can see it.
  const ModelEntry* find(const std::string& key, Time now) const {
    const auto found = entries.find(key);
    return found == entries.end() || is_due(found->second.deadline, now) ? nullptr : &found->second;
  }

  // Inside a transaction, what was met expired is removed when it is committed.
  bool in_transaction = false;
  std::set<std::string> met;

  // Reads it as one who may remove what is expired.
  const ModelEntry* read(const std::string& key, Time now) {
    const ModelEntry* const entry = find(key, now);
    if (entry == nullptr && in_transaction && entries.contains(key)) met.insert(key);
    if (entry == nullptr && !in_transaction) entries.erase(key);
    return entry;
  }

  void commit(Time now) {
    for (const std::string& key : met) {
      if (find(key, now) == nullptr) entries.erase(key);
    }
    met.clear();
    in_transaction = false;
  }

  // A key that is new has no deadline to keep, and gets the default.
  Time deadline(Expiry expires, const ModelEntry* present, Time now) const {
    return expires.deadline(now,
                            present == nullptr ? std::nullopt : std::optional(present->deadline),
                            default_ttl.value_or(Millis::max()));
  }

  void put(const std::string& key, const std::string& value, Expiry expires, Time now) {
    const bool looks = expires.is_unchanged();
    entries[key] = {value, deadline(expires, looks ? read(key, now) : nullptr, now)};
  }

  bool put_if_absent(const std::string& key, const std::string& value, Expiry expires, Time now) {
    if (read(key, now) != nullptr) return false;
    put(key, value, expires, now);
    return true;
  }

  bool compare_and_set(const std::string& key, const std::optional<std::string>& expected,
                       const std::string& desired, Expiry expires, Time now) {
    const ModelEntry* const entry = read(key, now);
    const bool same = entry == nullptr ? !expected : expected == entry->value;
    if (same) put(key, desired, expires, now);
    return same;
  }

  // REQUIRES: the value is a small number.
  std::int64_t increment(const std::string& key, std::int64_t delta, Expiry expires, Time now) {
    const ModelEntry* const entry = read(key, now);
    const std::int64_t sum = (entry == nullptr ? 0 : std::stoll(entry->value)) + delta;
    put(key, std::to_string(sum), entry == nullptr ? expires : Expiry::unchanged(), now);
    return sum;
  }

  bool erase(const std::string& key, Time now) {
    const bool was_there = read(key, now) != nullptr;
    if (was_there) entries.erase(key);
    return was_there;
  }

  bool expire(const std::string& key, Expiry expires, When when, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr) return false;
    const Time proposed = deadline(expires, entry, now);
    if (!allows(when, entry->deadline, proposed)) return false;
    if (is_due(proposed, now)) {
      entries.erase(key);
    } else {
      entries[key].deadline = proposed;
    }
    return true;
  }

  bool persist(const std::string& key, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr || entry->deadline == kNever) return false;
    entries[key].deadline = kNever;
    return true;
  }

  bool touch(const std::string& key, Expiry expires, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr) return false;
    const Time proposed = deadline(expires, entry, now);
    if (entry->deadline != kNever && proposed > entry->deadline) entries[key].deadline = proposed;
    return true;
  }

  // Removes all whose deadline is at or before `until`.
  std::uint64_t purge(Time until) {
    return std::erase_if(
        entries, [until](const auto& entry) { return is_due(entry.second.deadline, until); });
  }

  FamilyCounts count(Time now) const {
    FamilyCounts counts{.stored = entries.size()};
    for (const auto& [key, entry] : entries) {
      const bool due = is_due(entry.deadline, now);
      counts.live += due ? 0 : 1;
      counts.expired += due ? 1 : 0;
      counts.with_ttl += !due && entry.deadline != kNever ? 1 : 0;
    }
    return counts;
  }

  Time next_deadline() const {
    Time next = kNever;
    for (const auto& [key, entry] : entries) next = std::min(next, entry.deadline);
    return next;
  }
};

// The families by name; "default" is always there.
using ModelStore = std::map<std::string, ModelFamily>;

}  // namespace mayfly::internal
