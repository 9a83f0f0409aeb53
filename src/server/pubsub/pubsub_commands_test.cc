// SPDX-License-Identifier: Apache-2.0
// Messages and keyspace events.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace pubsub_commands_test {

using namespace std::chrono_literals;

class PubSubTest : public testing::Test, protected ServerFixture {
 protected:
  TestClient& client = connect();
  TestClient& other = connect();
};

TEST_F(PubSubTest, DeliversToChannelsAndPatterns) {
  EXPECT_EQ(client.run("SUBSCRIBE a b"),
            "[\"subscribe\", \"a\", (integer) 1] [\"subscribe\", \"b\", (integer) 2]");
  EXPECT_EQ(client.run("PSUBSCRIBE a*"), "[\"psubscribe\", \"a*\", (integer) 3]");
  EXPECT_EQ(other.run("PUBLISH a hi"), "(integer) 2");
  EXPECT_EQ(client.messages(),
            "[\"message\", \"a\", \"hi\"] [\"pmessage\", \"a*\", \"a\", \"hi\"]");
  EXPECT_EQ(other.run("PUBLISH c hi"), "(integer) 0");
}

TEST_F(PubSubTest, UnsubscribesFromOneOrAll) {
  client.run("SUBSCRIBE a b");
  EXPECT_EQ(client.run("UNSUBSCRIBE a"), "[\"unsubscribe\", \"a\", (integer) 1]");
  EXPECT_EQ(client.run("UNSUBSCRIBE"), "[\"unsubscribe\", \"b\", (integer) 0]");
  EXPECT_EQ(client.run("UNSUBSCRIBE"), "[\"unsubscribe\", (nil), (integer) 0]");
  EXPECT_EQ(other.run("PUBLISH a hi"), "(integer) 0");
}

TEST_F(PubSubTest, ASubscriberMayDoLittleInResp2AndAllInResp3) {
  client.run("SUBSCRIBE a");
  EXPECT_EQ(client.run("GET k"),
            "(error) ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
            "/ RESET are allowed in this context");
  EXPECT_EQ(client.run("PING"), "[\"pong\", \"\"]");
  client.run("UNSUBSCRIBE");
  client.run("HELLO 3");
  EXPECT_EQ(client.run("SUBSCRIBE a"), "(push) [\"subscribe\", \"a\", (integer) 1]");
  EXPECT_EQ(client.run("GET k"), "(nil)");
}

TEST_F(PubSubTest, AMessageToOneselfComesAfterTheReply) {
  client.run("HELLO 3");
  client.run("SUBSCRIBE a");
  EXPECT_EQ(client.run("PUBLISH a hi"), "(integer) 1 (push) [\"message\", \"a\", \"hi\"]");
}

TEST_F(PubSubTest, AMessageDoesNotBreakTheReplyOfATransaction) {
  client.run("HELLO 3");
  client.run("SUBSCRIBE a");
  client.run("MULTI");
  client.run("PUBLISH a hi");
  client.run("PING");
  EXPECT_EQ(client.run("EXEC"), "[(integer) 1, PONG] (push) [\"message\", \"a\", \"hi\"]");
}

TEST_F(PubSubTest, ShardChannelsAreApart) {
  EXPECT_EQ(client.run("SSUBSCRIBE a"), "[\"ssubscribe\", \"a\", (integer) 1]");
  EXPECT_EQ(other.run("PUBLISH a hi"), "(integer) 0");
  EXPECT_EQ(other.run("SPUBLISH a hi"), "(integer) 1");
  EXPECT_EQ(client.messages(), "[\"smessage\", \"a\", \"hi\"]");
  EXPECT_EQ(other.run("PUBSUB SHARDCHANNELS"), "[\"a\"]");
  EXPECT_EQ(other.run("PUBSUB SHARDNUMSUB a b"), "[\"a\", (integer) 1, \"b\", (integer) 0]");
}

TEST_F(PubSubTest, PubsubTellsWhoListens) {
  client.run("SUBSCRIBE news sport");
  client.run("PSUBSCRIBE n*");
  EXPECT_EQ(other.run("PUBSUB CHANNELS"), "[\"news\", \"sport\"]");
  EXPECT_EQ(other.run("PUBSUB CHANNELS n*"), "[\"news\"]");
  EXPECT_EQ(other.run("PUBSUB NUMSUB news x"), "[\"news\", (integer) 1, \"x\", (integer) 0]");
  EXPECT_EQ(other.run("PUBSUB NUMPAT"), "(integer) 1");
}

TEST_F(PubSubTest, ASlowSubscriberIsDropped) {
  server().parts().config.output_pubsub = {.hard_bytes = 1000, .soft_bytes = 0, .soft_seconds = 0};
  client.run("SUBSCRIBE a");
  for (int i = 0; i < 20; ++i) other.run({"PUBLISH", "a", std::string(100, 'x')});
  EXPECT_TRUE(client.link().closing());
  EXPECT_EQ(server().parts().stats.output_limit_disconnections, 1u);
}

TEST_F(PubSubTest, EventsAreToldInTheOrderOfTheSpec) {
  client.run("CONFIG SET notify-keyspace-events KEAn");
  client.run("PSUBSCRIBE __keyevent@0__:*");
  other.run("HSETEX h PX 100 FIELDS 1 f v");
  EXPECT_EQ(client.messages(),
            "[\"pmessage\", \"__keyevent@0__:*\", \"__keyevent@0__:new\", \"h\"] "
            "[\"pmessage\", \"__keyevent@0__:*\", \"__keyevent@0__:hset\", \"h\"] "
            "[\"pmessage\", \"__keyevent@0__:*\", \"__keyevent@0__:hexpire\", \"h\"]");
  advance(100ms);
  sweep();
  EXPECT_EQ(client.messages(),
            "[\"pmessage\", \"__keyevent@0__:*\", \"__keyevent@0__:hexpired\", \"h\"] "
            "[\"pmessage\", \"__keyevent@0__:*\", \"__keyevent@0__:del\", \"h\"]");
}

TEST_F(PubSubTest, OnlyClassesThatWereAskedForAreTold) {
  client.run("CONFIG SET notify-keyspace-events Ex");
  client.run("PSUBSCRIBE *");
  other.run("SET k v PX 100");
  other.run("HSETEX h PX 100 FIELDS 1 f v");
  EXPECT_EQ(client.messages(), "");
  advance(100ms);
  EXPECT_EQ(other.run("HGET h f"), "(nil)");  // met by a command: told to those who ask for x, too
  EXPECT_EQ(client.messages(), "[\"pmessage\", \"*\", \"__keyevent@0__:hexpired\", \"h\"]");
  sweep();
  EXPECT_EQ(client.messages(), "[\"pmessage\", \"*\", \"__keyevent@0__:expired\", \"k\"]");
}

}  // namespace pubsub_commands_test
}  // namespace mayfly
