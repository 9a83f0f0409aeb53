// SPDX-License-Identifier: Apache-2.0
// What `mayfly rdb` counts, and how it writes bytes. The rest is in rdb_command_test.py.

#include "cli/rdb/rdb_summary.h"

#include <gtest/gtest.h>

#include "text/byte_text.h"

namespace mayfly {
namespace rdb_summary_test {

TEST(RdbSummary, SortsDeadlinesByWhatIsLeft) {
  const Time now(Millis(1'000'000));
  const auto range = [&](std::int64_t ms) {
    return std::string(kTtlRanges.at(ttl_range(now + Millis(ms), now)));
  };
  EXPECT_EQ(range(-5), "due");
  EXPECT_EQ(range(0), "due");
  EXPECT_EQ(range(1), "< 1 min");
  EXPECT_EQ(range(59'999), "< 1 min");
  EXPECT_EQ(range(60'000), "< 1 hour");
  EXPECT_EQ(range(86'399'999), "< 1 day");
  EXPECT_EQ(range(86'400'000), "< 7 days");
  EXPECT_EQ(range(30 * 86'400'000ll - 1), "< 30 days");
  EXPECT_EQ(range(30 * 86'400'000ll), "more");
}

TEST(RdbSummary, NamesTheWriter) {
  RdbSummary summary;
  EXPECT_EQ(writer_of(summary), "");
  summary.aux["redis-ver"] = "7.0.15";
  EXPECT_EQ(writer_of(summary), "Redis 7.0.15");
  summary.aux["valkey-ver"] = "9.0.0\n";
  EXPECT_EQ(writer_of(summary), "Valkey 9.0.0\\x0a");
  summary.aux["mayfly-ver"] = "1.2.3";
  EXPECT_EQ(writer_of(summary), "Mayfly 1.2.3") << "who also says what others may take it for";
}

TEST(RdbBytes, KnowsUtf8) {
  for (const char* text : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\xA6\x8B"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  // Alone, cut, too long a form, a surrogate, beyond the end.
  for (const char* bytes : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF4\x90\x80\x80", "\xFF", "\xE2\x82 "}) {
    EXPECT_FALSE(is_utf8(bytes)) << base64(bytes);
  }
}

TEST(RdbBytes, WritesJson) {
  EXPECT_EQ(bytes_as_json("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(bytes_as_json("\xFF"), R"({"base64": "/w=="})");
  EXPECT_EQ(base64("\xFF\xFE"), "//4=");
  EXPECT_EQ(base64("abc"), "YWJj");
  EXPECT_EQ(base64(""), "");
}

}  // namespace rdb_summary_test
}  // namespace mayfly
