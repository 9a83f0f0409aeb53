// SPDX-License-Identifier: Apache-2.0
// Replies of both protocols as a client reads them, whole and in pieces.

#include "resp/reply_parser.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "resp/reply.h"

namespace mayfly {
namespace reply_parser_test {

TEST(ReplyParser, ReadsEveryKind) {
  EXPECT_EQ(replies_to_text("+OK\r\n-ERR no\r\n:-3\r\n$3\r\na\r\n\r\n"),
            "OK\n(error) ERR no\n(integer) -3\n\"a\\r\\n\"\n");
  EXPECT_EQ(replies_to_text("$-1\r\n*-1\r\n_\r\n"), "(nil)\n(nil)\n(nil)\n");
  EXPECT_EQ(replies_to_text(",1.5\r\n,inf\r\n,nan\r\n#t\r\n#f\r\n"),
            "(double) 1.5\n(double) inf\n(double) nan\n(true)\n(false)\n");
  EXPECT_EQ(replies_to_text("=7\r\ntxt:a\tb\r\n(123\r\n!5\r\nERR x\r\n"),
            "(verbatim) \"a\\tb\"\n(big) 123\n(error) ERR x\n");
}

TEST(ReplyParser, ReadsAggregates) {
  EXPECT_EQ(replies_to_text("*2\r\n:1\r\n*0\r\n"), "[(integer) 1, []]\n");
  EXPECT_EQ(replies_to_text("%2\r\n+a\r\n:1\r\n$1\r\n\x01\r\n~1\r\n+x\r\n"),
            "{a: (integer) 1, \"\\x01\": (set) [x]}\n");
  EXPECT_EQ(replies_to_text(">2\r\n$1\r\n\"\r\n_\r\n"), "(push) [\"\\\"\", (nil)]\n");
}

TEST(ReplyParser, DropsAttributes) {
  EXPECT_EQ(replies_to_text("|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n:3\r\n"),
            "[(integer) 2, (integer) 3]\n");
}

TEST(ReplyParser, SaysWhatIsWrong) {
  EXPECT_EQ(replies_to_text("?\r\n"), "(malformed) the reply has a line that means nothing: '?'\n");
  EXPECT_EQ(replies_to_text("$x\r\n"), "(malformed) the reply has a bulk of length 'x'\n");
  EXPECT_EQ(replies_to_text("$1\r\nabc"),
            "(malformed) the reply has a bulk that does not end in a line's end\n");
  EXPECT_EQ(replies_to_text("*1\r\n"), "");
  EXPECT_EQ(replies_to_text("*-2\r\n"), "(malformed) the reply has an aggregate of length '-2'\n");
  for (const char* bytes : {"\r\n", ":x\r\n", "#x\r\n", "_x\r\n", ",x\r\n", "=3\r\ntxt\r\n"}) {
    EXPECT_TRUE(replies_to_text(bytes).starts_with("(malformed)")) << bytes;
  }
}

TEST(ReplyParser, SizesThatCannotBeNeedNoMemory) {
  constexpr const char* kSizes[] = {"9223372036854775807", "9223372036854775808",
                                    "18446744073709551616", "-9223372036854775808"};
  for (const std::string size : kSizes) {
    for (const char letter : {'*', '%', '~', '>', '|'}) {
      EXPECT_TRUE(replies_to_text(letter + size + "\r\n:1\r\n").starts_with("(malformed)"))
          << letter << size;
    }
  }
  for (const char letter : {'$', '=', '!'}) {
    ReplyParser parser;  // it may still come
    EXPECT_EQ(parser.parse(std::string(1, letter) + "9223372036854775807\r\nabc"),
              Parsed::incomplete);
    EXPECT_EQ(parser.consumed(), 0u);
  }
}

TEST(ReplyParser, RefusesDeepNesting) {
  std::string bytes;
  for (std::size_t i = 0; i <= ReplyParser::kDepthMax; ++i) bytes += "*1\r\n";
  EXPECT_TRUE(replies_to_text(bytes).starts_with("(malformed)"));
}

TEST(ReplyParser, ReadsTheSameByteByByte) {
  const std::string bytes = "*3\r\n$5\r\nab\r\nc\r\n%1\r\n+k\r\n*-1\r\n,2.5\r\n+next\r\n";
  ReplyParser parser;
  std::string pending;
  std::string out;
  for (const char byte : bytes) {
    pending += byte;
    while (parser.parse(pending) == Parsed::request) {
      out.append(parser.value().to_text()).append("\n");
      pending.erase(0, parser.consumed());
    }
    pending.erase(0, parser.consumed());
  }
  EXPECT_EQ(out, replies_to_text(bytes));
  EXPECT_EQ(out, "[\"ab\\r\\nc\", {k: (nil)}, (double) 2.5]\nnext\n");
}

TEST(ReplyParser, ReadsWhatReplyWrites) {
  EXPECT_TRUE(rc::check([](const std::string& bytes, std::int64_t integer) {
    std::string out;
    Reply reply(out, *rc::gen::element(2, 3));
    reply.array(3);
    reply.bulk(bytes);
    reply.integer(integer);
    reply.null();
    ReplyParser parser;
    RC_ASSERT(parser.parse(out) == Parsed::request);
    RC_ASSERT(parser.consumed() == out.size());
    RC_ASSERT(parser.value().items.at(0).text == bytes);
    RC_ASSERT(parser.value().items.at(1).integer == integer);
    RC_ASSERT(parser.value().items.at(2).kind == ReplyValue::Kind::null);
  }));
}

// The result of parse() with this limit.
std::string limited(std::size_t most, const std::string& bytes) {
  ReplyParser parser(most);
  switch (parser.parse(bytes)) {
    case Parsed::error:
      return parser.error();
    case Parsed::request:
      return "whole";
    default:
      return "incomplete";
  }
}

TEST(ReplyParser, RefusesWhatIsTooLargeBeforeItIsThere) {
  const std::string refusal = "the reply has more than 1000 bytes";
  EXPECT_EQ(limited(1000, "$1000\r\n"), "incomplete");
  EXPECT_EQ(limited(1000, "$1001\r\n"), refusal);
  EXPECT_EQ(limited(1000, "$9223372036854775807\r\n"), refusal);
  EXPECT_EQ(limited(1000, "+" + std::string(900, 'a') + "\r\n"), "whole");
  EXPECT_EQ(limited(1000, "+" + std::string(1000, 'a')), refusal);
  EXPECT_EQ(limited(1000, "*2\r\n$600\r\n" + std::string(600, 'a') + "\r\n$600\r\n"), refusal);
  EXPECT_EQ(limited(1000, "*1000000\r\n"), "incomplete");
  std::string many = "*1000000\r\n";
  for (int i = 0; i < 20; ++i) many += ":1\r\n";
  EXPECT_EQ(limited(1000, many), refusal) << "elements take memory, too";
  std::string attributes;
  for (int i = 0; i < 400; ++i) attributes += "|0\r\n";
  EXPECT_EQ(limited(1000, attributes), refusal);
  EXPECT_EQ(limited(SIZE_MAX, std::string(ReplyParser::kLineMost + 2, '+')),
            "the reply has a line that is too long");
}

TEST(ReplyParser, TheLimitIsOfEachReply) {
  ReplyParser parser(300);
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += "*2\r\n$5\r\nhello\r\n:1\r\n";
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(parser.parse(bytes), Parsed::request) << i << parser.error();
    bytes.erase(0, parser.consumed());
  }
}

TEST(ReplyParser, EndsOnAnyBytes) {
  EXPECT_TRUE(rc::check([] {
    const auto bytes = *rc::gen::container<std::string>(
        rc::gen::element('*', '%', '|', '$', '=', ':', '_', '1', '2', '-', '\r', '\n', 'a'));
    (void)replies_to_text(bytes);
  }));
}

}  // namespace reply_parser_test
}  // namespace mayfly
