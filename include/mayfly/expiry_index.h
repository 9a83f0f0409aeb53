// SPDX-License-Identifier: Apache-2.0
// What every expiry index promises. The cache and the server are written against this concept, and
// expiry_index_test.cc holds each index to it.
//
//   TimerWheel index;
//   index.schedule(7, clock.now() + 30s);                     // entry number 7 has a deadline
//   index.schedule(7, clock.now() + 60s);                     // a later one now
//   std::vector<Due> due;
//   index.take_due(clock.now(), 100, due);                    // at most 100 entries to remove
//   sleep_until(index.next_deadline());                       // nothing to take before that
//
// An index knows entries by number (see slot.h); it never owns one and never calls back. Its user
// drives it, asks for due entries in batches, and stops when it likes. An index is never early, and
// late by slack() at most. Reads are exact without it, since they ask is_due(deadline(slot), now).
//
// Threads: an index belongs to one thread at a time. Time: an index never asks a clock.
// docs/expiry_indexes.md compares the indexes and says when to choose which.

#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

// The slack of an index that can promise none.
inline constexpr Millis kNoBound = Millis::max();

// A slot that was taken, and the deadline it had.
struct Due {
  Slot slot;
  Time deadline;
};

template <class Index>
concept ExpiryIndex = requires(Index index, const Index& view, Slot slot, Time time,
                               std::size_t count, std::vector<Due>& out, const SlotTable& table) {
  // What it keeps for each slot; blank for a slot without a deadline. Its owner may keep these
  // cells in its own entries, so that to look at an entry is to know its deadline: see SlotTable.
  { typename Index::Cell{}.deadline } -> std::convertible_to<Time>;
  index.attach(table);

  // Makes deadline(slot) answer for every slot below `count`; schedule() does so by itself.
  index.reserve(count);

  // Gives the slot a deadline, or moves the one it has; kNever cancels.
  index.schedule(slot, time);

  // Forgets the slot. Returns whether it had a deadline.
  { index.cancel(slot) } -> std::same_as<bool>;

  // Appends to `out` at most `count` slots that are due at `time`, and forgets them. Returns how
  // many. Where is_due(next_deadline(), time) still holds afterwards, there is more to do.
  { index.take_due(time, count, out) } -> std::same_as<std::size_t>;

  index.clear();

  // The slot's deadline, or kNever. REQUIRES: slot below what was reserved or scheduled.
  { view.deadline(slot) } -> std::same_as<Time>;

  // When to call take_due() next: no slot can be taken before. kNever if none ever can.
  { view.next_deadline() } -> std::same_as<Time>;

  // How many slots have a deadline, and for how many of them it is due at `time`. Exact.
  { view.size() } -> std::same_as<std::size_t>;
  { view.count_due(time) } -> std::same_as<std::size_t>;

  // How long after its deadline a slot may first be taken.
  { view.slack() } -> std::same_as<Millis>;

  // Empty if the structure is sound, else what is wrong with it. For tests: O(n) or more.
  { view.check_invariants() } -> std::same_as<std::string>;
};

}  // namespace mayfly
