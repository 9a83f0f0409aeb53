// SPDX-License-Identifier: Apache-2.0
// Commands about the server, and those that answer so that clients get along.

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace server_commands_test {

class ServerCommandsTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(ServerCommandsTest, TimeIsThatOfTheClock) {
  EXPECT_EQ(run("TIME"), R"(["1700000000", "0"])");
  fixture_.advance(Millis(1234));
  EXPECT_EQ(run("TIME"), R"(["1700000001", "234000"])");
}

TEST_F(ServerCommandsTest, ShutdownTellsTheServerHost) {
  EXPECT_EQ(run("SHUTDOWN ABORT"), "(error) ERR No shutdown in progress.");
  EXPECT_EQ(run("SHUTDOWN SOON"), "(error) ERR syntax error");
  EXPECT_EQ(run("SHUTDOWN SAVE NOSAVE"), "(error) ERR syntax error");
  EXPECT_EQ(run("SHUTDOWN ABORT NOW"), "(error) ERR syntax error");
  EXPECT_FALSE(fixture_.is_shut_down);
  EXPECT_EQ(run("SHUTDOWN NOSAVE NOW FORCE"), "");
  EXPECT_TRUE(fixture_.is_shut_down);
}

TEST_F(ServerCommandsTest, MonitorSeesRequestsOfOthers) {
  TestClient& monitor = fixture_.connect("127.0.0.1:6000");
  EXPECT_EQ(monitor.run("MONITOR"), "OK");
  EXPECT_EQ(monitor.run("MONITOR"), "OK");
  EXPECT_EQ(fixture_.server().parts().clients.monitors().size(), 1u);
  run("SET k v");
  EXPECT_EQ(monitor.messages(), R"(1700000000.000000 [0 127.0.0.1:5000] "SET" "k" "v")");
}

TEST_F(ServerCommandsTest, WaitsForNobody) {
  EXPECT_EQ(run("WAIT 0 0"), "(integer) 0");
  EXPECT_EQ(run("WAIT x 0"), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(run("WAIT 0 -1"), "(error) ERR timeout is negative");
  EXPECT_EQ(run("WAITAOF 0 0 0"), "[(integer) 0, (integer) 0]");
  EXPECT_TRUE(run("WAITAOF 1 0 0").starts_with("(error) ERR WAITAOF cannot be used"));
  EXPECT_EQ(run("WAIT 1 1000"), "");  // the last: it waits
}

TEST_F(ServerCommandsTest, ItIsAPrimaryWithoutReplicas) {
  EXPECT_EQ(run("ROLE"), R"(["master", (integer) 0, []])");
  EXPECT_EQ(run("REPLICAOF NO ONE"), "OK");
  EXPECT_EQ(run("SLAVEOF no one"), "OK");
  EXPECT_EQ(run("REPLICAOF a b"), "(error) ERR Invalid master port");
  EXPECT_EQ(run("LASTSAVE"), "(integer) 1700000000");
}

TEST_F(ServerCommandsTest, LolwutDrawsAMayfly) {
  EXPECT_NE(run("LOLWUT").find("Mayfly ver. "), std::string::npos);
  EXPECT_NE(run("LOLWUT VERSION 5 1 2 3").find("Mayfly ver. "), std::string::npos);
}

TEST_F(ServerCommandsTest, ThereIsOneUser) {
  EXPECT_EQ(run("ACL WHOAMI"), R"("default")");
  EXPECT_EQ(run("ACL USERS"), R"(["default"])");
  EXPECT_EQ(run("ACL LIST"), R"(["user default on nopass ~* &* +@all"])");
  EXPECT_EQ(run("ACL GETUSER nosuch"), "(nil)");
  EXPECT_EQ(run("ACL LOG"), "[]");
  EXPECT_EQ(run("ACL LOG RESET"), "OK");
  EXPECT_TRUE(run("ACL SETUSER ann on").starts_with("(error) ERR ACL SETUSER is not supported"));
  run("HELLO 3");
  EXPECT_EQ(run("ACL GETUSER default"),
            R"({"flags": (set) ["on", "nopass"], "passwords": [], "commands": "+@all", )"
            R"("keys": "~*", "channels": "&*", "selectors": []})");
}

TEST_F(ServerCommandsTest, ThePasswordIsNotShown) {
  run("CONFIG SET requirepass open-sesame");
  EXPECT_EQ(run("ACL LIST"), R"(["user default on (hidden) ~* &* +@all"])");
  EXPECT_EQ(run("ACL GETUSER default").find("open-sesame"), std::string::npos);
}

TEST_F(ServerCommandsTest, CategoriesHaveCommands) {
  EXPECT_TRUE(run("ACL CAT").starts_with(R"(["keyspace", "read", "write", "set")"));
  EXPECT_NE(run("ACL CAT hash").find(R"("hexpire")"), std::string::npos);
  EXPECT_NE(run("ACL CAT dangerous").find(R"("config|set")"), std::string::npos);
  EXPECT_EQ(run("ACL CAT nosuch"), "(error) ERR Unknown category 'nosuch'");
}

TEST_F(ServerCommandsTest, PasswordsAreMadeUp) {
  EXPECT_EQ(run("ACL GENPASS").size(), 64u + 2);
  EXPECT_EQ(run("ACL GENPASS 5").size(), 2u + 2);
  EXPECT_NE(run("ACL GENPASS"), run("ACL GENPASS"));
  EXPECT_TRUE(run("ACL GENPASS 0").starts_with("(error) ERR ACL GENPASS argument"));
}

TEST_F(ServerCommandsTest, ThereIsNoCluster) {
  for (const char* const line :
       {"CLUSTER INFO", "CLUSTER SLOTS", "CLUSTER NODES", "CLUSTER SHARDS", "ASKING"}) {
    EXPECT_EQ(run(line), "(error) ERR This instance has cluster support disabled") << line;
  }
}

// Numbers of the cluster specification, and of redis-cli --cluster.
TEST_F(ServerCommandsTest, KeysHaveSlots) {
  EXPECT_EQ(run("CLUSTER KEYSLOT 123456789"), "(integer) 12739");
  EXPECT_EQ(run("CLUSTER KEYSLOT foo"), "(integer) 12182");
  EXPECT_EQ(run("CLUSTER KEYSLOT a{foo}b"), "(integer) 12182");
  EXPECT_EQ(run("CLUSTER KEYSLOT {foo}{bar}"), "(integer) 12182");
  EXPECT_NE(run("CLUSTER KEYSLOT foo{}"), "(integer) 12182");
}

TEST_F(ServerCommandsTest, EveryContainerHasHelp) {
  for (const Command* const row : fixture_.server().parts().commands.rows()) {
    if (row->subcommands.empty()) continue;
    const auto help = std::ranges::find(row->subcommands, "help", &Command::name);
    EXPECT_NE(help, row->subcommands.end()) << row->name;
    EXPECT_TRUE(run(std::string(row->name) + " HELP").starts_with('[')) << row->name;
  }
}

}  // namespace server_commands_test
}  // namespace mayfly
