// SPDX-License-Identifier: Apache-2.0
// The rows of all commands on data are complete, and their names are distinct.

#include "commands/command.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mayfly {
namespace command_test {

// The keys in a request, separated by spaces.
std::string keys_in(const std::vector<std::string_view>& words) {
  CommandTable table;
  for (const auto rows : data_commands()) table.add(rows);
  std::string keys;
  for (const std::size_t position : key_positions(*table.find(words[0]), words)) {
    keys.append(keys.empty() ? "" : " ").append(words[position]);
  }
  std::string visited;
  each_key(*table.find(words[0]), words,
           [&](std::string_view key) { visited.append(visited.empty() ? "" : " ").append(key); });
  EXPECT_EQ(visited, keys) << words[0];
  return keys;
}

void check_row(const Command& row) {
  EXPECT_NE(row.handler == nullptr, row.subcommands.empty()) << row.name;
  EXPECT_FALSE(row.summary.empty() || row.since.empty() || row.group.empty()) << row.name;
  EXPECT_EQ(row.keys.first == 0, row.keys.access == 0) << row.name;
  if (row.keys.first == 0) return;
  const bool reads = (row.flags & flag::readonly) != 0;
  EXPECT_NE(reads, (row.flags & flag::write) != 0) << row.name;
}

TEST(DataCommands, HaveCompleteRows) {
  for (const auto rows : data_commands()) {
    for (const Command& row : rows) {
      check_row(row);
      for (const Command& sub : row.subcommands) {
        check_row(sub);
        EXPECT_EQ(sub.parent, row.name) << sub.name;
      }
    }
  }
}

TEST(DataCommands, AreListedOnce) {
  std::set<std::string_view> names;
  for (const auto rows : data_commands()) {
    for (const Command& row : rows) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_GT(names.size(), 150u);
}

TEST(DataCommands, OnFieldDeadlinesHaveTheFlagsOfValkey) {
  for (const auto rows : {hash_getex_commands(), hash_setex_commands(), member_expire_commands(),
                          member_ttl_commands()}) {
    for (const Command& row : rows) {
      const bool reads = row.name.find("ttl") != row.name.npos || row.name.ends_with("time");
      EXPECT_EQ((row.flags & flag::readonly) != 0, reads) << row.name;
      EXPECT_EQ((row.flags & flag::denyoom) != 0, row.name == "hsetex") << row.name;
      EXPECT_TRUE(row.flags & flag::fast) << row.name;
      EXPECT_EQ(row.keys.first, 1) << row.name;
    }
  }
}

TEST(KeyPositions, OfARangeGoToItsEnd) {
  EXPECT_EQ(keys_in({"GET", "a"}), "a");
  EXPECT_EQ(keys_in({"MSET", "a", "1", "b", "2"}), "a b");
  EXPECT_EQ(keys_in({"MSET", "a", "1", "b"}), "a b");
  EXPECT_EQ(keys_in({"DEL", "a", "b", "c"}), "a b c");
  EXPECT_EQ(keys_in({"BLPOP", "a", "b", "0"}), "a b");
  EXPECT_EQ(keys_in({"BITOP", "AND", "a", "b", "c"}), "a b c");
  EXPECT_EQ(keys_in({"DBSIZE"}), "");
}

TEST(KeyPositions, AreCounted) {
  EXPECT_EQ(keys_in({"ZUNIONSTORE", "t", "2", "a", "b"}), "t a b");
  EXPECT_EQ(keys_in({"ZUNION", "2", "a", "b", "WEIGHTS", "1", "2"}), "a b");
  EXPECT_EQ(keys_in({"ZUNION", "3", "a", "b"}), "");
}

TEST(KeyPositions, OfStreamsAreTheFirstHalfBehindTheKeyword) {
  EXPECT_EQ(keys_in({"XREAD", "STREAMS", "a", "0"}), "a");
  EXPECT_EQ(keys_in({"XREAD", "COUNT", "2", "BLOCK", "0", "streams", "a", "b", "0", "$"}), "a b");
  EXPECT_EQ(
      keys_in({"XREADGROUP", "GROUP", "streams", "STREAMS", "NOACK", "STREAMS", "STREAMS", ">"}),
      "STREAMS");
  EXPECT_EQ(keys_in({"XREADGROUP", "COUNT", "2", "GROUP", "g", "c", "STREAMS", "a", ">"}), "a");
}

TEST(KeyPositions, OfStreamsAreNoneIfTheOptionsAreWrong) {
  EXPECT_EQ(keys_in({"XREAD", "STREAMS", "a", "b", "0"}), "");
  EXPECT_EQ(keys_in({"XREAD", "COUNT", "1", "STREAMS"}), "");
  EXPECT_EQ(keys_in({"XREAD", "FOO", "STREAMS", "a", "0"}), "");
  EXPECT_EQ(keys_in({"XREAD", "COUNT", "STREAMS", "a", "0"}), "");
  EXPECT_EQ(keys_in({"XREAD", "a", "b", "GROUP"}), "");
}

TEST(KeyPositions, TheLastTargetOfAnOptionCounts) {
  EXPECT_EQ(keys_in({"GEORADIUS", "src", "0", "0", "1", "km"}), "src");
  EXPECT_EQ(keys_in({"GEORADIUS", "src", "0", "0", "1", "km", "STOREDIST", "dst"}), "src dst");
  EXPECT_EQ(keys_in({"GEORADIUS", "src", "0", "0", "1", "km", "STORE", "a", "STOREDIST", "b"}),
            "src b");
  EXPECT_EQ(keys_in({"GEORADIUS", "src", "0", "0", "1", "km", "STORE", "store", "STORE", "b"}),
            "src b");
  EXPECT_EQ(keys_in({"GEORADIUSBYMEMBER", "src", "store", "1", "km", "STORE", "dst"}), "src dst");
  EXPECT_EQ(keys_in({"GEORADIUSBYMEMBER", "src", "store", "1", "km", "ASC"}), "src");
  EXPECT_EQ(keys_in({"SORT", "key", "STORE", "by", "STORE", "b"}), "key b");
  EXPECT_EQ(keys_in({"SORT", "key", "BY", "limit", "STORE", "b"}), "key b");
  EXPECT_EQ(keys_in({"SORT", "key", "GET", "store", "LIMIT", "0", "1", "STORE", "b"}), "key b");
}

}  // namespace command_test
}  // namespace mayfly
