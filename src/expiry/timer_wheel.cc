// SPDX-License-Identifier: Apache-2.0
// Invariant, for an entry in the list `digit` of `level`: above `level` its digits are those of
// time_, and its digit there is greater than that of time_. Two lists are exempt: the one of level
// 0 at time_ itself, where whatever was due already when it was filed waits, and the one of level
// cascading_ at time_, which is on its way down.

#include "mayfly/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "expiry/ordinal.h"

namespace mayfly {
namespace {

// How many entries may come down a level for each that may be taken.
constexpr std::size_t kCascadePerTaken = 4;

}  // namespace

void TimerWheel::schedule(Slot slot, Time deadline) {
  if (deadline == kNever) {
    cancel(slot);
    return;
  }
  lists_.reserve(std::size_t{slot} + 1);
  const Place place = place_of(deadline);
  if (lists_.deadline(slot) != kNever) {
    unfile(slot);
    lists_.set_deadline(slot, deadline);
    file(slot, place);
    return;
  }
  lists_.add(slot, deadline);
  file(slot, place);
  ++size_;
}

bool TimerWheel::cancel(Slot slot) {
  if (slot >= lists_.extent() || lists_.deadline(slot) == kNever) return false;
  unfile(slot);
  lists_.drop(slot);
  --size_;
  return true;
}

std::size_t TimerWheel::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = 0;
  std::size_t moves = limit > std::numeric_limits<std::size_t>::max() / kCascadePerTaken
                          ? std::numeric_limits<std::size_t>::max()
                          : limit * kCascadePerTaken;
  while (size_ > 0 && taken < limit) {
    if (internal::ordinal(now) < time_) return taken + take_overdue(now, limit - taken, out);
    if (cascading_ != 0) {
      if (moves == 0) return taken;
      moves -= cascade(moves);
      continue;
    }
    const Place place = first_place();
    const Time start = start_of(place);
    if (!is_due(start, now)) break;

    if (place.level != 0 && !is_due(last_of(place), now)) {
      turn_to(start);
      cascading_ = place.level;
      continue;
    }
    // Everything in the list is due: it starts at now or before, and ends there too.
    taken += drain(place, limit - taken, [&](Slot slot) {
      out.push_back({slot, lists_.deadline(slot)});
      lists_.drop(slot);
      --size_;
    });
  }
  // Nothing stands between the wheel's time and now, so the wheel may turn that far.
  const bool is_done = cascading_ == 0 && (size_ == 0 || !is_due(start_of(first_place()), now));
  if (is_done && internal::ordinal(now) > time_) turn_to(now);
  return taken;
}

Time TimerWheel::next_deadline() const {
  if (size_ == 0) return kNever;
  return std::min(overdue_,
                  cascading_ != 0 ? internal::from_ordinal(time_) : start_of(first_place()));
}

std::size_t TimerWheel::count_due(Time now) const {
  std::size_t count = cascading_ != 0 ? count_list(cascading_place(), now) : 0;
  for (unsigned level = 0; level < kLevels; ++level) {
    for (std::uint64_t bits = occupied_[level]; bits != 0; bits &= bits - 1) {
      const Place place{level, static_cast<unsigned>(std::countr_zero(bits))};
      if (is_cascading(place)) continue;
      // What comes after this list starts later still. At time_ itself older deadlines may wait.
      const Time start = start_of(place);
      if (internal::ordinal(start) != time_ && !is_due(start, now)) return count;
      count += count_list(place, now);
    }
  }
  return count;
}

// The level of the first digit in which the deadline differs from the wheel's time.
TimerWheel::Place TimerWheel::place_of(Time deadline) const {
  const std::uint64_t at = std::max(internal::ordinal(deadline), time_);
  const std::uint64_t difference = at ^ time_;
  if (difference == 0) return {0, static_cast<unsigned>(at & (kLists - 1))};
  const unsigned level = (63 - static_cast<unsigned>(std::countl_zero(difference))) / kDigitBits;
  return {level, static_cast<unsigned>(at >> (level * kDigitBits) & (kLists - 1))};
}

TimerWheel::Place TimerWheel::first_place() const {
  unsigned level = 0;
  while (occupied_[level] == 0) ++level;
  return {level, static_cast<unsigned>(std::countr_zero(occupied_[level]))};
}

Time TimerWheel::start_of(Place place) const {
  const unsigned shift = place.level * kDigitBits;
  const unsigned above = shift + kDigitBits;
  const std::uint64_t prefix = above >= 64 ? 0 : time_ >> above << above;
  return internal::from_ordinal(prefix | std::uint64_t{place.digit} << shift);
}

Time TimerWheel::last_of(Place place) const {
  const std::uint64_t width = std::uint64_t{1} << (place.level * kDigitBits);
  return internal::from_ordinal(internal::ordinal(start_of(place)) + (width - 1));
}

bool TimerWheel::is_empty(Place place) const {
  const auto first = heads_.begin() + place.first_strand();
  return std::all_of(first, first + kStrands, [](Slot head) { return head == kNoSlot; });
}

