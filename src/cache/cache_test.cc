// SPDX-License-Identifier: Apache-2.0
// What a user of a Cache can see, with every index: reads are exact to the millisecond, sizes are
// exact, and cleaning up changes memory only.

#include "mayfly/cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace cache_test {

using namespace std::chrono_literals;

constexpr Time kStart = Time(Millis(1'800'000'000'000));

using Options = CacheOptions<std::string, int>;

// What a cache shows of an entry.
struct Shown {
  std::string key;
  int value;
  Time deadline;
  std::optional<Millis> ttl;
};

// A cache with any index, so that the tests are compiled once and not once for each.
class AnyCache {
 public:
  virtual ~AnyCache() = default;
  virtual const int* get(std::string_view key) = 0;
  virtual std::optional<Shown> find(std::string_view key) = 0;
  virtual bool contains(std::string_view key) const = 0;
  virtual bool put(std::string key, int value) = 0;
  virtual bool put(std::string key, int value, const Expiry& expiry) = 0;
  virtual bool expire(std::string_view key, const Expiry& expiry, When when = When::always) = 0;
  virtual bool persist(std::string_view key) = 0;
  virtual bool erase(std::string_view key) = 0;
  virtual void clear() = 0;
  virtual int get_or_load(const std::string& key, int loaded) = 0;
  virtual std::size_t purge(std::size_t limit = ~std::size_t{0}) = 0;
  virtual Time next_deadline() const = 0;
  virtual std::size_t size() const = 0;
  virtual bool empty() const = 0;
  virtual std::size_t stored() const = 0;
  virtual CacheStats stats() const = 0;
  virtual std::vector<Shown> entries() const = 0;
  virtual std::size_t index_size() const = 0;
  virtual Millis slack() const = 0;
  virtual std::string check_invariants() const = 0;
};

template <class Index>
class CacheOf final : public AnyCache {
 public:
  CacheOf(const Clock& clock, Options options) : cache_(clock, std::move(options)) {}

  const int* get(std::string_view key) override { return cache_.get(key); }
  std::optional<Shown> find(std::string_view key) override {
    const auto entry = cache_.find(key);
    if (!entry) return std::nullopt;
    return Shown{entry->key, entry->value, entry->deadline, entry->ttl};
  }
  bool contains(std::string_view key) const override { return cache_.contains(key); }
  bool put(std::string key, int value) override { return cache_.put(std::move(key), value); }
  bool put(std::string key, int value, const Expiry& expiry) override {
    return cache_.put(std::move(key), value, expiry);
  }
  bool expire(std::string_view key, const Expiry& expiry, When when) override {
    return cache_.expire(key, expiry, when);
  }
  bool persist(std::string_view key) override { return cache_.persist(key); }
  bool erase(std::string_view key) override { return cache_.erase(key); }
  void clear() override { cache_.clear(); }
  int get_or_load(const std::string& key, int loaded) override {
    return cache_.get_or_load(key, [&](const std::string&) { return loaded; });
  }
  std::size_t purge(std::size_t limit) override { return cache_.purge(limit); }
  Time next_deadline() const override { return cache_.next_deadline(); }
  std::size_t size() const override { return cache_.size(); }
  bool empty() const override { return cache_.empty(); }
  std::size_t stored() const override { return cache_.stored(); }
  CacheStats stats() const override { return cache_.stats(); }
  std::vector<Shown> entries() const override {
    std::vector<Shown> all;
    for (const auto& entry : cache_)
      all.push_back({entry.key, entry.value, entry.deadline, entry.ttl});
    return all;
  }
  std::size_t index_size() const override { return cache_.index().size(); }
  Millis slack() const override { return cache_.index().slack(); }
  std::string check_invariants() const override { return cache_.check_invariants(); }

 private:
  Cache<std::string, int, Index> cache_;
};

struct Kind {
  const char* name;
  std::unique_ptr<AnyCache> (*make)(const Clock&, Options);
};

template <class Index>
std::unique_ptr<AnyCache> make_with(const Clock& clock, Options options) {
  return std::make_unique<CacheOf<Index>>(clock, std::move(options));
}

constexpr Kind kKinds[] = {
    {"VolatileSet", make_with<VolatileSet>},   {"TimerWheel", make_with<TimerWheel>},
    {"DeadlineHeap", make_with<DeadlineHeap>}, {"DeadlineTree", make_with<DeadlineTree>},
    {"WindowQueue", make_with<WindowQueue>},   {"Sampler", make_with<Sampler>},
    {"LazyIndex", make_with<LazyIndex>},
};

