// SPDX-License-Identifier: Apache-2.0
// Connecting, passwords, limits of a connection.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace connection_commands_test {

using namespace std::chrono_literals;

class ConnectionTest : public testing::Test, protected ServerFixture {
 protected:
  TestClient& client = connect();
};

TEST_F(ConnectionTest, PingAndEcho) {
  EXPECT_EQ(client.run("PING"), "PONG");
  EXPECT_EQ(client.run("PING hi"), "\"hi\"");
  EXPECT_EQ(client.run("PING a b"), "(error) ERR wrong number of arguments for 'ping' command");
  EXPECT_EQ(client.run("ECHO hi"), "\"hi\"");
  EXPECT_EQ(client.send("PING\r\n"), "+PONG\r\n");  // inline
}

TEST_F(ConnectionTest, SelectKnowsItsDatabases) {
  EXPECT_EQ(client.run("SELECT 15"), "OK");
  EXPECT_EQ(client.run("SELECT 16"), "(error) ERR DB index is out of range");
  EXPECT_EQ(client.run("SELECT x"), "(error) ERR value is not an integer or out of range");
}

TEST_F(ConnectionTest, HelloChoosesTheProtocol) {
  EXPECT_TRUE(client.run("HELLO 3").starts_with("{\"server\": \"redis\""));
  EXPECT_TRUE(client.run("HELLO 3").ends_with("\"modules\": []}"));
  client.run("CONFIG SET availability-zone zone-a");
  EXPECT_TRUE(
      client.run("HELLO 3").ends_with("\"modules\": [], \"availability_zone\": \"zone-a\"}"));
  EXPECT_EQ(client.run("GET nothing"), "(nil)");
  EXPECT_EQ(client.send("GET nothing\r\n"), "_\r\n");
  client.run("HELLO 2");
  EXPECT_EQ(client.send("GET nothing\r\n"), "$-1\r\n");
  EXPECT_EQ(client.run("HELLO 4"), "(error) NOPROTO unsupported protocol version");
  EXPECT_EQ(client.run("HELLO x"),
            "(error) ERR Protocol version is not an integer or out of range");
  EXPECT_EQ(client.run("HELLO 3 FOO"), "(error) ERR Syntax error in HELLO option 'FOO'");
}

TEST_F(ConnectionTest, WithoutThePasswordNothingWorks) {
  client.run("CONFIG SET requirepass secret");
  TestClient& stranger = connect();
  EXPECT_EQ(stranger.run("GET k"), "(error) NOAUTH Authentication required.");
  EXPECT_EQ(stranger.run("NOSUCH"), "(error) NOAUTH Authentication required.");
  EXPECT_EQ(stranger.run("GET"), "(error) NOAUTH Authentication required.");
  EXPECT_EQ(stranger.run("AUTH"), "(error) ERR wrong number of arguments for 'auth' command");
  EXPECT_EQ(stranger.run("AUTH wrong"),
            "(error) WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(stranger.run("AUTH other secret"),
            "(error) WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_TRUE(stranger.run("HELLO 3").starts_with("(error) NOAUTH"));
  EXPECT_EQ(stranger.run("AUTH secret"), "OK");
  EXPECT_EQ(stranger.run("GET k"), "(nil)");
  TestClient& third = connect();
  EXPECT_TRUE(third.run("HELLO 3 AUTH default secret SETNAME me").starts_with("{"));
  EXPECT_EQ(third.run("CLIENT GETNAME"), "\"me\"");
}

TEST_F(ConnectionTest, AuthWithoutAPasswordSaysSo) {
  EXPECT_TRUE(client.run("AUTH x").starts_with("(error) ERR AUTH <password> called without any"));
}

TEST_F(ConnectionTest, AStrangerCannotSendMuch) {
  client.run("CONFIG SET requirepass secret");
  TestClient& stranger = connect();
  EXPECT_EQ(stranger.send("*100\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_TRUE(stranger.link().closing());
}

TEST_F(ConnectionTest, AProtocolErrorEndsTheConnection) {
  EXPECT_EQ(client.send("*1\r\n!4\r\n"), "-ERR Protocol error: expected '$', got '!'\r\n");
  EXPECT_TRUE(client.link().closing());
}

TEST_F(ConnectionTest, QuitAnswersAndCloses) {
  EXPECT_EQ(client.run("QUIT"), "OK");
  EXPECT_TRUE(client.link().closing());
}

TEST_F(ConnectionTest, ResetMakesItNew) {
  client.run("SELECT 3");
  client.run("HELLO 3");
  client.run("SUBSCRIBE a");
  EXPECT_EQ(client.run("RESET"), "RESET");
  EXPECT_EQ(client.client().database(), 0);
  EXPECT_EQ(client.client().protocol(), 2);
  EXPECT_FALSE(client.client().is_subscriber());
}

TEST_F(ConnectionTest, ProtectedModeKeepsOthersOut) {
  TestClient& far = connect("10.0.0.1:5000");
  EXPECT_TRUE(far.link().output_.starts_with("-DENIED"));
  EXPECT_FALSE(far.is_connected());
  client.run("CONFIG SET requirepass secret");
  EXPECT_TRUE(connect("10.0.0.1:5001").is_connected());
}

TEST_F(ConnectionTest, NoMoreClientsThanAllowed) {
  server().parts().config.maxclients = 1;
  TestClient& second = connect();
  EXPECT_EQ(second.link().output_, "-ERR max number of clients reached\r\n");
  EXPECT_EQ(server().parts().stats.rejected_connections, 1u);
}

TEST_F(ConnectionTest, ManyRequestsAtOnceAreAnsweredInOrder) {
  std::string requests;
  std::string replies;
  for (int i = 0; i < 1000; ++i) {
    requests += "*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n";
    replies += ":" + std::to_string(i + 1) + "\r\n";
  }
  EXPECT_EQ(client.send(requests), replies);
}

TEST_F(ConnectionTest, ARequestMayComeByteByByte) {
  std::string reply;
  for (const char c : std::string("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n")) {
    reply += client.send(std::string(1, c));
  }
  EXPECT_EQ(reply, "$2\r\nhi\r\n");
}

TEST_F(ConnectionTest, ARequestBeyondTheLimitIsCutOff) {
  server().parts().config.client_query_buffer_limit = 1000;
  client.send("*2\r\n$4\r\nECHO\r\n$5000\r\n" + std::string(2000, 'x'));
  EXPECT_TRUE(client.link().closing());
}

TEST_F(ConnectionTest, MonitorShowsCommandsButNoPasswords) {
  TestClient& monitor = connect();
  EXPECT_EQ(monitor.run("MONITOR"), "OK");
  client.run({"SET", "k", "a\"b\n"});
  client.run("AUTH secret");
  client.run("HELLO 3 AUTH default secret");
  client.run("MULTI");
  client.run("GET k");
  client.run("EXEC");
  const std::string head = "+1700000000.000000 [0 127.0.0.1:5000] ";
  EXPECT_EQ(monitor.link().output_,
            head + "\"SET\" \"k\" \"a\\\"b\\n\"\r\n" + head + "\"AUTH\" \"(redacted)\"\r\n" + head +
                "\"HELLO\" \"3\" \"AUTH\" \"(redacted)\" \"(redacted)\"\r\n" + head +
                "\"MULTI\"\r\n" + head + "\"GET\" \"k\"\r\n" + head + "\"EXEC\"\r\n");
}

}  // namespace connection_commands_test
}  // namespace mayfly
