// SPDX-License-Identifier: Apache-2.0
// TimerWheel: a hierarchy of wheels, each turning 64 times as slowly as the one below.
//
//   level 0    64 lists of one millisecond each        |.|.|x|.|.|x| ... |     the next 64 ms
//   level 1    64 lists of 64 ms                       |.|.|.|X|.|.| ... |     the next 4 s
//   level 2    64 lists of 4.1 s                       |.|X|.|.|.|.| ... |     the next 4.4 min
//   ...                                                                        level 3: 4.7 hours
//   level 10   the rest of the calendar                                        level 4: 12 days
//
// Think of deadline and wheel time as numbers of eleven 6-bit digits. An entry is filed at the
// level of the first digit in which they differ, in the list that its own digit there names. So
// all of a lower level is due before any of a higher one, a list holds one range of time and no
// other (nothing wraps round), and no deadline is too far.
//
// When the time reaches a list of a higher level, its entries are filed again, one level or more
// down (the cascade), unless all of them are due already. Each entry comes down ten times at most.
// A cascade counts against the limit of take_due(), four to one, so that no call takes long.
//
// Each list is a rope of eight strands; a slot's number says which is its own. To walk a linked
// list is to wait for memory at every step, and eight strands are eight waits at a time.
//
//   schedule, cancel   O(1)
//   take_due           O(1) amortised a slot, in order of deadline but within a list
//   next_deadline      O(1); the start of the next list, at or before the least deadline
//   count_due(t)       O(slots due at t + those in the one list that t falls into)
//   slack              none, at millisecond ticks
//   memory             16 bytes a slot, and 23 KB
//
// Choose it for one large index whose deadlines change often.

#pragma once

#include <array>
#include <cstdint>

#include "mayfly/expiry_index.h"
#include "mayfly/internal/slot_lists.h"

namespace mayfly {

class TimerWheel {
 public:
  using Cell = internal::SlotLists::Node;

  TimerWheel() { heads_.fill(kNoSlot); }

  void attach(const SlotTable& table) { lists_.attach(table); }
  void reserve(std::size_t count) { lists_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);
  void clear() { *this = TimerWheel(); }

  // Tells an empty wheel the time. Optional: without it, what is filed first is filed as seen from
  // the beginning of time, all of it far away, and has to come down more levels.
  void start_at(Time now) {
    if (size_ == 0) turn_to(now);
  }

  Time deadline(Slot slot) const { return lists_.deadline(slot); }
  Time next_deadline() const;
  std::size_t size() const { return size_; }
  std::size_t count_due(Time now) const;
  Millis slack() const { return Millis::zero(); }
  std::string check_invariants() const;

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kLists = 1u << kDigitBits;  // on each level
  static constexpr unsigned kLevels = 11;
  static_assert(kDigitBits * kLevels >= 64, "every deadline has a place");

  static constexpr unsigned kStrands = 8;

  // A list by its level and digit.
  struct Place {
    unsigned level;
    unsigned digit;
    std::uint32_t first_strand() const { return (level * kLists + digit) * kStrands; }
    std::uint32_t strand_of(Slot slot) const { return first_strand() + slot % kStrands; }
    bool operator==(const Place&) const = default;
  };

  Place place_of(Time deadline) const;
  Place first_place() const;  // REQUIRES: size_ > 0, and no cascade under way
  Time start_of(Place place) const;
  Time last_of(Place place) const;
  bool is_occupied(Place place) const { return (occupied_[place.level] >> place.digit & 1) != 0; }

  void turn_to(Time time);
  Place overdue_place() const;  // where what is due already when it is filed waits
  std::size_t take_overdue(Time now, std::size_t limit, std::vector<Due>& out);
  Place cascading_place() const;
  bool is_cascading(Place place) const;

  bool is_empty(Place place) const;
  void mark(Place place);             // notes whether the list has become empty or not
  void file(Slot slot, Place place);  // a slot that is in no list but has a deadline
  void unfile(Slot slot);
  template <class Use>
  std::size_t drain(Place place, std::size_t limit, Use use);
  std::size_t cascade(std::size_t limit);
  std::size_t count_list(Place place, Time now) const;

  internal::SlotLists lists_;
  std::array<Slot, kLevels * kLists * kStrands> heads_;
  std::array<std::uint64_t, kLevels> occupied_{};  // a bit for each list that is not empty
  std::uint64_t time_ = 0;                         // the wheel's time, as an ordinal
  Time overdue_ = kNever;   // no deadline in overdue_place() is before it; kNever if it is empty
  unsigned cascading_ = 0;  // the level whose list at time_ is coming down; 0 if none
  std::size_t size_ = 0;
};

}  // namespace mayfly
