// SPDX-License-Identifier: Apache-2.0
// IdOrder: random changes, checked against std::map; iterators that outlive changes; memory.

#include "keyspace/stream/id_order.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace id_order_test {

struct Numbered {
  StreamId first;
  std::uint64_t second;
};
using Order = IdOrder<Numbered>;
using Model = std::map<StreamId, std::uint64_t>;

void expect_same(const Order& order, const Model& model) {
  ASSERT_EQ(order.check_invariants(), "");
  ASSERT_EQ(order.size(), model.size());
  auto expected = model.begin();
  for (const auto& [id, number] : order) {
    ASSERT_EQ(id, expected->first);
    ASSERT_EQ(number, expected->second);
    ++expected;
  }
  auto last = model.rbegin();
  for (auto at = order.rbegin(); at != order.rend(); ++at, ++last) {
    ASSERT_EQ(at->first, last->first);
  }
}

// Changes with ids below `ids`; additions are as likely as removals, or more so.
void change_at_random(Random& random, Order& order, Model& model, std::uint64_t ids,
                      std::uint64_t additions) {
  for (int step = 0; step < 400; ++step) {
    const StreamId id = {random.below(ids) / 7, random.below(ids) % 7};
    if (random.below(10) < additions) {
      const std::uint64_t number = random.next();
      const std::uint64_t kept = order.insert({id, number}).second;
      ASSERT_EQ(kept, model.emplace(id, number).first->second);
    } else {
      ASSERT_EQ(order.erase(id), model.erase(id) > 0);
    }
    const StreamId other = {random.below(ids) / 7, random.below(ids) % 7};
    ASSERT_EQ(order.contains(other), model.contains(other));
    ASSERT_EQ(order.find(other) == nullptr, !model.contains(other));
    const auto lower = model.lower_bound(other);
    const auto found = order.lower_bound(other);
    ASSERT_EQ(found == order.end(), lower == model.end());
    if (lower != model.end()) {
      ASSERT_EQ(found->first, lower->first);
    }
    const auto upper = model.upper_bound(other);
    ASSERT_EQ(order.upper_bound(other) == order.end(), upper == model.end());
  }
}

TEST(IdOrderTest, BehavesAsAMap) {
  Random random(1);
  Order order;
  Model model;
  for (const std::uint64_t additions : {9, 5, 8, 1, 9, 3, 2, 0}) {
    for (int round = 0; round < 10; ++round) {
      ASSERT_NO_FATAL_FAILURE(change_at_random(random, order, model, 7000, additions));
      ASSERT_NO_FATAL_FAILURE(expect_same(order, model));
    }
  }
}

TEST(IdOrderTest, IteratorsStayOnTheirEntries) {
  IdOrder<StreamId> order;
  for (std::uint64_t i = 1; i <= 1000; ++i) order.insert({i, 0});
  std::vector<StreamId> seen;
  for (auto next = order.begin(); next != order.end();) {
    const StreamId id = *next++;
    seen.push_back(id);
    order.erase(id);
    if (id.ms % 3 == 0) order.erase({id.ms + 1, 0});  // the one on which it stands
    if (id.ms % 5 == 0) order.insert({1, id.ms});     // before it
  }
  std::vector<StreamId> expected;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    if (i == 1 || i % 3 != 1) expected.push_back({i, 0});
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(order.check_invariants(), "");
}

TEST(IdOrderTest, AnEndIsStillTheEndAfterAnInsertion) {
  IdOrder<StreamId> order;
  const auto end = order.end();
  order.insert({5, 0});
  EXPECT_TRUE(end == order.end());
  EXPECT_FALSE(end == order.begin());
  EXPECT_TRUE(order.upper_bound(kStreamIdMax) == order.end());
}

TEST(IdOrderTest, TakesLittleMoreThanItsEntries) {
  IdOrder<StreamId> order;
  for (std::uint64_t i = 0; i < 100'000; ++i) order.insert({i, i});
  EXPECT_LT(order.bytes(), 100'000 * sizeof(StreamId) * 11 / 10);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    if (i % 100 != 0) order.erase({i, i});
  }
  EXPECT_EQ(order.size(), 1'000u);
  EXPECT_LT(order.bytes(), 1'000 * sizeof(StreamId) * 2) << "chunks that got small are joined";
  for (std::uint64_t i = 0; i < 100'000; i += 100) order.erase({i, i});
  EXPECT_EQ(order.bytes(), 0u);
}

TEST(IdOrderTest, DropsInSlices) {
  IdOrder<StreamId> order;
  for (std::uint64_t i = 0; i < 10'000; ++i) order.insert({i, i});
  std::size_t slices = 0;
  for (std::size_t left = order.size(); left > 0; ++slices) {
    const std::size_t dropped = order.drop_some(1'000);
    ASSERT_GT(dropped, 0u);
    ASSERT_LT(dropped, 1'200u);
    left -= dropped;
    ASSERT_EQ(order.size(), left);
  }
  EXPECT_GE(slices, 9u);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(order.drop_some(1), 0u);
}

}  // namespace id_order_test
}  // namespace mayfly
