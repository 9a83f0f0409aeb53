// SPDX-License-Identifier: Apache-2.0
// XLEN, XRANGE, XREVRANGE and XREAD.

#include "commands/stream/stream_fixture.h"

namespace mayfly {
namespace stream_read_test {

class StreamReadTest : public StreamFixture {};

// ---- Ranges ----

TEST_F(StreamReadTest, XlenCountsEntries) {
  EXPECT_EQ(run("XLEN s"), "(integer) 0");
  EXPECT_EQ(lookups(), "m");
  EXPECT_EQ(events(), "m:keymiss:s");
  add_entries(3);
  EXPECT_EQ(run("XLEN s"), "(integer) 3");
  EXPECT_EQ(lookups(), "h");
  put_string("text");
  EXPECT_EQ(run("XLEN text"), kStreamWrongType);
}

TEST_F(StreamReadTest, RangesHaveBoundsOfAllKinds) {
  for (const std::string_view id : {"0-1", "1-0", "1-5", "2-0", "2-18446744073709551615", "3-1"}) {
    run({"XADD", "s", id, "f", "v"});
  }
  const auto ids = [&](std::string_view line) {
    std::string text = flat(line);
    for (std::size_t at; (at = text.find(" [f v]")) != text.npos;) text.erase(at, 6);
    std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    return text;
  };
  EXPECT_EQ(ids("XRANGE s - +"), "0-1 1-0 1-5 2-0 2-18446744073709551615 3-1");
  EXPECT_EQ(ids("XREVRANGE s + -"), "3-1 2-18446744073709551615 2-0 1-5 1-0 0-1");
  EXPECT_EQ(ids("XRANGE s 1 2"), "1-0 1-5 2-0 2-18446744073709551615");
  EXPECT_EQ(ids("XRANGE s 1-1 2-0"), "1-5 2-0");
  EXPECT_EQ(ids("XRANGE s (1-0 (2-0"), "1-5");
  EXPECT_EQ(ids("XRANGE s (2 +"), "2-18446744073709551615 3-1");
  EXPECT_EQ(ids("XRANGE s - (2"), "0-1 1-0 1-5 2-0");
  EXPECT_EQ(ids("XREVRANGE s (3 (1-0"), "3-1 2-18446744073709551615 2-0 1-5");
  EXPECT_EQ(ids("XRANGE s 2 1"), "");
  EXPECT_EQ(ids("XRANGE s - + COUNT 2"), "0-1 1-0");
  EXPECT_EQ(ids("XREVRANGE s + - COUNT 2"), "3-1 2-18446744073709551615");
  EXPECT_EQ(ids("XRANGE s - + COUNT 2 COUNT 1"), "0-1");
}

TEST_F(StreamReadTest, RangesOfNothing) {
  EXPECT_EQ(raw({"XRANGE", "none", "-", "+"}), "*0\r\n");
  EXPECT_EQ(raw({"XRANGE", "none", "-", "+", "COUNT", "0"}), "*0\r\n");
  add_entries(1);
  EXPECT_EQ(raw({"XRANGE", "s", "-", "+", "COUNT", "0"}), "*-1\r\n");
  EXPECT_EQ(raw({"XRANGE", "s", "-", "+", "COUNT", "-5"}), "*-1\r\n");
  EXPECT_EQ(raw({"XRANGE", "s", "2", "+"}), "*0\r\n");
  set_protocol(3);
  EXPECT_EQ(raw({"XREVRANGE", "s", "-", "+", "COUNT", "0"}), "_\r\n");
  EXPECT_EQ(raw({"XRANGE", "s", "-", "+"}),
            "*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n");
}

TEST_F(StreamReadTest, RangesRefuseWrongBounds) {
  add_entries(1);
  put_string("text");
  for (const std::string_view id : {"x", "", "(", "(-", "(+", "(x", "1-", "$", "*", "1-*"}) {
    EXPECT_EQ(run({"XRANGE", "s", id, "+"}), kWrongId) << id;
    EXPECT_EQ(run({"XREVRANGE", "none", id, "-"}), kWrongId) << id;
  }
  const std::string last = "(18446744073709551615-18446744073709551615";
  EXPECT_EQ(run("XRANGE s " + last + " +"), "(error) ERR invalid start ID for the interval");
  EXPECT_EQ(run("XRANGE s - (0-0"), "(error) ERR invalid end ID for the interval");
  EXPECT_EQ(run("XREVRANGE s (0-0 " + last), "(error) ERR invalid start ID for the interval");
  EXPECT_EQ(run("XRANGE s - + COUNT"), kStreamSyntax);
  EXPECT_EQ(run("XRANGE s - + FOO 1"), kStreamSyntax);
  EXPECT_EQ(run("XRANGE s - + COUNT x"), kNoInteger);
  EXPECT_EQ(run("XRANGE text x +"), kWrongId);
  EXPECT_EQ(run("XRANGE text - +"), kStreamWrongType);
}

// ---- XREAD ----

TEST_F(StreamReadTest, XreadReadsBehindIds) {
  add_entries(3);
  run("XADD t 5 a b c d");
  EXPECT_EQ(flat("XREAD STREAMS s 1"), "[[s [[2-0 [f 2]] [3-0 [f 3]]]]]");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(flat("XREAD COUNT 1 STREAMS s none t 0 0 0"),
            "[[s [[1-0 [f 1]]]] [t [[5-0 [a b c d]]]]]");
  EXPECT_EQ(flat("XREAD streams t s 5-0 2-0"), "[[s [[3-0 [f 3]]]]]");
  EXPECT_EQ(flat("XREAD COUNT 0 STREAMS s 0"), flat("XREAD COUNT -1 STREAMS s 0"));
  EXPECT_EQ(raw({"XREAD", "STREAMS", "s", "3"}), "*-1\r\n");
  EXPECT_EQ(raw({"XREAD", "STREAMS", "s", "$"}), "*-1\r\n");
  EXPECT_EQ(raw({"XREAD", "STREAMS", "none", "$"}), "*-1\r\n");
  EXPECT_EQ(flat("XREAD STREAMS s s 2 2"), "[[s [[3-0 [f 3]]]] [s [[3-0 [f 3]]]]]");
}

TEST_F(StreamReadTest, XreadRepliesWithAMapInResp3) {
  add_entries(1);
  set_protocol(3);
  EXPECT_EQ(raw({"XREAD", "STREAMS", "s", "none", "0", "0"}),
            "%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n");
  EXPECT_EQ(raw({"XREAD", "STREAMS", "s", "1"}), "_\r\n");
}

TEST_F(StreamReadTest, PlusIsTheLastEntry) {
  EXPECT_EQ(run("XREAD STREAMS s +"), "(nil)");
  add_entries(3);
  EXPECT_EQ(flat("XREAD COUNT 3 STREAMS s +"), "[[s [[3-0 [f 3]]]]]");
  run("XADD s 3-18446744073709551615 f v");
  EXPECT_EQ(flat("XREAD STREAMS s none +  +"), "[[s [[3-18446744073709551615 [f v]]]]]");
  run("XTRIM s MAXLEN 0");
  EXPECT_EQ(run("XREAD STREAMS s +"), "(nil)");
}

TEST_F(StreamReadTest, XreadDoesNotReplyWithAnEmptyList) {
  add_entries(2);
  run("XDEL s 2");
  EXPECT_EQ(run("XREAD STREAMS s 1"), "(nil)");
  run("XDEL s 1");
  EXPECT_EQ(run("XREAD STREAMS s 0"), "(nil)");
}

TEST_F(StreamReadTest, XreadChecksItsOptions) {
  add_entries(1);
  put_string("text");
  EXPECT_EQ(run("XREAD COUNT 1 STREAMS s"),
            "(error) ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must "
            "be specified.");
  EXPECT_EQ(run("XREAD GROUP g c STREAMS s 0"),
            "(error) ERR The GROUP option is only supported by XREADGROUP. You called XREAD "
            "instead.");
  EXPECT_EQ(run("XREAD NOACK STREAMS s 0"),
            "(error) ERR The NOACK option is only supported by XREADGROUP. You called XREAD "
            "instead.");
  EXPECT_EQ(run("XREAD STREAMS s >"),
            "(error) ERR The > ID can be specified only when calling XREADGROUP using the GROUP "
            "<group> <consumer> option.");
  EXPECT_EQ(run("XREAD BLOCK x STREAMS s 0"),
            "(error) ERR timeout is not an integer or out of range");
  EXPECT_EQ(run("XREAD BLOCK 1.5 STREAMS s 0"),
            "(error) ERR timeout is not an integer or out of range");
  EXPECT_EQ(run("XREAD BLOCK -1 STREAMS s 0"), "(error) ERR timeout is negative");
  EXPECT_EQ(run("XREAD BLOCK 9223372036854775807 STREAMS s 0"),
            "(error) ERR timeout is out of range");
  EXPECT_EQ(run("XREAD COUNT x STREAMS s 0"), kNoInteger);
  EXPECT_EQ(run("XREAD FOO STREAMS s 0"), kStreamSyntax);
  EXPECT_EQ(run("XREAD COUNT 1 BLOCK 1"), kStreamSyntax);
  EXPECT_EQ(run("XREAD COUNT 1 STREAMS"), kStreamSyntax);
  EXPECT_EQ(run("XREAD BLOCK 1 COUNT"), kStreamSyntax);
  EXPECT_EQ(run("XREAD STREAMS s x"), kWrongId);
  EXPECT_EQ(run("XREAD STREAMS s text 0 0"), kStreamWrongType);
  EXPECT_EQ(run("XREAD STREAMS s text x 0"), kWrongId);
}

TEST_F(StreamReadTest, XreadWaitsWithTheIdsOfNow) {
  allow_waits();
  add_entries(2);
  run_waiting({"XREAD", "BLOCK", "100", "STREAMS", "s", "none", "s", "t", "$", "$", "7", "+"});
  EXPECT_EQ(waited()->keys, (std::vector<std::string_view>{"s", "none", "s", "t"}));
  EXPECT_EQ(waited()->type, ValueType::stream);
  EXPECT_EQ(waited()->until, now() + Millis(100));
  EXPECT_FALSE(waited()->wakes_without_key);
  EXPECT_EQ(waited()->words, (std::vector<std::string>{"XREAD", "BLOCK", "100", "STREAMS", "s",
                                                       "none", "s", "t", "2-0", "0-0", "7", "+"}));
  run_waiting({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"});
  EXPECT_EQ(waited()->until, kNever);
  EXPECT_EQ(flat("XREAD BLOCK 0 STREAMS s 1"), "[[s [[2-0 [f 2]]]]]");
}

TEST_F(StreamReadTest, XreadThatMustNotWaitRepliesNull) {
  EXPECT_EQ(raw({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"}), "*-1\r\n");
}

}  // namespace stream_read_test
}  // namespace mayfly
