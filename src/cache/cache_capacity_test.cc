// SPDX-License-Identifier: Apache-2.0
// Bounds of a cache: never more than it may hold, expired entries go before live ones, and what is
// read stays, better than in an LRU.

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "mayfly/cache.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/sharded_cache.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/window_queue.h"

namespace mayfly::internal {
namespace cache_capacity_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));

using IntCache = Cache<int, int>;
using Weighed = Cache<int, std::string>;

class CapacityTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(three_.check_invariants(), "");
    EXPECT_EQ(weighed_.check_invariants(), "");
  }

  Weighed::Options weigh(std::size_t max_weight) {
    Weighed::Options options{.max_weight = max_weight};
    options.weigher = [this](const int&, const std::string& value) {
      if (value == "!") throw std::runtime_error("cannot be weighed");
      ++weighings_;
      return value.size();
    };
    options.listener = [this](auto& removal) { ++causes_[removal.cause]; };
    return options;
  }

  ManualClock clock_{kStart};
  int weighings_ = 0;
  std::map<Cause, int> causes_;
  IntCache three_{clock_, {.max_entries = 3}};
  Weighed weighed_{clock_, weigh(10)};
};

TEST_F(CapacityTest, NeverHoldsMoreThanMaxEntries) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(three_.put(i, i));
    ASSERT_LE(three_.stored(), 3u);
    ASSERT_TRUE(three_.contains(i)) << "the new one is kept";
  }
  EXPECT_EQ(three_.size(), 3u);
  EXPECT_EQ(three_.stats().evicted, 997u);
}

TEST_F(CapacityTest, EvictsNothingForAReplacement) {
  for (int i = 0; i < 3; ++i) three_.put(i, i);
  for (int i = 0; i < 3; ++i) three_.put(i, i + 10);
  EXPECT_EQ(three_.stats().evicted, 0u);
  EXPECT_EQ(three_.size(), 3u);
}

TEST_F(CapacityTest, KeepsWhatIsRead) {
  for (int i = 0; i < 1'000; ++i) {
    three_.put(i, i);
    three_.get(0);
  }
  EXPECT_TRUE(three_.contains(0));
}

TEST_F(CapacityTest, LookingDoesNotKeep) {
  for (int i = 0; i < 10; ++i) {
    three_.put(i, i);
    EXPECT_EQ(three_.contains(0), i < 3);
  }
}

TEST_F(CapacityTest, HoldsOneEntryIfItMayHoldOne) {
  IntCache one(clock_, {.max_entries = 1});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(one.put(i, i));
    EXPECT_EQ(*one.get(i), i);
    EXPECT_EQ(one.size(), 1u);
  }
}

TEST_F(CapacityTest, NeverHoldsMoreThanMaxWeight) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(weighed_.put(i, std::string(static_cast<std::size_t>(i % 5), 'x')));
    ASSERT_LE(weighed_.weight(), 10u);
  }
  EXPECT_EQ(weighings_, 100) << "once for each put";
}

TEST_F(CapacityTest, EvictsAsManyAsTheNewOneWeighs) {
  for (int i = 0; i < 5; ++i) weighed_.put(i, "xx");
  EXPECT_TRUE(weighed_.put(5, "xxxxxxx"));
  EXPECT_EQ(weighed_.weight(), 9u);
  EXPECT_EQ(weighed_.size(), 2u);
  EXPECT_EQ(causes_[Cause::evicted], 4);
}

TEST_F(CapacityTest, FollowsTheWeightOfWhatIsReplacedErasedAndCleared) {
  weighed_.put(1, "xxxxx");
  weighed_.put(2, "xx");
  weighed_.put(1, "x");
  EXPECT_EQ(weighed_.weight(), 3u);
  weighed_.erase(1);
  EXPECT_EQ(weighed_.weight(), 2u);
  weighed_.clear();
  EXPECT_EQ(weighed_.weight(), 0u);
}

