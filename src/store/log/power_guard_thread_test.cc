// SPDX-License-Identifier: Apache-2.0
// The power guard with its sync thread at work, and with several processes.

#include <sys/wait.h>

#include <thread>

#include "store/log/power_guard_fixture.h"

namespace mayfly::internal {
namespace power_guard_thread_test {

using namespace std::chrono_literals;

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

TEST_F(PowerGuardTest, TheKeeperSyncsWhatIsASecondOld) {
  store_->put_many(100);
  clock_.advance(999ms);
  EXPECT_EQ(state_after_power_cut(), std::optional<std::uint64_t>(0));

  clock_.advance(1ms);
  wait_until([this] { return state_after_power_cut() == std::optional<std::uint64_t>(100); });
}

TEST_F(PowerGuardTest, AnIdleStoreHoldsNoPin) {
  store_->put_many(100);
  EXPECT_EQ(store_->readers(), 1);

  clock_.advance(1000ms);
  wait_until([this] { return state_after_power_cut() == std::optional<std::uint64_t>(100); });
  wait_until([this] {
    clock_.advance(1000ms);
    return store_->readers() == 0;
  });
  store_->put_many(100);
  EXPECT_EQ(store_->readers(), 1);
  EXPECT_EQ(state_after_power_cut(), std::optional<std::uint64_t>(100));
}

TEST_F(PowerGuardTest, WritersSyncsAndTheKeeperDoNotDisturbEachOther) {
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    while (!is_done) {
      EXPECT_TRUE(store_->guard().sync().ok());
      clock_.advance(300ms);
    }
  });
  store_->put_many(1500);
  is_done = true;
  other.join();

  EXPECT_TRUE(state_after_power_cut().has_value());
  EXPECT_EQ(store_->state(), std::optional<std::uint64_t>(1500));
  ASSERT_TRUE(store_->guard().sync().ok());
  EXPECT_EQ(state_after_power_cut(), std::optional<std::uint64_t>(1500));
}

// Two other processes write, sync now and then, and die without a word.
TEST_F(PowerGuardTest, SeveralProcessesShareOneRecoveryPoint) {
  store_.reset();
  pid_t children[2];
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    GuardedStore store(path(), clock_, options_);
    bool is_fine = true;
    for (int i = 1; i <= 400; ++i) {
      is_fine = is_fine && store.put().ok() && (i % 90 != 0 || store.guard().sync().ok());
    }
    std::_Exit(is_fine ? 0 : 1);
  }
  open();
  store_->put_many(200);
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  EXPECT_EQ(store_->state(), std::optional<std::uint64_t>(1000));
  const std::optional<std::uint64_t> after = state_after_power_cut();
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(*after, 360u);
  store_->put_many(200);
  EXPECT_EQ(state_after_power_cut(), after);
  ASSERT_TRUE(store_->guard().sync().ok());
  EXPECT_EQ(state_after_power_cut(), std::optional<std::uint64_t>(1200));
}

}  // namespace power_guard_thread_test
}  // namespace mayfly::internal
