// SPDX-License-Identifier: Apache-2.0
// DeadlineHeap: a binary heap in which changed entries are left behind.
//
//                  [10, slot 4, v7]                 version of slot:   4 -> v7   9 -> v12
//                 /                \                                   2 -> v3
//     [20, slot 9, v8]  stale     [30, slot 2, v3]
//            |
//     [50, slot 9, v12]
//
// To move or cancel an entry in the middle of a heap one would have to know where it stands. So
// the old one stays, and the slot gets a new version: an entry whose version is not its slot's is
// stale. Stale entries are dropped when they surface, and when they outnumber the live ones the
// heap is rebuilt without them (compaction), so that there are never more than half.
//
//   schedule        O(1) on average for deadlines in random order, O(log n) at worst
//   cancel          O(1), and its share of a compaction
//   take_due        O(log n) a slot
//   next_deadline   O(1) amortised, exact
//   count_due(t)    O(entries due at t), stale ones included
//   slack           none
//   memory          28 bytes a slot; up to 44 when half of the heap is stale
//
// Choose it for a few thousand entries, or where deadlines hardly ever change.

#pragma once

#include <cstdint>

#include "mayfly/expiry_index.h"
#include "mayfly/deadline_column.h"

namespace mayfly {

class DeadlineHeap {
 public:
  using Cell = internal::DeadlineCell;

  void attach(const SlotTable& table) { deadlines_.attach(table); }
  void reserve(std::size_t count) { deadlines_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);
  void clear() { *this = DeadlineHeap(); }

  Time deadline(Slot slot) const { return deadlines_[slot]; }
  Time next_deadline() const { return heap_.empty() ? kNever : heap_.front().deadline; }
  std::size_t size() const { return deadlines_.size(); }
  std::size_t count_due(Time now) const;
  Millis slack() const { return Millis::zero(); }
  std::string check_invariants() const;

  // Entries in the heap, the stale ones included.
  std::size_t heap_size() const { return heap_.size(); }

 private:
  struct Entry {
    Time deadline;
    Slot slot;
    std::uint32_t version;
  };
  static_assert(sizeof(Entry) == 16);

  // For the standard heap functions, which keep the greatest on top.
  static bool later(const Entry& a, const Entry& b) { return a.deadline > b.deadline; }

  bool is_stale(const Entry& entry) const { return versions_[entry.slot] != entry.version; }
  void forget(Slot slot);
  void pop_top();
  void drop_stale();  // drops stale entries from the top, and compacts if they are too many
  void compact();     // drops all that are stale
  void renumber();    // compacts, and counts versions from the start again

  internal::DeadlineColumn deadlines_;
  // Kept here even if deadlines stand in the owner's entries: stale entries outlive those.
  internal::SlotColumn<std::uint32_t> versions_;  // of each slot; 0 if it is not scheduled
  std::vector<Entry> heap_;                       // the top is live, if there is one
  std::uint32_t last_version_ = 0;
};

}  // namespace mayfly
