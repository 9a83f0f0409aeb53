// SPDX-License-Identifier: Apache-2.0
// EntryTimes: the times of cache entries beside their deadlines. Few entries have any, so each kind
// is a column of its own, which costs nothing until it is used.
//
//   slide     how far a read moves the deadline, and the latest that it may become
//   refresh   when the entry becomes stale
//   rest      until when a stale entry is not loaded again, because a load of it has failed

#pragma once

#include <algorithm>

#include "mayfly/expiry.h"
#include "mayfly/internal/slot_column.h"

namespace mayfly::internal {

class EntryTimes {
 public:
  // The entry gets this expiry: all that it had before is dropped.
  void set(Slot slot, const Expiry& expiry, Time now) {
    drop(slot);
    if (expiry.is_sliding()) slides_.claim(slot) = {expiry.idle(), expiry.cap(now)};
    const Time refresh_at = expiry.refresh_at(now);
    if (refresh_at != kNever) refresh_.claim(slot).at = refresh_at;
  }

  void drop(Slot slot) {
    if (is_sliding(slot)) slides_.drop(slot);
    if (is_set(refresh_, slot)) refresh_.drop(slot);
    if (is_set(rests_, slot)) rests_.drop(slot);
  }

  bool is_sliding(Slot slot) const {
    return slot < slides_.extent() && slides_[slot].idle != Millis::zero();
  }

  // The deadline after a read. REQUIRES: is_sliding().
  Time slid(Slot slot, Time now) const {
    return std::min(deadline_after(now, slides_[slot].idle), slides_[slot].cap);
  }

  // False as long as no entry ever had a time at which it becomes stale.
  bool knows_stale() const { return refresh_.extent() > 0; }

  bool is_stale(Slot slot, Time now) const {
    return slot < refresh_.extent() && is_due(refresh_[slot].at, now);
  }

  void rest(Slot slot, Time until) {
    if (until == kNever) until -= Millis(1);  // kNever is the blank value
    (is_set(rests_, slot) ? rests_.at(slot) : rests_.claim(slot)).at = until;
  }
  bool is_resting(Slot slot, Time now) const {
    return is_set(rests_, slot) && !is_due(rests_[slot].at, now);
  }

 private:
  struct Slide {
    Millis idle{0};  // zero: the entry does not slide
    Time cap = kNever;
  };
  struct Moment {
    Time at = kNever;  // kNever: there is none
  };

  static bool is_set(const SlotColumn<Moment>& column, Slot slot) {
    return slot < column.extent() && column[slot].at != kNever;
  }

  SlotColumn<Slide> slides_;
  SlotColumn<Moment> refresh_;
  SlotColumn<Moment> rests_;
};

}  // namespace mayfly::internal
