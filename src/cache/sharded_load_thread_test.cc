// SPDX-License-Identifier: Apache-2.0
// get_or_load() of a ShardedCache under many threads: one flight for each key, stale values served
// meanwhile, and nothing overwritten that came later. Loaders wait at gates that the test opens, so
// that no outcome depends on who is faster.

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mayfly/sharded_cache.h"

namespace mayfly {
namespace sharded_load_thread_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));
constexpr int kThreads = 6;

using IntCache = ShardedCache<int, int>;

struct Failure : std::runtime_error {
  Failure() : std::runtime_error("the source is down") {}
};

class LoadTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cache_.check_invariants(), ""); }

  // Starts a thread that loads `key`, and returns when its loader has been entered. The loader
  // returns `value`, or throws if that is negative, once land() is called.
  void take_off(int key, int value) {
    pilot_ = std::thread([this, key, value] {
      try {
        result_ = cache_.get_or_load(key, [&](int) {
          airborne_.count_down();
          landing_.wait();
          if (value < 0) throw Failure();
          return value;
        });
      } catch (const Failure&) {
        result_ = -1;
      }
    });
    airborne_.wait();
  }

  // Lets the loader go on, and returns what its caller got; -1 if that was a failure.
  int land() {
    landing_.count_down();
    pilot_.join();
    return result_;
  }

  // What a thread gets that asks while the loader is in the air, or just after; -1 for a failure.
  // It loads `value`, if it has to.
  int ask_while_landing(int key, int value) {
    std::latch asking(1);
    int got = 0;
    std::thread asker([&] {
      asking.count_down();
      try {
        got = cache_.get_or_load(key, [&](int) { return value < 0 ? throw Failure() : value; });
      } catch (const Failure&) {
        got = -1;
      }
    });
    asking.wait();
    for (int i = 0; i < 1'000; ++i) std::this_thread::yield();  // most likely it waits by now
    land();
    asker.join();
    return got;
  }

  ManualClock clock_{kStart};
  IntCache cache_{clock_, {.default_expiry = Expiry(60s).refresh_after(45s)}};
  std::latch airborne_{1};
  std::latch landing_{1};
  std::thread pilot_;
  int result_ = 0;
};

TEST_F(LoadTest, LoadsOnceHoweverManyAsk) {
  std::atomic<int> loads = 0;
  std::atomic<int> asking = 0;
  std::vector<int> got(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++asking;
      got[i] = cache_.get_or_load(1, [&](int) {
        airborne_.count_down();
        landing_.wait();
        return ++loads;
      });
    });
  }
  airborne_.wait();
  while (asking < kThreads) std::this_thread::yield();
  landing_.count_down();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(loads, 1);
  EXPECT_EQ(got, std::vector<int>(kThreads, 1));
  EXPECT_EQ(cache_.stats().loads, 1u);
}

TEST_F(LoadTest, ALoaderThatHangsKeepsOthersFromRefreshingOnlyForItsLease) {
  IntCache cache(clock_, {.default_expiry = Expiry(60s).stale_for(1h), .refresh_lease = 5s});
  cache.put(1, 10);
  clock_.advance(60s);
  int late = 0;
  std::thread hangs([&] {
    late = cache.get_or_load(1, [&](int) {
      airborne_.count_down();
      landing_.wait();
      return 11;
    });
  });
  airborne_.wait();
  const auto refresh = [](int) { return 12; };
  clock_.advance(5s - 1ms);
  EXPECT_EQ(cache.get_or_load(1, refresh), 10) << "the lease is another's";
  EXPECT_TRUE(cache.find(1)->is_stale);
  clock_.advance(1ms);
  EXPECT_EQ(cache.get_or_load(1, refresh), 12);
  EXPECT_FALSE(cache.find(1)->is_stale);
  landing_.count_down();
  hangs.join();
  EXPECT_EQ(late, 11);
  EXPECT_EQ(cache.get(1), 12) << "what comes late is not put";
}

