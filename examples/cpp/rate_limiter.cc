// SPDX-License-Identifier: Apache-2.0
// Rate limiter: ten calls a minute for each user, by counters that reset themselves.
//
// A counter is an entry whose deadline is the end of its window. Nobody sets it back to zero, and
// nobody has to forget users who went away: a counter that has expired is not there.
//
// The fixed window is the simpler one, but lets twice the limit through around the end of a window.
// The sliding window remembers the one before, and counts the part of it that is still in reach.

#include <cstdint>
#include <iostream>
#include <string>

#include "mayfly/cache.h"

using namespace std::chrono_literals;

namespace {

using mayfly::Millis;

constexpr int kLimit = 10;
constexpr Millis kWindow = 1min;

// At most kLimit calls from the first one until kWindow has passed.
class FixedWindow {
 public:
  explicit FixedWindow(const mayfly::Clock& clock) : counts_(clock) {}

  bool allow(const std::string& who) {
    const auto entry = counts_.find(who);
    if (!entry) return counts_.put(who, 1, kWindow);  // the first call starts the window
    if (entry->value >= kLimit) return false;
    return counts_.put(who, entry->value + 1, entry->deadline);  // counts, and keeps the deadline
  }

  std::size_t stored() const { return counts_.stored(); }

 private:
  mayfly::Cache<std::string, int> counts_;
};

// At most about kLimit calls in any stretch of kWindow.
class SlidingWindow {
 public:
  explicit SlidingWindow(const mayfly::Clock& clock) : clock_(clock), counts_(clock) {}

  bool allow(const std::string& who) {
    const Millis now = clock_.now().time_since_epoch();
    const std::int64_t number = now / kWindow;
    const double left = 1 - static_cast<double>((now % kWindow).count()) / kWindow.count();
    const int present = count(who, number);
    if (present + count(who, number - 1) * left >= kLimit) return false;

    // The next window still asks for it; nobody does after that.
    const mayfly::Time end((number + 2) * kWindow);
    return counts_.put(key(who, number), present + 1, end);
  }

  std::size_t size() const { return counts_.size(); }

 private:
  static std::string key(const std::string& who, std::int64_t number) {
    return who + '#' + std::to_string(number);
  }

  int count(const std::string& who, std::int64_t number) {
    const int* const found = counts_.get(key(who, number));
    return found != nullptr ? *found : 0;
  }

  const mayfly::Clock& clock_;
  mayfly::Cache<std::string, int> counts_;
};

// Whether `expected` of twenty calls are allowed.
template <class Limiter>
bool burst(const char* when, Limiter& limiter, int expected) {
  int allowed = 0;
  for (int i = 0; i < 20; ++i) allowed += limiter.allow("ann") ? 1 : 0;
  std::cout << "  " << when << ": " << allowed << " of 20 allowed\n";
  return allowed == expected;
}

bool try_fixed_window(mayfly::ManualClock& clock) {
  std::cout << "fixed window\n";
  FixedWindow limiter(clock);
  bool right = burst("at the start", limiter, 10);
  clock.advance(kWindow - 1ms);
  right &= burst("a millisecond before the minute is over", limiter, 0);
  clock.advance(1ms);
  right &= burst("when it is over", limiter, 10);
  clock.advance(kWindow);
  right &= limiter.allow("bob");  // a write, which removes what ann left
  return right && limiter.stored() == 1;
}

bool try_sliding_window(mayfly::ManualClock& clock) {
  std::cout << "sliding window\n";
  SlidingWindow limiter(clock);
  bool right = burst("at the start", limiter, 10);
  clock.advance(kWindow);
  right &= burst("in the next minute, at once", limiter, 0);
  clock.advance(kWindow / 2);
  right &= burst("half a minute later", limiter, 5);
  clock.advance(3 * kWindow);
  return right && limiter.size() == 0;
}

}  // namespace

int main() {
  mayfly::ManualClock clock;  // in a program of yours: mayfly::SteadyClock
  const bool fixed_is_right = try_fixed_window(clock);
  const bool sliding_is_right = try_sliding_window(clock);
  return fixed_is_right && sliding_is_right ? 0 : 1;
}