TEST_F(CapacityTest, MakesRoomWhenAReplacementIsHeavier) {
  weighed_.put(1, "xxx");
  weighed_.put(2, "xxx");
  weighed_.put(3, "xxx");
  EXPECT_TRUE(weighed_.put(3, "xxxxxxx"));
  EXPECT_LE(weighed_.weight(), 10u);
  EXPECT_EQ(*weighed_.get(3), "xxxxxxx");
}

// The one just put must not be the one that makes room, however the hand comes by.
TEST_F(CapacityTest, EvictsOthersForAReplacementWhenAllWereRead) {
  for (int key = 1; key <= 3; ++key) weighed_.put(key, "xxx");
  for (int key = 1; key <= 3; ++key) weighed_.get(key);
  EXPECT_TRUE(weighed_.put(1, "xxxxxxx"));
  ASSERT_NE(weighed_.get(1), nullptr);
  EXPECT_EQ(*weighed_.get(1), "xxxxxxx");
}

TEST_F(CapacityTest, EvictsOthersForAReplacementOfAnExpiredEntry) {
  weighed_.put(1, "xxx", 1s);
  weighed_.put(2, "xxx");
  weighed_.put(3, "xxx");
  clock_.advance(1s);
  EXPECT_TRUE(weighed_.put(1, "xxxxxxx"));
  EXPECT_NE(weighed_.get(1), nullptr);
}

TEST_F(CapacityTest, KeepsAnEntryAsHeavyAsTheWholeCache) {
  weighed_.put(1, "x");
  EXPECT_TRUE(weighed_.put(2, std::string(10, 'x')));
  EXPECT_EQ(weighed_.size(), 1u);
}

TEST_F(CapacityTest, RefusesAnEntryHeavierThanTheWholeCacheAndKeepsTheOthers) {
  weighed_.put(1, "xx");
  EXPECT_FALSE(weighed_.put(2, std::string(11, 'x')));
  EXPECT_EQ(weighed_.get(2), nullptr);
  EXPECT_TRUE(weighed_.contains(1)) << "nothing can make room enough, so nothing has to go";
}

TEST_F(CapacityTest, ShowsNoOldValueUnderAKeyWhoseNewOneWasRefused) {
  weighed_.put(1, "old");
  EXPECT_FALSE(weighed_.put(1, std::string(11, 'x')));
  EXPECT_EQ(weighed_.get(1), nullptr) << "it was overwritten, and must not be served any more";
  EXPECT_EQ(weighed_.weight(), 0u);
}

TEST_F(CapacityTest, IsUnchangedWhenTheWeigherThrows) {
  weighed_.put(1, "old", 10s);
  EXPECT_THROW(weighed_.put(1, "!"), std::runtime_error);
  EXPECT_THROW(weighed_.put(2, "!"), std::runtime_error);
  EXPECT_EQ(*weighed_.get(1), "old");
  EXPECT_EQ(weighed_.size(), 1u);
  EXPECT_EQ(weighed_.weight(), 3u);
  EXPECT_TRUE(causes_.empty());
}

// --- Expired entries go first.

template <class Index>
class ExpiredFirstTest : public testing::Test {};

using Bounded = testing::Types<VolatileSet, TimerWheel, DeadlineHeap, DeadlineTree, WindowQueue>;
TYPED_TEST_SUITE(ExpiredFirstTest, Bounded);

// Live entries are the oldest and were never read: the first to be evicted, if any were.
TYPED_TEST(ExpiredFirstTest, NoLiveEntryGoesWhileAnExpiredOneIsThere) {
  for (const Cleanup cleanup : {Cleanup::manual, Cleanup::passive}) {
    ManualClock clock(kStart);
    Cache<int, int, TypeParam> cache(clock, {.max_entries = 100, .cleanup = cleanup});
    for (int i = 0; i < 50; ++i) cache.put(i, i);
    for (int i = 50; i < 100; ++i) cache.put(i, i, Millis(i));
    clock.advance(100ms + cache.index().slack());
    for (int i = 100; i < 150; ++i) cache.put(i, i);

    EXPECT_EQ(cache.stats().evicted, 0u);
    EXPECT_EQ(cache.stats().expired, 50u);
    EXPECT_EQ(cache.size(), 100u);
    cache.put(150, 150);
    EXPECT_EQ(cache.stats().evicted, 1u);
  }
}

