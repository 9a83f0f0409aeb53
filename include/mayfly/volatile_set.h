// SPDX-License-Identifier: Apache-2.0
// VolatileSet: ordered time buckets that hold small arrays of slots, and split when they fill.
//
//   node, 64 ranges of 4,096 ms    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 ...     63 |
//                                    \___________/   \___/   |   |    \_______/
//                                     bucket, 900    bucket  |  empty  bucket
//                                     slots          1,800   |         1,100
//                                                            v
//   node, 64 ranges of 64 ms                       | 0 ... 31 | 32 ... 63 |
//                                                  bucket 1,100  bucket 1,200
//
// A tree on the digits of the deadline, six bits a level. A bucket covers one range of its node,
// or 2, 4, 8 ... or all 64 of them, and holds at most 2,048 slots in no order. One that is full is
// split by time: into two halves of its ranges, or, if it covers one range only, into a node of
// its own. When even a single millisecond overflows, time cannot split it any more, and the digits
// of a hash of the slot go on where those of the deadline end: the bucket has turned into a hash.
// Neighbours that have become small are joined again, so that memory follows what is in use.
//
// Every bucket knows how many slots it holds; that gives counts and estimates without a scan.
// Only 4 bytes of an entry are in its bucket. Nothing in the tree points to a particular entry, so
// that to move one never touches another.
//
//   schedule, cancel    O(1) amortised: a descent of at most 17 levels (2 to 4 in practice; their
//                       number depends on the range of deadlines, not on how many there are)
//   take_due            O(1) amortised a slot, in order of deadline but within one bucket
//   next_deadline       O(1); at or before the least deadline, and exact after a take_due()
//   count_due(t)        O(buckets due at t), a thousand slots each, and a look into one; exact
//   estimate_due(t)     the same without the look
//   first_deadline(t)   the least one at or after t, exact; a look into one or two buckets
//   visit(from, to)     in order of deadline, O(what it visits)
//   slack               none
//   memory              12 to 16 bytes a slot, mostly 14.6: 8 for the deadline, the rest in buckets
//
// Choose it unless you know better: the default of the cache.

#pragma once

#include <functional>
#include <memory>

#include "mayfly/deadline_column.h"
#include "mayfly/expiry_index.h"

namespace mayfly {

namespace internal {
class VolatileTree;
}  // namespace internal

class VolatileSet {
 public:
  using Cell = internal::DeadlineCell;

  VolatileSet();
  ~VolatileSet();
  VolatileSet(VolatileSet&&) noexcept;
  VolatileSet& operator=(VolatileSet&&) noexcept;

  void attach(const SlotTable& table) { slots_.attach(table); }
  void reserve(std::size_t count) { slots_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);
  void clear() { *this = VolatileSet(); }

  Time deadline(Slot slot) const { return slots_[slot]; }
  Time find(Slot slot) const { return slots_.find(slot); }  // of any slot; kNever if it has none
  Time next_deadline() const;
  Time first_deadline(Time from) const;  // kNever if no entry has one
  std::size_t size() const { return slots_.size(); }
  std::size_t count_due(Time now) const;
  Millis slack() const { return Millis::zero(); }
  std::string check_invariants() const;

  // About how many slots are due: exact but for one bucket, whose deadlines are taken to be spread
  // evenly. Off by less than 2,048.
  std::size_t estimate_due(Time now) const;

  // Calls `see(slot, deadline)` for the slots with from <= deadline < to, soonest first, until it
  // returns false. The set must not be changed meanwhile.
  using See = std::function<bool(Slot, Time)>;
  void visit(Time from, Time to, const See& see) const;

 private:
  internal::PlacedColumn slots_;
  std::unique_ptr<internal::VolatileTree> tree_;  // null until the first deadline
  mutable Time next_ = kNever;  // what the tree says, unless is_next_known_ is false
  mutable bool is_next_known_ = true;
};

}  // namespace mayfly
