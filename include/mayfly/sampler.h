// SPDX-License-Identifier: Apache-2.0
// Sampler: finds due entries by trying some at random, as Redis does.
//
//   members_   [ 4 | 9 | 2 | 7 | 0 | 5 ]      in no order; each slot knows its place here
//                    ^       ^       ^        20 tried at random; more than 25 % due? once more
//
// A cycle tries `sample` members, takes those that are due, and goes on while more than
// `repeat_percent` of a round were. Cycles come `cycles_per_second` times a second: that is what
// next_deadline() says. It keeps no order, so writes are cheap; but it CANNOT PROMISE A BOUND on
// lateness. It tends to leave about repeat_percent of all entries due and present, and the last
// few entries of a batch can stay for minutes among many that are alive (docs/benchmarks.md).
//
//   schedule, cancel   O(1)
//   take_due           O(slots tried); what it finds is chance
//   next_deadline      O(1): the next cycle
//   count_due(t)       O(n)
//   slack              no bound
//   memory             20 bytes a slot
//
// Choose it to compare with Redis. Every other index is better at the same work.

#pragma once

#include <cstdint>

#include "mayfly/expiry_index.h"
#include "mayfly/internal/slot_column.h"
#include "mayfly/random.h"

namespace mayfly {

struct SamplerOptions {
  std::size_t sample = 20;
  unsigned repeat_percent = 25;
  unsigned cycles_per_second = 10;
  std::uint64_t seed = 1;
};

class Sampler {
 public:
  struct Cell {
    Time deadline = kNever;
    std::uint32_t position = 0;  // members_[position] is this slot
  };

  explicit Sampler(SamplerOptions options = {});

  void attach(const SlotTable& table) { slots_.attach(table); }
  void reserve(std::size_t count) { slots_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);

  // One cycle, cut short at `limit`.
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);

  void clear() { *this = Sampler(options_); }

  Time deadline(Slot slot) const { return slots_[slot].deadline; }
  Time next_deadline() const { return members_.empty() ? kNever : next_cycle_; }
  std::size_t size() const { return members_.size(); }
  std::size_t count_due(Time now) const;
  Millis slack() const { return kNoBound; }
  std::string check_invariants() const;

 private:
  void remove(Slot slot);

  SamplerOptions options_;
  internal::SlotColumn<Cell> slots_;
  std::vector<Slot> members_;
  Time next_cycle_ = Time::min();
  Random random_;
};

}  // namespace mayfly
