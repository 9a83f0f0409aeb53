// SPDX-License-Identifier: Apache-2.0
// NX, XX, GT and LT, for entries with and without a deadline.

#include "mayfly/condition.h"

#include <gtest/gtest.h>

#include "mayfly/result.h"

namespace mayfly {
namespace condition_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(ConditionTest, AlwaysAllowsEverything) {
  EXPECT_TRUE(allows(When::always, kNever, at(1)));
  EXPECT_TRUE(allows(When::always, at(5), at(1)));
}

TEST(ConditionTest, UnsetWantsNoDeadlineAndSetWantsOne) {
  EXPECT_TRUE(allows(When::unset, kNever, at(1)));
  EXPECT_FALSE(allows(When::unset, at(5), at(9)));
  EXPECT_FALSE(allows(When::set, kNever, at(1)));
  EXPECT_TRUE(allows(When::set, at(5), at(1)));
}

TEST(ConditionTest, LaterAndSoonerAreStrict) {
  EXPECT_TRUE(allows(When::later, at(5), at(6)));
  EXPECT_FALSE(allows(When::later, at(5), at(5)));
  EXPECT_TRUE(allows(When::sooner, at(5), at(4)));
  EXPECT_FALSE(allows(When::sooner, at(5), at(5)));
}

TEST(ConditionTest, NoDeadlineIsLaterThanAnyDeadline) {
  EXPECT_FALSE(allows(When::later, kNever, at(1)));
  EXPECT_TRUE(allows(When::sooner, kNever, at(1)));
}

TEST(ConditionTest, CombinedConditionsMustAllHold) {
  EXPECT_TRUE(allows(When::set | When::sooner, at(5), at(4)));
  EXPECT_FALSE(allows(When::set | When::sooner, kNever, at(4)));
  EXPECT_FALSE(allows(When::set | When::later, at(5), at(4)));
}

TEST(ConditionTest, OnlySensibleCombinationsAreCompatible) {
  EXPECT_TRUE(compatible(When::set | When::later));
  EXPECT_FALSE(compatible(When::unset | When::set));
  EXPECT_FALSE(compatible(When::unset | When::later));
  EXPECT_FALSE(compatible(When::later | When::sooner));
}

Result<int> halve(int number) {
  if (number % 2 != 0) return Error{Code::invalid, "odd"};
  return number / 2;
}

TEST(ResultTest, HoldsAValueOrTheReasonWhyNot) {
  EXPECT_EQ(*halve(8), 4);
  EXPECT_FALSE(halve(7));
  EXPECT_EQ(halve(7).error().code, Code::invalid);
}

}  // namespace condition_test
}  // namespace mayfly
