// SPDX-License-Identifier: Apache-2.0
// The removal listener of a Cache and of a ShardedCache: told of each removal exactly once, with
// the right cause, and free to do what it likes.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mayfly/cache.h"
#include "mayfly/sharded_cache.h"

namespace mayfly {
namespace cache_listener_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));

using Told = Removal<std::string, int>;
using Options = CacheOptions<std::string, int>;

// Short forms, to compare with.
std::string short_form(const Told& told) {
  std::string text = told.key;
  text += '=';
  text += std::to_string(told.value);
  text += ' ';
  text += to_string(told.cause);
  return text;
}

template <class TestCache>
class ListenerTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cache_.check_invariants(), ""); }

  Options options(std::size_t max_entries = 0) {
    Options options{.max_entries = max_entries, .cleanup = Cleanup::manual};
    options.listener = [this](Told& told) {
      told_.push_back(told);
      texts_.push_back(short_form(told));
      if (then_) then_(told);
    };
    return options;
  }

  using Texts = std::vector<std::string>;

  ManualClock clock_{kStart};
  std::vector<Told> told_;
  Texts texts_;
  std::function<void(const Told&)> then_;
  TestCache cache_{clock_, options()};
};

using Caches = testing::Types<Cache<std::string, int>, ShardedCache<std::string, int>>;
TYPED_TEST_SUITE(ListenerTest, Caches);

TYPED_TEST(ListenerTest, IsToldWhatIsReplaced) {
  this->cache_.put("a", 1);
  this->cache_.put("a", 2);
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 replaced"}));
}

TYPED_TEST(ListenerTest, IsToldWhatIsErased) {
  this->cache_.put("a", 1);
  this->cache_.erase("a");
  this->cache_.erase("a");
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 erased"}));
}

TYPED_TEST(ListenerTest, IsToldWhatIsCleared) {
  this->cache_.put("a", 1, 10s);
  this->cache_.clear();
  this->cache_.clear();
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 cleared"}));
}

TYPED_TEST(ListenerTest, IsToldWhatExpiredWhenItIsRead) {
  this->cache_.put("a", 1, 10s);
  this->clock_.advance(12s);
  this->cache_.get("a");
  this->cache_.get("a");
  ASSERT_EQ(this->texts_, (std::vector<std::string>{"a=1 expired"}));
  EXPECT_EQ(this->told_[0].deadline, kStart + 10s);
  EXPECT_EQ(this->told_[0].now, kStart + 12s);
}

TYPED_TEST(ListenerTest, IsToldWhatExpiredWhenItIsPurged) {
  this->cache_.put("a", 1, 10s);
  this->clock_.advance(10s);
  EXPECT_EQ(this->cache_.purge(), 1u);
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 expired"}));
}

// The old value had gone by itself before the new one came.
TYPED_TEST(ListenerTest, IsToldThatAPutFoundAnExpiredEntry) {
  this->cache_.put("a", 1, 10s);
  this->clock_.advance(10s);
  this->cache_.put("a", 2);
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 expired"}));
}

TYPED_TEST(ListenerTest, IsToldThatAClearOrEraseFoundAnExpiredEntry) {
  this->cache_.put("a", 1, 10s);
  this->cache_.put("b", 2, 10s);
  this->clock_.advance(10s);
  this->cache_.erase("a");
  this->cache_.clear();
  ASSERT_EQ(this->texts_.size(), 2u);
  for (const Told& told : this->told_) EXPECT_EQ(told.cause, Cause::expired);
}

TYPED_TEST(ListenerTest, IsToldOfAnEntryThatWasDueWhenItWasPut) {
  this->cache_.put("a", 1);
  this->cache_.put("a", 2, kStart - 1s);
  this->cache_.purge();
  this->cache_.purge();
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 replaced", "a=2 expired"}));
}

TYPED_TEST(ListenerTest, IsToldWhatIsEvicted) {
  TypeParam cache(this->clock_, this->options(1));
  cache.put("a", 1, 10s);
  cache.put("b", 2);
  ASSERT_EQ(this->texts_, (std::vector<std::string>{"a=1 evicted"}));
  EXPECT_EQ(this->told_[0].deadline, kStart + 10s);
  EXPECT_EQ(this->told_[0].now, kStart);
}

TYPED_TEST(ListenerTest, IsToldNothingWhenADeadlineMovesOrTheCacheGoes) {
  {
    TypeParam cache(this->clock_, this->options());
    cache.put("a", 1, 10s);
    cache.expire("a", 20s);
    cache.persist("a");
    cache.get("absent");
  }
  EXPECT_TRUE(this->texts_.empty());
}

TYPED_TEST(ListenerTest, MayTakeTheValueAway) {
  Options options;
  std::string taken;
  options.listener = [&](Told& told) { taken = std::move(told.key); };
  TypeParam cache(this->clock_, options);
  cache.put("a key too long to be kept in place by a string", 1);
  cache.erase("a key too long to be kept in place by a string");
  EXPECT_EQ(taken, "a key too long to be kept in place by a string");
  EXPECT_EQ(cache.check_invariants(), "");
}

