// SPDX-License-Identifier: Apache-2.0
// Do columns stay aligned, whatever is in them?

#include "tools/terminal/text_table.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace text_table_test {

const Colours kPlain(false);

TEST(TextTable, AlignsNamesToTheLeftAndNumbersToTheRight) {
  TextTable table({{"strategy", ""}, {"insert", "ns"}});
  table.add_row({{"wheel"}, {"8.6"}});
  table.add_row({{"volatile set"}, {"1234567"}});
  EXPECT_EQ(table.render(kPlain),
            "  strategy       insert\n"
            "                     ns\n"
            "  wheel             8.6\n"
            "  volatile set  1234567\n");
}

TEST(TextTable, LeavesTheLineOfUnitsOutWhenThereAreNone) {
  TextTable table({{"a", ""}, {"b", ""}});
  table.add_row({{"x"}, {"1"}});
  EXPECT_EQ(table.render(kPlain, 0), "a  b\nx  1\n");
}

TEST(TextTable, CountsCharactersAndNotBytes) {
  TextTable table({{"name", ""}, {"×heap", ""}});
  table.add_row({{"—"}, {"—"}});
  EXPECT_EQ(table.render(kPlain, 0), "name  ×heap\n—         —\n");
}

TEST(TextTable, EmphasisDoesNotMoveColumns) {
  TextTable table({{"a", ""}, {"bbbb", ""}});
  table.add_row({{"x"}, {"1", Emphasis::strong}});
  EXPECT_EQ(table.render(Colours(true), 0), "a  bbbb\nx  \x1b[1m   1\x1b[0m\n");
  EXPECT_EQ(table.render(kPlain, 0), "a  bbbb\nx     1\n");
}

TEST(DisplayWidth, IsThatOfTheTerminal) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("▁▂█"), 3u);
  EXPECT_EQ(display_width(""), 0u);
}

}  // namespace text_table_test
}  // namespace mayfly
