// SPDX-License-Identifier: Apache-2.0
// A store as plain as can be, to compare the real one with: maps in memory, and the rules about
// time spelt out once more. And what there is to compare: a text of all that a reader can see.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/condition.h"
#include "mayfly/expiry.h"
#include "mayfly/store.h"
#include "mayfly/store_stats.h"
#include "mayfly/time.h"
#include "mayfly/ttl_histogram.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {

struct ModelEntry {
  std::string value;
  Time deadline = kNever;
  bool logged = true;   // its newest version is in the log, behind the last cut
  bool doomed = false;  // due at the moment of some commit, so the thread may have removed it
  bool fresh = true;    // not committed yet, so the commit does not take it for an expired one
};

// One family. What has expired stays until it is removed, as in a file: a clock that goes back
// shows it again.
class ModelFamily {
 public:
  std::map<std::string, ModelEntry> entries;
  std::optional<Millis> default_ttl;
  std::set<std::string> met;  // expired keys that reads have found
  bool changed = false;

  // The entry, if a reader at `now` can see it.
  const ModelEntry* find(const std::string& key, Time now) const {
    const auto found = entries.find(key);
    return found == entries.end() || is_due(found->second.deadline, now) ? nullptr : &found->second;
  }

  // The same, by one who notes what is expired.
  const ModelEntry* read(const std::string& key, Time now) {
    const ModelEntry* const entry = find(key, now);
    if (entry == nullptr && entries.contains(key)) met.insert(key);
    return entry;
  }

  void remove(const std::string& key) { changed = entries.erase(key) != 0 || changed; }
  void move_deadline(const std::string& key, Time deadline) {
    ModelEntry& entry = entries.at(key);
    if (entry.deadline == deadline) return;
    entry = {entry.value, deadline};
    changed = true;
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
    changed = true;
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
    if (was_there) remove(key);
    return was_there;
  }

  bool expire(const std::string& key, Expiry expires, When when, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr) return false;
    const Time proposed = deadline(expires, entry, now);
    if (!allows(when, entry->deadline, proposed)) return false;
    if (is_due(proposed, now)) {
      remove(key);
    } else {
      move_deadline(key, proposed);
    }
    return true;
  }

  bool persist(const std::string& key, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr || entry->deadline == kNever) return false;
    move_deadline(key, kNever);
    return true;
  }

  bool touch(const std::string& key, Expiry expires, Time now) {
    const ModelEntry* const entry = read(key, now);
    if (entry == nullptr) return false;
    const Time proposed = deadline(expires, entry, now);
    if (entry->deadline != kNever && proposed > entry->deadline) move_deadline(key, proposed);
    return true;
  }

  // Removes all whose deadline is at or before `until`.
  std::uint64_t purge(Time until) {
    const std::uint64_t purged = std::erase_if(
        entries, [until](const auto& entry) { return is_due(entry.second.deadline, until); });
    changed = changed || purged != 0;
    return purged;
  }

  // A cut drops what is due and has not been in LMDB yet, or in front of another cut.
  std::uint64_t cut(Time moment) {
    return std::erase_if(entries, [moment](const auto& entry) {
      return entry.second.logged && is_due(entry.second.deadline, moment);
    });
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

  TtlHistogram ttl_histogram(Time now) const {
    constexpr std::int64_t kSeconds[] = {1, 10, 60, 600, 3600, 86'400, 604'800};
    TtlHistogram histogram;
    for (const auto& [key, entry] : entries) {
      if (entry.deadline == kNever) continue;
      std::size_t bucket = 0;
      while (bucket < std::size(kSeconds) &&
             entry.deadline - std::chrono::seconds(kSeconds[bucket]) > now) {
        ++bucket;
      }
      const bool due = is_due(entry.deadline, now);
      TtlCount& count = due ? histogram.overdue : histogram.buckets[bucket];
      count += {1, key.size() + entry.value.size()};
      if (due) histogram.oldest_overdue = std::min(histogram.oldest_overdue, entry.deadline);
    }
    return histogram;
  }

  std::uint64_t doomed() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(entries, [](const auto& entry) { return entry.second.doomed; }));
  }

  Time next_deadline() const {
    Time next = kNever;
    for (const auto& [key, entry] : entries) next = std::min(next, entry.deadline);
    return next;
  }
};

// The families by name; "default" is always there.
using ModelStore = std::map<std::string, ModelFamily>;

// --- What a reader sees, as a text ---------------------------------------------------------------

