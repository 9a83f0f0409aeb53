// SPDX-License-Identifier: Apache-2.0
// SORT, for what there is to sort.

#include "commands/call_fixture.h"

namespace mayfly {
namespace key_sort_test {

constexpr const char* kSyntax = "(error) ERR syntax error";
constexpr const char* kNoInteger = "(error) ERR value is not an integer or out of range";
constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";

class SortCommandsTest : public CallFixture {};

TEST_F(SortCommandsTest, NothingSortsToNothing) {
  EXPECT_EQ(run("SORT nothing"), "[]");
  EXPECT_EQ(run("SORT_RO nothing"), "[]");
  EXPECT_EQ(run("SORT nothing BY w_* LIMIT 0 -1 GET # GET o_* DESC alpha ASC"), "[]");
  EXPECT_EQ(propagated(), "");
}

TEST_F(SortCommandsTest, StoringNothingRemovesTheDestination) {
  EXPECT_EQ(run("SORT nothing STORE to"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:nothing");
  EXPECT_EQ(propagated(), "");
  run("SET to v");
  EXPECT_EQ(run("SORT nothing STORE to"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:nothing g:del:to");
  EXPECT_EQ(propagated(), "SORT nothing STORE to");
  EXPECT_EQ(run("EXISTS to"), "(integer) 0");
}

TEST_F(SortCommandsTest, StringsAndHashesAreNotSorted) {
  run("SET k v");
  EXPECT_EQ(run("SORT k"), kWrongType);
  EXPECT_EQ(run("SORT_RO k"), kWrongType);
  EXPECT_EQ(run("SORT k STORE k"), kWrongType);
  database()
      .members(context(), database().make_members(context(), ValueType::hash, "h"))
      .put("field", "value");
  EXPECT_EQ(run("SORT h"), kWrongType);
}

TEST_F(SortCommandsTest, OptionsAreChecked) {
  EXPECT_EQ(run("SORT nothing FOO"), kSyntax);
  EXPECT_EQ(run("SORT nothing BY"), kSyntax);
  EXPECT_EQ(run("SORT nothing GET"), kSyntax);
  EXPECT_EQ(run("SORT nothing LIMIT 0"), kSyntax);
  EXPECT_EQ(run("SORT nothing LIMIT x 1"), kNoInteger);
  EXPECT_EQ(run("SORT nothing LIMIT 0 x"), kNoInteger);
  EXPECT_EQ(run("SORT nothing STORE"), kSyntax);
  EXPECT_EQ(run("SORT_RO nothing STORE to"), kSyntax);
}

}  // namespace key_sort_test
}  // namespace mayfly
