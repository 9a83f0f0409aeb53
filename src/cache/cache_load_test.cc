// SPDX-License-Identifier: Apache-2.0
// get_or_load() of a cache of one thread: what is absent is loaded, what is stale is loaded anew.
// Many threads at once are in sharded_cache_thread_test.cc.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "mayfly/cache.h"

namespace mayfly {
namespace cache_load_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));

class LoadTest : public testing::Test {
 protected:
  int load(const std::string& key) {
    return cache_.get_or_load(key, [&](const std::string& of) {
      EXPECT_EQ(of, key);
      if (is_failing_) throw std::runtime_error("down");
      return ++loads_;
    });
  }

  ManualClock clock_{kStart};
  Cache<std::string, int> cache_{clock_, {.default_expiry = Expiry(60s).refresh_after(45s)}};
  int loads_ = 0;
  bool is_failing_ = false;
};

TEST_F(LoadTest, LoadsWhatIsAbsentAndKeepsIt) {
  EXPECT_EQ(load("a"), 1);
  EXPECT_EQ(load("a"), 1);
  EXPECT_EQ(*cache_.get("a"), 1);
  EXPECT_EQ(cache_.stats().loads, 1u);
}

// Against the rule itself, a second at a time: fresh, stale, gone.
TEST_F(LoadTest, AWindowOfStaleTimeFollowsTheTtl) {
  for (int ttl = 0; ttl < 5; ++ttl) {
    for (int window = 0; window < 5; ++window) {
      for (int age = 0; age < 11; ++age) {
        cache_.put("k", 7,
                   Expiry(std::chrono::seconds(ttl)).stale_for(std::chrono::seconds(window)));
        clock_.advance(std::chrono::seconds(age));
        const auto entry = cache_.find("k");
        ASSERT_EQ(entry.has_value(), age < ttl + window) << ttl << ' ' << window << ' ' << age;
        if (entry) {
          EXPECT_EQ(entry->is_stale, age >= ttl) << ttl << ' ' << window << ' ' << age;
        }
      }
    }
  }
  const Time until = clock_.now() + 10s;
  EXPECT_EQ(Expiry(until).stale_for(5s).deadline(clock_.now()), until + 5s);
  EXPECT_EQ(Expiry(until).stale_for(5s).refresh_at(clock_.now()), until);
  EXPECT_EQ(Expiry(1s).stale_for(Millis::max()).deadline(clock_.now()), kNever);
}

TEST_F(LoadTest, WhatFailsToRefreshStaysStaleUntilItsWindowEnds) {
  cache_.put("a", 7, Expiry(10s).stale_for(5s));
  clock_.advance(10s);
  is_failing_ = true;
  EXPECT_EQ(load("a"), 7);
  EXPECT_TRUE(cache_.find("a")->is_stale);
  clock_.advance(5s);
  EXPECT_THROW(load("a"), std::runtime_error);
}

TEST_F(LoadTest, ASourceThatFailedIsLeftAloneForASecond) {
  cache_.put("a", 7, Expiry(10s).stale_for(20s));
  clock_.advance(10s);
  is_failing_ = true;
  for (int tries = 1; tries < 4; ++tries) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(load("a"), 7);
    EXPECT_EQ(cache_.stats().load_failures, tries);
    clock_.advance(1s - 1ms);
    EXPECT_EQ(load("a"), 7);
    EXPECT_EQ(cache_.stats().load_failures, tries) << "a millisecond is missing";
    clock_.advance(1ms);
  }
  is_failing_ = false;
  EXPECT_EQ(load("a"), 1);
  EXPECT_FALSE(cache_.find("a")->is_stale);
}

TEST_F(LoadTest, AFailureIsForgottenWithItsValue) {
  const auto fail = [&] {
    cache_.put("a", 7, Expiry(0s).stale_for(20s));
    is_failing_ = true;
    EXPECT_EQ(load("a"), 7);
    is_failing_ = false;
    EXPECT_EQ(load("a"), 7) << "it rests";
  };
  fail();
  cache_.put("a", 8, Expiry(0s).stale_for(20s));
  EXPECT_EQ(load("a"), 1) << "a put";
  fail();
  cache_.expire("a", Expiry(0s).stale_for(20s));
  EXPECT_EQ(load("a"), 2) << "another expiry";
  fail();
  cache_.erase("a");
  cache_.put("b", 8, Expiry(0s).stale_for(20s));
  EXPECT_EQ(load("b"), 3) << "another key in the same place";
  fail();
  cache_.clear();
  EXPECT_EQ(load("a"), 4);
}

TEST_F(LoadTest, TriesAgainAtOnceIfToldSoAndNeverIfToldSo) {
  const auto failures = [&](Millis retry_after) {
    Cache<int, int> cache(clock_, {.retry_after = retry_after});
    cache.put(1, 7, Expiry(0s).stale_for(Millis::max()));
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(cache.get_or_load(1, [](int) -> int { throw std::runtime_error("down"); }), 7);
      clock_.advance(1h);
    }
    return cache.stats().load_failures;
  };
  EXPECT_EQ(failures(0s), 5u);
  EXPECT_EQ(failures(90min), 3u);
  EXPECT_EQ(failures(Millis::max()), 1u);
}

