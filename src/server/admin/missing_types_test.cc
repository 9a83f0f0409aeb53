// SPDX-License-Identifier: Apache-2.0
// Does the error for a command of a type that is not there say so?

#include "server/admin/missing_types.h"

#include <gtest/gtest.h>

#include "server/core/server_fixture.h"

namespace mayfly {
namespace missing_types_test {

TEST(MissingTypes, KnowsTheTypeOfACommandInAnyCaseOfLetters) {
  EXPECT_EQ(missing_type("LPUSH"), "list");
  EXPECT_EQ(missing_type("lpush"), "list");
  EXPECT_EQ(missing_type("XAdd"), "stream");
  EXPECT_EQ(missing_type("GEOADD"), "zset");
  EXPECT_EQ(missing_type("PFADD"), "hyperloglog");
  EXPECT_EQ(missing_type("JSON.SET"), "json");
}

TEST(MissingTypes, SaysNothingOfOtherWords) {
  for (const char* name : {"", " ", "NOSUCH", "push", "lpush rpush", " lpush", "zadd"}) {
    EXPECT_EQ(missing_type(name), "") << name;
    EXPECT_EQ(missing_type_note(name), "") << name;
  }
}

TEST(MissingTypes, TheErrorBeginsAsClientsExpectAndThenSaysWhy) {
  ServerFixture server;
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("LPUSH a b"),
            "(error) ERR unknown command 'LPUSH', with args beginning with: 'a' 'b' (this server "
            "has no lists yet)");
  EXPECT_EQ(client.run("NOSUCH a"),
            "(error) ERR unknown command 'NOSUCH', with args beginning with: 'a' ");
}

}  // namespace missing_types_test
}  // namespace mayfly