class CacheTest : public testing::TestWithParam<Kind> {
 protected:
  void TearDown() override {
    for (const auto& cache : caches_) EXPECT_EQ(cache->check_invariants(), "");
  }

  // A further cache, which lasts as long as the test.
  AnyCache& make(Options options) {
    return *caches_.emplace_back(GetParam().make(clock_, std::move(options)));
  }

  // Whether purge() is bound to find what is due; then it does so no later than the slack.
  bool finds_due() const { return cache_.slack() != kNoBound; }
  Millis slack() const { return finds_due() ? cache_.slack() : 0ms; }

  std::optional<Millis> ttl(std::string_view key) {
    const auto entry = cache_.find(key);
    EXPECT_TRUE(entry) << key;
    return entry ? entry->ttl : Millis(-1);
  }

  static std::map<std::string, int> contents(const AnyCache& cache) {
    std::map<std::string, int> all;
    for (const Shown& entry : cache.entries())
      EXPECT_TRUE(all.emplace(entry.key, entry.value).second);
    return all;
  }

  // Puts "0" to "99", the n-th for n + 1 ms.
  static void put_hundred(AnyCache& cache) {
    for (int i = 0; i < 100; ++i) cache.put(std::to_string(i), i, Millis(i + 1));
  }

  bool is_there_after(Millis step) {
    clock_.advance(step);
    return cache_.contains("a");
  }

  ManualClock clock_{kStart};
  std::vector<std::unique_ptr<AnyCache>> caches_;
  AnyCache& cache_ = make({.cleanup = Cleanup::manual});
  AnyCache& passive_ = make({});
};

