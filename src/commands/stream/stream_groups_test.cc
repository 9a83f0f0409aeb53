// SPDX-License-Identifier: Apache-2.0
// XGROUP and XREADGROUP.

#include "commands/stream/stream_fixture.h"

namespace mayfly {
namespace stream_groups_test {

constexpr std::string_view kNoKey =
    "(error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may "
    "want to use the MKSTREAM option to create an empty stream automatically.";
constexpr std::string_view kNoGroup =
    "(error) NOGROUP No such consumer group 'none' for key name 's'";

class StreamGroupsTest : public StreamFixture {
 protected:
  // The group g of the stream s, from the first entry on.
  void make_group(int entries) {
    add_entries(entries);
    run("XGROUP CREATE s g 0");
  }

  // [name consumers pending last-delivered-id entries-read lag] of the first group.
  std::string progress() {
    std::string text = flat("XINFO GROUPS s");
    return text.substr(text.find("last-delivered-id"));
  }

  // What an XREADGROUP of one entry is propagated as.
  std::string claim(std::string_view consumer, std::string_view id, std::string_view last,
                    int deliveries = 1) const {
    std::string text("XCLAIM s g ");
    text.append(consumer).append(" 0 ").append(id).append(" TIME ").append(in_ms(Millis(0)));
    text.append(" RETRYCOUNT ").append(std::to_string(deliveries)).append(" FORCE JUSTID LASTID ");
    return text.append(last);
  }
};

// ---- XGROUP ----

TEST_F(StreamGroupsTest, CreateNeedsAStreamOrMkstream) {
  EXPECT_EQ(run("XGROUP CREATE s g $"), kNoKey);
  EXPECT_EQ(run("XGROUP CREATE s g x MKSTREAM"), kWrongId);
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  EXPECT_EQ(run("XGROUP CREATE s g $ mkstream"), "OK");
  EXPECT_EQ(events(), "n:new:s t:xgroup-create:s");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(propagated(), "XGROUP CREATE s g $ mkstream");
  EXPECT_EQ(run("XLEN s"), "(integer) 0");
  EXPECT_EQ(run("XGROUP CREATE s h 5"), "OK");
  EXPECT_EQ(events(), "t:xgroup-create:s");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(run("XGROUP CREATE s g 0 MKSTREAM"),
            "(error) BUSYGROUP Consumer Group name already exists");
  EXPECT_EQ(propagated() + events(), "");
  put_string("text");
  EXPECT_EQ(run("XGROUP CREATE text g $ MKSTREAM"), kStreamWrongType);
}

TEST_F(StreamGroupsTest, CreateSetsWhereTheGroupBegins) {
  add_entries(3);
  run("XGROUP CREATE s g $ ENTRIESREAD 2");
  EXPECT_EQ(progress(), "last-delivered-id 3-0 entries-read 2 lag 1]]");
  run("XGROUP DESTROY s g");
  run("XGROUP CREATE s g 1 ENTRIESREAD -1 MKSTREAM");
  EXPECT_EQ(progress(), "last-delivered-id 1-0 entries-read (nil) lag 2]]");
  EXPECT_EQ(run("XGROUP CREATE s h $ ENTRIESREAD -2"),
            "(error) ERR value for ENTRIESREAD must be positive or -1");
  EXPECT_EQ(run("XGROUP CREATE s h $ ENTRIESREAD x"), kNoInteger);
  EXPECT_EQ(run("XGROUP CREATE s h -"), kWrongId);
  EXPECT_EQ(run("XGROUP CREATE s h $ FOO"),
            "(error) ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP "
            "HELP.");
  EXPECT_EQ(run("xgroup create s h $ ENTRIESREAD 1 ENTRIESREAD 2"),
            "(error) ERR unknown subcommand or wrong number of arguments for 'create'. Try XGROUP "
            "HELP.");
}

TEST_F(StreamGroupsTest, SetidMovesAGroup) {
  make_group(3);
  EXPECT_EQ(run("XGROUP SETID s g 2"), "OK");
  EXPECT_EQ(events(), "t:xgroup-setid:s");
  EXPECT_EQ(propagated(), "XGROUP SETID s g 2");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(progress(), "last-delivered-id 2-0 entries-read (nil) lag (nil)]]");
  run("XGROUP SETID s g $ ENTRIESREAD 3");
  EXPECT_EQ(progress(), "last-delivered-id 3-0 entries-read 3 lag 0]]");
  run("XGROUP SETID s g -");
  EXPECT_EQ(progress(), "last-delivered-id 0-0 entries-read (nil) lag 3]]");
  run("XGROUP SETID s g +");
  EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s >"), "(nil)");
  EXPECT_EQ(run("XGROUP SETID s none 2"), kNoGroup);
  EXPECT_EQ(run("XGROUP SETID none g 2"), kNoKey);
  EXPECT_EQ(run("XGROUP SETID s g x"), kWrongId);
  for (const std::string end : {"MKSTREAM", "ENTRIESREAD", "ENTRIESREAD 1 ENTRIESREAD 1"}) {
    EXPECT_EQ(run("XGROUP SETID s g 2 " + end),
              "(error) ERR unknown subcommand or wrong number of arguments for 'SETID'. Try XGROUP "
              "HELP.");
  }
}

TEST_F(StreamGroupsTest, DestroyRemovesAGroup) {
  make_group(1);
  run("XREADGROUP GROUP g c STREAMS s >");
  EXPECT_EQ(run("XGROUP DESTROY s none"), "(integer) 0");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("XGROUP DESTROY s g"), "(integer) 1");
  EXPECT_EQ(events(), "t:xgroup-destroy:s");
  EXPECT_EQ(changed_keys(), "s");  // clients wait for the group
  EXPECT_EQ(propagated(), "XGROUP DESTROY s g");
  EXPECT_EQ(run("XINFO GROUPS s"), "[]");
  EXPECT_EQ(run("XGROUP DESTROY none g"), kNoKey);
}

TEST_F(StreamGroupsTest, ConsumersAreCreatedAndRemoved) {
  make_group(3);
  EXPECT_EQ(run("XGROUP CREATECONSUMER s g c"), "(integer) 1");
  EXPECT_EQ(events(), "t:xgroup-createconsumer:s");
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g c");
  EXPECT_EQ(run("XGROUP CREATECONSUMER s g c"), "(integer) 0");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("XGROUP CREATECONSUMER s none c"), kNoGroup);
  run("XREADGROUP GROUP g c COUNT 2 STREAMS s >");
  EXPECT_EQ(run("XGROUP DELCONSUMER s g c"), "(integer) 2");
  EXPECT_EQ(events(), "t:xgroup-delconsumer:s");
  EXPECT_EQ(propagated(), "XGROUP DELCONSUMER s g c");
  EXPECT_EQ(run("XGROUP DELCONSUMER s g c"), "(integer) 0");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("XPENDING s g - + 10"), "[]");
  EXPECT_EQ(run("XGROUP DELCONSUMER s none c"), kNoGroup);
  EXPECT_EQ(run("XGROUP DELCONSUMER none g c"), kNoKey);
}