void TimerWheel::mark(Place place) {
  const std::uint64_t bit = std::uint64_t{1} << place.digit;
  if (is_empty(place)) {
    occupied_[place.level] &= ~bit;
    if (place == overdue_place()) overdue_ = kNever;
  } else {
    occupied_[place.level] |= bit;
  }
}

void TimerWheel::file(Slot slot, Place place) {
  const std::uint32_t strand = place.strand_of(slot);
  lists_.link(slot, strand, heads_[strand]);
  occupied_[place.level] |= std::uint64_t{1} << place.digit;
  if (place == overdue_place()) overdue_ = std::min(overdue_, lists_.deadline(slot));
}

void TimerWheel::unfile(Slot slot) {
  const std::uint32_t strand =
      lists_.unlink(slot, [this](std::uint32_t number) -> Slot& { return heads_[number]; });
  if (strand == kNoSlot || heads_[strand] != kNoSlot) return;
  mark({strand / kStrands / kLists, strand / kStrands % kLists});
}

// Takes up to `limit` slots out of a list, one from each strand in turn, and hands them to `use`.
template <class Use>
std::size_t TimerWheel::drain(Place place, std::size_t limit, Use use) {
  std::array<Slot, kStrands> heads;
  std::copy_n(heads_.begin() + place.first_strand(), kStrands, heads.begin());
  std::size_t count = 0;
  bool is_left = true;
  while (is_left && count < limit) {
    is_left = false;
    for (std::size_t i = 0; i < kStrands && count < limit; ++i) {
      const Slot slot = heads[i];
      if (slot == kNoSlot) continue;
      heads[i] = lists_.next(slot);
      if (heads[i] != kNoSlot) lists_.prefetch(heads[i]);
      use(slot);
      ++count;
      is_left = true;
    }
  }
  for (std::uint32_t i = 0; i < kStrands; ++i) {
    const std::uint32_t strand = place.first_strand() + i;
    heads_[strand] = heads[i];
    lists_.make_first(strand, heads[i]);
  }
  mark(place);
  return count;
}

// REQUIRES: nothing waits between the wheel's time and `time`.
void TimerWheel::turn_to(Time time) {
  time_ = internal::ordinal(time);
  overdue_ = kNever;
}

TimerWheel::Place TimerWheel::overdue_place() const {
  return {0, static_cast<unsigned>(time_ & (kLists - 1))};
}

// The clock was set back behind the wheel's time. What was filed since may be due or not, and waits
// in one list with what was due before: here each entry has to be asked.
std::size_t TimerWheel::take_overdue(Time now, std::size_t limit, std::vector<Due>& out) {
  std::vector<Due> waiting;
  drain(overdue_place(), size_, [&](Slot slot) {
    waiting.push_back({slot, lists_.deadline(slot)});
  });
  std::size_t taken = 0;
  for (const Due& one : waiting) {
    if (taken == limit || !is_due(one.deadline, now)) {
      file(one.slot, overdue_place());
      continue;
    }
    lists_.drop(one.slot);
    --size_;
    out.push_back(one);
    ++taken;
  }
  return taken;
}

TimerWheel::Place TimerWheel::cascading_place() const {
  return {cascading_, static_cast<unsigned>(time_ >> cascading_ * kDigitBits & (kLists - 1))};
}

bool TimerWheel::is_cascading(Place place) const {
  return cascading_ != 0 && place == cascading_place();
}

std::size_t TimerWheel::cascade(std::size_t limit) {
  const Place from = cascading_place();
  const std::size_t moved =
      drain(from, limit, [this](Slot slot) { file(slot, place_of(lists_.deadline(slot))); });
  if (!is_occupied(from)) cascading_ = 0;
  return moved;
}

std::size_t TimerWheel::count_list(Place place, Time now) const {
  std::size_t count = 0;
  for (std::uint32_t strand = 0; strand < kStrands; ++strand) {
    Slot slot = heads_[place.first_strand() + strand];
    for (; slot != kNoSlot; slot = lists_.next(slot)) {
      count += is_due(lists_.deadline(slot), now) ? 1 : 0;
    }
  }
  return count;
}

std::string TimerWheel::check_invariants() const {
  std::size_t count = 0;
  for (std::uint32_t strand = 0; strand < heads_.size(); ++strand) {
    const std::uint32_t list = strand / kStrands;
    const Place place{list / kLists, list % kLists};
    if (is_occupied(place) == is_empty(place)) return "a list's bit does not match it";
    if (!lists_.is_sound(strand, heads_[strand])) return "a list is not linked both ways";

    for (Slot slot = heads_[strand]; slot != kNoSlot; slot = lists_.next(slot), ++count) {
      const Time deadline = lists_.deadline(slot);
      const bool is_coming_down =
          is_cascading(place) && start_of(place) <= deadline && deadline <= last_of(place);
      if (!is_coming_down && place_of(deadline) != place) return "an entry is misfiled";
    }
  }
  if (is_empty(overdue_place()) != (overdue_ == kNever)) return "the overdue deadline is wrong";
  return count == size_ ? "" : "lists do not match size()";
}

}  // namespace mayfly
