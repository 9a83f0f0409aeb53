// SPDX-License-Identifier: Apache-2.0
// Does the error for a command of a type that is not there say so?

#include "server/admin/missing_types.h"

#include <gtest/gtest.h>

#include "server/core/server_fixture.h"

namespace mayfly {
namespace missing_types_test {

TEST(MissingTypes, KnowsTheTypeOfACommandInAnyCaseOfLetters) {
  EXPECT_EQ(missing_type("JSON.SET"), "json");
  EXPECT_EQ(missing_type("json.set"), "json");
  EXPECT_EQ(missing_type("Bf.Add"), "bloom");
  EXPECT_EQ(missing_type("VADD"), "vectorset");
}

TEST(MissingTypes, SaysNothingOfOtherWords) {
  for (const char* name : {"", " ", "NOSUCH", "add", "vadd vrem", " vadd", "zadd", "lpush"}) {
    EXPECT_EQ(missing_type(name), "") << name;
    EXPECT_EQ(missing_type_note(name), "") << name;
  }
}

TEST(MissingTypes, TheErrorBeginsAsClientsExpectAndThenSaysWhy) {
  ServerFixture server;
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("VADD a b"),
            "(error) ERR unknown command 'VADD', with args beginning with: 'a' 'b' (this server "
            "has no vector sets yet)");
  EXPECT_EQ(client.run("NOSUCH a"),
            "(error) ERR unknown command 'NOSUCH', with args beginning with: 'a' ");
}

}  // namespace missing_types_test
}  // namespace mayfly
