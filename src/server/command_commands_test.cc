// SPDX-License-Identifier: Apache-2.0
// COMMAND: replies in the form that Redis 7 gives, and rows that make sense.

#include <gtest/gtest.h>

#include "server/command_times.h"
#include "server/server_fixture.h"

namespace mayfly {
namespace {

class CommandCommandsTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

// The expected text is what redis-server 7.0 says.
TEST_F(CommandCommandsTest, InfoHasTenElements) {
  run("HELLO 3");
  EXPECT_EQ(run("COMMAND INFO get"),
            R"([["get", (integer) 2, (set) [readonly, fast], (integer) 1, (integer) 1, )"
            R"((integer) 1, (set) [@read, @string, @fast], (set) [], (set) [{"flags": )"
            R"((set) [RO, access], "begin_search": {"type": "index", "spec": {"index": )"
            R"((integer) 1}}, "find_keys": {"type": "range", "spec": {"lastkey": (integer) 0, )"
            R"("keystep": (integer) 1, "limit": (integer) 0}}}], []]])");
}

TEST_F(CommandCommandsTest, InfoOfSubcommandsAndOfNone) {
  run("HELLO 3");
  EXPECT_EQ(
      run("COMMAND INFO config|get nosuch config|nosuch"),
      R"([["config|get", (integer) -3, (set) [admin, noscript, loading, stale], (integer) 0, )"
      R"((integer) 0, (integer) 0, (set) [@admin, @slow, @dangerous], (set) [], (set) [], )"
      R"([]], (nil), (nil)])");
  EXPECT_TRUE(
      run("COMMAND INFO config")
          .starts_with(
              R"([["config", (integer) -2, (set) [], (integer) 0, (integer) 0, (integer) 0, )"
              R"((set) [@slow], (set) [], (set) [], [["config|get",)"));
}

TEST_F(CommandCommandsTest, CountsWhatItLists) {
  const std::size_t count = fixture_.server().commands().rows().size();
  EXPECT_EQ(run("COMMAND COUNT"), "(integer) " + std::to_string(count));
  EXPECT_TRUE(client_.send("COMMAND\r\n").starts_with("*" + std::to_string(count) + "\r\n"));
  EXPECT_TRUE(client_.send("COMMAND INFO\r\n").starts_with("*" + std::to_string(count) + "\r\n"));
}

TEST_F(CommandCommandsTest, DocsHaveSummaryAndSubcommands) {
  run("HELLO 3");
  EXPECT_EQ(run("COMMAND DOCS hget nosuch"),
            R"({"hget": {"summary": "Returns the value of a field.", "since": "2.0.0", )"
            R"("group": "hash"}})");
  const std::string docs = run("COMMAND DOCS config");
  EXPECT_NE(docs.find(R"("subcommands": {"config|get": {"summary":)"), std::string::npos);
}

TEST_F(CommandCommandsTest, ListCanBeFiltered) {
  EXPECT_EQ(run("COMMAND LIST FILTERBY PATTERN hset*x"), R"(["hsetnx", "hsetex"])");
  EXPECT_NE(run("COMMAND LIST FILTERBY PATTERN config*").find(R"("config", "config|get")"),
            std::string::npos);
  EXPECT_NE(run("COMMAND LIST FILTERBY ACLCAT hash").find(R"("hset")"), std::string::npos);
  EXPECT_EQ(run("COMMAND LIST FILTERBY ACLCAT hash").find(R"("get")"), std::string::npos);
  EXPECT_EQ(run("COMMAND LIST FILTERBY ACLCAT nosuch"), "[]");
  EXPECT_EQ(run("COMMAND LIST FILTERBY MODULE any"), "[]");
  EXPECT_EQ(run("COMMAND LIST FILTERBY PATTERN"), "(error) ERR syntax error");
  EXPECT_EQ(run("COMMAND LIST FILTERBY COLOUR red"), "(error) ERR syntax error");
}

TEST_F(CommandCommandsTest, GetkeysFindsKeys) {
  EXPECT_EQ(run("COMMAND GETKEYS MSET a 1 b 2"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYS MEMORY USAGE k"), R"(["k"])");
  EXPECT_EQ(run("COMMAND GETKEYSANDFLAGS HGET h f"), R"([["h", [RO, access]]])");
}

TEST_F(CommandCommandsTest, GetkeysRefusesWhatHasNone) {
  EXPECT_EQ(run("COMMAND GETKEYS nosuch a"), "(error) ERR Invalid command specified");
  EXPECT_EQ(run("COMMAND GETKEYS ping"), "(error) ERR The command has no key arguments");
  EXPECT_EQ(run("COMMAND GETKEYS hget h"),
            "(error) ERR Invalid number of arguments specified for command");
}

// Every row of every family, subcommands included.
TEST_F(CommandCommandsTest, RowsAreComplete) {
  const auto check = [](const Command& row) {
    const std::string name = full_name(row);
    EXPECT_NE(row.arity, 0) << name;
    EXPECT_FALSE(row.group.empty()) << name;
    EXPECT_FALSE(row.since.empty()) << name;
    EXPECT_TRUE(row.summary.ends_with('.')) << name;
    EXPECT_TRUE(row.handler != nullptr || !row.subcommands.empty()) << name;
    EXPECT_EQ(row.keys.first == 0, row.keys.access == 0) << name;
  };
  for (const Command* const row : fixture_.server().commands().rows()) {
    check(*row);
    for (const Command& subcommand : row->subcommands) {
      check(subcommand);
      EXPECT_EQ(subcommand.parent, row->name);
    }
  }
}

}  // namespace
}  // namespace mayfly
