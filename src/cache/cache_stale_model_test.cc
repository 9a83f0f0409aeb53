// SPDX-License-Identifier: Apache-2.0
// Stale values: Cache and ShardedCache agree with a plain map of values and times, whatever is done
// to both. Loaders do what they like, too: they read and change the cache, let time pass, load
// other keys and their own, fail, and come late.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <list>
#include <map>
#include <stdexcept>
#include <string>

#include "mayfly/sharded_cache.h"

namespace mayfly {
namespace cache_stale_model_test {

constexpr Time kStart = Time(Millis(1'800'000'000'000));
constexpr Millis kLease{9};
constexpr Millis kRetryAfter{4};

using Options = CacheOptions<int, int>;
using Single = Cache<int, int>;
using Sharded = ShardedCache<int, int>;

struct Down : std::runtime_error {
  Down() : std::runtime_error("the source is down") {}
};

struct Life {
  int value = 0;
  Time deadline = kNever;    // gone from then on
  Time stale_from = kNever;  // get_or_load() wants to load from then on
  Time rests_until = Time::min();
};

// A load under way. What it brings is not put if the key was changed since it began, or if another
// caller has taken over because the lease had ended.
struct Flight {
  int key;
  Time lease;
  bool is_superseded = false;
};

template <class AnyCache, class Draw>
class Run {
 public:
  explicit Run(Draw draw) : draw_(draw) {}

  // Empty, or the first thing that differed.
  const std::string& step() {
    act(kDepth);
    if (wrong_.empty()) check();
    return wrong_;
  }

 private:
  static constexpr int kKeys = 4;
  static constexpr int kDepth = 3;  // loaders within loaders
  static constexpr bool kHasLeases = std::is_same_v<AnyCache, Sharded>;

  Millis some(std::uint64_t below) { return Millis(static_cast<std::int64_t>(draw_(below))); }

  void act(int depth) {
    const int key = static_cast<int>(draw_(kKeys));
    switch (draw_(12)) {
      case 0:
        return put(key);
      case 1:
        return get(key);
      case 2:
        return erase(key);
      case 3:
        return expire(key);
      case 4:
        return draw_(4) == 0 ? clear() : persist(key);
      case 5:
      case 6:
      case 7:
        return clock_.advance(some(8));
      default:
        if (depth > 0) get_or_load(key, depth);
    }
  }

  Life* alive(int key) {
    const auto found = model_.find(key);
    if (found == model_.end() || is_due(found->second.deadline, clock_.now())) return nullptr;
    return &found->second;
  }

  // An expiry, and what it makes of a value that is put now.
  Expiry any_expiry(Life& life) {
    const Time now = clock_.now();
    const Millis ttl = some(12);
    const Millis window = some(16);
    life.deadline = now + ttl + window;
    life.stale_from = window > Millis(0) ? now + ttl : kNever;
    life.rests_until = Time::min();
    switch (draw_(8)) {
      case 0:
        life.deadline = now + ttl;
        life.stale_from = kNever;
        return ttl;
      case 1:
        life.deadline = kNever;
        life.stale_from = kNever;
        return Expiry::never().stale_for(window);
      case 2:
        life.stale_from = now + ttl;
        return Expiry(ttl + window).refresh_after(ttl);
      case 3:
        return Expiry(now + ttl).stale_for(window);
      default:
        return Expiry(ttl).stale_for(window);
    }
  }

  void put(int key) {
    supersede(key);
    Life life{.value = ++last_value_};
    const Expiry expiry = any_expiry(life);
    cache_.put(key, life.value, expiry);
    model_[key] = life;
  }

  void get(int key) {
    const Life* const life = alive(key);
    const auto value = cache_.get(key);
    expect(life == nullptr ? !value : value && *value == life->value, "get");
  }

  void erase(int key) {
    supersede(key);
    expect(cache_.erase(key) == (alive(key) != nullptr), "erase");
    model_.erase(key);
  }

  void expire(int key) {
    Life* const life = alive(key);
    Life changed = life == nullptr ? Life() : *life;
    const Expiry expiry = any_expiry(changed);
    expect(cache_.expire(key, expiry) == (life != nullptr), "expire");
    if (life == nullptr) return;
    *life = changed;
    supersede(key);
  }

  void persist(int key) {
    Life* const life = alive(key);
    const bool may = life != nullptr && life->deadline != kNever;
    expect(cache_.persist(key) == may, "persist");
    if (!may) return;
    *life = Life{.value = life->value};
    supersede(key);
  }

  void clear() {
    for (Flight& flight : flights_) flight.is_superseded = true;
    cache_.clear();
    model_.clear();
  }

  void supersede(int key) {
    for (Flight& flight : flights_) flight.is_superseded |= flight.key == key;
  }

