// SPDX-License-Identifier: Apache-2.0
// ScoreOrder against a sorted set of pairs.

#include "keyspace/members/score_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace score_order_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Names are numbers of five digits, so that their order is that of the slots written backwards.
class Model {
 public:
  explicit Model(std::size_t slots) {
    for (std::size_t i = 0; i < slots; ++i) names_.push_back(std::to_string(100'000 - i));
  }

  void insert(double score, Slot slot) {
    order.insert({score, slot}, name_of());
    entries_.insert({score, names_[slot], slot});
  }
  void erase(double score, Slot slot) {
    order.erase({score, slot}, name_of());
    ASSERT_EQ(entries_.erase({score, names_[slot], slot}), 1u);
  }

  void keep_below(Slot end) {
    order.keep_if([&](ScoreOrder::Entry entry) { return entry.slot < end; });
    std::erase_if(entries_, [&](const Row& row) { return row.slot >= end; });
  }

  void check() const {
    ASSERT_EQ(order.check_invariants(name_of()), "");
    ASSERT_EQ(order.size(), entries_.size());
  }

  // Every rank, both directions, and bounds around a score.
  void check_reads(Random& random) const {
    std::vector<Slot> expected;
    for (const Row& row : entries_) expected.push_back(row.slot);
    if (expected.empty()) return;
    const std::size_t first = random.below(expected.size());
    const std::size_t count = random.below(expected.size() - first) + 1;
    std::vector<Slot> seen;
    const auto see = [&](ScoreOrder::Entry entry) {
      seen.push_back(entry.slot);
      return true;
    };
    const auto at = [&](std::size_t rank) {
      return expected.begin() + static_cast<std::ptrdiff_t>(rank);
    };
    order.visit(first, count, false, see);
    EXPECT_EQ(seen, std::vector<Slot>(at(first), at(first + count)));
    seen.clear();
    order.visit(first + count - 1, count, true, see);
    std::ranges::reverse(seen);
    EXPECT_EQ(seen, std::vector<Slot>(at(first), at(first + count)));
    EXPECT_EQ(order.at(first).slot, expected[first]);

    const double score = order.at(first).score;
    const auto lower =
        std::ranges::count_if(entries_, [&](const Row& row) { return row.score < score; });
    EXPECT_EQ(order.count_before([&](ScoreOrder::Entry entry) { return entry.score < score; }),
              static_cast<std::size_t>(lower));
  }

  ScoreOrder order;

 private:
  struct Row {
    double score;
    std::string_view name;
    Slot slot;
    auto operator<=>(const Row&) const = default;
  };
  struct NameOf {
    const std::vector<std::string>* names;
    std::string_view operator()(Slot slot) const { return (*names)[slot]; }
  };
  const NameOf& name_of() const { return name_of_; }

  std::vector<std::string> names_;
  NameOf name_of_{&names_};
  std::set<Row> entries_;
};

// Each slot is in or out; scores are few, so that many are equal, or many.
void run_model(std::uint64_t seed, std::size_t slots, std::uint64_t scores, int steps) {
  SCOPED_TRACE(seed);
  Random random(seed);
  Model model(slots);
  std::vector<double> score_of(slots, kInfinity);
  std::vector<bool> is_in(slots, false);
  for (int step = 0; step < steps; ++step) {
    // Phases of growth and of shrinking.
    const bool grows = (step / (steps / 4)) % 2 == 0;
    const auto slot = static_cast<Slot>(random.below(slots));
    if (is_in[slot]) {
      if (grows && random.below(4) != 0) continue;
      model.erase(score_of[slot], slot);
      is_in[slot] = false;
    } else if (grows || random.below(4) == 0) {
      score_of[slot] = static_cast<double>(random.below(scores)) - 3;
      model.insert(score_of[slot], slot);
      is_in[slot] = true;
    }
    if (step % (steps / 50) == 0) {
      model.check();
      model.check_reads(random);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(ScoreOrder, AgreesWithAModel) {
  run_model(1, 300, 4, 4'000);
  run_model(2, 5'000, 1'000'000, 40'000);
  run_model(3, 5'000, 7, 40'000);
  run_model(4, 40'000, 100'000, 120'000);
}

TEST(ScoreOrder, KeepsWhatItIsTold) {
  for (const std::size_t kept : {0u, 1u, 63u, 64u, 1'000u, 9'999u, 10'000u}) {
    Model model(10'000);
    for (Slot slot = 0; slot < 10'000; ++slot) model.insert(slot % 50, slot);
    model.keep_below(static_cast<Slot>(kept));
    model.check();
    Random random(kept);
    model.check_reads(random);
  }
}

TEST(ScoreOrder, IsFullAfterAscendingInsertions) {
  Model model(20'000);
  for (Slot slot = 0; slot < 20'000; ++slot) model.insert(slot, slot);
  model.check();
  EXPECT_LT(model.order.bytes(), 20'000 * 13.2);
}

TEST(ScoreOrder, IsWellFilledAfterRandomInsertions) {
  Random random(5);
  Model model(50'000);
  for (Slot slot = 0; slot < 50'000; ++slot) model.insert(random.fraction(), slot);
  model.check();
  EXPECT_LT(model.order.bytes(), 50'000 * 16.0);
}

TEST(ScoreOrder, OrdersInfinitiesAndTakesZeroesAsEqual) {
  Model model(4);
  model.insert(kInfinity, 0);
  model.insert(-kInfinity, 1);
  model.insert(0.0, 2);
  model.insert(-0.0, 3);
  model.check();
  EXPECT_EQ(model.order.at(0).slot, 1u);
  EXPECT_EQ(model.order.at(1).slot, 3u);  // the lesser name
  EXPECT_EQ(model.order.at(3).slot, 0u);
}

TEST(ScoreOrder, IsFreedInSlices) {
  Model model(10'000);
  for (Slot slot = 0; slot < 10'000; ++slot) model.insert(slot % 100, slot);
  std::size_t left = model.order.size();
  while (left > 0) {
    const std::size_t after = model.order.free_some(100);
    ASSERT_LT(after, left);
    ASSERT_LE(left - after, 200u);
    left = after;
  }
}

}  // namespace score_order_test
}  // namespace mayfly
