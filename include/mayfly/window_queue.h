// SPDX-License-Identifier: Apache-2.0
// WindowQueue: deadlines rounded up to windows of time, and the windows in ascending order.
//
//   window ends at:    5 s            15 s            20 s                  1 h
//   count:             3              1               120  crowded!         7
//   slots:             4 - 9 - 2      7               0 - 5 - 11 - ...      ...
//
// Rounding up batches the work: the owner wakes once a window instead of once an entry, and nothing
// is early, only late by less than a window. The first window's end is when to wake.
//
// A window that gets more than `threshold` entries is crowded: it asks to be cleaned without
// waiting for its end (wants_cleanup). That takes the entries in it that are due by themselves, so
// it is not early either. Each further `threshold` entries ask again.
//
//   schedule, cancel   O(log windows); O(1) for the window used last
//   take_due           O(1) amortised a slot
//   next_deadline      O(1): the end of the first window
//   count_due(t)       O(windows due at t + entries of the window that t falls into)
//   slack              one window, less a millisecond
//   memory             16 bytes a slot, and 80 a window
//
// Choose it when TTLs are alike and many, and a second of lateness is worth fewer wake-ups.

#pragma once

#include <map>

#include "mayfly/expiry_index.h"
#include "mayfly/internal/slot_lists.h"

namespace mayfly {

struct WindowQueueOptions {
  Millis window{1000};                      // at least 1 ms, which makes the queue exact
  std::size_t threshold = ~std::size_t{0};  // entries in one window; the default never triggers
};

class WindowQueue {
 public:
  using Cell = internal::SlotLists::Node;

  explicit WindowQueue(WindowQueueOptions options = {});

  void attach(const SlotTable& table) { lists_.attach(table); }
  void reserve(std::size_t count) { lists_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);
  void clear() { *this = WindowQueue(options_); }

  Time deadline(Slot slot) const { return lists_.deadline(slot); }
  Time next_deadline() const { return windows_.empty() ? kNever : windows_.begin()->first; }
  std::size_t size() const { return size_; }
  std::size_t count_due(Time now) const;
  Millis slack() const { return options_.window - Millis(1); }
  std::string check_invariants() const;

  // Whether a window has become crowded since the last squeeze().
  bool wants_cleanup() const { return wants_cleanup_; }

  // Like take_due, and also takes what is due in the window that has not ended yet. For cleaning a
  // crowded window, and for making room: it costs a look at each entry of that window, unless it
  // is known that none can be due.
  std::size_t squeeze(Time now, std::size_t limit, std::vector<Due>& out);

  // How many entries fall into the window that ends at or after `deadline`; and how many windows.
  std::size_t count_in_window(Time deadline) const;
  std::size_t window_count() const { return windows_.size(); }

 private:
  struct Window {
    Slot head = kNoSlot;
    std::size_t count = 0;
    Time earliest = kNever;  // no deadline in the window is before it
  };
  using Windows = std::map<Time, Window>;  // by the window's end

  Time window_end(Time deadline) const;
  Windows::iterator window_for(Time deadline);
  void remove(Slot slot, Window& window);
  std::size_t take_from(Windows::iterator at, Time now, std::size_t limit, std::vector<Due>& out);

  WindowQueueOptions options_;
  internal::SlotLists lists_;
  Windows windows_;  // none is empty
  std::size_t size_ = 0;
  bool wants_cleanup_ = false;
};

}  // namespace mayfly
