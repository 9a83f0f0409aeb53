// SPDX-License-Identifier: Apache-2.0
// A cache with any index agrees with a plain map of values and deadlines, whatever is done to both,
// also when the clock is set back.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "mayfly/cache.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace cache_model_test {

constexpr Time kStart = Time(Millis(1'800'000'000'000));

using Options = CacheOptions<int, int>;

// How an entry of the model lives. One that is due is as good as absent, but stays until it is
// known to be removed: a clock that goes back would show it again.
struct Life {
  int value;
  Time deadline;
  bool is_sliding = false;
  Millis idle{0};
  Time cap = kNever;
};

// Random operations on a cache and on a map. `draw(n)` gives the choices: a number below n.
template <class Index, class Draw>
class Run {
 public:
  Run(Draw draw, Cleanup cleanup) : draw_(draw), cache_(clock_, options(cleanup)) {}

  // Empty, or what differs.
  std::string step() {
    key_ = static_cast<int>(draw_(kKeys));
    switch (draw_(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return put();
      case 5:
      case 6:
      case 7:
        return get();
      case 8:
      case 9:
        return expire();
      case 10:
        return persist();
      case 11:
        return erase();
      case 12:
        return purge();
      case 13:
      case 14:
        return advance();
      default:
        return draw_(40) == 0 ? clear() : check_key();
    }
  }

  std::string check_all() {
    const Time now = clock_.now();
    std::size_t live = 0;
    for (const auto& [key, life] : model_) live += is_due(life.deadline, now) ? 0 : 1;
    if (cache_.size() != live) return "size";
    for (const auto& entry : cache_) {
      const Life* const life = alive(entry.key);
      if (life == nullptr) return "iteration shows what is gone";
      if (life->value != entry.value || life->deadline != entry.deadline) return "an entry differs";
      --live;
    }
    if (live != 0) return "iteration leaves entries out";
    if (told_ + cache_.stored() != puts_) return "removals are not told once each";
    return cache_.check_invariants();
  }

 private:
  static constexpr int kKeys = 40;

  Options options(Cleanup cleanup) {
    Options options{.cleanup = cleanup, .purge_per_write = 2};
    options.listener = [this](auto&) { ++told_; };
    return options;
  }

  Life* alive(int key) {
    const auto found = model_.find(key);
    if (found == model_.end() || is_due(found->second.deadline, clock_.now())) return nullptr;
    return &found->second;
  }

  Millis ttl() {
    const auto ms = [](std::uint64_t count) { return Millis(static_cast<std::int64_t>(count)); };
    switch (draw_(8)) {
      case 0:
        return ms(draw_(3)) - Millis(1);
      case 1:
        return ms(draw_(5'000));
      case 2:
        return ms(draw_(100'000'000));
      default:
        return ms(draw_(60));
    }
  }

  Expiry any_expiry(Life& life) {
    const Time now = clock_.now();
    life.is_sliding = false;
    life.idle = ttl();
    life.deadline = now + life.idle;
    switch (draw_(6)) {
      case 0:
        life.deadline = kNever;
        return Expiry::never();
      case 1:
        return Expiry(life.deadline);
      case 2: {
        const Millis cap = Millis(100);
        life.is_sliding = true;
        life.cap = now + cap;
        life.deadline = std::min(life.deadline, life.cap);
        return Expiry::sliding(life.idle, cap);
      }
      default:
        return Expiry(life.idle);
    }
  }

  std::string put() {
    Life life{.value = static_cast<int>(++puts_), .deadline = kNever};
    if (draw_(8) == 0) {
      cache_.put(key_, life.value);
    } else {
      const Expiry expiry = any_expiry(life);
      cache_.put(key_, life.value, expiry);
    }
    model_[key_] = life;
    return check_key();
  }

  std::string get() {
    Life* const life = alive(key_);
    const int* const value = cache_.get(key_);
    if ((value != nullptr) != (life != nullptr)) return "get";
    if (life == nullptr) {
      forget_due(key_);
      return "";
    }
    if (*value != life->value) return "get gives another value";
    slide(*life);
    return check_key();
  }

  void slide(Life& life) {
    if (life.is_sliding) life.deadline = std::min(life.cap, clock_.now() + life.idle);
  }

  std::string expire() {
    constexpr When kWhens[] = {When::always, When::unset,  When::set,
                               When::later,  When::sooner, When::set | When::later};
    const When when = kWhens[draw_(6)];
    Life* const life = alive(key_);
    Life changed = life == nullptr ? Life{} : *life;
    const Expiry expiry = any_expiry(changed);
    const bool may = life != nullptr && allows(when, life->deadline, changed.deadline);
    if (cache_.expire(key_, expiry, when) != may) return "expire";
    if (may) *life = changed;
    return check_key();
  }

  std::string persist() {
    Life* const life = alive(key_);
    const bool may = life != nullptr && life->deadline != kNever;
    if (cache_.persist(key_) != may) return "persist";
    if (may) *life = Life{.value = life->value, .deadline = kNever};
    return check_key();
  }

  std::string erase() {
    const bool was_there = alive(key_) != nullptr;
    if (cache_.erase(key_) != was_there) return "erase";
    if (was_there) model_.erase(key_);
    return check_key();
  }

  std::string purge() {
    const std::size_t limit = draw_(4) == 0 ? draw_(5) : ~std::size_t{0};
    const std::size_t stored = cache_.stored();
    const std::size_t purged = cache_.purge(limit);
    if (purged > limit || cache_.stored() != stored - purged) return "purge";
    const bool is_exact = cache_.index().slack() == Millis::zero();
    if (is_exact && purged < limit && cache_.stored() != cache_.size()) return "purge left some";
    return "";
  }

  std::string clear() {
    cache_.clear();
    model_.clear();
    return check_all();
  }

  // Mostly by a little, so that it stops right at deadlines; at times back.
  std::string advance() {
    const std::uint64_t choice = draw_(40);
    if (choice == 0) {
      forget_all_due();
      clock_.advance(-Millis(static_cast<std::int64_t>(draw_(50))));
    } else {
      clock_.advance(choice == 1 ? ttl() : Millis(static_cast<std::int64_t>(draw_(4))));
    }
    return check_key();
  }

  // A read removes what is due; after that it does not come back with the clock.
  void forget_due(int key) {
    const auto found = model_.find(key);
    if (found != model_.end() && is_due(found->second.deadline, clock_.now())) model_.erase(found);
  }
  void forget_all_due() {
    for (int key = 0; key < kKeys; ++key) {
      cache_.get(key);
      if (Life* const life = alive(key)) slide(*life);
      forget_due(key);
    }
  }

  std::string check_key() {
    const Life* const life = alive(key_);
    if (cache_.contains(key_) != (life != nullptr)) return "contains";
    const Time now = clock_.now();
    std::size_t live = 0;
    for (const auto& [key, other] : model_) live += is_due(other.deadline, now) ? 0 : 1;
    return cache_.size() == live ? "" : "size after a step";
  }

  Draw draw_;
  ManualClock clock_{kStart};
  std::map<int, Life> model_;
  std::size_t told_ = 0;
  int key_ = 0;
  std::size_t puts_ = 0;
  Cache<int, int, Index> cache_;
};

constexpr Cleanup kModes[] = {Cleanup::manual, Cleanup::passive};

// RapidCheck draws, and makes a failing run small.
template <class Index>
bool holds_for_random_runs() {
  const auto draw = [](std::uint64_t below) { return *rc::gen::inRange<std::uint64_t>(0, below); };
  return rc::check([&] {
    Run<Index, decltype(draw)> run(draw, kModes[draw(2)]);
    const auto steps = draw(120);
    for (std::uint64_t i = 0; i < steps; ++i) RC_ASSERT(run.step() == "");
    RC_ASSERT(run.check_all() == "");
  });
}

template <class Index>
void check_a_long_run() {
  for (const Cleanup mode : kModes) {
    Random random(42);
    const auto draw = [&](std::uint64_t below) { return random.below(below); };
    Run<Index, decltype(draw)> run(draw, mode);
    for (int i = 0; i < 80'000; ++i) {
      ASSERT_EQ(run.step(), "") << "step " << i;
      if (i % 100 == 0) {
        ASSERT_EQ(run.check_all(), "") << "step " << i;
      }
    }
  }
}

template <class Index>
class CacheModel : public testing::Test {};

using Indexes = testing::Types<VolatileSet, TimerWheel, DeadlineHeap, DeadlineTree, WindowQueue,
                               Sampler, LazyIndex>;
TYPED_TEST_SUITE(CacheModel, Indexes);

TYPED_TEST(CacheModel, AgreesWithAPlainMapInRandomRuns) {
  EXPECT_TRUE(holds_for_random_runs<TypeParam>());
}

TYPED_TEST(CacheModel, AgreesWithAPlainMapInALongRun) { check_a_long_run<TypeParam>(); }

}  // namespace cache_model_test
}  // namespace mayfly
