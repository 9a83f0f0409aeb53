// SPDX-License-Identifier: Apache-2.0
// When the keeper tends, by a clock that is moved by hand.

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "store/log/keeper.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr Time at(int ms) { return Time(Millis(ms)); }

class KeeperTest : public testing::Test {
 protected:
  Time tend() {
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

TEST_F(KeeperTest, TendsAtOnceAndThenWhenItIsDue) {
  const Keeper keeper(clock_, [this] { return tend(); });
  wait_for_calls(1);

  set_next(kNever);
  clock_.advance(1000ms);
  wait_for_calls(2);
}

TEST_F(KeeperTest, ARingWakesItAtAnyTime) {
  set_next(kNever);
  Keeper keeper(clock_, [this] { return tend(); });
  wait_for_calls(1);

  keeper.ring();
  wait_for_calls(2);
}

TEST_F(KeeperTest, IsGoneWhenItIsDestroyedWhileItSleeps) {
  set_next(kNever);
  {
    const Keeper keeper(clock_, [this] { return tend(); });
    wait_for_calls(1);
  }
  clock_.advance(5000ms);
  EXPECT_EQ(calls_, 1);
}

}  // namespace
}  // namespace mayfly
