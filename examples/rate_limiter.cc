// SPDX-License-Identifier: Apache-2.0
// Two rate limiters whose counters need no cleaning up, because each has a deadline.
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

// At most `limit` calls from the first one until `window` has passed.
class FixedWindow {
 public:
  FixedWindow(const mayfly::Clock& clock, int limit, Millis window)
      : limit_(limit), window_(window), counts_(clock) {}

  bool allow(const std::string& who) {
    const auto entry = counts_.find(who);
    if (!entry) return counts_.put(who, 1, window_);  // the first call starts the window
    if (entry->value >= limit_) return false;
    return counts_.put(who, entry->value + 1, entry->deadline);  // counts, and keeps the deadline
  }

  std::size_t stored() const { return counts_.stored(); }

 private:
  const int limit_;
  const Millis window_;
  mayfly::Cache<std::string, int> counts_;
};

// At most about `limit` calls in any stretch of `window`.
class SlidingWindow {
 public:
  SlidingWindow(const mayfly::Clock& clock, int limit, Millis window)
      : clock_(clock), limit_(limit), window_(window), counts_(clock) {}

  bool allow(const std::string& who) {
    const Millis now = clock_.now().time_since_epoch();
    const std::int64_t number = now / window_;
    const double passed =
        static_cast<double>((now % window_).count()) / static_cast<double>(window_.count());
    const int present = count(who, number);
    if (present + count(who, number - 1) * (1 - passed) >= limit_) return false;

    // The next window still asks for it; nobody does after that.
    const mayfly::Time end((number + 2) * window_);
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
  const int limit_;
  const Millis window_;
  mayfly::Cache<std::string, int> counts_;
};

template <class Limiter>
int burst(Limiter& limiter, const std::string& who, int calls) {
  int allowed = 0;
  for (int i = 0; i < calls; ++i) allowed += limiter.allow(who) ? 1 : 0;
  return allowed;
}

bool show(const char* what, int allowed, int expected) {
  std::cout << "  " << what << ": " << allowed << " of 20 allowed\n";
  return allowed == expected;
}

bool try_fixed_window() {
  std::cout << "fixed window, 10 a minute\n";
  mayfly::ManualClock clock;
  FixedWindow limiter(clock, 10, 1min);
  bool is_right = show("at the start", burst(limiter, "ann", 20), 10);
  clock.advance(59'999ms);
  is_right &= show("a millisecond before the minute is over", burst(limiter, "ann", 20), 0);
  clock.advance(1ms);
  is_right &= show("when it is over", burst(limiter, "ann", 20), 10);
  clock.advance(1min);
  is_right &= limiter.allow("bob");  // a write, which removes what ann left
  return is_right && limiter.stored() == 1;
}

bool try_sliding_window() {
  std::cout << "sliding window, 10 a minute\n";
  mayfly::ManualClock clock;
  SlidingWindow limiter(clock, 10, 1min);
  bool is_right = show("at the start", burst(limiter, "ann", 20), 10);
  clock.advance(60s);
  is_right &= show("in the next minute, at once", burst(limiter, "ann", 20), 0);
  clock.advance(30s);
  is_right &= show("half a minute later", burst(limiter, "ann", 20), 5);
  clock.advance(3min);
  return is_right && limiter.size() == 0;
}

}  // namespace

int main() {
  const bool is_fixed_right = try_fixed_window();
  const bool is_sliding_right = try_sliding_window();
  return is_fixed_right && is_sliding_right ? 0 : 1;
}