TEST_F(LoadTest, LoadsAnewWhatHasExpired) {
  load("a");
  clock_.advance(60s);
  EXPECT_EQ(load("a"), 2);
}

TEST_F(LoadTest, LoadsAnewWhatIsStaleAndNotBefore) {
  load("a");
  clock_.advance(45s - 1ms);
  EXPECT_EQ(load("a"), 1);
  clock_.advance(1ms);
  EXPECT_EQ(*cache_.get("a"), 1) << "a get does not load";
  EXPECT_EQ(load("a"), 2);
  EXPECT_EQ(cache_.find("a")->ttl, 60s);
  EXPECT_EQ(load("a"), 2);
}

TEST_F(LoadTest, ServesTheStaleValueUntilTheDeadlineWhenTheLoaderFails) {
  load("a");
  is_failing_ = true;
  clock_.advance(60s - 1ms);
  EXPECT_EQ(load("a"), 1);
  EXPECT_EQ(cache_.stats().load_failures, 1u);
  clock_.advance(1ms);
  EXPECT_THROW(load("a"), std::runtime_error);
}

TEST_F(LoadTest, PutsNothingWhenTheLoaderFailsAndTriesAgain) {
  is_failing_ = true;
  EXPECT_THROW(load("a"), std::runtime_error);
  EXPECT_EQ(cache_.size(), 0u);
  is_failing_ = false;
  EXPECT_EQ(load("a"), 1);
}

TEST_F(LoadTest, LetsALoaderUseTheCache) {
  const int sum = cache_.get_or_load("sum", [&](const auto&) { return load("a") + load("b"); });
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(cache_.size(), 3u);
  EXPECT_EQ(cache_.get_or_load("self", [&](const auto& key) { return load(key); }), 3);
}

TEST_F(LoadTest, LetsALoaderClearTheCacheWhileItRefreshes) {
  load("a");
  clock_.advance(50s);
  const int loaded = cache_.get_or_load("a", [&](const auto&) {
    cache_.clear();
    return 9;
  });
  EXPECT_EQ(loaded, 9);
  EXPECT_EQ(cache_.check_invariants(), "");
}

TEST_F(LoadTest, KeepsWhatTheLoaderItselfHasChanged) {
  const auto load_after = [&](auto change) {
    return cache_.get_or_load("a", [&](const auto&) {
      change();
      return 9;
    });
  };
  EXPECT_EQ(load_after([&] { cache_.put("a", 5); }), 9);
  EXPECT_EQ(*cache_.get("a"), 5);
  clock_.advance(50s);
  EXPECT_EQ(load_after([&] { cache_.erase("a"); }), 9);
  EXPECT_FALSE(cache_.contains("a"));
  EXPECT_EQ(load_after([&] { cache_.clear(); }), 9);
  EXPECT_FALSE(cache_.contains("a"));
  EXPECT_EQ(load_after([&] { cache_.put("b", 1); }), 9);
  EXPECT_EQ(*cache_.get("a"), 9);
  cache_.put("a", 5, Expiry(0s).stale_for(5s));
  EXPECT_EQ(load_after([&] { cache_.expire("a", 1h); }), 9);
  EXPECT_EQ(*cache_.get("a"), 5);
  EXPECT_EQ(cache_.find("a")->ttl, 1h);
}

TEST_F(LoadTest, GivesTheOldValueToALoaderThatAsksForItsOwnKey) {
  load("a");
  clock_.advance(50s);
  EXPECT_EQ(cache_.get_or_load("a", [&](const auto& key) { return 10 + load(key); }), 11);
  EXPECT_EQ(cache_.stats().loads, 2u);
}

TEST_F(LoadTest, AValueThatCannotBeWeighedIsAFailure) {
  CacheOptions<int, int> options{.max_weight = 1'000};
  options.weigher = [](const int&, const int& value) -> std::size_t {
    return value == 13 ? throw std::runtime_error("heavy") : 1;
  };
  Cache<int, int> cache(clock_, options);
  const auto heavy = [](int) { return 13; };
  EXPECT_THROW(cache.get_or_load(1, heavy), std::runtime_error);
  cache.put(1, 7, Expiry(0s).stale_for(20s));
  EXPECT_EQ(cache.get_or_load(1, heavy), 7);
  EXPECT_EQ(cache.get_or_load(1, [](int) { return 8; }), 7) << "it rests";
}

TEST_F(LoadTest, TakesAnExpiryOfItsOwn) {
  cache_.get_or_load(
      "a", [](const auto&) { return 1; }, 5s);
  EXPECT_EQ(cache_.find("a")->ttl, 5s);
}

TEST(CacheDeathTest, ActiveCleanupIsRefusedWithAdviceInEveryBuild) {
  const ManualClock clock;
  using Numbers = Cache<int, int>;
  EXPECT_DEATH(Numbers(clock, {.cleanup = Cleanup::active}), "take a ShardedCache");
}

}  // namespace cache_load_test
}  // namespace mayfly
