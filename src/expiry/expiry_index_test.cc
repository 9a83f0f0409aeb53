// SPDX-License-Identifier: Apache-2.0
// Every expiry index keeps the same promises, so one suite tests them all: a few examples that say
// what the promises are, then random operations checked against a plain map.
//
// The sampler and the lazy index promise no bound; what they owe is in sampler_test.cc.

#include "mayfly/expiry_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/volatile_set.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace expiry_index_test {

static_assert(ExpiryIndex<LazyIndex> && ExpiryIndex<Sampler>);

constexpr std::size_t kAll = ~std::size_t{0};

// A moment of our days, not near the epoch, where digits of a deadline would all be zero.
constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }

// A queue with windows narrow enough for a test.
struct NarrowWindows : WindowQueue {
  NarrowWindows() : WindowQueue({.window = Millis(7)}) {}
};
struct ExactWindows : WindowQueue {
  ExactWindows() : WindowQueue({.window = Millis(1)}) {}
};

template <class Index>
class ExpiryIndexTest : public testing::Test {
 protected:
  static_assert(ExpiryIndex<Index>);

  void TearDown() override { EXPECT_EQ(index_.check_invariants(), ""); }

  std::vector<Slot> take(Time now, std::size_t limit = kAll) {
    std::vector<Due> out;
    const std::size_t taken = index_.take_due(now, limit, out);
    EXPECT_EQ(taken, out.size());
    std::vector<Slot> slots;
    slots.reserve(out.size());
    for (const Due& due : out) slots.push_back(due.slot);
    return slots;
  }

  std::set<Slot> take_all(Time now) {
    std::set<Slot> all;
    do {
      for (const Slot slot : take(now, 10)) EXPECT_TRUE(all.insert(slot).second) << "taken twice";
    } while (is_due(index_.next_deadline(), now));
    return all;
  }

  Index index_;
};

using Indexes = testing::Types<DeadlineHeap, DeadlineTree, TimerWheel, VolatileSet, WindowQueue,
                               NarrowWindows, ExactWindows>;
TYPED_TEST_SUITE(ExpiryIndexTest, Indexes);

TYPED_TEST(ExpiryIndexTest, TakesASlotOnceAndNeverEarly) {
  this->index_.schedule(3, at(10));

  EXPECT_TRUE(this->take(at(9)).empty());
  EXPECT_EQ(this->take(at(10) + this->index_.slack()), std::vector<Slot>{3});
  EXPECT_TRUE(this->take(at(10) + this->index_.slack()).empty());
  EXPECT_EQ(this->index_.size(), 0u);
}

