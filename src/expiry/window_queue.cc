// SPDX-License-Identifier: Apache-2.0
#include "mayfly/window_queue.h"

#include <algorithm>

namespace mayfly {
namespace {

constexpr std::uint32_t kNoList = 0;  // windows are found by their end, so lists need no numbers

}  // namespace

WindowQueue::WindowQueue(WindowQueueOptions options) : options_(options) {
  options_.window = std::max(options_.window, Millis(1));
  options_.threshold = std::max<std::size_t>(options_.threshold, 1);
}

void WindowQueue::schedule(Slot slot, Time deadline) {
  cancel(slot);
  if (deadline == kNever) return;

  Window& window = window_for(deadline)->second;
  lists_.add(slot, deadline);
  lists_.link(slot, kNoList, window.head);
  window.earliest = std::min(window.earliest, deadline);
  ++size_;
  ++window.count;
  const std::size_t over = window.count - 1;
  if (over >= options_.threshold && over % options_.threshold == 0) wants_cleanup_ = true;
}

bool WindowQueue::cancel(Slot slot) {
  if (slot >= lists_.extent() || lists_.deadline(slot) == kNever) return false;
  const auto window = windows_.find(window_end(lists_.deadline(slot)));
  remove(slot, window->second);
  if (window->second.count == 0) windows_.erase(window);
  return true;
}

std::size_t WindowQueue::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = 0;
  while (taken < limit && is_due(next_deadline(), now)) {
    taken += take_from(windows_.begin(), now, limit - taken, out);
  }
  return taken;
}

std::size_t WindowQueue::squeeze(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = take_due(now, limit, out);
  const auto current = windows_.find(window_end(now));
  if (taken < limit && current != windows_.end() && is_due(current->second.earliest, now)) {
    taken += take_from(current, now, limit - taken, out);
  }
  wants_cleanup_ = false;
  return taken;
}

std::size_t WindowQueue::count_due(Time now) const {
  std::size_t count = 0;
  for (const auto& [end, window] : windows_) {
    if (is_due(end, now)) {
      count += window.count;
      continue;
    }
    // The first window that has not ended is the only other one in which something can be due.
    if (!is_due(window.earliest, now)) break;
    for (Slot slot = window.head; slot != kNoSlot; slot = lists_.next(slot)) {
      count += is_due(lists_.deadline(slot), now) ? 1 : 0;
    }
    break;
  }
  return count;
}

std::size_t WindowQueue::count_in_window(Time deadline) const {
  const auto window = windows_.find(window_end(deadline));
  return window == windows_.end() ? 0 : window->second.count;
}

// Rounds up to a multiple of the window, before the epoch as well as after it.
Time WindowQueue::window_end(Time deadline) const {
  const std::int64_t width = options_.window.count();
  const std::int64_t ms = deadline.time_since_epoch().count();
  const std::int64_t past = ms % width;
  const std::int64_t up = past == 0 ? 0 : past > 0 ? width - past : -past;
  constexpr Time kLast = kNever - Millis(1);
  return ms > 0 && up > (kLast - deadline).count() ? kLast : deadline + Millis(up);
}

// Deadlines mostly come in ascending order, so the last window is tried before the search.
WindowQueue::Windows::iterator WindowQueue::window_for(Time deadline) {
  return windows_.try_emplace(windows_.end(), window_end(deadline));
}

void WindowQueue::remove(Slot slot, Window& window) {
  lists_.unlink(slot, [&](std::uint32_t) -> Slot& { return window.head; });
  lists_.drop(slot);
  --window.count;
  --size_;
}

// Takes what is due in one window, and the window too if nothing is left in it.
std::size_t WindowQueue::take_from(Windows::iterator at, Time now, std::size_t limit,
                                   std::vector<Due>& out) {
  Window& window = at->second;
  std::size_t taken = 0;
  Time earliest = kNever;
  Slot slot = window.head;
  while (slot != kNoSlot && taken < limit) {
    const Slot next = lists_.next(slot);
    if (next != kNoSlot) lists_.prefetch(next);
    const Time deadline = lists_.deadline(slot);
    if (is_due(deadline, now)) {
      remove(slot, window);
      out.push_back({slot, deadline});
      ++taken;
    } else {
      earliest = std::min(earliest, deadline);
    }
    slot = next;
  }
  if (slot == kNoSlot) window.earliest = earliest;  // every entry was looked at
  if (window.count == 0) windows_.erase(at);
  return taken;
}

std::string WindowQueue::check_invariants() const {
  std::size_t total = 0;
  for (const auto& [end, window] : windows_) {
    if (window.head == kNoSlot) return "a window is empty";
    if (!lists_.is_sound(kNoList, window.head)) return "a window is not linked both ways";
    std::size_t count = 0;
    for (Slot slot = window.head; slot != kNoSlot; slot = lists_.next(slot), ++count) {
      if (window_end(lists_.deadline(slot)) != end) return "an entry is in the wrong window";
      if (lists_.deadline(slot) < window.earliest) return "a window's earliest is too late";
    }
    if (count != window.count) return "a window's count is wrong";
    total += count;
  }
  return total == size_ ? "" : "windows do not match size()";
}

}  // namespace mayfly
