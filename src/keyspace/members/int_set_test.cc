// SPDX-License-Identifier: Apache-2.0
// Integers in order in one run of bytes, against a std::set.

#include "keyspace/members/int_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "mayfly/random.h"

namespace mayfly {
namespace int_set_test {

TEST(IntSet, TakesOnlyTheShortestFormOfAnInteger) {
  EXPECT_EQ(parse_exact_integer("0"), 0);
  EXPECT_EQ(parse_exact_integer("-7"), -7);
  EXPECT_EQ(parse_exact_integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_exact_integer("-9223372036854775808"), INT64_MIN);
  for (const char* const text :
       {"", "-", "-0", "00", "07", "+7", " 7", "7 ", "7.0", "9223372036854775808", "1e3", "x"}) {
    EXPECT_FALSE(parse_exact_integer(text)) << text;
  }
}

std::string with(std::string blob, std::int64_t value) {
  const std::size_t size = blob.size();
  blob.resize(int_set_size_with(blob, value));
  EXPECT_EQ(int_set_insert(blob.data(), size, value), blob.size());
  return blob;
}

std::string empty_set() {
  std::string blob(kIntSetEmptySize, '\0');
  int_set_create(blob.data());
  return blob;
}

TEST(IntSet, AgreesWithASet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::string blob = empty_set();
    std::set<std::int64_t> model;
    for (int step = 0; step < 400; ++step) {
      const auto bits = static_cast<unsigned>(random.below(step < 200 ? 12 : 63));
      const auto value =
          static_cast<std::int64_t>(random.below(std::uint64_t{1} << bits)) - (1 << (bits / 2));
      if (model.insert(value).second) {
        blob = with(blob, value);
      } else {
        blob.resize(int_set_erase(blob.data(), blob.size(), value));
        model.erase(value);
      }
      ASSERT_EQ(IntSetView(blob).check_invariants(), "");
      ASSERT_EQ(IntSetView(blob).count(), model.size());
      ASSERT_EQ(IntSetView(blob).contains(value), model.contains(value));
    }
    auto expected = model.begin();
    IntSetView(blob).each([&](const Member& member) {
      EXPECT_EQ(member.name, std::to_string(*expected++));
      return true;
    });
    EXPECT_EQ(expected, model.end());
  }
}

TEST(IntSet, IsAsWideAsItsWidestValue) {
  std::string blob = with(with(empty_set(), 32'767), -32'768);
  EXPECT_EQ(blob.size(), 5u);
  blob = with(blob, 32'768);
  EXPECT_EQ(blob.size(), 13u);
  blob = with(blob, INT64_MIN);
  EXPECT_EQ(blob.size(), 33u);
  EXPECT_EQ(IntSetView(blob).at(0), INT64_MIN);
  EXPECT_EQ(IntSetView(blob).at(3), 32'768);
}

TEST(IntSet, FindsTheNameThatItWasGiven) {
  const std::string blob = with(empty_set(), 12);
  const std::string name = "12";
  EXPECT_EQ(IntSetView(blob).find(name)->name.data(), name.data());
  EXPECT_FALSE(IntSetView(blob).find("012"));
  EXPECT_FALSE(IntSetView(blob).find("13"));
}

TEST(IntSet, SaysWhatIsWrongWithBytes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(IntSetView("").check_invariants(), "no width");
  EXPECT_EQ(IntSetView("\3").check_invariants(), "an invalid width");
  EXPECT_EQ(IntSetView("\2a").check_invariants(), "a part of a value");
  EXPECT_EQ(IntSetView("\2\2\0\1\0"sv).check_invariants(), "values out of order");
}

}  // namespace int_set_test
}  // namespace mayfly
