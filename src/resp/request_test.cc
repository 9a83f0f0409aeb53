// SPDX-License-Identifier: Apache-2.0
// Requests are found wherever the bytes are cut, within limits, and with Valkey's words for errors.

#include "resp/request.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace mayfly {
namespace request_test {

using namespace std::string_literals;

// Everything that comes out of `pieces`: each request as [word|word], then the error, or how many
// bytes are left. The bytes move to a new place before each call, so that the address sanitizer
// sees a view that was kept.
std::string read_pieces(const std::vector<std::string>& pieces, RequestLimits limits = {}) {
  RequestParser parser(limits);
  std::string out;
  std::string pending;
  for (const std::string& piece : pieces) {
    pending += piece;
    for (;;) {
      const std::vector<char> moved(pending.begin(), pending.end());  // has no zero at its end
      const Parsed parsed = parser.parse({moved.data(), moved.size()});
      if (parser.consumed() > moved.size()) return "consumed more than there was";
      if (parsed == Parsed::error) return out + parser.error();
      if (parsed == Parsed::request) {
        out += '[';
        for (const std::string_view word : parser.words()) out.append(word).append("|");
        out.back() = ']';
      }
      pending.erase(0, parser.consumed());
      if (parsed == Parsed::incomplete) break;
    }
  }
  return out.append(" left ").append(std::to_string(pending.size()));
}

std::string read(const std::string& bytes, RequestLimits limits = {}) {
  return read_pieces({bytes}, limits);
}

std::vector<std::string> single_bytes(const std::string& bytes) {
  std::vector<std::string> pieces;
  for (const char byte : bytes) pieces.emplace_back(1, byte);
  return pieces;
}

TEST(RequestParser, ReadsArraysOfBulks) {
  EXPECT_EQ(read("*1\r\n$4\r\nPING\r\n"), "[PING] left 0");
  EXPECT_EQ(read("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"), "[SET|k|] left 0");
  EXPECT_EQ(read("*1\r\n$4\r\na\r\nb\r\n*1\r\n$12\r\n123456789012\r\n*1"),
            "[a\r\nb][123456789012] left 2");
}

TEST(RequestParser, ReadsLinesOfWords) {
  EXPECT_EQ(read("PING\r\n"), "[PING] left 0");
  EXPECT_EQ(read("  set \t k  v \nget k\r\n"), "[set|k|v][get|k] left 0");
  EXPECT_EQ(read("set k \"a b\\n\\x41\\\"\" 'it\\'s \\n'\r\n"), "[set|k|a b\nA\"|it's \\n] left 0");
}

TEST(RequestParser, SkipsWhatHasNoWords) {
  EXPECT_EQ(read("\r\n\n   \r\nPING\r\n"), "[PING] left 0");
  EXPECT_EQ(read("*0\r\n*-1\r\n*-5\r\n*1\r\n$1\r\na\r\n\r\n"), "[a] left 0");
}

TEST(RequestParser, DropsSkippedBytesEvenIfNothingFollows) {
  RequestParser parser;
  EXPECT_EQ(parser.parse("\r\n\r\n*1\r\n"), Parsed::incomplete);
  EXPECT_EQ(parser.consumed(), 4u);
  EXPECT_EQ(parser.parse("*1\r\n$1\r\na\r\n"), Parsed::request);
}

TEST(RequestParser, NamesWhatIsWrongAsValkeyDoes) {
  const std::string begin = "Protocol error: ";
  EXPECT_EQ(read("*3000000000\r\n"), begin + "invalid multibulk length");
  EXPECT_EQ(read("*x\r\n"), begin + "invalid multibulk length");
  EXPECT_EQ(read("*\r\n"), begin + "invalid multibulk length");
  EXPECT_EQ(read("*03\r\n"), begin + "invalid multibulk length");
  EXPECT_EQ(read("*+3\r\n"), begin + "invalid multibulk length");
  EXPECT_EQ(read("*1\r\n$-1\r\n"), begin + "invalid bulk length");
  EXPECT_EQ(read("*1\r\n$blabla\r\n"), begin + "invalid bulk length");
  EXPECT_EQ(read("*1\r\n$536870913\r\n"), begin + "invalid bulk length");
  EXPECT_EQ(read("*1\r\n$99999999999999999999999\r\n"), begin + "invalid bulk length");
  EXPECT_EQ(read("*3\r\n$3\r\nSET\r\nx\r\n"), begin + "expected '$', got 'x'");
  EXPECT_EQ(read("*1\r\n\r\n"), begin + "expected '$', got '\r'");
  EXPECT_EQ(read("set \"\"\"test-key\"\" x\r\n"), begin + "unbalanced quotes in request");
  EXPECT_EQ(read("set 'x\r\n"), begin + "unbalanced quotes in request");
}

TEST(RequestParser, InsistsOnTheEndOfEveryLine) {
  const std::string bad = "Protocol error: invalid CRLF in request";
  for (const std::string bytes : {
           "*3\rx$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", "*1\r\n$3\rxSET\r\n", "*1\r\n$3\r\nSET\rx",
           "*1\r\n$3\r\nSETx\n", "*1\r\n$3\r\nSETxx", "*2\r\n$3\r\nGETxx$1\r\nk\r\n",
           "*2\r\n$3\r\nGET\r\n$1\r\nk\n\r", "*-1\rx", "*0\rx",
           "*2\r\n\r31\r\n",  // an empty line where a number should be
       }) {
    EXPECT_EQ(read(bytes), bad) << bytes;
    EXPECT_EQ(read_pieces(single_bytes(bytes)), bad) << bytes;
  }
  EXPECT_EQ(read("*3x\n$3\r\nSET\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(read("*1\r\n$3x\nSET\r\n"), "Protocol error: invalid bulk length");
}

TEST(RequestParser, LimitsLinesThatDoNotEnd) {
  const std::string longest(64 * 1024, '1');
  EXPECT_EQ(read("*" + longest), "Protocol error: too big mbulk count string");
  EXPECT_EQ(read("*1\r\n$" + longest), "Protocol error: too big bulk count string");
  EXPECT_EQ(read(longest + "1"), "Protocol error: too big inline request");
  EXPECT_EQ(read(longest), " left 65536");
  EXPECT_EQ(read(longest + "\n"), "[" + longest + "] left 0");
}

TEST(RequestParser, GivesLittleToWhoHasNoPasswordYet) {
  const RequestLimits limits{.authenticated = false};
  EXPECT_EQ(read("*11\r\n", limits), "Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(read("*10\r\n", limits), " left 5");
  EXPECT_EQ(read("*1\r\n$16385\r\n", limits), "Protocol error: unauthenticated bulk length");
  EXPECT_EQ(read("*1\r\n$16384\r\n", limits), " left 12");
}

TEST(RequestParser, HonoursTheConfiguredLimits) {
  EXPECT_EQ(read("*1\r\n$5\r\nabcde\r\n", {.bulk_bytes = 4}),
            "Protocol error: invalid bulk length");
  EXPECT_EQ(read("*1\r\n$4\r\nabcd\r\n", {.bulk_bytes = 4}), "[abcd] left 0");
  EXPECT_EQ(read("*3\r\n", {.words = 2}), "Protocol error: invalid multibulk length");
}

TEST(RequestParser, TellsTheSameErrorUntilReset) {
  RequestParser parser;
  EXPECT_EQ(parser.parse("*x\r\n"), Parsed::error);
  EXPECT_EQ(parser.parse("PING\r\n"), Parsed::error);
  EXPECT_EQ(parser.error(), "Protocol error: invalid multibulk length");
  parser.reset();
  EXPECT_EQ(parser.parse("PING\r\n"), Parsed::request);
}

TEST(RequestParser, ForgetsAHalfReadRequestWhenReset) {
  RequestParser parser;
  EXPECT_EQ(parser.parse("*2\r\n$3\r\nGET\r\n$10\r\nabc"), Parsed::incomplete);
  parser.reset();
  ASSERT_EQ(parser.parse("*1\r\n$4\r\nPING\r\n"), Parsed::request);
  EXPECT_EQ(parser.words().size(), 1u);
}

TEST(RequestParser, SaysHowManyBytesABulkNeeds) {
  RequestParser parser;
  EXPECT_EQ(parser.parse("\r\n*2\r\n$3\r\nGET\r\n$1000\r\nabc"), Parsed::incomplete);
  EXPECT_EQ(parser.consumed(), 2u);
  EXPECT_EQ(parser.wanted(), "*2\r\n$3\r\nGET\r\n$1000\r\n"s.size() + 1002);
  EXPECT_EQ(parser.parse("*2\r\n$3\r\nGET\r\n$1000\r\n" + std::string(1000, 'a') + "\r\n"),
            Parsed::request);
}

// A bulk of 64 MiB in pieces of 1 KiB takes forever if it is read from the begin each time.
TEST(RequestParser, ReadsOnWhereItStopped) {
  constexpr std::size_t kWords = 200'000;
  std::string bytes = "*200000\r\n";
  for (std::size_t i = 0; i < kWords; ++i) bytes += "$3\r\nabc\r\n";
  RequestParser parser;
  for (std::size_t end = 0; end + 16 < bytes.size(); end += 16) {
    ASSERT_EQ(parser.parse(std::string_view(bytes).substr(0, end)), Parsed::incomplete);
  }
  ASSERT_EQ(parser.parse(bytes), Parsed::request);
  EXPECT_EQ(parser.words().size(), kWords);
  EXPECT_EQ(parser.words().back(), "abc");
}

TEST(RequestParser, FindsTheSameHoweverTheBytesAreCut) {
  const std::string streams[] = {
      "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\r\n*0\r\nset k \"a b\"\r\n*1\r\n$0\r\n\r\n*1\r\n$1",
      "*1\r\n$10\r\nabc\r\ndef\r\n\r\n*-1\r\n*1\r\n$+4\r\nPING\r\n",
      "*1\r\n$1\r\na\r\n*1\r\n:1\r\na\r\n",
      "*1\r\n$1\r\na\r\n*1\r\n\r\n\r\n",
      "*2\r\n$10\r\n0123456789\r\nx\r\n",
      "get k\nset 'a\\'' \"\\x4\"\r\nget 'a\r\n",
      "*2\r\n$3\r\nGET\r\n$1\r\nkx\n",
      "*1\r\n$12\rx",
  };
  for (const std::string& stream : streams) {
    const std::string whole = read(stream);
    EXPECT_EQ(read_pieces(single_bytes(stream)), whole);
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      EXPECT_EQ(read_pieces({stream.substr(0, cut), stream.substr(cut)}), whole) << cut;
    }
  }
}

// Bytes that look like requests now and then; the limits are low, so that each is met.
TEST(RequestParser, AgreesWithItselfOnRandomBytes) {
  const bool holds = rc::check([] {
    const RequestLimits limits{.bulk_bytes = 20, .words = 5, .line_bytes = 12};
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element("*1\r\n"s, "*2\r\n"s, "$1\r\na\r\n"s, "$3\r\nabc\r\n"s, "$0\r\n\r\n"s,
                         "\r\n"s, "\n"s, "\r"s, "*"s, "$"s, "-1"s, "0"s, "12"s, "get k\r\n"s, "\""s,
                         "'"s, "\\"s, "x41"s, " "s, "a"s, "\0"s, "\xff"s));
    std::string bytes;
    for (const std::string& part : parts) bytes += part;
    const std::string whole = read(bytes, limits);
    RC_ASSERT(read_pieces(single_bytes(bytes), limits) == whole);
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
    RC_ASSERT(read_pieces({bytes.substr(0, cut), bytes.substr(cut)}, limits) == whole);
  });
  EXPECT_TRUE(holds);
}

}  // namespace request_test
}  // namespace mayfly
