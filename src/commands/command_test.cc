// SPDX-License-Identifier: Apache-2.0
// The rows of all commands on data are complete, and their names are distinct.

#include "commands/command.h"

#include <gtest/gtest.h>

#include <set>

namespace mayfly {
namespace command_test {

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

}  // namespace command_test
}  // namespace mayfly