INSTANTIATE_TEST_SUITE_P(EveryIndex, CacheTest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(CacheTest, ShowsAnEntryUntilItsDeadlineAndNotAtIt) {
  AnyCache& cache = cache_;
  cache.put("a", 1, 10ms);
  clock_.advance(9ms);
  ASSERT_NE(cache.get("a"), nullptr);
  EXPECT_EQ(*cache.get("a"), 1);
  EXPECT_TRUE(cache.contains("a"));
  EXPECT_EQ(ttl("a"), 1ms);
  EXPECT_EQ(cache.size(), 1u);

  clock_.advance(1ms);
  EXPECT_FALSE(cache.contains("a"));
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_TRUE(cache.empty());
  EXPECT_TRUE(contents(cache).empty());
  EXPECT_FALSE(cache.find("a"));
  EXPECT_EQ(cache.get("a"), nullptr);
}

TEST_P(CacheTest, FindsNothingUnderAKeyThatWasNotPut) {
  AnyCache& cache = cache_;
  EXPECT_EQ(cache.get("a"), nullptr);
  EXPECT_FALSE(cache.find("a"));
  EXPECT_FALSE(cache.contains("a"));
  EXPECT_FALSE(cache.expire("a", 1s));
  EXPECT_FALSE(cache.persist("a"));
  EXPECT_FALSE(cache.erase("a"));
}

TEST_P(CacheTest, ShowsDeadlineAndTtlOnlyOfWhatHasThem) {
  cache_.put("with", 1, 10s);
  cache_.put("without", 2);
  EXPECT_EQ(cache_.find("with")->deadline, kStart + 10s);
  EXPECT_EQ(cache_.find("with")->ttl, 10s);
  EXPECT_EQ(cache_.find("without")->deadline, kNever);
  EXPECT_EQ(cache_.find("without")->ttl, std::nullopt);
}

TEST_P(CacheTest, TakesADeadlineAsWellAsATtl) {
  cache_.put("a", 1, kStart + 5ms);
  clock_.advance(4ms);
  EXPECT_TRUE(cache_.contains("a"));
  clock_.advance(1ms);
  EXPECT_FALSE(cache_.contains("a"));
}

TEST_P(CacheTest, KeepsNothingWhoseDeadlineIsNotInTheFuture) {
  AnyCache& cache = cache_;
  cache.put("zero", 1, 0ms);
  cache.put("negative", 1, -1h);
  cache.put("now", 1, kStart);
  cache.put("past", 1, kStart - 1s);
  for (const char* key : {"zero", "negative", "now", "past"}) EXPECT_EQ(cache.get(key), nullptr);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(contents(cache).size(), 0u);
}

TEST_P(CacheTest, RemovesTheOldValueWhenTheNewOneIsDueAtOnce) {
  cache_.put("a", 1);
  cache_.put("a", 2, kStart - 1s);
  EXPECT_EQ(cache_.get("a"), nullptr);
  clock_.set(kStart - 2s);
  EXPECT_TRUE(cache_.get("a") == nullptr || *cache_.get("a") == 2);
}

TEST_P(CacheTest, UsesTheDefaultTtlOnlyWhereNoneIsGiven) {
  AnyCache& cache = make({.default_expiry = 10s});
  cache.put("default", 1);
  cache.put("own", 1, 20s);
  cache.put("never", 1, Expiry::never());
  clock_.advance(10s);
  EXPECT_EQ(contents(cache).size(), 2u);
  clock_.advance(10s);
  EXPECT_TRUE(cache.contains("never"));
  EXPECT_EQ(cache.size(), 1u);
}

TEST_P(CacheTest, ReplacesValueAndDeadline) {
  AnyCache& cache = cache_;
  cache.put("a", 1, 10ms);
  cache.put("a", 2, 20ms);
  clock_.advance(10ms);
  EXPECT_EQ(*cache.get("a"), 2);
  EXPECT_EQ(ttl("a"), 10ms);
  cache.put("a", 3);
  clock_.advance(24h);
  EXPECT_EQ(*cache.get("a"), 3) << "a plain put makes it permanent";
  EXPECT_EQ(cache.size(), 1u);
}

TEST_P(CacheTest, PutsAKeyAgainThatHasExpired) {
  cache_.put("a", 1, 10ms);
  clock_.advance(10ms);
  cache_.put("a", 2, 10ms);
  clock_.advance(9ms);
  EXPECT_EQ(*cache_.get("a"), 2);
  clock_.advance(1ms);
  EXPECT_EQ(cache_.get("a"), nullptr);
}

TEST_P(CacheTest, ChangesADeadlineAndKeepsTheValue) {
  AnyCache& cache = cache_;
  cache.put("a", 1, 10ms);
  EXPECT_TRUE(cache.expire("a", 20ms));
  clock_.advance(19ms);
  EXPECT_EQ(*cache.get("a"), 1);
  EXPECT_TRUE(cache.expire("a", kStart + 20ms));
  clock_.advance(1ms);
  EXPECT_EQ(cache.get("a"), nullptr);
  EXPECT_FALSE(cache.expire("a", 20ms)) << "it is gone";
}

TEST_P(CacheTest, ExpiresAtOnceWhenTheNewDeadlineIsPast) {
  cache_.put("a", 1, 10s);
  EXPECT_TRUE(cache_.expire("a", kStart - 1s));
  EXPECT_FALSE(cache_.contains("a"));
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_FALSE(cache_.erase("a"));
}

TEST_P(CacheTest, SetsADeadlineOnlyWhereThereIsNone) {
  cache_.put("without", 1);
  cache_.put("with", 1, 10s);
  EXPECT_TRUE(cache_.expire("without", 5s, When::unset));
  EXPECT_FALSE(cache_.expire("with", 5s, When::unset));
  EXPECT_EQ(ttl("without"), 5s);
  EXPECT_EQ(ttl("with"), 10s);
}

TEST_P(CacheTest, SetsADeadlineOnlyWhereThereIsOne) {
  cache_.put("without", 1);
  cache_.put("with", 1, 10s);
  EXPECT_FALSE(cache_.expire("without", 5s, When::set));
  EXPECT_TRUE(cache_.expire("with", 5s, When::set));
  EXPECT_EQ(ttl("without"), std::nullopt);
  EXPECT_EQ(ttl("with"), 5s);
}

TEST_P(CacheTest, MovesADeadlineOnlyLater) {
  cache_.put("without", 1);
  cache_.put("with", 1, 10s);
  EXPECT_FALSE(cache_.expire("without", 20s, When::later));
  EXPECT_FALSE(cache_.expire("with", 9s, When::later));
  EXPECT_FALSE(cache_.expire("with", 10s, When::later));
  EXPECT_TRUE(cache_.expire("with", 11s, When::later));
  EXPECT_EQ(ttl("with"), 11s);
}

TEST_P(CacheTest, MovesADeadlineOnlySooner) {
  cache_.put("without", 1);
  cache_.put("with", 1, 10s);
  EXPECT_FALSE(cache_.expire("with", 11s, When::sooner));
  EXPECT_FALSE(cache_.expire("with", 10s, When::sooner));
  EXPECT_TRUE(cache_.expire("with", 9s, When::sooner));
  EXPECT_TRUE(cache_.expire("without", 20s, When::sooner));
  EXPECT_EQ(ttl("with"), 9s);
  EXPECT_EQ(ttl("without"), 20s);
}

TEST_P(CacheTest, CombinesConditions) {
  cache_.put("without", 1);
  cache_.put("with", 1, 10s);
  EXPECT_FALSE(cache_.expire("with", 9s, When::set | When::later));
  EXPECT_TRUE(cache_.expire("with", 11s, When::set | When::later));
  EXPECT_FALSE(cache_.expire("without", 9s, When::set | When::sooner));
  EXPECT_TRUE(cache_.expire("with", 9s, When::set | When::sooner));
}

TEST_P(CacheTest, TakesNeverForTheLatestDeadline) {
  cache_.put("a", 1, 10s);
  EXPECT_FALSE(cache_.expire("a", Expiry::never(), When::sooner));
  EXPECT_TRUE(cache_.expire("a", Expiry::never(), When::later));
  EXPECT_EQ(ttl("a"), std::nullopt);
}

TEST_P(CacheTest, PersistsWhatHasADeadline) {
  cache_.put("a", 1, 10ms);
  EXPECT_TRUE(cache_.persist("a"));
  EXPECT_FALSE(cache_.persist("a")) << "it has none any more";
  clock_.advance(1h);
  EXPECT_TRUE(cache_.contains("a"));
  EXPECT_EQ(cache_.next_deadline(), kNever);
}

TEST_P(CacheTest, DoesNotReviveWhatHasExpired) {
  cache_.put("a", 1, 10ms);
  clock_.advance(10ms);
  EXPECT_FALSE(cache_.persist("a"));
  EXPECT_FALSE(cache_.expire("a", 1h));
  EXPECT_FALSE(cache_.erase("a"));
  EXPECT_FALSE(cache_.contains("a"));
}

TEST_P(CacheTest, ErasesOnce) {
  cache_.put("a", 1, 10s);
  EXPECT_TRUE(cache_.erase("a"));
  EXPECT_FALSE(cache_.erase("a"));
  EXPECT_EQ(cache_.stored(), 0u);
  EXPECT_EQ(cache_.index_size(), 0u) << "the index must forget it too";
}

TEST_P(CacheTest, KeepsNoIndexRecordOfWhatIsReplacedOrPersisted) {
  for (int i = 0; i < 100; ++i) cache_.put("a", i, Millis(1'000 + i));
  EXPECT_EQ(cache_.index_size(), 1u);
  cache_.put("a", 1);
  EXPECT_EQ(cache_.index_size(), 0u);
}

TEST_P(CacheTest, IsEmptyAndUsableAfterClear) {
  put_hundred(cache_);
  cache_.clear();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(cache_.stored(), 0u);
  EXPECT_EQ(cache_.next_deadline(), kNever);
  cache_.put("a", 1, 10ms);
  EXPECT_EQ(*cache_.get("a"), 1);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_P(CacheTest, CountsAndIteratesLiveEntriesOnlySweptOrNot) {
  put_hundred(cache_);
  for (std::size_t gone = 0; gone <= 100; ++gone, clock_.advance(1ms)) {
    ASSERT_EQ(cache_.size(), 100 - gone);
    ASSERT_EQ(contents(cache_).size(), 100 - gone);
    ASSERT_EQ(cache_.stored(), 100u) << "looking at it removes nothing";
    ASSERT_EQ(contents(cache_).contains("50"), gone < 51);
  }
}

TEST_P(CacheTest, ShowsKeyValueDeadlineAndTtlWhenIterated) {
  cache_.put("a", 7, 10s);
  clock_.advance(4s);
  for (const Shown& entry : cache_.entries()) {
    EXPECT_EQ(entry.key, "a");
    EXPECT_EQ(entry.value, 7);
    EXPECT_EQ(entry.deadline, kStart + 10s);
    EXPECT_EQ(entry.ttl, 6s);
  }
}

TEST_P(CacheTest, PurgesWhatIsDueUpToTheLimit) {
  put_hundred(cache_);
  clock_.advance(60ms + slack());
  const std::size_t due = 100 - cache_.size();

  EXPECT_EQ(cache_.purge(0), 0u);
  EXPECT_LE(cache_.purge(7), 7u);
  if (!finds_due()) return;
  EXPECT_EQ(cache_.stored(), 93u);
  EXPECT_EQ(cache_.purge(), due - 7);
  EXPECT_EQ(cache_.purge(), 0u);
  EXPECT_EQ(cache_.stored(), cache_.size());
}

TEST_P(CacheTest, PurgesNothingEarly) {
  put_hundred(cache_);
  EXPECT_EQ(cache_.purge(), 0u);
  clock_.advance(50ms);
  EXPECT_LE(cache_.purge(), 50u);
  EXPECT_EQ(contents(cache_).size(), 50u);
}

TEST_P(CacheTest, NeverCleansByItselfInTheManualMode) {
  put_hundred(cache_);
  clock_.advance(1h);
  for (int i = 0; i < 50; ++i) cache_.put("other", i);
  EXPECT_EQ(cache_.stored(), 101u);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_P(CacheTest, CleansOnWritesInThePassiveMode) {
  put_hundred(passive_);
  clock_.advance(1h);
  EXPECT_EQ(passive_.stored(), 100u) << "no write yet";
  for (int i = 0; i < 4; ++i) passive_.put("other", i);
  if (finds_due()) {
    EXPECT_EQ(passive_.stored(), 1u);
  }
  EXPECT_EQ(passive_.size(), 1u);
}

TEST_P(CacheTest, BoundsWhatOneWriteCleans) {
  AnyCache& cache = make({.purge_per_write = 10});
  put_hundred(cache);
  clock_.advance(1h);
  cache.put("other", 1);
  EXPECT_GE(cache.stored(), 91u);
  if (finds_due()) {
    EXPECT_EQ(cache.stored(), 91u);
  }
}

TEST_P(CacheTest, NextDeadlineLeadsAnEventLoopToEveryEntryInTime) {
  if (!finds_due()) return;
  put_hundred(cache_);
  cache_.put("far", 1, 100h);
  int turns = 0;
  for (; cache_.stored() > 0 && turns < 1'000; ++turns) {
    ASSERT_NE(cache_.next_deadline(), kNever);
    clock_.set(std::max(clock_.now(), cache_.next_deadline()));
    cache_.purge();
    ASSERT_LE(cache_.stored() - cache_.size(), slack() > 0ms ? 100u : 0u);
  }
  EXPECT_LT(turns, 1'000);
  EXPECT_LE(clock_.now(), kStart + 100h + slack());
  EXPECT_EQ(cache_.next_deadline(), kNever);
}

TEST_P(CacheTest, StaysExactWhenTheClockIsSetBack) {
  cache_.put("a", 1, 10s);
  cache_.put("b", 2, 60s);
  clock_.advance(30s);
  cache_.purge();
  clock_.set(kStart - 1h);
  cache_.put("c", 3, 5ms);
  EXPECT_EQ(contents(cache_).size(), cache_.size());
  EXPECT_EQ(ttl("b"), 1h + 60s);

  clock_.advance(5ms + slack());
  EXPECT_FALSE(cache_.contains("c"));
  if (finds_due()) {
    EXPECT_EQ(cache_.purge(), 1u);
  }
  EXPECT_TRUE(cache_.contains("b"));
}

TEST_P(CacheTest, KeepsAPointerGoodWhileOtherEntriesComeAndGo) {
  cache_.put("a", 7, 1h);
  const int* const value = cache_.get("a");
  for (int i = 0; i < 3'000; ++i) cache_.put(std::to_string(i), i, Millis(i + 1));
  clock_.advance(10s);
  cache_.purge();
  EXPECT_EQ(cache_.get("a"), value);
  EXPECT_EQ(*value, 7);
}

TEST_P(CacheTest, CountsHitsMissesAndRemovals) {
  AnyCache& cache = cache_;
  cache.put("a", 1, 10ms);
  cache.put("b", 1);
  cache.put("b", 2);
  cache.get("a");
  cache.find("b");
  cache.get("absent");
  cache.contains("b");
  clock_.advance(10ms);
  cache.get("a");
  cache.erase("b");
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 2u);
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.expired, 1u);
  EXPECT_EQ(stats.replaced, 1u);
  EXPECT_EQ(stats.erased, 1u);
  EXPECT_EQ(stats.evicted + stats.cleared, 0u);
}

TEST_P(CacheTest, CountsWhatItClears) {
  put_hundred(cache_);
  clock_.advance(40ms);
  cache_.clear();
  EXPECT_EQ(cache_.stats().cleared + cache_.stats().expired, 100u);
  EXPECT_EQ(cache_.stats().cleared, 60u) << "the others had expired before";
}

TEST_P(CacheTest, LooksStringsUpByViewsAndLiterals) {
  using std::string_view_literals::operator""sv;
  const std::string key("with\0zero", 9);
  cache_.put(key, 1, 10s);
  EXPECT_NE(cache_.get("with\0zero"sv), nullptr);
  EXPECT_EQ(cache_.get("with"), nullptr);
  EXPECT_TRUE(cache_.contains(std::string_view(key)));
  EXPECT_TRUE(cache_.expire("with\0zero"sv, 5s));
  EXPECT_TRUE(cache_.persist("with\0zero"sv));
  EXPECT_TRUE(cache_.erase("with\0zero"sv));
}

// --- Lives that are more than a TTL.

TEST_P(CacheTest, EveryReadPutsTheDeadlineOff) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  for (int i = 0; i < 100; ++i) {
    clock_.advance(9ms);
    ASSERT_NE(cache_.get("a"), nullptr);
  }
  EXPECT_TRUE(is_there_after(9ms));
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, FindIsAReadAndShowsTheNewDeadline) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  clock_.advance(9ms);
  EXPECT_EQ(cache_.find("a")->ttl, 10ms);
  EXPECT_TRUE(is_there_after(9ms));
}

TEST_P(CacheTest, LookingIsNotReading) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  clock_.advance(9ms);
  EXPECT_TRUE(cache_.contains("a"));
  for (const Shown& entry : cache_.entries()) EXPECT_EQ(entry.ttl, 1ms);
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, ARowOfReadsEndsAtTheCap) {
  cache_.put("a", 1, Expiry::sliding(10ms, 25ms));
  for (int i = 0; i < 24; ++i) {
    clock_.advance(1ms);
    ASSERT_NE(cache_.get("a"), nullptr) << i;
  }
  EXPECT_EQ(cache_.find("a")->deadline, kStart + 25ms);
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, APutStartsTheCapAnew) {
  cache_.put("a", 1, Expiry::sliding(20ms, 25ms));
  clock_.advance(15ms);
  cache_.put("a", 2, Expiry::sliding(20ms, 25ms));
  clock_.advance(15ms);
  ASSERT_NE(cache_.get("a"), nullptr);
  EXPECT_TRUE(is_there_after(9ms));
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, SlidesByDefaultIfTheOptionsSaySo) {
  AnyCache& cache = make({.default_expiry = Expiry::sliding(10ms)});
  cache.put("a", 1);
  clock_.advance(9ms);
  cache.get("a");
  clock_.advance(9ms);
  EXPECT_TRUE(cache.contains("a"));
}

// A read must not bring back a deadline that the user took away or fixed.
TEST_P(CacheTest, StopsSlidingWhenPersisted) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  EXPECT_TRUE(cache_.persist("a"));
  EXPECT_NE(cache_.get("a"), nullptr);
  EXPECT_EQ(cache_.find("a")->ttl, std::nullopt);
  EXPECT_TRUE(is_there_after(1h));
}

TEST_P(CacheTest, StopsSlidingWhenItGetsAFixedDeadline) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  EXPECT_TRUE(cache_.expire("a", 15ms));
  clock_.advance(14ms);
  EXPECT_NE(cache_.get("a"), nullptr);
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, StopsSlidingWhenReplacedByAPlainPut) {
  cache_.put("a", 1, Expiry::sliding(10ms));
  cache_.put("a", 2, 15ms);
  clock_.advance(14ms);
  EXPECT_NE(cache_.get("a"), nullptr);
  EXPECT_FALSE(is_there_after(1ms));
}

