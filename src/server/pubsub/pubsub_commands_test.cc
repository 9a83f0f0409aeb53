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

// ---- Events that name members ----

class MemberEventsTest : public PubSubTest {
 protected:
  // What a subscriber of the channels of these letters gets: "channel message" for each.
  std::string told(const std::string& letters, const std::string& request) {
    client.run("CONFIG SET notify-keyspace-events " + letters);
    TestClient& listener = connect();
    listener.run("PSUBSCRIBE __subkey*");
    other.run(request);
    const std::string messages = listener.messages();
    listener.run("PUNSUBSCRIBE");
    return messages;
  }
  static std::string message(const std::string& channel, const std::string& text) {
    return R"(["pmessage", "__subkey*", ")" + channel + R"(", ")" + text + R"("])";
  }
};

TEST_F(MemberEventsTest, EachLetterIsAChannel) {
  EXPECT_EQ(told("Sh", "HSET h ann 1 b 2"), message("__subkeyspace@0__:h", "hset|3:ann,1:b"));
  EXPECT_EQ(told("Th", "HSET h ann 1 b 2"), message("__subkeyevent@0__:hset", "1:h|3:ann,1:b"));
  EXPECT_EQ(told("Ih", "HSET h ann 1 b 2"), message("__subkeyspaceitem@0__:h\\nann", "hset") + " " +
                                                message("__subkeyspaceitem@0__:h\\nb", "hset"));
  EXPECT_EQ(told("Vh", "HSET h ann 1 b 2"), message("__subkeyspaceevent@0__:hset|h", "3:ann,1:b"));
  EXPECT_EQ(told("STIVs", "HSET h ann 1"), "") << "of another class";
  EXPECT_EQ(told("KEA", "HSET h ann 1"), "");
  EXPECT_EQ(client.run("CONFIG GET notify-keyspace-events"),
            R"(["notify-keyspace-events", "AKE"])");
  client.run("CONFIG SET notify-keyspace-events hVITS");
  EXPECT_EQ(client.run("CONFIG GET notify-keyspace-events"),
            R"(["notify-keyspace-events", "hSTIV"])");
}

TEST_F(MemberEventsTest, CommandsNameWhatTheyChanged) {
  const std::pair<const char*, const char*> kCases[] = {
      {"HSET h a 1 b 2 c 3", "hset|1:a,1:b,1:c"},
      {"HSETNX h d 1", "hset|1:d"},
      {"HINCRBY h a 1", "hincrby|1:a"},
      {"HINCRBYFLOAT h a 1", "hincrbyfloat|1:a"},
      {"HEXPIRE h 100 FIELDS 3 a b none", "hexpire|1:a,1:b"},
      {"HPERSIST h FIELDS 2 a c", "hpersist|1:a"},
      {"HEXPIRE h 0 FIELDS 1 d", "hexpired|1:d"},
      {"HGETDEL h FIELDS 2 c none", "hdel|1:c"},
      {"HDEL h a none", "hdel|1:a"},
      {"SADD s a b a", "sadd|1:a,1:b"},
      {"SADD s b c", "sadd|1:c"},
      {"SREM s c none", "srem|1:c"},
      {"SEXPIRE s 100 MEMBERS 1 a", "sexpire|1:a"},
      {"ZADD z 1 a 2 b", "zadd|1:a,1:b"},
      {"ZADD z 1 a 3 b", "zadd|1:b"},
      {"ZINCRBY z 1 a", "zincr|1:a"},
      {"ZPOPMIN z", "zpopmin|1:a"},
      {"ZREMRANGEBYSCORE z 0 10", "zremrangebyscore|1:b"},
  };
  for (const auto& [request, text] : kCases) {
    const std::string key = std::string(request).substr(std::string(request).find(' ') + 1, 1);
    EXPECT_EQ(told("SA", request), message("__subkeyspace@0__:" + key, text)) << request;
  }
  EXPECT_EQ(told("SA", "SPOP s 5").size(), message("__subkeyspace@0__:s", "spop|1:a,1:b").size());
  EXPECT_EQ(told("SA", "SADDEX s PX 100 MEMBERS 1 x"),
            message("__subkeyspace@0__:s", "sadd|1:x") + " " +
                message("__subkeyspace@0__:s", "sexpire|1:x"));
}

TEST_F(MemberEventsTest, ExpiryNamesMembersHoweverItIsFound) {
  for (const bool is_swept : {true, false}) {
    other.run("HSETEX h PX 100 FIELDS 2 ann 1 bob 2");
    other.run("ZADDEX z PX 100 MEMBERS 1 1 ann");
    other.run("ZADD z 1 stays");
    client.run("CONFIG SET notify-keyspace-events Tx");
    TestClient& listener = connect();
    listener.run("PSUBSCRIBE __subkey*");
    advance(100ms);
    if (is_swept) {
      sweep();
    } else {
      other.run("HGET h ann");  // all are due: the key goes as a whole
      other.run("ZSCORE z ann");
    }
    const std::string messages = listener.messages();
    EXPECT_TRUE(messages.find("1:h|3:ann,3:bob") != messages.npos ||
                messages.find("1:h|3:bob,3:ann") != messages.npos)
        << messages;
    EXPECT_NE(messages.find("__subkeyevent@0__:zexpired\", \"1:z|3:ann"), messages.npos)
        << messages;
    listener.run("PUNSUBSCRIBE");
    other.run("FLUSHALL");
  }
}

}  // namespace pubsub_commands_test
}  // namespace mayfly