TYPED_TEST(ExpiryIndexTest, MovesASlotThatIsScheduledAgain) {
  this->index_.schedule(3, at(10));
  this->index_.schedule(3, at(5'000));

  EXPECT_EQ(this->index_.size(), 1u);
  EXPECT_EQ(this->index_.deadline(3), at(5'000));
  EXPECT_TRUE(this->take_all(at(4'999)).empty());

  this->index_.schedule(3, at(4'000));
  EXPECT_EQ(this->take_all(at(4'999)).size(), 1u);
}

TYPED_TEST(ExpiryIndexTest, ForgetsWhatIsCancelled) {
  this->index_.schedule(3, at(10));

  EXPECT_TRUE(this->index_.cancel(3));
  EXPECT_FALSE(this->index_.cancel(3));
  EXPECT_FALSE(this->index_.cancel(1'000'000));
  EXPECT_EQ(this->index_.deadline(3), kNever);
  EXPECT_EQ(this->index_.next_deadline(), kNever);
  EXPECT_TRUE(this->take_all(at(1'000'000)).empty());
}

TYPED_TEST(ExpiryIndexTest, TakesNeverForACancel) {
  this->index_.schedule(3, kNever);
  this->index_.schedule(4, at(10));
  this->index_.schedule(4, kNever);
  EXPECT_EQ(this->index_.size(), 0u);
}

TYPED_TEST(ExpiryIndexTest, StopsAtTheLimitAndSaysThatThereIsMore) {
  for (Slot slot = 0; slot < 1'000; ++slot) this->index_.schedule(slot, at(slot % 3));
  const Time now = at(60'000);

  std::size_t taken = this->take(now, 10).size();
  EXPECT_LE(taken, 10u);
  int calls = 1;
  for (; is_due(this->index_.next_deadline(), now); ++calls) taken += this->take(now, 10).size();
  EXPECT_EQ(taken, 1'000u);
  EXPECT_LE(calls, 300) << "most calls should take as many as they may";
}

TYPED_TEST(ExpiryIndexTest, CountsWhatIsDueAtAnyTime) {
  for (Slot slot = 0; slot < 100; ++slot) this->index_.schedule(slot, at(slot * 100));

  EXPECT_EQ(this->index_.count_due(at(-1)), 0u);
  EXPECT_EQ(this->index_.count_due(at(0)), 1u);
  EXPECT_EQ(this->index_.count_due(at(4'999)), 50u);
  EXPECT_EQ(this->index_.count_due(at(5'000)), 51u);
  EXPECT_EQ(this->index_.count_due(at(1'000'000)), 100u);
}

TYPED_TEST(ExpiryIndexTest, HoldsTheFarthestAndTheEarliestDeadlines) {
  this->index_.schedule(0, Time::min());
  this->index_.schedule(1, Time(Millis(-1)));
  this->index_.schedule(2, Time(Millis(0)));
  this->index_.schedule(3, at(0) + std::chrono::years(300));
  this->index_.schedule(4, kNever - Millis(1));

  EXPECT_EQ(this->index_.count_due(Time(Millis(0))), 3u);
  EXPECT_EQ(this->take_all(at(0)), (std::set<Slot>{0, 1, 2}));
  EXPECT_EQ(this->index_.deadline(4), kNever - Millis(1));
  EXPECT_EQ(this->take_all(at(0) + std::chrono::years(301)), (std::set<Slot>{3}));
  EXPECT_EQ(this->take_all(kNever - Millis(1)), (std::set<Slot>{4}));
}

TYPED_TEST(ExpiryIndexTest, HoldsManySlotsWithOneDeadline) {
  constexpr Slot kSlots = 20'000;
  for (Slot slot = 0; slot < kSlots; ++slot) this->index_.schedule(slot, at(77));
  EXPECT_EQ(this->index_.check_invariants(), "");
  for (Slot slot = 0; slot < kSlots; slot += 2) EXPECT_TRUE(this->index_.cancel(slot));
  EXPECT_EQ(this->index_.check_invariants(), "");

  EXPECT_EQ(this->index_.count_due(at(76)), 0u);
  EXPECT_EQ(this->index_.count_due(at(77)), kSlots / 2);
  EXPECT_EQ(this->take_all(at(77) + this->index_.slack()).size(), kSlots / 2);
}

TYPED_TEST(ExpiryIndexTest, IsEmptyAfterClear) {
  for (Slot slot = 0; slot < 1'000; ++slot) this->index_.schedule(slot, at(slot));
  this->index_.clear();
  EXPECT_EQ(this->index_.size(), 0u);
  EXPECT_EQ(this->index_.next_deadline(), kNever);
  this->index_.schedule(5, at(1));
  EXPECT_EQ(this->take_all(at(10'000)), std::set<Slot>{5});
}

// A worker that calls take_due() whenever next_deadline() says so never misses one by more than the
// slack, and wakes a bounded number of times for each entry, however far away it is.
TYPED_TEST(ExpiryIndexTest, NextDeadlineLeadsToEveryEntryInTime) {
  std::map<Slot, Time> model;
  std::int64_t ms = 1;
  for (Slot slot = 0; slot < 60; ++slot, ms = ms * 3 / 2 + 1) model[slot] = at(ms);
  for (const auto& [slot, deadline] : model) this->index_.schedule(slot, deadline);

  int wakes = 0;
  for (; !model.empty(); ++wakes) {
    const Time now = std::max(this->index_.next_deadline(), at(0));
    for (const Slot slot : this->take(now, 100)) {
      EXPECT_TRUE(is_due(model.at(slot), now));
      EXPECT_LE(now - model.at(slot), this->index_.slack());
      model.erase(slot);
    }
    ASSERT_LT(wakes, 60 * 11);
  }
}

// The model maps each scheduled slot to its deadline. Deadlines come from short and long ranges, so
// that they often coincide, the clock often lands on one, and every level of a hierarchy is used.
// Cancelling is nearly as common as scheduling, because removal from the middle is where an index
// breaks. Slots are many enough for a bucket to overflow and to be joined again.
template <class Index>
class Model {
 public:
  void schedule(Slot slot, Time deadline) {
    deadlines_[slot] = deadline;
    index_.schedule(slot, deadline);
  }

  void cancel(Slot slot) { RC_ASSERT(index_.cancel(slot) == (deadlines_.erase(slot) == 1)); }

  // Thousands at once, close together: enough for buckets to split, and then to be joined again.
  void crowd(Slot width_ms) {
    for (Slot slot = 0; slot < kCrowd; ++slot) {
      schedule(slot, now_ + Millis(1 + slot * 7919 % width_ms));
    }
  }
  void disperse(Slot share) {
    for (Slot slot = 0; slot < kCrowd; ++slot) {
      if (slot % share != 0) cancel(slot);
    }
  }

  void advance(Millis step, std::size_t limit) {
    now_ += step;
    std::vector<Due> out;
    do {
      out.clear();
      RC_ASSERT(index_.take_due(now_, limit, out) <= limit);
      for (const auto& [slot, deadline] : out) {
        RC_ASSERT(deadlines_.count(slot) == 1u);
        RC_ASSERT(deadlines_[slot] == deadline);
        RC_ASSERT(is_due(deadline, now_));
        deadlines_.erase(slot);
      }
      if (limit < 4) RC_ASSERT(index_.check_invariants() == "");
    } while (is_due(index_.next_deadline(), now_));
    for (const auto& [slot, deadline] : deadlines_) {
      RC_ASSERT(!is_due(deadline, now_ - index_.slack()));
    }
  }

  void check(Time t) {
    std::size_t due = 0;
    for (const auto& [slot, deadline] : deadlines_) {
      RC_ASSERT(index_.deadline(slot) == deadline);
      due += is_due(deadline, t) ? 1 : 0;
    }
    RC_ASSERT(index_.size() == deadlines_.size());
    RC_ASSERT(index_.count_due(t) == due);
    RC_ASSERT(index_.check_invariants() == "");
  }

  Time now() const { return now_; }

 private:
  static constexpr Slot kCrowd = 3'000;

  Index index_;
  std::map<Slot, Time> deadlines_;
  Time now_ = at(0);
};

rc::Gen<Millis> any_ttl() {
  const auto ms = [](std::int64_t a, std::int64_t b) { return rc::gen::inRange(a, b); };
  return rc::gen::map(rc::gen::weightedOneOf<std::int64_t>({{6, ms(0, 50)},
                                                            {2, ms(0, 3)},
                                                            {2, ms(-20, 5'000)},
                                                            {1, ms(0, 100'000'000)},
                                                            {1, ms(0, 1'000'000'000'000'000)}}),
                      [](std::int64_t count) { return Millis(count); });
}

TYPED_TEST(ExpiryIndexTest, AgreesWithAPlainMap) {
  enum class Op { schedule, cancel, advance, leap, check };
  const bool holds = rc::check([] {
    Model<TypeParam> model;
    const Slot slots = *rc::gen::element<Slot>(4, 64, 300);
    const int steps = *rc::gen::inRange(1, 800);
    for (int step = 0; step < steps; ++step) {
      const Slot slot = *rc::gen::inRange<Slot>(0, slots);
      switch (*rc::gen::weightedElement<Op>(
          {{12, Op::schedule}, {7, Op::cancel}, {1, Op::advance}, {1, Op::leap}, {2, Op::check}})) {
        case Op::schedule:
          model.schedule(slot, model.now() + *any_ttl());
          break;
        case Op::cancel:
          model.cancel(slot);
          break;
        case Op::advance:
          model.advance(Millis(*rc::gen::inRange(0, 10)), *rc::gen::inRange<std::size_t>(1, 20));
          break;
        case Op::leap:
          model.advance(*any_ttl() / 7, *rc::gen::inRange<std::size_t>(1, 20));
          break;
        case Op::check:
          model.check(model.now() + *any_ttl());
          break;
      }
    }
    model.check(model.now());
  });
  EXPECT_TRUE(holds);
}

TYPED_TEST(ExpiryIndexTest, AgreesWithAPlainMapInACrowd) {
  enum class Op { crowd, disperse, advance, check };
  const bool holds = rc::check([] {
    Model<TypeParam> model;
    const int steps = *rc::gen::inRange(1, 10);
    for (int step = 0; step < steps; ++step) {
      switch (*rc::gen::element(Op::crowd, Op::disperse, Op::advance, Op::check)) {
        case Op::crowd:
          model.crowd(*rc::gen::element<Slot>(1, 40, 5'000, 9'000'000));
          break;
        case Op::disperse:
          model.disperse(*rc::gen::element<Slot>(1, 3, 20, 1'000));
          break;
        case Op::advance:
          model.advance(*any_ttl(), *rc::gen::inRange<std::size_t>(20, 700));
          break;
        case Op::check:
          model.check(model.now() + *any_ttl());
          break;
      }
    }
    model.check(model.now());
  });
  EXPECT_TRUE(holds);
}

}  // namespace expiry_index_test
}  // namespace mayfly