TEST_P(CacheTest, StartsSlidingWhenExpireSaysSo) {
  cache_.put("a", 1, 5ms);
  EXPECT_TRUE(cache_.expire("a", Expiry::sliding(10ms)));
  for (int i = 0; i < 5; ++i) {
    clock_.advance(9ms);
    ASSERT_NE(cache_.get("a"), nullptr);
  }
}

// Slots are used again: the next entry must not inherit how the last one lived.
TEST_P(CacheTest, LeavesNothingToTheNextEntryInItsPlace) {
  for (const bool by_clear : {false, true}) {
    cache_.put("old", 1, Expiry::sliding(10ms).refresh_after(1ms));
    by_clear ? cache_.clear() : static_cast<void>(cache_.erase("old"));
    cache_.put("a", 2, 15ms);
    clock_.advance(14ms);
    EXPECT_EQ(cache_.get_or_load("a", 3), 2);
    EXPECT_FALSE(is_there_after(1ms));
  }
}

TEST_P(CacheTest, LeavesNothingToTheNextEntryWhenItExpires) {
  cache_.put("old", 1, Expiry::sliding(10ms).refresh_after(1ms));
  clock_.advance(10ms);
  EXPECT_EQ(cache_.get("old"), nullptr);
  cache_.put("a", 2);
  EXPECT_EQ(cache_.get_or_load("a", 3), 2);
  EXPECT_TRUE(is_there_after(1h));
}

