// SPDX-License-Identifier: Apache-2.0
// Ten million random operations, the same on every index that promises a bound: what can be
// observed must be identical. The plain tree goes first and leaves a record that the others have to
// match.
//
// Observed are: what cancel() returns, every deadline, size(), count_due() at any time, and which
// slots have been taken once all that is due is taken. Which of several due slots a limited
// take_due() gives first is not promised, nor is anything between a deadline and the end of its
// window; so the clock is brought to the end of a window whenever all is taken.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/random.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/volatile_set.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace differential_test {

constexpr std::size_t kOperations = 10'000'000;
constexpr Slot kSlots = 20'000;
constexpr Millis kWindow{64};

// A running sum of all that was observed, and its value at every 100,000th operation, so that a
// difference is found near to where it arose.
class Record {
 public:
  void note(std::uint64_t observed) {
    sum_ = (sum_ ^ observed) * 0x9E3779B97F4A7C15u;
    sum_ ^= sum_ >> 29;
  }
  void mark() { marks_.push_back(sum_); }
  const std::vector<std::uint64_t>& marks() const { return marks_; }

 private:
  std::uint64_t sum_ = 1;
  std::vector<std::uint64_t> marks_;
};

template <class Index>
class Run {
 public:
  explicit Run(Index index) : index_(std::move(index)) { index_.reserve(kSlots); }

  Record play() {
    for (std::size_t i = 0; i < kOperations; ++i) {
      step();
      if (i % 100'000 == 0) record_.mark();
      if (i % 1'000'000 == 0) {
        EXPECT_EQ(index_.check_invariants(), "");
      }
    }
    take_all(Millis(100'000'000'000));
    record_.note(index_.size());
    record_.mark();
    return record_;
  }

 private:
  void step() {
    const std::uint64_t dice = random_.below(1'000);
    const auto slot = static_cast<Slot>(random_.below(kSlots));
    if (dice < 550) {
      index_.schedule(slot, now_ + ttl());
    } else if (dice < 800) {
      record_.note(index_.cancel(slot) ? 1 : 0);
    } else if (dice < 997) {
      record_.note(static_cast<std::uint64_t>(index_.deadline(slot).time_since_epoch().count()));
      record_.note(index_.size());
    } else if (dice < 998) {
      record_.note(index_.count_due(now_ + ttl()));
    } else {
      take_all(kWindow * static_cast<std::int64_t>(random_.below(20)));
    }
  }

  // Short and long, and often the same.
  Millis ttl() {
    const auto any = [this](std::uint64_t bound) {
      return Millis(static_cast<std::int64_t>(random_.below(bound)));
    };
    const std::uint64_t dice = random_.below(10);
    if (dice < 6) return any(2'000);
    if (dice < 8) return any(5) * 500;
    return dice < 9 ? any(5'000'000) : any(100'000'000'000);
  }

  void take_all(Millis step) {
    now_ += step;
    std::vector<Due> due;
    while (is_due(index_.next_deadline(), now_)) {
      index_.take_due(now_, 1 + random_at_take_.below(300), due);
    }
    std::uint64_t taken = 0;  // a sum, since the order is not promised
    for (const auto& [slot, deadline] : due) {
      EXPECT_TRUE(is_due(deadline, now_));
      taken += (slot + 1) * static_cast<std::uint64_t>(deadline.time_since_epoch().count());
    }
    record_.note(taken);
    record_.note(due.size());
    record_.note(index_.count_due(now_));
  }

  Index index_;
  Record record_;
  Random random_{2026};
  Random random_at_take_{11};  // apart, since indexes need different numbers of calls
  Time now_ = Time(Millis(1'800'000'000'000 / 64 * 64));
};

template <class Index>
Record play(Index index = Index()) {
  return Run<Index>(std::move(index)).play();
}

// The record of the reference, played once for all tests.
const Record& reference() {
  static const Record record = play<DeadlineTree>();
  return record;
}

TEST(DifferentialTest, TheHeapIsObservedToBeTheSameAsTheTree) {
  EXPECT_EQ(play<DeadlineHeap>().marks(), reference().marks());
}

TEST(DifferentialTest, TheWheelIsObservedToBeTheSameAsTheTree) {
  EXPECT_EQ(play<TimerWheel>().marks(), reference().marks());
}

TEST(DifferentialTest, TheVolatileSetIsObservedToBeTheSameAsTheTree) {
  EXPECT_EQ(play<VolatileSet>().marks(), reference().marks());
}

TEST(DifferentialTest, WindowsAreObservedToBeTheSameAsTheTree) {
  EXPECT_EQ(play(WindowQueue({.window = kWindow})).marks(), reference().marks());
}

TEST(DifferentialTest, WindowsOfAMillisecondAreObservedToBeTheSameAsTheTree) {
  EXPECT_EQ(play(WindowQueue({.window = Millis(1)})).marks(), reference().marks());
}

}  // namespace differential_test
}  // namespace mayfly