TYPED_TEST(ListenerTest, FindsTheCacheWholeAndTheEntryGone) {
  this->then_ = [&](const Told& told) {
    EXPECT_EQ(this->cache_.check_invariants(), "");
    EXPECT_EQ(this->cache_.contains(told.key), false);
  };
  for (int i = 0; i < 50; ++i) this->cache_.put(std::to_string(i), i, Millis(i));
  this->cache_.erase("49");
  this->clock_.advance(30ms);
  this->cache_.purge();
  this->cache_.clear();
  EXPECT_EQ(this->texts_.size(), 50u);
}

// What expired is put back once, from within the listener.
TYPED_TEST(ListenerTest, MayPutAndGetAndErase) {
  this->then_ = [&](const Told& told) {
    if (told.cause != Cause::expired) return;
    this->cache_.put(told.key, told.value + 1);
    EXPECT_TRUE(this->cache_.get(told.key));
    this->cache_.erase("other");
  };
  this->cache_.put("a", 1, 10s);
  this->cache_.put("other", 5);
  this->clock_.advance(10s);
  EXPECT_FALSE(this->cache_.get("a")) << "it was gone when it was asked for";
  EXPECT_TRUE(this->cache_.get("a"));
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=1 expired", "other=5 erased"}));
}

TYPED_TEST(ListenerTest, MayClearWhateverHappens) {
  this->then_ = [&](const Told&) { this->cache_.clear(); };
  for (int i = 0; i < 20; ++i) this->cache_.put(std::to_string(i), i, Millis(i / 2 + 1));
  this->clock_.advance(5ms);
  this->cache_.purge(3);
  EXPECT_EQ(this->cache_.stored(), 0u);
  EXPECT_EQ(this->texts_.size(), 20u);
  this->cache_.put("a", 1);
  this->cache_.put("a", 2);
  EXPECT_EQ(this->cache_.stored(), 0u) << "cleared by the listener that was told of the first";
  EXPECT_EQ(this->texts_.size(), 22u);
}

TYPED_TEST(ListenerTest, MayClearWhileItIsToldByGetOrLoad) {
  this->then_ = [&](const Told&) { this->cache_.clear(); };
  this->cache_.put("a", 1, 10s);
  this->clock_.advance(10s);
  EXPECT_EQ(this->cache_.get_or_load("a", [](const auto&) { return 7; }), 7);
}

TYPED_TEST(ListenerTest, MayThrowWithoutHarmToCallerOrOthers) {
  this->then_ = [](const Told&) { throw std::runtime_error("listener"); };
  for (int i = 0; i < 10; ++i) this->cache_.put(std::to_string(i), i, 10ms);
  this->clock_.advance(10ms);
  EXPECT_EQ(this->cache_.purge(), 10u);
  EXPECT_EQ(this->texts_.size(), 10u);
  EXPECT_EQ(this->cache_.stats().listener_failures, 10u);
  EXPECT_TRUE(this->cache_.put("a", 1));
}

TYPED_TEST(ListenerTest, IsToldInTheOrderOfEvents) {
  for (int i = 0; i < 5; ++i) this->cache_.put("a", i);
  this->cache_.erase("a");
  EXPECT_EQ(this->texts_, (std::vector<std::string>{"a=0 replaced", "a=1 replaced", "a=2 replaced",
                                                    "a=3 replaced", "a=4 erased"}));
}

// Each value is put once, and is told once or is still there.
TYPED_TEST(ListenerTest, IsToldOfEachPutOnceOverARandomRun) {
  std::array<std::uint64_t, 5> by_cause{};
  std::vector<int> told_of;
  Options options = this->options(15);
  options.cleanup = Cleanup::passive;
  options.listener = [&](Told& told) {
    ++by_cause[static_cast<std::size_t>(told.cause)];
    told_of.push_back(told.value);
  };
  TypeParam cache(this->clock_, options);
  Random random(42);
  int puts = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::string key = std::to_string(random.below(300));
    const std::uint64_t choice = random.below(1'000);
    if (choice < 600) {
      cache.put(key, puts++, choice < 100 ? Expiry::never() : Millis(random.below(60)));
    } else if (choice < 800) {
      cache.get(key);
    } else if (choice < 998) {
      choice < 900 ? cache.erase(key) : cache.expire(key, Millis(random.below(60)));
    } else {
      cache.clear();
    }
    this->clock_.advance(Millis(random.below(2)));
  }
  const CacheStats stats = cache.stats();
  EXPECT_EQ(by_cause, (std::array{stats.expired, stats.replaced, stats.erased, stats.evicted,
                                  stats.cleared}));
  for (const std::uint64_t count : by_cause) EXPECT_GT(count, 50u) << "each cause should occur";
  EXPECT_EQ(told_of.size() + cache.stored(), static_cast<std::size_t>(puts));
  std::ranges::sort(told_of);
  EXPECT_EQ(std::ranges::adjacent_find(told_of), told_of.end()) << "told twice";
}

}  // namespace cache_listener_test
}  // namespace mayfly