TEST_P(CacheTest, SpreadsTtlsByItsJitterAndRepeatsThemBySeed) {
  const auto deadlines = [&](std::uint64_t seed) {
    AnyCache& cache = make({.jitter_percent = 15, .seed = seed});
    std::vector<Time> all;
    for (int i = 0; i < 1'000; ++i) {
      cache.put(std::to_string(i), i, 1h);
      all.push_back(cache.find(std::to_string(i))->deadline);
    }
    return all;
  };
  const std::vector<Time> first = deadlines(7);
  EXPECT_EQ(first, deadlines(7));
  EXPECT_NE(first, deadlines(8));
  EXPECT_GT(std::set<Time>(first.begin(), first.end()).size(), 990u);
  for (const Time deadline : first) {
    EXPECT_GE(deadline, kStart + 51min);
    EXPECT_LE(deadline, kStart + 69min);
  }
}

// --- Values that can only be moved.

template <class Index>
void put_get_and_erase_a_unique_ptr() {
  const ManualClock clock(kStart);
  Cache<int, std::unique_ptr<int>, Index> cache(clock);
  cache.put(1, std::make_unique<int>(7), 10s);
  cache.put(2, std::make_unique<int>(8));
  cache.put(2, std::make_unique<int>(9));
  EXPECT_EQ(**cache.get(1), 7);
  EXPECT_EQ(**cache.get(2), 9);
  EXPECT_TRUE(cache.erase(1));
  EXPECT_EQ(cache.get(1), nullptr);
}