TEST_F(StreamGroupsTest, HelpTakesNoArguments) {
  EXPECT_EQ(run("XGROUP HELP xxx"),
            "(error) ERR wrong number of arguments for 'xgroup|help' command");
  EXPECT_TRUE(run("XGROUP HELP").starts_with("[XGROUP <subcommand>"));
}

// ---- XREADGROUP: new entries ----

TEST_F(StreamGroupsTest, DeliversEachEntryOnce) {
  make_group(3);
  EXPECT_EQ(flat("XREADGROUP GROUP g c COUNT 2 STREAMS s >"), "[[s [[1-0 [f 1]] [2-0 [f 2]]]]]");
  EXPECT_EQ(events(), "t:xgroup-createconsumer:s");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(propagated(), claim("c", "1-0", "1-0") + "; " + claim("c", "2-0", "2-0") +
                              "; XGROUP SETID s g 2-0 ENTRIESREAD 2");
  EXPECT_EQ(flat("XREADGROUP GROUP g d STREAMS s >"), "[[s [[3-0 [f 3]]]]]");
  EXPECT_EQ(raw({"XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", ">"}), "*-1\r\n");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(flat("XPENDING s g"), "[3 1-0 3-0 [[c 2] [d 1]]]");
}

TEST_F(StreamGroupsTest, NoackDeliversWithoutPendingEntries) {
  make_group(2);
  EXPECT_EQ(flat("XREADGROUP GROUP g c NOACK COUNT 1 STREAMS s >"), "[[s [[1-0 [f 1]]]]]");
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g c; XGROUP SETID s g 1-0 ENTRIESREAD 1");
  EXPECT_EQ(run("XPENDING s g - + 10"), "[]");
  EXPECT_TRUE(flat("XINFO CONSUMERS s g").ends_with("inactive -1]]"));
}

