// SPDX-License-Identifier: Apache-2.0
// A ShardedCache under many threads at once: nothing is torn, lost or told twice, and the active
// worker removes what is due with no further call. Loading is in sharded_load_thread_test.cc.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mayfly/sharded_cache.h"

namespace mayfly {
namespace sharded_cache_thread_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));

using IntCache = ShardedCache<int, int>;
using Told = Removal<int, int>;

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// What a listener was told, for threads to wait for.
class Log {
 public:
  void add(const Told& told) {
    const std::lock_guard lock(mutex_);
    told_.push_back(told);
    changed_.notify_all();
  }

  // Waits until so many removals have been told, and returns them.
  std::vector<Told> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.size() >= count; });
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Told> told_;
};

class ActiveTest : public testing::Test {
 protected:
  IntCache::Options options() {
    IntCache::Options options{.cleanup = Cleanup::active};
    options.listener = [this](Told& told) { log_.add(told); };
    return options;
  }

  ManualClock clock_{kStart};
  Log log_;
  IntCache cache_{clock_, options()};
};

TEST_F(ActiveTest, RemovesWhatIsDueWithNoFurtherCall) {
  for (int i = 0; i < 1'000; ++i) cache_.put(i, i, 10s);
  clock_.advance(10s);
  const std::vector<Told> told = log_.wait_for(1'000);
  EXPECT_EQ(told.size(), 1'000u);
  EXPECT_EQ(told.front().cause, Cause::expired);
  EXPECT_EQ(told.front().deadline, kStart + 10s);
  EXPECT_EQ(cache_.stored(), 0u);
}

TEST_F(ActiveTest, RemovesNothingEarly) {
  cache_.put(1, 1, 10s);
  cache_.put(2, 2, 20s);
  clock_.advance(19s);
  EXPECT_EQ(log_.wait_for(1).front().key, 1);
  EXPECT_TRUE(cache_.contains(2));
}

TEST_F(ActiveTest, HonoursAnEarlierDeadlineThatComesLater) {
  cache_.put(1, 1, 100h);
  cache_.put(2, 2, 10s);
  clock_.advance(10s);
  EXPECT_EQ(log_.wait_for(1).front().key, 2);
}

// Each round the worker may be asleep until the last one's far deadline, or not yet be.
TEST_F(ActiveTest, HonoursEarlierDeadlinesAgainAndAgain) {
  for (int i = 0; i < 300; ++i) {
    cache_.put(-i - 1, i, 100h);
    cache_.put(i, i, 5ms);
    clock_.advance(5ms);
    ASSERT_EQ(log_.wait_for(static_cast<std::size_t>(i) + 1).back().key, i);
  }
}

TEST_F(ActiveTest, HonoursADeadlineMovedByExpire) {
  for (int i = 0; i < 300; ++i) {
    cache_.put(i, i, i % 2 == 0 ? Expiry::never() : Expiry(100h));
    for (int turn = 0; turn < 50; ++turn)
      std::this_thread::yield();  // most likely it sleeps by now
    cache_.expire(i, 5ms);
    clock_.advance(5ms);
    ASSERT_EQ(log_.wait_for(static_cast<std::size_t>(i) + 1).back().key, i);
  }
}

TEST_F(ActiveTest, RemovesWhatIsDueWhenItIsPut) {
  cache_.put(1, 1, kStart - 1s);
  EXPECT_EQ(log_.wait_for(1).front().cause, Cause::expired);
}

TEST_F(ActiveTest, HonoursTheDeadlineOfWhatIsLoaded) {
  cache_.get_or_load(
      1, [](int) { return 1; }, 10s);
  clock_.advance(10s);
  EXPECT_EQ(log_.wait_for(1).front().key, 1);
}

TEST_F(ActiveTest, GoesOnWhenTheListenerThrows) {
  IntCache::Options options{.cleanup = Cleanup::active};
  options.listener = [this](Told& told) {
    log_.add(told);
    throw told.key;
  };
  IntCache cache(clock_, options);
  cache.put(1, 1, 10s);
  clock_.advance(10s);
  log_.wait_for(1);
  cache.put(2, 2, 10s);
  clock_.advance(10s);
  EXPECT_EQ(log_.wait_for(2).back().key, 2);
}

TEST_F(ActiveTest, StopsWhileItWaitsForAFarDeadlineOrForNone) {
  for (int i = 0; i < 50; ++i) {
    IntCache cache(clock_, options());
    if (i % 2 == 0) cache.put(1, 1, 1'000'000h);
  }
}

TEST_F(ActiveTest, StopsInTheMiddleOfItsWork) {
  for (int i = 0; i < 10; ++i) {
    IntCache cache(clock_, options());
    for (int key = 0; key < 2'000; ++key) cache.put(key, key, Millis(1 + key % 3));
    clock_.advance(2ms);
  }
}

TEST(Threads, AreStartedByTheActiveModeOnly) {
  const ManualClock clock(kStart);
  const std::size_t before = threads_of_process();
  {
    const IntCache manual(clock, {.cleanup = Cleanup::manual});
    const IntCache passive(clock, {.cleanup = Cleanup::passive});
    EXPECT_EQ(threads_of_process(), before);
    const IntCache active(clock, {.cleanup = Cleanup::active});
    EXPECT_EQ(threads_of_process(), before + 1);
  }
  EXPECT_EQ(threads_of_process(), before);
}

// Everything at once. Values say which key they belong to, and carry text that a torn copy would
// break; every put is counted, and so is every removal.
class Turmoil {
 public:
  using Cache = ShardedCache<int, std::string>;

  Turmoil(const Clock& clock, Cleanup cleanup, std::size_t max_entries)
      : cache_(clock, options(cleanup, max_entries), 4) {}

  static std::string value_of(int key) {
    return std::string(20 + static_cast<std::size_t>(key % 7), static_cast<char>('a' + key % 26));
  }

  void work(std::uint64_t seed, int rounds) {
    Random random(seed);
    for (int i = 0; i < rounds; ++i) {
      const int key = static_cast<int>(random.below(200));
      const auto ttl = Millis(1 + static_cast<std::int64_t>(random.below(20)));
      const std::uint64_t choice = random.below(100);
      if (choice < 30) {
        cache_.put(key, value_of(key), choice < 10 ? Expiry::sliding(ttl) : Expiry(ttl));
        ++puts_;
      } else if (choice < 80) {
        const auto value = cache_.get(key);
        if (value && *value != value_of(key)) ++wrong_;
      } else {
        rare(choice, key, ttl);
      }
    }
  }

  // Lets everything expire, and waits until the worker has told of it all.
  void finish(ManualClock& clock) {
    std::vector<int> keys;
    cache_.for_each([&](const auto& entry) { keys.push_back(entry.key); });
    for (const int key : keys) cache_.expire(key, 1ms);
    clock.advance(1h);
    std::unique_lock lock(mutex_);
    all_told_.wait(lock, [&] { return told_ == puts_; });
  }

  void check_whole() {
    EXPECT_EQ(cache_.check_invariants(), "");
    EXPECT_EQ(wrong_.load(), 0u);
  }

  // Once all threads have ended, the worker's work included.
  void check() {
    check_whole();
    EXPECT_EQ(told_.load() + cache_.stored(), puts_.load());
    const CacheStats stats = cache_.stats();
    const std::uint64_t removals =
        stats.expired + stats.replaced + stats.erased + stats.evicted + stats.cleared;
    EXPECT_EQ(removals, told_.load());
    std::size_t seen = 0;
    cache_.for_each([&](const auto& entry) { seen += entry.value == value_of(entry.key) ? 1 : 0; });
    EXPECT_EQ(seen, cache_.size());
  }

 private:
  Cache::Options options(Cleanup cleanup, std::size_t max_entries) {
    Cache::Options options{.max_entries = max_entries, .cleanup = cleanup};
    options.listener = [this](auto& removal) {
      if (removal.value != value_of(removal.key)) ++wrong_;
      const std::lock_guard lock(mutex_);
      ++told_;
      all_told_.notify_all();
    };
    return options;
  }

  void rare(std::uint64_t choice, int key, Millis ttl) {
    if (choice < 84) {
      cache_.expire(key, ttl, When::later);
    } else if (choice < 87) {
      cache_.persist(key);
    } else if (choice < 92) {
      cache_.erase(key);
    } else if (choice < 95) {
      const auto entry = cache_.find(key);
      if (entry && entry->value != value_of(key)) ++wrong_;
    } else if (choice < 96) {
      cache_.purge(5);
    } else if (choice < 97) {
      cache_.for_each([&](const auto& entry) { wrong_ += entry.value != value_of(entry.key); });
    } else if (choice < 98) {
      if (cache_.size() > 200 || cache_.stats().hits > puts_ * 1'000) ++wrong_;
    } else if (choice < 99) {
      cache_.contains(key);
    } else if (key < 10) {
      cache_.clear();
    }
  }

  std::atomic<std::uint64_t> puts_{0};
  std::atomic<std::uint64_t> told_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::mutex mutex_;
  std::condition_variable all_told_;
  Cache cache_;
};

void run_turmoil(Turmoil& turmoil, int rounds, ManualClock* clock) {
  std::atomic<int> working{3};
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&, seed] {
      turmoil.work(seed, rounds);
      --working;
    });
  }
  if (clock != nullptr) {
    threads.emplace_back([&] {
      while (working > 0) {
        clock->advance(1ms);
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

constexpr int kRounds = 15'000;

// The worker may still be at work when the threads have ended; so it goes first.
TEST(ShardedCache, LosesNothingInTheActiveModeOnAManualClock) {
  ManualClock clock(kStart);
  Turmoil turmoil(clock, Cleanup::active, 0);
  run_turmoil(turmoil, kRounds, &clock);
  turmoil.finish(clock);
  turmoil.check();
}

TEST(ShardedCache, LosesNothingInThePassiveModeOnAManualClock) {
  ManualClock clock(kStart);
  Turmoil turmoil(clock, Cleanup::passive, 0);
  run_turmoil(turmoil, kRounds, &clock);
  turmoil.check();
}

TEST(ShardedCache, LosesNothingWhenItIsBounded) {
  ManualClock clock(kStart);
  Turmoil turmoil(clock, Cleanup::manual, 64);
  run_turmoil(turmoil, kRounds, &clock);
  turmoil.check();
}

TEST(ShardedCache, StaysWholeOnASteadyClock) {
  const SteadyClock clock;
  Turmoil turmoil(clock, Cleanup::active, 128);
  run_turmoil(turmoil, kRounds, nullptr);
  turmoil.check_whole();
}

// Runs something whenever it is copied: that is, while a reader is inside.
struct Watched {
  Watched() = default;
  explicit Watched(std::function<void()> run) : on_copy(std::move(run)) {}
  Watched(const Watched& other) : on_copy(other.on_copy) {
    if (on_copy) on_copy();
  }
  Watched(Watched&&) = default;
  Watched& operator=(const Watched&) = default;
  Watched& operator=(Watched&&) = default;

  std::function<void()> on_copy;
};

// One that took the lock would wait for the reader it is inside of.
TEST(ShardedCacheReadersTest, ReadsOfAllKindsGoSideBySide) {
  ManualClock clock(kStart);
  ShardedCache<int, Watched> cache(clock, {}, 1);
  int inside = 0;
  cache.put(2, Watched(), 60s);
  cache.put(1, Watched([&] {
              if (++inside > 1) return;
              EXPECT_TRUE(cache.contains(1));
              EXPECT_FALSE(cache.contains(3));
              EXPECT_TRUE(cache.get(2).has_value());
              EXPECT_FALSE(cache.get(3).has_value());
              EXPECT_EQ(cache.find(2)->ttl, Millis(60s));
              EXPECT_FALSE(cache.find(3).has_value());
            }));
  inside = 0;
  EXPECT_TRUE(cache.get(1).has_value());
  EXPECT_GE(inside, 1);
  EXPECT_EQ(cache.stats().hits, 3u);
  EXPECT_EQ(cache.stats().misses, 2u);
}

}  // namespace sharded_cache_thread_test
}  // namespace mayfly
