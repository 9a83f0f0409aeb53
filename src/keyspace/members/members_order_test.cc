// SPDX-License-Identifier: Apache-2.0
// The order of a large sorted set of which very many members are due.

#include "keyspace/members/members_order.h"

#include <gtest/gtest.h>

#include <string>

#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace members_order_test {

class MembersOrderTest : public testing::Test {
 protected:
  static constexpr std::size_t kMembers = 10'000;

  // Every second member is due in 10 ms.
  MembersOrderTest() {
    slot_ = fixture_.database.make_members(fixture_.context, ValueType::zset, "z");
    MembersRef members = fixture_.database.members(fixture_.context, slot_);
    for (std::size_t i = 0; i < kMembers; ++i) {
      const Time deadline = i % 2 == 0 ? fixture_.in(10) : kNever;
      members.put(name(i), ScoreBytes(static_cast<double>(i / 3)).view(), deadline);
    }
    EXPECT_FALSE(members.finish());
  }

  static std::string name(std::size_t i) { return std::to_string(100'000 + i); }

  void expect_the_living(Policy policy) {
    ExecContext context = fixture_.context;
    context.policy = policy;
    MembersRef members = fixture_.database.members(context, slot_);
    const MembersOrder order = members.order();
    ASSERT_EQ(order.size(), kMembers / 2);
    EXPECT_EQ(order.at(0).name, name(1));
    EXPECT_EQ(order.at(kMembers / 2 - 1).name, name(kMembers - 1));
    EXPECT_EQ(order.rank(333, name(999)), 499u);
    EXPECT_FALSE(members.finish());
    EXPECT_EQ(fixture_.database.check_invariants(), "");
  }

  KeyspaceFixture fixture_;
  Slot slot_ = kNoSlot;
};

// Some are removed at once, and the sweep removes the rest.
TEST_F(MembersOrderTest, HasOnlyTheLivingThoughFewAreReclaimed) {
  fixture_.advance(10);
  expect_the_living(Policy::reclaim);
  const std::size_t stored = fixture_.database.members(fixture_.context, slot_).stored();
  EXPECT_GT(stored, kMembers / 2 + 1'000);
  EXPECT_LT(stored, kMembers);
  expect_the_living(Policy::reclaim);
  while (fixture_.keyspace.sweep(fixture_.context, 1'000) > 0) {
  }
  EXPECT_EQ(fixture_.database.members(fixture_.context, slot_).stored(), kMembers / 2);
  expect_the_living(Policy::reclaim);
}

// A replica hides them from its clients, and has them for its primary.
TEST_F(MembersOrderTest, HidesAndShowsAgain) {
  fixture_.advance(10);
  expect_the_living(Policy::hide);
  ExecContext shown = fixture_.context;
  shown.policy = Policy::show;
  EXPECT_EQ(fixture_.database.members(shown, slot_).order().size(), kMembers);
  expect_the_living(Policy::hide);

  // The primary moves a deadline: the member comes back.
  fixture_.database.members(shown, slot_).set_deadline(name(0), fixture_.in(50));
  ExecContext hidden = fixture_.context;
  hidden.policy = Policy::hide;
  MembersRef members = fixture_.database.members(hidden, slot_);
  EXPECT_EQ(members.order().at(0).name, name(0));
  EXPECT_EQ(members.order().size(), kMembers / 2 + 1);
  EXPECT_EQ(fixture_.database.check_invariants(), "");

  // A clock that was set back.
  fixture_.advance(-10);
  ExecContext earlier = fixture_.context;
  earlier.policy = Policy::hide;
  EXPECT_EQ(fixture_.database.members(earlier, slot_).order().size(), kMembers);
  EXPECT_EQ(fixture_.database.check_invariants(), "");
}

}  // namespace members_order_test
}  // namespace mayfly
