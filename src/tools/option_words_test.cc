// SPDX-License-Identifier: Apache-2.0
// Lists, words and numbers behind an option: what is taken, and what is said of the rest.

#include "tools/option_words.h"

#include <gtest/gtest.h>

#include <array>

namespace mayfly {
namespace option_words_test {

constexpr std::array<std::string_view, 3> kWords = {"lmdb", "sqlite", "rocksdb"};

TEST(SplitList, KeepsEmptyParts) {
  EXPECT_EQ(split_list("a,,b"), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_list(""), (std::vector<std::string_view>{""}));
}

TEST(ChooseWords, GivesTheirPlacesOnceInTheUsersOrder) {
  const auto chosen = choose_words("--peers", "rocksdb,lmdb,rocksdb", kWords);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, (std::vector<std::size_t>{2, 0}));
}

TEST(ChooseWords, NamesTheOptionTheWordAndTheNearestRightOne) {
  const auto chosen = choose_words("--peers", "lmdb,sqlit", kWords);
  ASSERT_FALSE(chosen);
  for (const std::string_view part : {"--peers", "'sqlit'", "did you mean 'sqlite'?", "rocksdb"}) {
    EXPECT_NE(chosen.error().message.find(part), std::string::npos) << chosen.error().message;
  }
}

TEST(ParseNumber, TakesTheBoundsAndNothingBeyondOrBehind) {
  EXPECT_EQ(*parse_number("--repeats", "1", 1, 9), 1);
  EXPECT_EQ(*parse_number("--repeats", "9", 1, 9), 9);
  for (const std::string_view wrong : {"0", "10", "3x", "", "-1", " 3"}) {
    EXPECT_FALSE(parse_number("--repeats", wrong, 1, 9)) << wrong;
  }
}

}  // namespace option_words_test
}  // namespace mayfly