TEST_F(LoadTest, ALoaderOfAnAbsentKeyThatHangsIsWaitedForOnlyForItsLease) {
  take_off(1, 10);
  clock_.advance(10s);
  EXPECT_EQ(cache_.get_or_load(1, [](int) { return 20; }), 20) << "10 s is the default";
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.get(1), 20) << "what comes late is not put";
}

TEST_F(LoadTest, WhatComesLateIsPutIfNobodyElseHasLoaded) {
  take_off(1, 10);
  clock_.advance(1h);
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.get(1), 10);
}

// However the threads are scheduled: who comes after the lease loads as those do who waited.
TEST_F(LoadTest, OneOfThoseWhoWaitLoadsWhenTheLeaseEnds) {
  take_off(1, 10);
  std::atomic<int> asking = 0;
  std::atomic<int> loads = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ++asking;
      const int got = cache_.get_or_load(1, [&](int) { return 20 + ++loads; });
      EXPECT_EQ(got, 21);
    });
  }
  while (asking < kThreads) std::this_thread::yield();
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();  // most likely they wait by now
  EXPECT_EQ(loads, 0);
  clock_.advance(10s);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.get(1), 21);
}

TEST_F(LoadTest, WaitsForEverIfTheLeaseIsForEver) {
  IntCache cache(clock_, {.refresh_lease = Millis::max()});
  std::thread hangs([&] {
    cache.get_or_load(1, [&](int) {
      airborne_.count_down();
      landing_.wait();
      return 11;
    });
  });
  airborne_.wait();
  clock_.advance(1'000h);
  std::thread waits([&] { EXPECT_EQ(cache.get_or_load(1, [](int) { return 12; }), 11); });
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
  landing_.count_down();
  hangs.join();
  waits.join();
}

// A failed load says nothing about a value that came meanwhile.
TEST_F(LoadTest, AFailureDoesNotKeepOthersFromLoadingWhatWasPutMeanwhile) {
  cache_.put(1, 1);
  clock_.advance(45s);
  take_off(1, -1);
  cache_.put(1, 2, Expiry(0s).stale_for(1h));
  EXPECT_EQ(land(), 1);
  EXPECT_EQ(cache_.get_or_load(1, [](int) { return 3; }), 3);
}

TEST_F(LoadTest, LoadsOnceInEachOfManyRounds) {
  std::atomic<int> loads = 0;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int key = 0; key < 2'000; ++key) {
        const int got = cache_.get_or_load(key, [&](int of) {
          ++loads;
          return of * 2;
        });
        ASSERT_EQ(got, key * 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 2'000);
}

TEST_F(LoadTest, DoesNotHoldUpOtherKeysMeanwhile) {
  take_off(1, 10);
  for (int key = 2; key < 200; ++key) {
    EXPECT_EQ(cache_.get_or_load(key, [](int of) { return of; }), key);
    cache_.put(key, 7);
  }
  EXPECT_FALSE(cache_.get(1));
  EXPECT_EQ(land(), 10);
}

TEST_F(LoadTest, GivesEveryWaiterWhatTheLoaderThrew) {
  take_off(1, -1);
  EXPECT_EQ(ask_while_landing(1, -1), -1);
  EXPECT_EQ(result_, -1);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(cache_.get_or_load(1, [](int) { return 5; }), 5) << "the next call loads again";
}

TEST_F(LoadTest, ServesTheOldValueWhileOneCallerRefreshes) {
  cache_.put(1, 1);
  clock_.advance(45s);
  take_off(1, 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(cache_.get_or_load(1, [](int) { return 99; }), 1) << "at once, and without loading";
    EXPECT_EQ(cache_.get(1), 1);
  }
  EXPECT_EQ(land(), 2);
  EXPECT_EQ(cache_.get_or_load(1, [](int) { return 99; }), 2);
  EXPECT_EQ(cache_.stats().loads, 1u);
}

TEST_F(LoadTest, LetsOneOfManyRefreshAndTheOthersGo) {
  cache_.put(1, 1);
  clock_.advance(50s);
  std::atomic<int> loads = 0;
  std::atomic<int> served = 0;
  std::latch others(kThreads - 1);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const int got = cache_.get_or_load(1, [&](int) {
        ++loads;
        others.wait();  // all others must have got the old value before this ends
        return 2;
      });
      if (got != 1) return;
      ++served;
      others.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(served, kThreads - 1);
}

TEST_F(LoadTest, GivesTheOldValueToTheOneWhoseRefreshFailed) {
  cache_.put(1, 1);
  clock_.advance(50s);
  take_off(1, -1);
  EXPECT_EQ(land(), 1);
  EXPECT_EQ(cache_.stats().load_failures, 1u);
  const auto load = [](int) { return 2; };
  EXPECT_EQ(cache_.get_or_load(1, load), 1) << "the source is left alone for a second";
  clock_.advance(1s);
  EXPECT_EQ(cache_.get_or_load(1, load), 2) << "then the next one tries again";
}

TEST_F(LoadTest, GivesNoExpiredValueToAWaiterWhenARefreshFails) {
  cache_.put(1, 1);
  clock_.advance(50s);
  take_off(1, -1);
  clock_.advance(10s);
  EXPECT_EQ(ask_while_landing(1, -1), -1) << "the old value has passed its deadline";
}

TEST_F(LoadTest, GivesNoErasedValueToAWaiterWhenARefreshFails) {
  cache_.put(1, 1);
  clock_.advance(50s);
  take_off(1, -1);
  cache_.erase(1);
  EXPECT_EQ(ask_while_landing(1, -1), -1);
}

TEST_F(LoadTest, DoesNotOverwriteWhatWasPutMeanwhile) {
  take_off(1, 10);
  cache_.put(1, 20, 5s);
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.get(1), 20);
  EXPECT_EQ(cache_.find(1)->ttl, 5s);
}

TEST_F(LoadTest, KeepsADeadlineThatWasSetMeanwhile) {
  cache_.put(1, 1);
  clock_.advance(50s);
  take_off(1, 10);
  cache_.expire(1, 1h);
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.find(1)->ttl, 1h);
  EXPECT_EQ(cache_.get(1), 1);
}

