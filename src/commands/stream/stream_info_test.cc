// SPDX-License-Identifier: Apache-2.0
// XINFO.

#include "commands/stream/stream_fixture.h"

namespace mayfly {
namespace stream_info_test {

class StreamInfoTest : public StreamFixture {
 protected:
  StreamInfoTest() : StreamFixture(with_block_entries(2)) {}

  // Entries 1-0 to 5-0 without 4-0; g1 has two consumers, g2 has none.
  void SetUp() override {
    add_entries(5);
    run("XGROUP CREATE s g1 0");
    run("XGROUP CREATE s g2 3");
    run("XREADGROUP GROUP g1 Alice COUNT 1 STREAMS s >");
    run("XREADGROUP GROUP g1 Bob COUNT 2 STREAMS s >");
    run("XGROUP CREATECONSUMER s g1 Carol");
    run("XDEL s 4");
    advance(Millis(50));
  }
};

TEST_F(StreamInfoTest, StreamShowsItsEnds) {
  EXPECT_EQ(flat("XINFO STREAM s"),
            "[length 4 radix-tree-keys 3 radix-tree-nodes 4 last-generated-id 5-0 "
            "max-deleted-entry-id 4-0 entries-added 5 recorded-first-entry-id 1-0 groups 2 "
            "first-entry [1-0 [f 1]] last-entry [5-0 [f 5]]]");
  EXPECT_EQ(lookups(), "h");
  run("XTRIM s MAXLEN 0");
  EXPECT_EQ(flat("XINFO STREAM s"),
            "[length 0 radix-tree-keys 0 radix-tree-nodes 1 last-generated-id 5-0 "
            "max-deleted-entry-id 4-0 entries-added 5 recorded-first-entry-id 0-0 groups 2 "
            "first-entry (nil) last-entry (nil)]");
  set_protocol(3);
  EXPECT_TRUE(raw({"XINFO", "STREAM", "s"}).starts_with("%10\r\n$6\r\nlength\r\n:0\r\n"));
  EXPECT_TRUE(raw({"XINFO", "STREAM", "s"}).ends_with("$10\r\nlast-entry\r\n_\r\n"));
}

TEST_F(StreamInfoTest, FullShowsGroupsAndConsumers) {
  const std::string then = in_ms(Millis(-50));
  const std::string head =
      "radix-tree-keys 3 radix-tree-nodes 4 last-generated-id 5-0 max-deleted-entry-id 4-0 "
      "entries-added 5 recorded-first-entry-id 1-0 ";
  const std::string second =
      " [name g2 last-delivered-id 3-0 entries-read (nil) lag (nil) pel-count 0 pending [] "
      "consumers []]]]";
  EXPECT_EQ(flat("XINFO STREAM s FULL"),
            "[length 4 " + head +
                "entries [[1-0 [f 1]] [2-0 [f 2]] [3-0 [f 3]] [5-0 [f 5]]] groups [[name g1 "
                "last-delivered-id 3-0 entries-read 3 lag (nil) pel-count 3 pending [[1-0 Alice " +
                then + " 1] [2-0 Bob " + then + " 1] [3-0 Bob " + then +
                " 1]] consumers [[name Alice seen-time " + then + " active-time " + then +
                " pel-count 1 pending [[1-0 " + then + " 1]]] [name Bob seen-time " + then +
                " active-time " + then + " pel-count 2 pending [[2-0 " + then + " 1] [3-0 " + then +
                " 1]]] [name Carol seen-time " + then +
                " active-time -1 pel-count 0 pending []]]]" + second);
  EXPECT_EQ(flat("XINFO STREAM s full count 1"),
            "[length 4 " + head +
                "entries [[1-0 [f 1]]] groups [[name g1 last-delivered-id 3-0 entries-read 3 lag "
                "(nil) pel-count 3 pending [[1-0 Alice " +
                then + " 1]] consumers [[name Alice seen-time " + then + " active-time " + then +
                " pel-count 1 pending [[1-0 " + then + " 1]]] [name Bob seen-time " + then +
                " active-time " + then + " pel-count 2 pending [[2-0 " + then +
                " 1]]] [name Carol seen-time " + then +
                " active-time -1 pel-count 0 pending []]]]" + second);
}

TEST_F(StreamInfoTest, FullShowsTenEntriesUnlessToldOtherwise) {
  for (int i = 6; i <= 20; ++i) run("XADD s " + std::to_string(i) + " f v");
  const auto shown = [&](std::string_view line) {
    const std::string text = flat(line);
    return text.substr(0, text.find(" groups")).ends_with("[20-0 [f v]]]");
  };
  EXPECT_FALSE(shown("XINFO STREAM s FULL"));
  EXPECT_FALSE(shown("XINFO STREAM s FULL COUNT -1"));
  EXPECT_FALSE(shown("XINFO STREAM s FULL COUNT 18"));
  EXPECT_TRUE(shown("XINFO STREAM s FULL COUNT 19"));
  EXPECT_TRUE(shown("XINFO STREAM s FULL COUNT 0"));
}

TEST_F(StreamInfoTest, GroupsShowTheirProgress) {
  EXPECT_EQ(flat("XINFO GROUPS s"),
            "[[name g1 consumers 3 pending 3 last-delivered-id 3-0 entries-read 3 lag (nil)] "
            "[name g2 consumers 0 pending 0 last-delivered-id 3-0 entries-read (nil) lag (nil)]]");
  run("XADD t 1 f v");
  EXPECT_EQ(run("XINFO GROUPS t"), "[]");
  set_protocol(3);
  EXPECT_TRUE(raw({"XINFO", "GROUPS", "s"}).starts_with("*2\r\n%6\r\n$4\r\nname\r\n$2\r\ng1\r\n"));
}

TEST_F(StreamInfoTest, ConsumersShowWhenTheyWereSeen) {
  run("XREADGROUP GROUP g1 Alice STREAMS s 0");
  EXPECT_EQ(flat("XINFO CONSUMERS s g1"),
            "[[name Alice pending 1 idle 0 inactive 50] [name Bob pending 2 idle 50 inactive 50] "
            "[name Carol pending 0 idle 50 inactive -1]]");
  EXPECT_EQ(run("XINFO CONSUMERS s g2"), "[]");
  EXPECT_EQ(run("XINFO CONSUMERS s none"),
            "(error) NOGROUP No such consumer group 'none' for key name 's'");
}

TEST_F(StreamInfoTest, ChecksItsWords) {
  for (const std::string line : {"STREAM none", "GROUPS none", "CONSUMERS none g"}) {
    EXPECT_EQ(run("XINFO " + line), "(error) ERR no such key");
  }
  put_string("text");
  EXPECT_EQ(run("XINFO STREAM text"), kStreamWrongType);
  for (const std::string line : {"FOO", "FULL COUNT", "FULL FOO 1", "FULL COUNT 1 1", "COUNT 1"}) {
    EXPECT_EQ(run("XINFO STREAM s " + line),
              "(error) ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO "
              "HELP.");
  }
  EXPECT_EQ(run("XINFO STREAM s FULL COUNT x"), kNoInteger);
  EXPECT_EQ(run("XINFO HELP xxx"),
            "(error) ERR wrong number of arguments for 'xinfo|help' command");
  EXPECT_TRUE(run("XINFO HELP").starts_with("[XINFO <subcommand>"));
}

}  // namespace stream_info_test
}  // namespace mayfly