TEST_F(StreamGroupsTest, AConsumerThatGetsNothingIsPropagated) {
  make_group(0);
  run("XGROUP CREATE s g 0 MKSTREAM");
  EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s >"), "(nil)");
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g c");
  EXPECT_EQ(events(), "t:xgroup-createconsumer:s");
  EXPECT_EQ(flat("XREADGROUP GROUP g d STREAMS s 0"), "[[s []]]");
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g d");
}

TEST_F(StreamGroupsTest, AnEntryThatIsPendingChangesHands) {
  make_group(2);
  run("XREADGROUP GROUP g c STREAMS s >");
  run("XGROUP SETID s g 0");
  advance(Millis(5));
  EXPECT_EQ(flat("XREADGROUP GROUP g d COUNT 1 STREAMS s >"), "[[s [[1-0 [f 1]]]]]");
  EXPECT_EQ(flat("XPENDING s g - + 10"), "[[1-0 d 0 1] [2-0 c 5 1]]");
  run("XGROUP SETID s g 1");
  run("XREADGROUP GROUP g c STREAMS s >");
  EXPECT_EQ(flat("XPENDING s g - + 10"), "[[1-0 d 0 1] [2-0 c 0 1]]");
}

TEST_F(StreamGroupsTest, SeveralStreamsAreServedAtOnce) {
  make_group(1);
  run("XADD t 7 a b");
  run("XGROUP CREATE t g 0");
  EXPECT_EQ(flat("XREADGROUP GROUP g c STREAMS s t 0 >"), "[[s []] [t [[7-0 [a b]]]]]");
  EXPECT_EQ(flat("XREADGROUP GROUP g c STREAMS s s > >"), "[[s [[1-0 [f 1]]]]]");
  set_protocol(3);
  EXPECT_EQ(raw({"XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", "t", "0", ">"}),
            "%1\r\n$1\r\ns\r\n*0\r\n");
  EXPECT_EQ(raw({"XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", ">"}), "_\r\n");
}

TEST_F(StreamGroupsTest, CountsWhatAGroupHasRead) {
  make_group(5);
  EXPECT_EQ(progress(), "last-delivered-id 0-0 entries-read (nil) lag 5]]");
  run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
  EXPECT_EQ(progress(), "last-delivered-id 1-0 entries-read 1 lag 4]]");
  run("XREADGROUP GROUP g c STREAMS s >");
  EXPECT_EQ(progress(), "last-delivered-id 5-0 entries-read 5 lag 0]]");
  for (int i = 6; i <= 10; ++i) run("XADD s " + std::to_string(i) + " f v");
  run("XREADGROUP GROUP g c COUNT 3 STREAMS s >");
  run("XDEL s 9");
  EXPECT_EQ(progress(), "last-delivered-id 8-0 entries-read 8 lag (nil)]]");
  run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
  EXPECT_TRUE(propagated().ends_with("XGROUP SETID s g 10-0 ENTRIESREAD 10"));
  EXPECT_EQ(progress(), "last-delivered-id 10-0 entries-read 10 lag 0]]");
}

TEST_F(StreamGroupsTest, AnUnknownNumberIsPropagatedAsMinusOne) {
  make_group(4);
  run("XDEL s 3");
  run("XREADGROUP GROUP g c NOACK COUNT 1 STREAMS s >");
  EXPECT_TRUE(propagated().ends_with("XGROUP SETID s g 1-0 ENTRIESREAD -1")) << propagated();
}

// ---- XREADGROUP: history ----