TEST(CacheOfUniquePtr, HoldsValuesThatCanOnlyBeMoved) {
  put_get_and_erase_a_unique_ptr<VolatileSet>();
  put_get_and_erase_a_unique_ptr<DeadlineTree>();
}

// The clocks of a program, whose reads go by a coarse clock first. What is far away is alive or
// gone; what is near is exact, which src/base/coarse_time_test.cc shows with clocks it can move.
template <class RealClock>
void check_real_clock() {
  const RealClock clock;
  for (const std::size_t max_entries : {0, 10}) {
    Cache<int, int> cache(clock, {.max_entries = max_entries});
    cache.put(1, 10);
    cache.put(2, 20, 1h);
    cache.put(3, 30, Expiry::sliding(1h));
    cache.put(4, 40, clock.now() - 1h);
    cache.put(5, 50, clock.now());
    for (int i = 0; i < 3; ++i) {
      for (const int key : {1, 2, 3}) EXPECT_EQ(*cache.get(key), 10 * key);
      for (const int key : {4, 5, 6}) EXPECT_EQ(cache.get(key), nullptr);
    }
    EXPECT_EQ(cache.stats().hits, 9u);
    EXPECT_EQ(cache.stats().misses, 9u);
    EXPECT_EQ(cache.stats().expired, 2u);
  }
  for (const int ms : {-100'000, -3'000, -1'000, -1, 0, 1'000, 3'000, 100'000}) {
    EXPECT_EQ(clock.has_passed(clock.now() + Millis(ms)), ms <= 0) << ms;
  }
  EXPECT_FALSE(clock.has_passed(kNever));
}

TEST(RealClockTest, ReadsAreExact) {
  check_real_clock<SteadyClock>();
  check_real_clock<SystemClock>();
}

}  // namespace cache_test
}  // namespace mayfly
