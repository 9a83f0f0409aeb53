// SPDX-License-Identifier: Apache-2.0
// CLIENT, by example.

#include <gtest/gtest.h>

#include "server/server_fixture.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;
using testing::Test;

class ClientCommandsTest : public Test, protected ServerFixture {
 protected:
  TestClient& client = connect("127.0.0.1:5001");
  TestClient& other = connect("127.0.0.1:5002");
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ClientCommandsTest, NamesAreKeptAndChecked) {
  EXPECT_EQ(client.run("CLIENT GETNAME"), "(nil)");
  EXPECT_EQ(client.run("CLIENT SETNAME worker"), "OK");
  EXPECT_EQ(client.run("CLIENT GETNAME"), "\"worker\"");
  EXPECT_EQ(client.run({"CLIENT", "SETNAME", "a b"}),
            "(error) ERR Client names cannot contain spaces, newlines or special characters.");
  EXPECT_EQ(client.run("CLIENT SETINFO LIB-NAME redis-py"), "OK");
  EXPECT_EQ(client.run("CLIENT SETINFO LIB-FOO x"), "(error) ERR Unrecognized option 'LIB-FOO'");
}

TEST_F(ClientCommandsTest, ListShowsEachAndCanChoose) {
  client.run("CLIENT SETNAME one");
  const std::string all = client.run("CLIENT LIST");
  EXPECT_TRUE(has(all, "id=1 addr=127.0.0.1:5001")) << all;
  EXPECT_TRUE(has(all, "id=2 addr=127.0.0.1:5002")) << all;
  EXPECT_TRUE(has(all, "cmd=client|list user=default")) << all;
  EXPECT_FALSE(has(client.run("CLIENT LIST ID 2"), "id=1 "));
  other.run("SUBSCRIBE a");
  EXPECT_TRUE(has(client.run("CLIENT LIST TYPE pubsub"), "id=2 "));
  EXPECT_FALSE(has(client.run("CLIENT LIST TYPE pubsub"), "id=1 "));
  EXPECT_EQ(client.run("CLIENT LIST TYPE foo"), "(error) ERR Unknown client type 'foo'");
  EXPECT_EQ(client.run("CLIENT LIST ID 0"), "(error) ERR Invalid client ID");
  EXPECT_EQ(client.run("CLIENT KILL ID 0"), "(error) ERR client-id should be greater than 0");
}

TEST_F(ClientCommandsTest, KillClosesThoseThatAreMeant) {
  EXPECT_EQ(client.run("CLIENT KILL 127.0.0.1:9"), "(error) ERR No such client");
  EXPECT_EQ(client.run("CLIENT KILL ID 2"), "(integer) 1");
  EXPECT_TRUE(other.link().closing());
  EXPECT_EQ(client.run("CLIENT KILL ID 2"), "(integer) 0");
  EXPECT_EQ(client.run("CLIENT KILL TYPE normal"), "(integer) 0");  // not oneself
  EXPECT_FALSE(client.link().closing());
  EXPECT_EQ(client.run("CLIENT KILL TYPE normal SKIPME no"), "(integer) 1");
  EXPECT_TRUE(client.link().closing());
}

TEST_F(ClientCommandsTest, RepliesCanBeTurnedOffAndSkipped) {
  EXPECT_EQ(client.run("CLIENT REPLY OFF"), "");
  EXPECT_EQ(client.run("SET k v"), "");
  EXPECT_EQ(client.run("CLIENT REPLY ON"), "OK");
  EXPECT_EQ(client.run("GET k"), "\"v\"");
  EXPECT_EQ(client.run("CLIENT REPLY SKIP"), "");
  EXPECT_EQ(client.run("GET k"), "");
  EXPECT_EQ(client.run("GET k"), "\"v\"");
}

TEST_F(ClientCommandsTest, APauseLetsAllWaitUntilItEnds) {
  EXPECT_EQ(client.run("CLIENT PAUSE 100"), "OK");
  EXPECT_EQ(other.run("SET k v"), "");
  EXPECT_TRUE(other.link().paused());
  advance(100ms);
  server().before_sleep();
  EXPECT_FALSE(other.link().paused());
  EXPECT_EQ(other.resume(), "+OK\r\n");
}

TEST_F(ClientCommandsTest, APauseOfWritesLetsReadsThrough) {
  other.run("SET k v");
  client.run("CLIENT PAUSE 100 WRITE");
  EXPECT_EQ(other.run("GET k"), "\"v\"");
  EXPECT_EQ(other.run("SET k w"), "");
  EXPECT_EQ(client.run("CLIENT UNPAUSE"), "OK");
  EXPECT_EQ(other.resume(), "+OK\r\n");
}

TEST_F(ClientCommandsTest, NothingIsReclaimedDuringAPauseButAllIsHidden) {
  other.run("SET k v PX 50");
  client.run("CLIENT PAUSE 1000 WRITE");
  advance(100ms);
  sweep();
  EXPECT_EQ(other.run("GET k"), "(nil)");
  EXPECT_EQ(other.run("TTL k"), "(integer) -2");
  EXPECT_EQ(server().keyspace()[0].stored(), 1u);
  EXPECT_EQ(other.run("DBSIZE"), "(integer) 0");
}

TEST_F(ClientCommandsTest, TrackingCanOnlyBeTurnedOff) {
  EXPECT_EQ(client.run("CLIENT TRACKING OFF"), "OK");
  EXPECT_TRUE(client.run("CLIENT TRACKING ON").starts_with("(error) ERR"));
}

TEST_F(ClientCommandsTest, IdleClientsAreClosedAfterTheTimeout) {
  server().config().timeout = 10;
  other.run("SUBSCRIBE a");
  advance(10s);
  server().before_sleep();
  EXPECT_TRUE(client.link().closing());
  EXPECT_FALSE(other.link().closing());
}

}  // namespace
}  // namespace mayfly
