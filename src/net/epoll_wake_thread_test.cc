// SPDX-License-Identifier: Apache-2.0
// A loop that sleeps is woken and stopped by other threads.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "mayfly/clock.h"
#include "net/epoll_loop.h"

namespace mayfly {
namespace epoll_wake_thread_test {

TEST(EpollWake, WakesAndStopsALoopThatRunsInAnotherThread) {
  SteadyClock clock;
  EpollLoop loop(clock);
  std::atomic<int> woken = 0;
  loop.on_wake([&] {
    ++woken;
    woken.notify_one();
  });
  const std::jthread runner([&] { loop.run(); });
  for (int i = 0; i < 100; ++i) {
    loop.wake();
    woken.wait(i);
    EXPECT_EQ(woken, i + 1);
  }
  loop.stop();
}

}  // namespace epoll_wake_thread_test
}  // namespace mayfly