  // Whether a load of the key is under way that need not be taken over.
  bool is_loading(int key) {
    bool is_open = false;
    for (Flight& flight : flights_) {
      if (flight.key != key) continue;
      flight.is_superseded |= is_due(flight.lease, clock_.now());
      is_open |= !flight.is_superseded;
    }
    return is_open;
  }

  bool wants_load(const Life& life) const {
    return is_due(life.stale_from, clock_.now()) && is_due(life.rests_until, clock_.now());
  }

  void get_or_load(int key, int depth) {
    const Life* const before = alive(key);
    bool may_load = before == nullptr || wants_load(*before);
    if (may_load && is_loading(key)) may_load = before == nullptr;
    const int old = before == nullptr ? 0 : before->value;

    // The calls of the loader, one at the most, draw what happens; the expiry counts from its end.
    auto flight = flights_.end();
    int loaded = 0;
    Life life;
    Expiry expiry = any_expiry(life);
    const Time drawn = clock_.now();
    const auto load = [&](int of) {
      expect(of == key && may_load && flight == flights_.end(), "an unexpected load");
      const Time lease = kHasLeases ? clock_.now() + kLease : kNever;
      flight = flights_.insert(flights_.end(), {key, lease});
      for (std::uint64_t left = draw_(5); left > 0; --left) act(depth - 1);
      if (draw_(3) == 0) throw Down();
      return loaded = ++last_value_;
    };
    int got = 0;
    try {
      got = cache_.get_or_load(key, load, expiry);
    } catch (const Down&) {
      got = -1;
    }
    expect(may_load == (flight != flights_.end()), "loads or does not");
    if (flight == flights_.end()) return expect(got == old, "the value that was there");

    const Flight landed = *flight;
    flights_.erase(flight);
    ++(loaded != 0 ? loads_ : failures_);
    if (loaded == 0) {
      expect(got == (before == nullptr ? -1 : old), "after a failure");
      fail(landed);
      return;
    }
    expect(got == loaded, "what was loaded");
    if (landed.is_superseded) return;
    life.value = loaded;
    model_[key] = moved(life, drawn, expiry);
  }

  void fail(const Flight& landed) {
    Life* const life = alive(landed.key);
    if (life == nullptr || landed.is_superseded || !is_due(life->stale_from, clock_.now())) return;
    life->rests_until = clock_.now() + kRetryAfter;
  }

  // A TTL counts from the end of the load, a deadline stays.
  Life moved(Life life, Time drawn, const Expiry& expiry) {
    if (!expiry.is_ttl()) return life;
    const Millis passed = clock_.now() - drawn;
    life.deadline += passed;
    if (life.stale_from != kNever) life.stale_from += passed;
    return life;
  }

  void check() {
    std::size_t size = 0;
    for (int key = 0; key < kKeys; ++key) {
      const Life* const life = alive(key);
      size += life != nullptr ? 1 : 0;
      const auto entry = cache_.find(key);
      if (entry.has_value() != (life != nullptr)) return expect(false, "find");
      if (life == nullptr) continue;
      expect(entry->value == life->value && entry->deadline == life->deadline, "an entry");
      expect(entry->is_stale == is_due(life->stale_from, clock_.now()), "is_stale");
    }
    const CacheStats stats = cache_.stats();
    expect(cache_.size() == size, "size");
    expect(stats.loads == loads_ && stats.load_failures == failures_, "statistics");
    expect(cache_.check_invariants().empty(), "invariants");
  }

  void expect(bool is_right, const char* what) {
    if (!is_right && wrong_.empty()) wrong_ = what;
  }

  Draw draw_;
  ManualClock clock_{kStart};
  AnyCache cache_{clock_, Options{.refresh_lease = kLease, .retry_after = kRetryAfter}};
  std::map<int, Life> model_;
  std::list<Flight> flights_;
  int last_value_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t failures_ = 0;
  std::string wrong_;
};

template <class AnyCache>
class StaleModel : public testing::Test {};

using Caches = testing::Types<Single, Sharded>;
TYPED_TEST_SUITE(StaleModel, Caches);

// RapidCheck draws, and makes a failing run small.
TYPED_TEST(StaleModel, AgreesWithAPlainMapInRandomRuns) {
  const auto draw = [](std::uint64_t below) { return *rc::gen::inRange<std::uint64_t>(0, below); };
  EXPECT_TRUE(rc::check([&] {
    Run<TypeParam, decltype(draw)> run(draw);
    const auto steps = draw(60);
    for (std::uint64_t i = 0; i < steps; ++i) RC_ASSERT(run.step() == "");
  }));
}

TYPED_TEST(StaleModel, AgreesWithAPlainMapInALongRun) {
  Random random(7);
  const auto draw = [&](std::uint64_t below) { return random.below(below); };
  Run<TypeParam, decltype(draw)> run(draw);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(run.step(), "") << "step " << i;
}

}  // namespace cache_stale_model_test
}  // namespace mayfly
