// SPDX-License-Identifier: Apache-2.0
// Does the progress line tell the truth about how much is done and how long it will take?

#include "tools/terminal/progress.h"

#include <gtest/gtest.h>

#include "tools/terminal/text_table.h"

namespace mayfly {
namespace progress_test {

TEST(TextBar, IsAlwaysAsWideAsAsked) {
  for (int percent = -10; percent <= 110; ++percent) {
    EXPECT_EQ(display_width(text_bar(percent / 100.0, 24)), 24u) << percent;
  }
}

TEST(TextBar, IsFilledByEighths) {
  EXPECT_EQ(text_bar(0, 2), "  ");
  EXPECT_EQ(text_bar(0.5, 2), "█ ");
  EXPECT_EQ(text_bar(0.75, 2), "█▌");
  EXPECT_EQ(text_bar(1, 2), "██");
}

TEST(ProgressLine, GuessesTheTimeLeftFromTheTimeThatPassed) {
  const std::string line = progress_line(0.25, "1 M, uniform, wheel", 10);
  EXPECT_NE(line.find(" 25 %"), std::string::npos) << line;
  EXPECT_NE(line.find(" 30 s left"), std::string::npos) << line;
  EXPECT_NE(line.find("1 M, uniform, wheel"), std::string::npos) << line;
}

TEST(ProgressLine, DoesNotGuessBeforeAnythingIsDone) {
  EXPECT_EQ(progress_line(0, "lateness", 1).find("left"), std::string::npos);
}

TEST(ProgressLine, FitsIntoEightyColumns) {
  EXPECT_LE(display_width(progress_line(1, "lateness, same-deadline, volatile set", 1)), 80u);
}

TEST(RateText, HasAUnitThatFits) {
  EXPECT_EQ(rate_text(12), "12/s");
  EXPECT_EQ(rate_text(12'345), "12.3 K/s");
  EXPECT_EQ(rate_text(2.5e6), "2.5 M/s");
}

}  // namespace progress_test
}  // namespace mayfly
