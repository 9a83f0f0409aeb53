// SPDX-License-Identifier: Apache-2.0
// What expires until given moments, and how many bytes that frees.
//
//   const auto points = forecast(keyspace, now, {now + 1min, now + 1h});
//
// Entries are keys with a deadline and members with a deadline. Their numbers are exact: a moment
// is rounded up to a multiple of 128 ms first (see DeadlineSums), and a point says which it is. An
// entry that is due already does not count; overdue() counts those.
//
// The bytes of entries are known. What structures free that have a place for each entry, and packed
// members only in steps, is estimated from samples: see key_places.h and member_forecast.h.
//
//   forecast   O(blocks of DeadlineSums), and samples: at most 16,384 places for keys, some
//              thousand keys with members, and some hundred thousand members
//   overdue    O(keys that are due), at most some thousand

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "keyspace/keyspace.h"
#include "mayfly/time.h"

namespace mayfly {

struct ForecastPoint {
  Time until;                 // entries with a deadline before this moment
  std::uint64_t keys = 0;     // that are not due now
  std::uint64_t members = 0;  // likewise

  // Of these entries, and of due entries that are still stored: the entries alone, and all memory
  // freed with them, structures that have places for them included.
  std::uint64_t entry_bytes = 0;
  std::uint64_t bytes = 0;

  std::uint64_t entries() const { return keys + members; }
};

// REQUIRES: moments in order, none before `now`.
std::vector<ForecastPoint> forecast(Keyspace& keyspace, Time now, std::span<const Time> moments);

// The same for one key: the key itself, and its members. Bytes of a large key are an average.
std::vector<ForecastPoint> forecast(const Database& database, Slot slot, Time now,
                                    std::span<const Time> moments);

// Entries that are due and still stored. If very many keys have such members, some of those that
// became due within the last 128 ms are left out.
struct Overdue {
  std::uint64_t keys = 0;
  std::uint64_t members = 0;
  Time oldest = kNever;  // the earliest deadline of all entries
};
Overdue overdue(Keyspace& keyspace, Time now);
Overdue overdue(const Database& database, Slot slot, Time now);  // of one key

}  // namespace mayfly
