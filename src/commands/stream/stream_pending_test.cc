// SPDX-License-Identifier: Apache-2.0
// XACK, XPENDING, XCLAIM and XAUTOCLAIM.

#include "commands/stream/stream_fixture.h"

namespace mayfly {
namespace stream_pending_test {

class StreamPendingTest : public StreamFixture {
 protected:
  // Entries 1-0 to 5-0, of which c has got 1 to 3 and d has got 4.
  void SetUp() override {
    add_entries(5);
    run("XGROUP CREATE s g 0");
    run("XREADGROUP GROUP g c COUNT 3 STREAMS s >");
    run("XREADGROUP GROUP g d COUNT 1 STREAMS s >");
    advance(Millis(100));
  }

  std::string pending() { return flat("XPENDING s g - + 100"); }

  std::string claim(std::string_view consumer, std::string_view id, Millis from_now, int deliveries,
                    std::string_view last = "4-0") const {
    std::string text("XCLAIM s g ");
    text.append(consumer).append(" 0 ").append(id).append(" TIME ").append(in_ms(from_now));
    text.append(" RETRYCOUNT ").append(std::to_string(deliveries)).append(" FORCE JUSTID LASTID ");
    return text.append(last);
  }
};

// ---- XACK ----

TEST_F(StreamPendingTest, XackEndsWhatIsPending) {
  EXPECT_EQ(run("XACK s g 1 1-0 4-0 5-0 9-9"), "(integer) 2");
  EXPECT_EQ(propagated(), "XACK s g 1 1-0 4-0 5-0 9-9");
  EXPECT_EQ(changed_keys() + events(), "");
  EXPECT_EQ(pending(), "[[2-0 c 100 1] [3-0 c 100 1]]");
  EXPECT_EQ(run("XACK s g 1"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("XACK s g 2 x"), kWrongId);
  EXPECT_EQ(run("XACK s none x"), "(integer) 0");
  EXPECT_EQ(run("XACK none g x"), "(integer) 0");
  put_string("text");
  EXPECT_EQ(run("XACK text g 1"), kStreamWrongType);
}

// ---- XPENDING ----

TEST_F(StreamPendingTest, XpendingSumsUp) {
  EXPECT_EQ(flat("XPENDING s g"), "[4 1-0 4-0 [[c 3] [d 1]]]");
  EXPECT_EQ(run("XPENDING s g"), R"([(integer) 4, "1-0", "4-0", [["c", "3"], ["d", "1"]]])");
  run("XACK s g 4");
  EXPECT_EQ(flat("XPENDING s g"), "[3 1-0 3-0 [[c 3]]]");
  run("XGROUP DELCONSUMER s g c");
  EXPECT_EQ(raw({"XPENDING", "s", "g"}), "*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n");
  set_protocol(3);
  EXPECT_EQ(raw({"XPENDING", "s", "g"}), "*4\r\n:0\r\n_\r\n_\r\n_\r\n");
}

TEST_F(StreamPendingTest, XpendingListsEntries) {
  EXPECT_EQ(pending(), "[[1-0 c 100 1] [2-0 c 100 1] [3-0 c 100 1] [4-0 d 100 1]]");
  EXPECT_EQ(flat("XPENDING s g - + 2"), "[[1-0 c 100 1] [2-0 c 100 1]]");
  EXPECT_EQ(flat("XPENDING s g 2 3 10"), "[[2-0 c 100 1] [3-0 c 100 1]]");
  EXPECT_EQ(flat("XPENDING s g (2 (4-0 10"), "[[3-0 c 100 1]]");
  EXPECT_EQ(flat("XPENDING s g (1 + 2 c"), "[[2-0 c 100 1] [3-0 c 100 1]]");
  EXPECT_EQ(flat("XPENDING s g - 2 10 c"), "[[1-0 c 100 1] [2-0 c 100 1]]");
  EXPECT_EQ(flat("XPENDING s g - + 10 none"), "[]");
  EXPECT_EQ(flat("XPENDING s g - + 0"), "[]");
  EXPECT_EQ(flat("XPENDING s g - + -1"), "[]");
  run("XREADGROUP GROUP g c COUNT 1 STREAMS s 0");
  EXPECT_EQ(flat("XPENDING s g IDLE 100 - + 10"), "[[2-0 c 100 1] [3-0 c 100 1] [4-0 d 100 1]]");
  EXPECT_EQ(flat("XPENDING s g idle 101 - + 10"), "[]");
  EXPECT_EQ(flat("XPENDING s g IDLE 100 - + 1 d"), "[[4-0 d 100 1]]");
  EXPECT_EQ(flat("XPENDING s g IDLE -5 - + 1"), "[[1-0 c 0 2]]");
  advance(Millis(-50));
  EXPECT_EQ(flat("XPENDING s g - + 1"), "[[1-0 c 0 2]]");
}

TEST_F(StreamPendingTest, XpendingChecksItsWords) {
  for (const std::string_view line :
       {"XPENDING s g -", "XPENDING s g - +", "XPENDING s g IDLE 5 - +", "XPENDING s g IDLE 5 -",
        "XPENDING s g IDLE 5 - + 1 c d"}) {
    EXPECT_EQ(run(line), kStreamSyntax) << line;
  }
  EXPECT_EQ(run("XPENDING s g IDLE x - + 10"), kNoInteger);
  EXPECT_EQ(run("XPENDING s g x y z"), kNoInteger);
  EXPECT_EQ(run("XPENDING s g x + 10"), kWrongId);
  EXPECT_EQ(run("XPENDING s g - x 10"), kWrongId);
  EXPECT_EQ(run("XPENDING s g - (0-0 10"), "(error) ERR invalid end ID for the interval");
  EXPECT_EQ(run("XPENDING s none"), "(error) NOGROUP No such key 's' or consumer group 'none'");
  EXPECT_EQ(run("XPENDING none g"), "(error) NOGROUP No such key 'none' or consumer group 'g'");
  put_string("text");
  EXPECT_EQ(run("XPENDING text g"), kStreamWrongType);
}

// ---- XCLAIM ----

TEST_F(StreamPendingTest, XclaimTakesEntriesThatAreIdle) {
  EXPECT_EQ(flat("XCLAIM s g d 100 1 3-0"), "[[1-0 [f 1]] [3-0 [f 3]]]");
  EXPECT_EQ(propagated(), claim("d", "1-0", Millis(0), 2) + "; " + claim("d", "3-0", Millis(0), 2));
  EXPECT_EQ(events() + changed_keys(), "");
  EXPECT_EQ(pending(), "[[1-0 d 0 2] [2-0 c 100 1] [3-0 d 0 2] [4-0 d 100 1]]");
  EXPECT_EQ(flat("XCLAIM s g c 1 1 2 5 9"), "[[2-0 [f 2]]]");
  EXPECT_EQ(pending(), "[[1-0 d 0 2] [2-0 c 0 2] [3-0 d 0 2] [4-0 d 100 1]]");
  EXPECT_EQ(flat("XCLAIM s g c 0 1 JUSTID"), "[1-0]");
  EXPECT_EQ(flat("XCLAIM s g c -5 3 justid"), "[3-0]");
  EXPECT_EQ(pending(), "[[1-0 c 0 2] [2-0 c 0 2] [3-0 c 0 2] [4-0 d 100 1]]");
}

TEST_F(StreamPendingTest, XclaimSetsTimeAndCount) {
  run("XCLAIM s g c 0 1 IDLE 30 RETRYCOUNT 7");
  EXPECT_EQ(propagated(), claim("c", "1-0", Millis(-30), 7));
  run("XCLAIM s g c 0 2 TIME " + in_ms(Millis(-50)));
  run("XCLAIM s g c 0 3 TIME " + in_ms(Millis(50)) + " RETRYCOUNT -1");
  EXPECT_EQ(pending(), "[[1-0 c 30 7] [2-0 c 50 2] [3-0 c 0 2] [4-0 d 100 1]]");
  for (const std::string option : {"IDLE -5", "TIME -5", "TIME -1", "IDLE 9223372036854775807",
                                   "TIME 9223372036854775807", "IDLE -9223372036854775808"}) {
    EXPECT_EQ(flat("XCLAIM s g c 0 1 JUSTID " + option), "[1-0]") << option;
    EXPECT_EQ(flat("XPENDING s g - + 1"), "[[1-0 c 0 7]]") << option;
  }
  context().policy = Policy::show;  // the clock of the primary may be ahead
  run("XCLAIM s g c 0 2 JUSTID TIME " + in_ms(Millis(50)));
  advance(Millis(60));
  EXPECT_EQ(flat("XPENDING s g 2 2 1"), "[[2-0 c 10 2]]");
}

TEST_F(StreamPendingTest, XclaimWithForceMakesPendingEntries) {
  EXPECT_EQ(flat("XCLAIM s g e 1000 5 9-9 FORCE"), "[[5-0 [f 5]]]");
  EXPECT_EQ(events(), "t:xgroup-createconsumer:s");
  EXPECT_EQ(propagated(), claim("e", "5-0", Millis(0), 2));
  EXPECT_EQ(flat("XPENDING s g 5 + 9"), "[[5-0 e 0 2]]");
}

TEST_F(StreamPendingTest, XclaimForgetsEntriesThatAreGone) {
  run("XDEL s 2");
  EXPECT_EQ(flat("XCLAIM s g e 1000 1 2 JUSTID"), "[]");
  EXPECT_EQ(propagated(), claim("c", "2-0", Millis(-100), 1) + "; XGROUP CREATECONSUMER s g e");
  EXPECT_EQ(pending(), "[[1-0 c 100 1] [3-0 c 100 1] [4-0 d 100 1]]");
}

TEST_F(StreamPendingTest, XclaimSetsTheLastId) {
  EXPECT_EQ(flat("XCLAIM s g c 1000 1 LASTID 5"), "[]");
  EXPECT_EQ(propagated(), "XGROUP SETID s g 5-0 ENTRIESREAD 4");
  EXPECT_EQ(flat("XCLAIM s g c 0 1 JUSTID LASTID 3"), "[1-0]");
  EXPECT_EQ(propagated(), claim("c", "1-0", Millis(0), 1, "5-0"));
  EXPECT_EQ(flat("XCLAIM s g c 0 1 JUSTID LASTID 6"), "[1-0]");
  EXPECT_EQ(propagated(), claim("c", "1-0", Millis(0), 1, "6-0"));
  EXPECT_EQ(run("XCLAIM s g c 1000 1"), "[]");
  EXPECT_EQ(propagated(), "");
}

TEST_F(StreamPendingTest, XclaimChecksItsWords) {
  EXPECT_EQ(run("XCLAIM s g c x 1"), "(error) ERR Invalid min-idle-time argument for XCLAIM");
  EXPECT_EQ(run("XCLAIM s g c 0 1 IDLE x"), "(error) ERR Invalid IDLE option argument for XCLAIM");
  EXPECT_EQ(run("XCLAIM s g c 0 1 TIME x"), "(error) ERR Invalid TIME option argument for XCLAIM");
  EXPECT_EQ(run("XCLAIM s g c 0 1 RETRYCOUNT x"),
            "(error) ERR Invalid RETRYCOUNT option argument for XCLAIM");
  EXPECT_EQ(run("XCLAIM s g c 0 1 LASTID x"), kWrongId);
  EXPECT_EQ(run("XCLAIM s g c 0 1 FOO"), "(error) ERR Unrecognized XCLAIM option 'FOO'");
  EXPECT_EQ(run("XCLAIM s g c 0 1 FORCE 2"), "(error) ERR Unrecognized XCLAIM option '2'");
  EXPECT_EQ(run("XCLAIM s g c 0 1 IDLE"), "(error) ERR Unrecognized XCLAIM option 'IDLE'");
  EXPECT_EQ(run("XCLAIM s none c x 1"), "(error) NOGROUP No such key 's' or consumer group 'none'");
  EXPECT_EQ(run("XCLAIM none g c 0 1"), "(error) NOGROUP No such key 'none' or consumer group 'g'");
  put_string("text");
  EXPECT_EQ(run("XCLAIM text g c x 1"), kStreamWrongType);
  EXPECT_EQ(pending(), "[[1-0 c 100 1] [2-0 c 100 1] [3-0 c 100 1] [4-0 d 100 1]]");
}

// ---- XAUTOCLAIM ----

TEST_F(StreamPendingTest, XautoclaimGoesThroughAllThatIsPending) {
  EXPECT_EQ(flat("XAUTOCLAIM s g e 100 - COUNT 2"), "[3-0 [[1-0 [f 1]] [2-0 [f 2]]] []]");
  EXPECT_EQ(propagated(), claim("e", "1-0", Millis(0), 2) + "; " + claim("e", "2-0", Millis(0), 2));
  EXPECT_EQ(events(), "t:xgroup-createconsumer:s");
  EXPECT_EQ(flat("XAUTOCLAIM s g e 100 0 COUNT 1"), "[4-0 [[3-0 [f 3]]] []]");
  EXPECT_EQ(flat("XAUTOCLAIM s g e 100 (3-0 COUNT 1 JUSTID"), "[0-0 [4-0] []]");
  EXPECT_EQ(pending(), "[[1-0 e 0 2] [2-0 e 0 2] [3-0 e 0 2] [4-0 e 0 1]]");
  EXPECT_EQ(flat("XAUTOCLAIM s g f 1 0"), "[0-0 [] []]");
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g f");
  EXPECT_EQ(flat("XAUTOCLAIM s g f 1 0"), "[0-0 [] []]");
  EXPECT_EQ(propagated(), "");
}

TEST_F(StreamPendingTest, XautoclaimForgetsEntriesThatAreGone) {
  run("XDEL s 1 2 4");
  EXPECT_EQ(flat("XAUTOCLAIM s g d 0 0 COUNT 1"), "[2-0 [] [1-0]]");
  EXPECT_EQ(propagated(), claim("c", "1-0", Millis(-100), 1));
  EXPECT_EQ(flat("XAUTOCLAIM s g d 1000 0"), "[0-0 [] [2-0 4-0]]");
  EXPECT_EQ(pending(), "[[3-0 c 100 1]]");
}

TEST_F(StreamPendingTest, XautoclaimLooksAtALimitedNumber) {
  for (int i = 6; i <= 30; ++i) run("XADD s " + std::to_string(i) + " f v");
  run("XREADGROUP GROUP g c STREAMS s >");
  EXPECT_EQ(flat("XAUTOCLAIM s g d 50 (4-0 COUNT 1"), "[15-0 [] []]");
  EXPECT_EQ(flat("XAUTOCLAIM s g d 50 (4-0 COUNT 2"), "[25-0 [] []]");
}

TEST_F(StreamPendingTest, XautoclaimChecksItsWords) {
  EXPECT_EQ(run("XAUTOCLAIM s none d x 0"),
            "(error) ERR Invalid min-idle-time argument for XAUTOCLAIM");
  EXPECT_EQ(run("XAUTOCLAIM s none d 0 x"), kWrongId);
  EXPECT_EQ(run("XAUTOCLAIM s g d 0 (18446744073709551615-18446744073709551615"),
            "(error) ERR invalid start ID for the interval");
  for (const std::string count : {"0", "-1", "x", "8070450532247928833"}) {
    EXPECT_EQ(run("XAUTOCLAIM s none d 0 0 COUNT " + count), "(error) ERR COUNT must be > 0");
  }
  EXPECT_EQ(run("XAUTOCLAIM s g d 0 0 COUNT"), kStreamSyntax);
  EXPECT_EQ(run("XAUTOCLAIM s g d 0 0 FORCE"), kStreamSyntax);
  EXPECT_EQ(run("XAUTOCLAIM s none d 0 0"),
            "(error) NOGROUP No such key 's' or consumer group 'none'");
  put_string("text");
  EXPECT_EQ(run("XAUTOCLAIM text g d 0 0"), kStreamWrongType);
}

}  // namespace stream_pending_test
}  // namespace mayfly
