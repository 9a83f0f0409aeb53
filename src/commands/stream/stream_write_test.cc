// SPDX-License-Identifier: Apache-2.0
// XADD, XTRIM, XDEL and XSETID.

#include "commands/stream/stream_fixture.h"

namespace mayfly {
namespace stream_write_test {

constexpr std::string_view kTooSmall =
    "(error) ERR The ID specified in XADD is equal or smaller than the target stream top item";

class StreamWriteTest : public StreamFixture {
 protected:
  StreamWriteTest() : StreamFixture(with_block_entries(10)) {}

  std::string info(std::string_view key, std::string_view field) {
    const std::string text = flat("XINFO STREAM " + std::string(key));
    const std::size_t at = text.find(field);
    if (at == text.npos) return text;
    const std::size_t begin = at + field.size() + 1;
    return text.substr(begin, text.find(' ', begin) - begin);
  }
};

// ---- XADD ----

TEST_F(StreamWriteTest, XaddGivesIdsByTheTimeOfTheCommand) {
  const std::string ms = in_ms(Millis(0));
  EXPECT_EQ(run("XADD s * f v"), "\"" + ms + "-0\"");
  EXPECT_EQ(events(), "n:new:s t:xadd:s");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(propagated(), "XADD s " + ms + "-0 f v");
  EXPECT_EQ(run("XADD s * f v"), "\"" + ms + "-1\"");
  EXPECT_EQ(events(), "t:xadd:s");
  advance(Millis(1));
  EXPECT_EQ(run("XADD s * f v"), "\"" + in_ms(Millis(0)) + "-0\"");
  advance(Millis(-100));
  EXPECT_EQ(run("XADD s * f v"), "\"" + in_ms(Millis(100)) + "-1\"");
}

TEST_F(StreamWriteTest, XaddTakesIdsOfTheClient) {
  EXPECT_EQ(run("XADD s 5 f v"), "\"5-0\"");
  EXPECT_EQ(propagated(), "XADD s 5 f v");
  EXPECT_EQ(run("XADD s 5-* f v"), "\"5-1\"");
  EXPECT_EQ(propagated(), "XADD s 5-1 f v");
  EXPECT_EQ(run("XADD s 7-* f v"), "\"7-0\"");
  EXPECT_EQ(run("XADD s 7-5 f v"), "\"7-5\"");
  for (const std::string_view id : {"7-5", "7-4", "6-9", "6-*", "0-1"}) {
    EXPECT_EQ(run({"XADD", "s", id, "f", "v"}), kTooSmall) << id;
    EXPECT_EQ(propagated() + events(), "");
  }
  EXPECT_EQ(run("XADD t 0-* f v"), "\"0-1\"");
  EXPECT_EQ(run("XADD s 007-0009 f v"), "\"7-9\"");
}

TEST_F(StreamWriteTest, XaddRefusesWhatIsNoId) {
  for (const std::string_view id :
       {"x", "-", "+", "$", "", "1-", "-1", "1-x", "1-2-*", "-*", "1-**", "(1-1",
        "18446744073709551616-1", "1-18446744073709551616"}) {
    EXPECT_EQ(run({"XADD", "s", id, "f", "v"}), kWrongId) << id;
  }
  const std::string zero = "(error) ERR The ID specified in XADD must be greater than 0-0";
  EXPECT_EQ(run("XADD s 0-0 f v"), zero);
  EXPECT_EQ(run("XADD s 0 f v"), zero);
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_F(StreamWriteTest, XaddEndsWithTheLastId) {
  run("XADD s 1-18446744073709551615 f v");
  EXPECT_EQ(run("XADD s 1-* f v"), kTooSmall);
  EXPECT_EQ(run("XADD s 2-0 f v"), "\"2-0\"");
  const std::string future = in_ms(Millis(1000));
  run("XADD t " + future + "-18446744073709551615 f v");
  EXPECT_EQ(run("XADD t * f v"), "\"" + in_ms(Millis(1001)) + "-0\"");
  run("XADD s 18446744073709551615-18446744073709551615 f v");
  for (const std::string_view id : {"*", "18446744073709551615-*", "5-5"}) {
    EXPECT_EQ(
        run({"XADD", "s", id, "f", "v"}),
        "(error) ERR The stream has exhausted the last possible ID, unable to add more items");
  }
}

TEST_F(StreamWriteTest, XaddCountsItsWords) {
  const std::string arity = "(error) ERR wrong number of arguments for 'xadd' command";
  for (const std::string_view line :
       {"XADD s", "XADD s *", "XADD s * f", "XADD s * f v f", "XADD s MAXLEN 5 *",
        "XADD s MAXLEN 5 * f", "XADD s NOMKSTREAM MAXLEN 5", "XADD s NOMKSTREAM NOMKSTREAM f v"}) {
    const std::string reply = run(line);
    EXPECT_TRUE(reply == arity || reply == kWrongId) << line << ": " << reply;
  }
  EXPECT_EQ(run("XADD s MAXLEN 5 *"), arity);
  EXPECT_EQ(run("XADD s NOMKSTREAM MAXLEN 5"), arity);
}

TEST_F(StreamWriteTest, XaddWithNomkstreamCreatesNothing) {
  EXPECT_EQ(run("XADD s NOMKSTREAM * f v"), "(nil)");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  run("XADD s 1 f v");
  EXPECT_EQ(run("XADD s nomkstream 2 f v"), "\"2-0\"");
  put_string("text");
  EXPECT_EQ(run("XADD text NOMKSTREAM 2 f v"), kStreamWrongType);
  EXPECT_EQ(run("XADD text 2 f v"), kStreamWrongType);
}

TEST_F(StreamWriteTest, XaddTrims) {
  add_entries(5);
  EXPECT_EQ(run("XADD s MAXLEN 3 6 f v"), "\"6-0\"");
  EXPECT_EQ(events(), "t:xadd:s t:xtrim:s");
  EXPECT_EQ(propagated(), "XADD s MAXLEN 3 6 f v");
  EXPECT_EQ(flat("XRANGE s - +"), "[[4-0 [f 4]] [5-0 [f 5]] [6-0 [f v]]]");
  EXPECT_EQ(run("XADD s MAXLEN = 3 7-* f v"), "\"7-0\"");
  EXPECT_EQ(propagated(), "XADD s MAXLEN = 3 7-0 f v");
  run("XADD s MINID 7 8 f v");
  EXPECT_EQ(flat("XRANGE s - +"), "[[7-0 [f v]] [8-0 [f v]]]");
  run("XADD s MAXLEN 10 9 f v");
  EXPECT_EQ(events(), "t:xadd:s");
  run("XADD s MAXLEN 0 10 f v");
  EXPECT_EQ(run("XLEN s"), "(integer) 0");
  EXPECT_EQ(run("EXISTS s"), "(integer) 1");
}

TEST_F(StreamWriteTest, ATrimByTildeRemovesWholeBlocksAndIsPropagatedExactly) {
  add_entries(100);
  run("XADD s MAXLEN ~ 55 LIMIT 30 101 f v");
  EXPECT_EQ(propagated(), "XADD s MAXLEN = 71 LIMIT 30 101 f v");
  EXPECT_EQ(run("XLEN s"), "(integer) 71");
  run("XADD s MAXLEN ~ 55 LIMIT 30 102-* f v");
  EXPECT_EQ(propagated(), "XADD s MAXLEN = 62 LIMIT 30 102-0 f v");
  EXPECT_EQ(run("XLEN s"), "(integer) 62");
  run("XADD s MINID ~ 55 103 f v");
  EXPECT_EQ(propagated(), "XADD s MINID = 51-0 103 f v");
  EXPECT_EQ(run("XTRIM s MAXLEN ~ 48"), "(integer) 0");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("XTRIM s MAXLEN ~ 40"), "(integer) 10");
  EXPECT_EQ(propagated(), "XTRIM s MAXLEN = 43");
  EXPECT_EQ(run("XTRIM s MINID ~ 95"), "(integer) 30");
  EXPECT_EQ(propagated(), "XTRIM s MINID = 91-0");
  EXPECT_EQ(run("XTRIM s MINID ~ 1000"), "(integer) 13");
  EXPECT_EQ(propagated(), "XTRIM s MINID = 18446744073709551615-18446744073709551615");
}

TEST_F(StreamWriteTest, ATrimByTildeHasALimit) {
  add_entries(1020);
  EXPECT_EQ(run("XTRIM s MAXLEN ~ 0"), "(integer) 1000");
  EXPECT_EQ(run("XTRIM s MAXLEN ~ 0 LIMIT 0"), "(integer) 20");
}

TEST_F(StreamWriteTest, TrimOptionsAreChecked) {
  const std::string both =
      "(error) ERR syntax error, MAXLEN and MINID options at the same time are not compatible";
  const std::string no_strategy =
      "(error) ERR syntax error, LIMIT cannot be used without specifying a trimming strategy";
  const std::string no_tilde =
      "(error) ERR syntax error, LIMIT cannot be used without the special ~ option";
  for (const std::string verb : {"XADD s ", "XTRIM s "}) {
    const std::string end = verb == "XADD s " ? " 1 f v" : "";
    EXPECT_EQ(run(verb + "MAXLEN 1 MINID 1" + end), both);
    EXPECT_EQ(run(verb + "MINID 1 MINID 1" + end), both);
    EXPECT_EQ(run(verb + "MAXLEN -1" + end), "(error) ERR The MAXLEN argument must be >= 0.");
    EXPECT_EQ(run(verb + "MAXLEN x" + end), kNoInteger);
    EXPECT_EQ(run(verb + "MAXLEN ~ x" + end), kNoInteger);
    EXPECT_EQ(run(verb + "MINID x" + end), kWrongId);
    EXPECT_EQ(run(verb + "MINID -" + end), kWrongId);
    EXPECT_EQ(run(verb + "MAXLEN 1 LIMIT 1" + end), no_tilde);
    EXPECT_EQ(run(verb + "MAXLEN = 1 LIMIT 0" + end), no_tilde);
    EXPECT_EQ(run(verb + "MAXLEN ~ 1 LIMIT -1" + end),
              "(error) ERR The LIMIT argument must be >= 0.");
    EXPECT_EQ(run(verb + "MAXLEN ~ 1 LIMIT x" + end), kNoInteger);
    EXPECT_EQ(run(verb + "LIMIT 1" + end), no_strategy);
  }
  EXPECT_EQ(run("XADD s LIMIT 0 1 f v"), no_tilde);
  EXPECT_EQ(run("XTRIM s LIMIT 0"),
            "(error) ERR syntax error, XTRIM must be called with a trimming strategy");
  EXPECT_EQ(run("XTRIM s FOO 1"), kStreamSyntax);
  EXPECT_EQ(run("XTRIM s MAXLEN 1 FOO"), kStreamSyntax);
  EXPECT_EQ(run("XTRIM s MAXLEN 1 NOMKSTREAM"), kStreamSyntax);
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_F(StreamWriteTest, APrimaryMayHaveTrimmedWithALimit) {
  add_entries(100);
  context().policy = Policy::show;
  EXPECT_EQ(run("XADD s MAXLEN = 5 LIMIT 1 101 f v"), "\"101-0\"");
  EXPECT_EQ(run("XLEN s"), "(integer) 5");
}

// ---- XTRIM and XDEL ----

TEST_F(StreamWriteTest, XtrimRemovesTheOldest) {
  add_entries(25);
  EXPECT_EQ(run("XTRIM s MAXLEN 22"), "(integer) 3");
  EXPECT_EQ(events(), "t:xtrim:s");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(propagated(), "XTRIM s MAXLEN 22");
  EXPECT_EQ(run("XTRIM s MINID = 24-0"), "(integer) 20");
  EXPECT_EQ(flat("XRANGE s - +"), "[[24-0 [f 24]] [25-0 [f 25]]]");
  EXPECT_EQ(run("XTRIM s MAXLEN 2"), "(integer) 0");
  EXPECT_EQ(events() + changed_keys() + propagated(), "");
  EXPECT_EQ(run("XTRIM none MAXLEN 2"), "(integer) 0");
  put_string("text");
  EXPECT_EQ(run("XTRIM text MAXLEN 2"), kStreamWrongType);
}

TEST_F(StreamWriteTest, XdelRemovesEntriesAndKeepsTheStream) {
  add_entries(3);
  EXPECT_EQ(run("XDEL s 2 2-0 9-9 3-0"), "(integer) 2");
  EXPECT_EQ(events(), "t:xdel:s");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(propagated(), "XDEL s 2 2-0 9-9 3-0");
  EXPECT_EQ(info("s", "max-deleted-entry-id"), "3-0");
  EXPECT_EQ(run("XDEL s 2"), "(integer) 0");
  EXPECT_EQ(events() + changed_keys() + propagated(), "");
  EXPECT_EQ(run("XDEL s 1 x"), kWrongId);
  EXPECT_EQ(run("XLEN s"), "(integer) 1");
  EXPECT_EQ(run("XDEL s 1"), "(integer) 1");
  EXPECT_EQ(run("TYPE s"), "stream");
  EXPECT_EQ(run("XDEL none x"), "(integer) 0");
  put_string("text");
  EXPECT_EQ(run("XDEL text 1"), kStreamWrongType);
}

// ---- XSETID ----

TEST_F(StreamWriteTest, XsetidSetsTheLastId) {
  add_entries(3);
  EXPECT_EQ(run("XSETID s 200-1"), "OK");
  EXPECT_EQ(events(), "t:xsetid:s");
  EXPECT_EQ(propagated(), "XSETID s 200-1");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(info("s", "last-generated-id"), "200-1");
  EXPECT_EQ(info("s", "entries-added"), "3");
  EXPECT_EQ(run("XSETID s 200-1 entriesadded 9 MAXDELETEDID 150"), "OK");
  EXPECT_EQ(info("s", "entries-added"), "9");
  EXPECT_EQ(info("s", "max-deleted-entry-id"), "150-0");
  EXPECT_EQ(run("XSETID s 200-1 MAXDELETEDID 0-0"), "OK");
  EXPECT_EQ(info("s", "max-deleted-entry-id"), "150-0");
  EXPECT_EQ(run("XADD s 200-1 f v"), kTooSmall);
}

TEST_F(StreamWriteTest, XsetidChecksWhatItIsTold) {
  add_entries(3);
  run("XSETID s 9 MAXDELETEDID 5");
  EXPECT_EQ(run("XSETID s x"), kWrongId);
  EXPECT_EQ(run("XSETID s 1-1 0"), kStreamSyntax);
  EXPECT_EQ(run("XSETID s 1-1 ENTRIESADDED"), kStreamSyntax);
  EXPECT_EQ(run("XSETID s 9 ENTRIESADDED x"), kNoInteger);
  EXPECT_EQ(run("XSETID s 9 ENTRIESADDED -1 MAXDELETEDID 0-0"),
            "(error) ERR entries_added must be positive");
  EXPECT_EQ(run("XSETID s 9 MAXDELETEDID -"), kWrongId);
  EXPECT_EQ(run("XSETID s 9 MAXDELETEDID 10"),
            "(error) ERR The ID specified in XSETID is smaller than the provided "
            "max_deleted_entry_id");
  EXPECT_EQ(run("XSETID s 4"),
            "(error) ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
  EXPECT_EQ(run("XSETID s 9 ENTRIESADDED 2"),
            "(error) ERR The entries_added specified in XSETID is smaller than the target stream "
            "length");
  EXPECT_EQ(run("XSETID none 9"), "(error) ERR no such key");
  run("XADD t 5 f v");
  EXPECT_EQ(run("XSETID t 4-9"),
            "(error) ERR The ID specified in XSETID is smaller than the target stream top item");
  run("XDEL t 5");
  run("XADD u MAXLEN 0 5 f v");
  EXPECT_EQ(run("XSETID u 1-1"), "OK");
  EXPECT_EQ(run("XADD u 1-2 f v"), "\"1-2\"");
  put_string("text");
  EXPECT_EQ(run("XSETID text 4-9"), kStreamWrongType);
}

}  // namespace stream_write_test
}  // namespace mayfly