// --- Sharded.

TEST(ShardedCapacity, NeverHoldsMoreThanMaxEntries) {
  const ManualClock clock(kStart);
  for (const std::size_t most : {1u, 10u, 100u, 1'000u, 5'000u}) {
    ShardedCache<int, int> cache(clock, {.max_entries = most});
    for (int i = 0; i < 20'000; ++i) cache.put(i, i);
    EXPECT_LE(cache.stored(), most);
    EXPECT_GE(cache.stored(), most / 2);
    EXPECT_EQ(cache.stored() + cache.stats().evicted, 20'000u);
  }
}

TEST(ShardedCapacity, NeverHoldsMoreThanMaxWeight) {
  const ManualClock clock(kStart);
  for (const std::size_t most : {1u, 10u, 100u, 5'000u}) {
    ShardedCache<int, int>::Options options{.max_weight = most};
    options.weigher = [](const int&, const int&) { return std::size_t{1}; };
    ShardedCache<int, int> cache(clock, options);
    for (int i = 0; i < 20'000; ++i) cache.put(i, i);
    EXPECT_LE(cache.stored(), most);
    EXPECT_GE(cache.stored(), (most + 1) / 2);
  }
}

TEST(ShardedCapacity, IsExactWithOneShard) {
  const ManualClock clock(kStart);
  ShardedCache<int, int> cache(clock, {.max_entries = 777}, 1);
  for (int i = 0; i < 2'000; ++i) cache.put(i, i);
  EXPECT_EQ(cache.stored(), 777u);
}

// --- What SIEVE is for.

class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}

  bool get_or_put(int key) {
    if (const auto found = places_.find(key); found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    order_.push_front(key);
    places_[key] = order_.begin();
    if (order_.size() > capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    return false;
  }

 private:
  std::size_t capacity_;
  std::list<int> order_;
  std::unordered_map<int, std::list<int>::iterator> places_;
};

bool get_or_put(IntCache& cache, int key) {
  if (cache.get(key) != nullptr) return true;
  cache.put(key, key);
  return false;
}

// Keys by Zipf's law with exponent 1, near enough: the logarithm is even.
int zipf(Random& random, int keys) {
  return static_cast<int>(std::exp(random.fraction() * std::log(static_cast<double>(keys))));
}

TEST(Sieve, HitsAtLeastAsOftenAsAnLruOnAZipfTrace) {
  constexpr std::size_t kCapacity = 500;
  const ManualClock clock(kStart);
  IntCache cache(clock, {.max_entries = kCapacity});
  Lru lru(kCapacity);
  Random random(42);
  int hits = 0;
  int lru_hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    const int key = zipf(random, 10'000);
    hits += get_or_put(cache, key) ? 1 : 0;
    lru_hits += lru.get_or_put(key) ? 1 : 0;
  }
  EXPECT_GE(hits, lru_hits);
  EXPECT_GT(hits, 60'000) << "a trace on which everything misses would prove nothing";
}

TEST(Sieve, AScanDoesNotWashOutWhatIsInUse) {
  const ManualClock clock(kStart);
  IntCache cache(clock, {.max_entries = 100});
  for (int round = 0; round < 3; ++round) {
    for (int key = 0; key < 50; ++key) get_or_put(cache, key);
  }
  for (int key = 1'000; key < 1'090; ++key) get_or_put(cache, key);  // an LRU would keep 10

  int kept = 0;
  for (int key = 0; key < 50; ++key) kept += cache.contains(key) ? 1 : 0;
  EXPECT_EQ(kept, 50);
}

TEST(CapacityDeathTest, AWeightWithoutAWeigherEndsTheProgramWithASentence) {
  ManualClock clock(kStart);
  EXPECT_DEATH(IntCache(clock, {.max_weight = 10}), "max_weight needs a weigher");
  EXPECT_DEATH((ShardedCache<int, int>(clock, {.max_weight = 10})), "max_weight needs a weigher");
}

}  // namespace cache_capacity_test
}  // namespace mayfly::internal