TEST_F(StreamGroupsTest, HistoryIsWhatTheConsumerHasNotAcknowledged) {
  make_group(4);
  run("XREADGROUP GROUP g c COUNT 3 STREAMS s >");
  run("XREADGROUP GROUP g d STREAMS s >");
  advance(Millis(10));
  EXPECT_EQ(flat("XREADGROUP GROUP g c COUNT 2 STREAMS s 0"), "[[s [[1-0 [f 1]] [2-0 [f 2]]]]]");
  EXPECT_EQ(propagated(), claim("c", "1-0", "4-0", 2) + "; " + claim("c", "2-0", "4-0", 2));
  EXPECT_EQ(flat("XPENDING s g - + 9"), "[[1-0 c 0 2] [2-0 c 0 2] [3-0 c 10 1] [4-0 d 10 1]]");
  EXPECT_EQ(flat("XREADGROUP GROUP g c STREAMS s 2"), "[[s [[3-0 [f 3]]]]]");
  EXPECT_EQ(flat("XREADGROUP GROUP g d STREAMS s 4"), "[[s []]]");
  EXPECT_EQ(flat("XREADGROUP GROUP g d BLOCK 0 STREAMS s 700"), "[[s []]]");
}

TEST_F(StreamGroupsTest, HistoryShowsEntriesThatAreGoneWithoutFields) {
  make_group(3);
  run("XREADGROUP GROUP g c STREAMS s >");
  run("XDEL s 2");
  EXPECT_EQ(flat("XREADGROUP GROUP g c STREAMS s 0"),
            "[[s [[1-0 [f 1]] [2-0 (nil)] [3-0 [f 3]]]]]");
  EXPECT_EQ(flat("XPENDING s g - + 9"), "[[1-0 c 0 2] [2-0 c 0 1] [3-0 c 0 2]]");
  EXPECT_EQ(raw({"XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", "1"}),
            "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n2-0\r\n*-1\r\n");
}

TEST_F(StreamGroupsTest, TheGreatestIdMeansNewEntries) {
  make_group(1);
  EXPECT_EQ(flat("XREADGROUP GROUP g c STREAMS s 18446744073709551615-18446744073709551615"),
            "[[s [[1-0 [f 1]]]]]");
}

// ---- XREADGROUP: errors and waiting ----

TEST_F(StreamGroupsTest, XreadgroupChecksItsOptions) {
  make_group(1);
  put_string("text");
  const std::string no_group = "' in XREADGROUP with GROUP option";
  EXPECT_EQ(run("XREADGROUP GROUP none c STREAMS s >"),
            "(error) NOGROUP No such key 's' or consumer group 'none" + no_group);
  EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s none > >"),
            "(error) NOGROUP No such key 'none' or consumer group 'g" + no_group);
  EXPECT_EQ(run("XINFO CONSUMERS s g"), "[]");
  EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s text > >"), kStreamWrongType);
  EXPECT_EQ(run("XREADGROUP GROUP g c COUNT 1 STREAMS s"),
            "(error) ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' "
            "must be specified.");
  EXPECT_EQ(run("XREADGROUP COUNT 1 BLOCK 1 STREAMS s >"),
            "(error) ERR Missing GROUP option for XREADGROUP");
  EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s x"), kWrongId);
  EXPECT_EQ(run("XREADGROUP GROUP g c FOO STREAMS s >"), kStreamSyntax);
  for (const std::string id : {"$", "+"}) {
    EXPECT_EQ(run("XREADGROUP GROUP g c STREAMS s " + id),
              "(error) ERR The " + id +
                  " ID is meaningless in the context of XREADGROUP: you want to read the history "
                  "of this consumer by specifying a proper ID, or use the > ID to get new "
                  "messages. The " +
                  id + " ID would just return an empty result set.");
  }
}

TEST_F(StreamGroupsTest, XreadgroupWaitsAlsoForTheEndOfItsGroup) {
  allow_waits();
  make_group(0);
  run("XGROUP CREATE s g $ MKSTREAM");
  run_waiting({"XREADGROUP", "GROUP", "g", "c", "BLOCK", "5", "STREAMS", "s", ">"});
  EXPECT_EQ(waited()->keys, (std::vector<std::string_view>{"s"}));
  EXPECT_EQ(waited()->until, now() + Millis(5));
  EXPECT_TRUE(waited()->wakes_without_key);
  EXPECT_EQ(propagated(), "XGROUP CREATECONSUMER s g c");
  EXPECT_EQ(flat("XREADGROUP GROUP g c BLOCK 5 STREAMS s 0"), "[[s []]]");
}

}  // namespace stream_groups_test
}  // namespace mayfly