using Deadlines = std::vector<std::pair<Time, std::string>>;

inline std::string describe(const std::vector<Shown>& rows, const Deadlines& deadlines,
                            const std::optional<Millis>& default_ttl) {
  std::ostringstream text;
  text << "default TTL " << (default_ttl ? default_ttl->count() : 0) << "; rows: ";
  for (const Shown& row : rows) {
    text << row.key << '=' << row.value << '@' << row.deadline.time_since_epoch().count() << ' ';
  }
  text << "; deadlines: ";
  for (const auto& [deadline, key] : deadlines) {
    text << deadline.time_since_epoch().count() << ' ' << key << ' ';
  }
  return text.str();
}

// `all`: with what has expired and was not removed yet.
inline std::string describe(const FamilyCounts& counts, Time next, bool all) {
  std::ostringstream text;
  text << "live " << counts.live << ", with TTL " << counts.with_ttl;
  if (!all) return text.str();
  text << ", expired " << counts.expired << ", stored " << counts.stored << ", next deadline "
       << next.time_since_epoch().count();
  return text.str();
}

inline std::string describe(const TtlHistogram& histogram, bool all) {
  std::ostringstream text;
  text << "; histogram: ";
  for (const TtlCount& bucket : histogram.buckets)
    text << bucket.entries << '/' << bucket.bytes << ' ';
  if (!all) return text.str();
  text << "overdue " << histogram.overdue.entries << '/' << histogram.overdue.bytes << ", oldest "
       << histogram.oldest_overdue.time_since_epoch().count();
  return text.str();
}

inline std::string describe(const ModelFamily& model, Time now, bool all) {
  std::vector<Shown> rows;
  Deadlines deadlines;
  for (const auto& [key, entry] : model.entries) {
    if (is_due(entry.deadline, now)) continue;
    rows.push_back({key, entry.value, entry.deadline});
    if (entry.deadline != kNever) deadlines.emplace_back(entry.deadline, key);
  }
  std::ranges::sort(deadlines);
  return describe(model.count(now), model.next_deadline(), all) + "; " +
         describe(rows, deadlines, model.default_ttl) + describe(model.ttl_histogram(now), all);
}

// The histogram of a family. It has to agree with the counts, and without bytes with itself.
inline std::string describe_histogram(const ReadTxn& txn, Family family, bool all) {
  const TtlHistogram histogram = must(txn.ttl_histogram({.bytes = true}, family));
  const FamilyCounts counts = must(txn.count(family));
  std::string text = describe(histogram, all);
  const bool same =
      histogram.total().entries == counts.with_ttl && histogram.overdue.entries == counts.expired;
  if (!same) text += "; it is not what count() says";
  TtlHistogram plain = histogram;
  for (TtlCount& bucket : plain.buckets) bucket.bytes = 0;
  plain.overdue.bytes = 0;
  if (must(txn.ttl_histogram({}, family)) != plain) text += "; another one without bytes";
  return text;
}

// By cursors in both directions, gets, and expiring(). Of two with the same deadline, any may come
// first.
inline std::string describe(const ReadTxn& txn, Family family, bool all) {
  Cursor cursor = must(txn.cursor({}, family));
  const std::vector<Shown> rows = rows_of(cursor);
  std::vector<Shown> backward;
  for (bool on = cursor.last(); on; on = cursor.prev()) {
    backward.push_back({std::string(cursor.key()), std::string(cursor.value()), cursor.deadline()});
  }
  std::string text = describe(must(txn.count(family)), must(txn.next_deadline(family)), all) + "; ";
  if (!std::equal(rows.begin(), rows.end(), backward.rbegin(), backward.rend())) {
    text += "backwards it is another; ";
  }
  for (const Shown& row : rows) {
    const auto entry = must(txn.get_entry(row.key, family));
    const bool same = entry && entry->value == row.value && entry->deadline == row.deadline;
    if (!same) text += "a get shows another " + row.key + "; ";
  }
  Deadlines deadlines;
  for (const Expiring& each : must(txn.expiring(Time::min(), kNever, SIZE_MAX, family))) {
    deadlines.emplace_back(each.deadline, each.key);
  }
  if (!std::ranges::is_sorted(deadlines, {}, &Deadlines::value_type::first)) text += "no order; ";
  std::ranges::sort(deadlines);
  return text + describe(rows, deadlines, must(txn.default_ttl(family))) +
         describe_histogram(txn, family, all);
}

}  // namespace mayfly::internal