TEST_F(LoadTest, DoesNotBringBackWhatWasErasedMeanwhile) {
  take_off(1, 10);
  cache_.erase(1);
  EXPECT_EQ(land(), 10);
  EXPECT_FALSE(cache_.get(1));
}

TEST_F(LoadTest, DoesNotBringBackWhatWasErasedDuringARefresh) {
  cache_.put(1, 1);
  clock_.advance(50s);
  take_off(1, 10);
  EXPECT_TRUE(cache_.erase(1));
  land();
  EXPECT_FALSE(cache_.get(1));
}

TEST_F(LoadTest, DoesNotBringBackWhatWasClearedMeanwhile) {
  take_off(1, 10);
  cache_.clear();
  land();
  EXPECT_FALSE(cache_.get(1));
}

// Who erases a key because its source has changed must not be given what was read before that.
TEST_F(LoadTest, LoadsAnewForOneWhoAsksAfterAnErase) {
  take_off(1, 10);
  cache_.erase(1);
  EXPECT_EQ(ask_while_landing(1, 20), 20);
  EXPECT_EQ(cache_.get(1), 20);
}

TEST_F(LoadTest, LoadsAnewWhenItLandsAfterTheDeadlineOfWhatWasPut) {
  take_off(1, 10);
  cache_.put(1, 20, 5s);
  clock_.advance(5s);
  land();
  EXPECT_EQ(cache_.get_or_load(1, [](int) { return 30; }), 30);
}

// The TTL of what is loaded counts from the end of the load, not from its beginning.
TEST_F(LoadTest, CountsTheTtlFromTheLanding) {
  take_off(1, 10);
  clock_.advance(100s);
  EXPECT_EQ(land(), 10);
  EXPECT_EQ(cache_.find(1)->ttl, 60s);
}

