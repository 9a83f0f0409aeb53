// SPDX-License-Identifier: Apache-2.0
// Are suggestions the word that was meant, and silent when nothing is near?

#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace mayfly {
namespace nearest_test {

constexpr std::array<std::string_view, 4> kWords = {"wheel", "heap", "volatile-set", "tree"};

TEST(EditDistance, CountsEachKindOfEditOnce) {
  EXPECT_EQ(edit_distance("heap", "heap"), 0u);
  EXPECT_EQ(edit_distance("heap", "hep"), 1u);
  EXPECT_EQ(edit_distance("hep", "heap"), 1u);
  EXPECT_EQ(edit_distance("heap", "heat"), 1u);
  EXPECT_EQ(edit_distance("heap", "haep"), 1u);
  EXPECT_EQ(edit_distance("", "heap"), 4u);
}

TEST(Nearest, FindsTheWordThatWasMistyped) {
  EXPECT_EQ(nearest("whele", kWords), "wheel");
  EXPECT_EQ(nearest("volatile_set", kWords), "volatile-set");
}

TEST(Nearest, TakesABeginningForTheWhole) { EXPECT_EQ(nearest("vol", kWords), "volatile-set"); }

TEST(Nearest, ASlipIsLikelierThanABeginning) {
  constexpr std::array<std::string_view, 2> kBoth = {"protected", "port"};
  EXPECT_EQ(nearest("prot", kBoth), "port");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("quicksort", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("xy", kWords), "");
}

TEST(Listed, PutsOrBeforeTheLast) {
  EXPECT_EQ(listed(kWords), "wheel, heap, volatile-set or tree");
  EXPECT_EQ(listed(std::span(kWords).first(1)), "wheel");
}

}  // namespace nearest_test
}  // namespace mayfly
