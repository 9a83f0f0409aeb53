// SPDX-License-Identifier: Apache-2.0
// Spans of time as words: what is read, what is written, what is refused.

#include "commands/ttl/duration.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace duration_test {

TEST(DurationTest, IsReadAndWritten) {
  for (const std::string_view text : {"1ms", "500ms", "1s", "90s", "5m", "2h", "1d", "3w", "25h"}) {
    const std::optional<Millis> duration = duration_of(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration_text(*duration), text);
  }
  EXPECT_EQ(duration_of("2h"), Millis(7'200'000));
  EXPECT_EQ(duration_of("0s"), Millis(0));
  EXPECT_EQ(duration_text(Millis(7 * 86'400'000)), "1w");
  EXPECT_EQ(duration_text(Millis(60'001)), "60001ms");
  EXPECT_EQ(duration_text(Millis::max()), "9223372036854775807ms");
}

TEST(DurationTest, NothingElseIsOne) {
  for (const std::string_view text :
       {"", "s", "1", "1y", "1M", "1 s", "-1s", "+1s", "1.5h", "1s ", "1sms",
        "99999999999999999999s", "9223372036854775807s", "15250284453w"}) {
    EXPECT_FALSE(duration_of(text)) << text;
  }
  EXPECT_TRUE(duration_of("15250284452w"));
}

}  // namespace duration_test
}  // namespace mayfly