TEST_F(LoadTest, LetsALoaderAskForAnotherKeyAndForItsOwn) {
  const auto double_of = [&](int key) { return cache_.get_or_load(key, [](int k) { return k; }); };
  EXPECT_EQ(cache_.get_or_load(1, [&](int) { return double_of(2) + double_of(3); }), 5);
  EXPECT_EQ(cache_.get_or_load(4, [&](int key) { return double_of(key) + 1; }), 5);
  EXPECT_EQ(cache_.get(4), 5);
  EXPECT_EQ(cache_.size(), 4u);
}

TEST_F(LoadTest, LetsALoaderPutItsOwnKey) {
  EXPECT_EQ(cache_.get_or_load(1, [&](int key) { return cache_.put(key, 7) ? 8 : 9; }), 8);
  EXPECT_EQ(cache_.get(1), 7);
}

TEST_F(LoadTest, AsksAgainAfterAValueThatCouldNotBeWeighed) {
  IntCache::Options options{.max_weight = 1'000};
  options.weigher = [](const int&, const int& value) -> std::size_t {
    return value == 13 ? throw Failure() : 1;
  };
  IntCache cache(clock_, options);
  EXPECT_THROW(cache.get_or_load(1, [](int) { return 13; }), Failure);
  std::thread([&] { EXPECT_EQ(cache.get_or_load(1, [](int) { return 5; }), 5); }).join();
}

// A value whose copy fails, as one that needs memory may.
struct Fragile {
  Fragile() = default;
  Fragile(const Fragile& other) : is_broken(other.is_broken) {
    if (is_broken && *is_broken) throw Failure();
  }
  Fragile(Fragile&&) = default;
  Fragile& operator=(const Fragile&) = default;
  Fragile& operator=(Fragile&&) = default;

  const std::atomic<bool>* is_broken = nullptr;
};

TEST_F(LoadTest, IsUsableAfterACopyThatFailed) {
  std::atomic<bool> is_broken = false;
  Fragile value;
  value.is_broken = &is_broken;
  ShardedCache<int, Fragile> cache(clock_);
  cache.put(1, value);
  is_broken = true;
  EXPECT_THROW(cache.get(1), Failure);
  is_broken = false;
  EXPECT_TRUE(cache.erase(1)) << "a reader that is gone must not keep writers out";
}

// Copying it throws, once as many copies have been made as the counter allows.
struct Brittle {
  explicit Brittle(std::atomic<int>& copies) : copies_left(&copies) {}
  Brittle(const Brittle& other) : copies_left(other.copies_left) {
    if (copies_left->fetch_sub(1) == 1) throw Failure();
  }
  Brittle(Brittle&&) noexcept = default;
  Brittle& operator=(const Brittle& other) = default;
  Brittle& operator=(Brittle&&) noexcept = default;

  std::atomic<int>* copies_left;
};

// Whichever copy throws, all who wait get an answer, and the key can be loaded again.
TEST(BrittleLoadTest, NobodyWaitsForEverForAValueThatCannotBeCopied) {
  for (int good_copies = 1; good_copies < 6; ++good_copies) {
    ManualClock clock(kStart);
    ShardedCache<int, Brittle> cache(clock);
    std::atomic<int> copies_left = good_copies;
    std::atomic<int> asking = 0;
    std::vector<std::thread> threads;
    const auto ask = [&] {
      ++asking;
      try {
        cache.get_or_load(1, [&](int) {
          while (asking < kThreads) std::this_thread::yield();
          for (int i = 0; i < 100; ++i) std::this_thread::yield();  // most likely they wait
          return Brittle(copies_left);
        });
      } catch (const Failure&) {
      }
    };
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(ask);
    for (std::thread& thread : threads) thread.join();

    copies_left = 1'000;
    EXPECT_NO_THROW(cache.get_or_load(1, [&](int) { return Brittle(copies_left); }));
    EXPECT_EQ(cache.check_invariants(), "");
  }
}

}  // namespace sharded_load_thread_test
}  // namespace mayfly
