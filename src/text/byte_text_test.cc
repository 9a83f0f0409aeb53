// SPDX-License-Identifier: Apache-2.0
// Bytes as text and back: hex, base64 and JSON.
#include "text/byte_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mayfly {
namespace byte_text_test {

TEST(ByteText, AnyBytesComeBackFromHexAndBase64) {
  EXPECT_TRUE(rc::check("round trip", [](const std::string& bytes) {
    RC_ASSERT(*from_hex(hex(bytes)) == bytes);
    RC_ASSERT(*from_base64(base64(bytes)) == bytes);
  }));
}

TEST(ByteText, IsWrittenAsEverybodyDoes) {
  EXPECT_EQ(hex("\x01\xFFz"), "01ff7a");
  EXPECT_EQ(base64("hello"), "aGVsbG8=");
  EXPECT_EQ(*from_base64("aGVsbG8"), "hello");  // without the end that some leave out
  EXPECT_EQ(*from_hex("01Ff7A"), "\x01\xFFz");
}

TEST(ByteText, SaysWhatIsWrong) {
  EXPECT_EQ(from_hex("0g").error().message,
            "'0g' is not valid hexadecimal (use pairs of digits 0-9 and a-f)");
  EXPECT_FALSE(from_hex("abc"));
  EXPECT_EQ(from_base64("a*==").error().message, "'a*==' is not valid base64");
  EXPECT_FALSE(from_base64("aGVsb"));
}

TEST(ByteText, ControlsAreEscaped) {
  EXPECT_EQ(escape_controls("plain caf\xC3\xA9 \xE2\x82\xAC"), "plain caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(escape_controls("a\x1b[2J\r\n\t\x7f"), "a\\x1b[2J\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(escape_controls("a\r\nb\x07", "\r\n"), "a\r\nb\\x07");
  EXPECT_EQ(escape_controls("\xC2\x9B\x31m \xC2\xA0"), "\\xc2\\x9b1m \xC2\xA0");
  EXPECT_EQ(escape_controls("\x9B\xFF\xC3"), "\\x9b\\xff\\xc3");
  EXPECT_EQ(escape_controls(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(ByteText, JsonHasAStringWhereThatCanHoldIt) {
  EXPECT_EQ(bytes_as_json("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(bytes_as_json("\xFF"), R"({"base64": "/w=="})");
}

}  // namespace byte_text_test
}  // namespace mayfly
