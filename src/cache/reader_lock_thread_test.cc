// SPDX-License-Identifier: Apache-2.0
// ReaderLock: writers exclude everybody, and hits are counted exactly. What is guarded here is
// plain memory, so that TSan sees every hole.

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "mayfly/internal/reader_lock.h"

namespace mayfly::internal {
namespace reader_lock_thread_test {

class ReaderLockTest : public testing::Test {
 protected:
  // Two numbers that are equal whenever nobody writes.
  void write() {
    const std::lock_guard guard(lock_);
    ++first_;
    ++second_;
  }
  bool is_whole() const { return first_ == second_; }

  ReaderLock lock_;
  std::uint64_t first_ = 0;   // guarded by lock_
  std::uint64_t second_ = 0;  // guarded by lock_
};

TEST_F(ReaderLockTest, ReadsWhenNobodyWrites) {
  EXPECT_TRUE(lock_.try_read([] { return true; }));
  EXPECT_FALSE(lock_.try_read([] { return false; }));
  EXPECT_EQ(lock_.hits(), 1u);
}

TEST_F(ReaderLockTest, CountsWhatALookFinds) {
  using Look = ReaderLock::Look;
  for (const Look found : {Look::hit, Look::miss, Look::miss, Look::uncounted}) {
    EXPECT_TRUE(lock_.try_look([&] { return found; }));
  }
  EXPECT_FALSE(lock_.try_look([] { return Look::retry; }));
  EXPECT_EQ(lock_.hits(), 1u);
  EXPECT_EQ(lock_.misses(), 2u);
  const std::lock_guard guard(lock_);
  EXPECT_FALSE(lock_.try_look([] { return Look::hit; }));
}

TEST_F(ReaderLockTest, DoesNotReadWhileSomebodyWrites) {
  bool was_called = false;
  const std::lock_guard guard(lock_);
  EXPECT_FALSE(lock_.try_read([&] { return was_called = true; }));
  EXPECT_FALSE(was_called);
  EXPECT_EQ(lock_.hits(), 0u);
}

TEST_F(ReaderLockTest, ReadsAgainAfterAWrite) {
  write();
  EXPECT_TRUE(lock_.try_read([&] { return is_whole(); }));
}

TEST_F(ReaderLockTest, LetsReadersReadInsideOfEachOther) {
  EXPECT_TRUE(lock_.try_read([&] { return lock_.try_read([] { return true; }); }));
  EXPECT_EQ(lock_.hits(), 2u);
  write();
}

TEST_F(ReaderLockTest, KeepsReadersAndWritersApart) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 20'000;
  std::vector<std::uint64_t> hits(kThreads);
  std::vector<std::uint64_t> torn(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        if (i % 4 == number % 4) write();
        if (lock_.try_read([&] { return is_whole(); })) {
          ++hits[number];
        } else {
          const std::lock_guard guard(lock_);
          torn[number] += is_whole() ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(first_, kThreads * kRounds / 4);
  EXPECT_EQ(second_, first_);
  std::uint64_t total = 0;
  for (const std::uint64_t count : hits) total += count;
  EXPECT_EQ(lock_.hits(), total);
  EXPECT_EQ(torn, std::vector<std::uint64_t>(kThreads));
}

}  // namespace reader_lock_thread_test
}  // namespace mayfly::internal
