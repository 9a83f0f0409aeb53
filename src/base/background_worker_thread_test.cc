// SPDX-License-Identifier: Apache-2.0
// When a background thread runs, by a clock that is moved by hand.

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "mayfly/internal/background_thread.h"

namespace mayfly::internal {
namespace background_worker_thread_test {

using namespace std::chrono_literals;

constexpr Time at(int ms) { return Time(Millis(ms)); }

class BackgroundThreadTest : public testing::Test {
 protected:
  Time run_once() {
    const std::lock_guard lock(mutex_);
    ++calls_;
    changed_.notify_all();
    return next_;
  }
  void wait_for_calls(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= count; });
    EXPECT_EQ(calls_, count);
  }
  void set_next(Time next) {
    const std::lock_guard lock(mutex_);
    next_ = next;
  }

  ManualClock clock_{at(0)};
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  Time next_ = at(1000);
};

TEST_F(BackgroundThreadTest, RunsAtOnceAndThenWhenItIsDue) {
  const BackgroundThread thread(clock_, [this] { return run_once(); });
  wait_for_calls(1);

  set_next(kNever);
  clock_.advance(1000ms);
  wait_for_calls(2);
}

TEST_F(BackgroundThreadTest, CanBeWokenAtAnyTime) {
  set_next(kNever);
  BackgroundThread thread(clock_, [this] { return run_once(); });
  wait_for_calls(1);

  thread.wake();
  wait_for_calls(2);
}

TEST_F(BackgroundThreadTest, WakesForAnEarlierDeadlineOnly) {
  BackgroundThread thread(clock_, [this] { return run_once(); });
  wait_for_calls(1);

  thread.wake_by(at(500));
  wait_for_calls(2);
}

TEST_F(BackgroundThreadTest, IsGoneWhenItIsDestroyedWhileItSleeps) {
  set_next(kNever);
  {
    const BackgroundThread thread(clock_, [this] { return run_once(); });
    wait_for_calls(1);
  }
  clock_.advance(5000ms);
  EXPECT_EQ(calls_, 1);
}

}  // namespace background_worker_thread_test
}  // namespace mayfly::internal
