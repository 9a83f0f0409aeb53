// SPDX-License-Identifier: Apache-2.0
// CLIENT, by example.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/memory.h"

namespace mayfly {
namespace client_commands_test {

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
  EXPECT_EQ(client.run("CLIENT LIST ID 0"), "(error) ERR client-id should be greater than 0");
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
  EXPECT_EQ(server().parts().keyspace[0].stored(), 1u);
  EXPECT_EQ(other.run("DBSIZE"), "(integer) 0");
}

TEST_F(ClientCommandsTest, IdleClientsAreClosedAfterTheTimeout) {
  server().parts().config.timeout = 10;
  other.run("SUBSCRIBE a");
  advance(10s);
  server().before_sleep();
  EXPECT_TRUE(client.link().closing());
  EXPECT_FALSE(other.link().closing());
}

// The value of a line of INFO.
std::string info(TestClient& client, std::string_view section, const std::string& name) {
  const std::string text = client.send("INFO " + std::string(section) + "\r\n");
  const std::size_t at = text.find("\n" + name + ":");
  if (at == std::string::npos) return "(none)";
  const std::size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\r', begin) - begin);
}

TEST_F(ClientCommandsTest, InfoTellsOfAPauseAndWhoWaitsForIt) {
  EXPECT_EQ(info(client, "clients", "paused_reason"), "none");
  EXPECT_EQ(info(client, "clients", "paused_actions"), "none");
  EXPECT_EQ(info(client, "clients", "paused_timeout_milliseconds"), "0");
  client.run("CLIENT PAUSE 10000 WRITE");
  advance(1s);
  other.run("SET k v");
  EXPECT_EQ(info(client, "clients", "paused_reason"), "client_pause");
  EXPECT_EQ(info(client, "clients", "paused_actions"), "write");
  EXPECT_EQ(info(client, "clients", "paused_timeout_milliseconds"), "9000");
  EXPECT_EQ(info(client, "clients", "blocked_clients"), "1");
  EXPECT_TRUE(has(client.run("CLIENT LIST ID 2"), " flags=b "));
  client.run("CLIENT UNPAUSE");
  EXPECT_EQ(info(client, "clients", "blocked_clients"), "0");
  EXPECT_EQ(info(client, "clients", "paused_reason"), "none");
}

TEST_F(ClientCommandsTest, ALaterPauseIsNeitherShorterNorMilder) {
  client.run("CLIENT PAUSE 1000 ALL");
  client.run("CLIENT PAUSE 100 WRITE");
  advance(999ms);
  server().before_sleep();
  EXPECT_EQ(other.run("GET k"), "");
  advance(1ms);
  server().before_sleep();
  EXPECT_EQ(other.resume(), "$-1\r\n");
}

TEST_F(ClientCommandsTest, TheEndOfOnePauseDoesNotEndAnother) {
  server().parts().clients.pause(PauseReason::failover, kNever, PauseLevel::writes);
  client.run("CLIENT PAUSE 100 ALL");
  EXPECT_EQ(other.run("GET k"), "");
  EXPECT_EQ(client.run("CLIENT UNPAUSE"), "OK");
  EXPECT_EQ(other.resume(), "$-1\r\n");
  EXPECT_EQ(other.run("SET k v"), "");
  EXPECT_EQ(info(client, "clients", "paused_reason"), "failover_in_progress");
  server().parts().clients.unpause(PauseReason::failover);
  EXPECT_EQ(other.resume(), "+OK\r\n");
}

TEST_F(ClientCommandsTest, APausedServerEvictsNothing) {
  client.run("CONFIG SET maxmemory-policy allkeys-random");
  for (int i = 0; i < 8; ++i) {
    client.run({"SET", "k" + std::to_string(i), std::string(1 << 18, 'x')});
  }
  client.run({"SET", "due", std::string(1 << 18, 'x'), "PX", "10"});
  client.run("CLIENT PAUSE 1000 WRITE");
  propagated.clear();
  advance(100ms);
  const std::string limit = std::to_string(used_memory() - (1 << 20));
  EXPECT_EQ(client.run("CONFIG SET maxmemory " + limit), "OK");
  EXPECT_EQ(other.run("SET k v"), "");
  EXPECT_TRUE(other.link().paused());
  sweep();
  EXPECT_EQ(server().parts().keyspace[0].stored(), 9u);
  EXPECT_EQ(propagated, std::vector<std::string>{});
  client.run("CLIENT UNPAUSE");
  EXPECT_LT(server().parts().keyspace[0].stored(), 9u);
  EXPECT_EQ(other.resume(), "+OK\r\n");
}

TEST_F(ClientCommandsTest, ATransactionWithAWriteWaitsForThePause) {
  other.run("MULTI");
  other.run("SET k v");
  client.run("CLIENT PAUSE 1000 WRITE");
  EXPECT_EQ(other.run("EXEC"), "");
  EXPECT_TRUE(other.link().paused());
  client.run("CLIENT UNPAUSE");
  EXPECT_EQ(other.resume(), "*1\r\n+OK\r\n");
}

TEST_F(ClientCommandsTest, SayingReplconfExemptsNobody) {
  server().parts().config.timeout = 10;
  EXPECT_EQ(other.run("REPLCONF listening-port 1"), "OK");
  client.run("CLIENT PAUSE 100 WRITE");
  EXPECT_EQ(other.run("SET k v"), "");
  client.run("CLIENT UNPAUSE");
  EXPECT_EQ(other.resume(), "+OK\r\n");
  advance(10s);
  server().before_sleep();
  EXPECT_TRUE(other.link().closing());
}

TEST_F(ClientCommandsTest, MessagesComeEvenIfRepliesAreOff) {
  for (const char* const mode : {"OFF", "SKIP"}) {
    other.run("CLIENT REPLY " + std::string(mode));
    EXPECT_EQ(other.run("SUBSCRIBE a"), "[\"subscribe\", \"a\", (integer) 1]") << mode;
    other.run("CLIENT REPLY " + std::string(mode));
    EXPECT_EQ(client.run("PUBLISH a hello"), "(integer) 1");
    EXPECT_EQ(other.messages(), "[\"message\", \"a\", \"hello\"]");
    EXPECT_EQ(other.run("UNSUBSCRIBE a"), "[\"unsubscribe\", \"a\", (integer) 0]") << mode;
    EXPECT_EQ(other.run("CLIENT REPLY ON"), "OK");
  }
}

TEST_F(ClientCommandsTest, ATransactionIsSkippedAsAWhole) {
  client.run("MULTI");
  client.run("SET k v");
  client.run("GET k");
  client.run("GET k");
  client.client().options.reply_mode = ReplyMode::skip;
  EXPECT_EQ(client.run("EXEC"), "");
  EXPECT_EQ(client.run("GET k"), "\"v\"");
}

TEST_F(ClientCommandsTest, UnblockEndsAWait) {
  other.run("WAIT 1 0");
  EXPECT_TRUE(other.link().paused());
  EXPECT_EQ(info(client, "clients", "blocked_clients"), "1");
  EXPECT_EQ(client.run("CLIENT UNBLOCK 2 SOMEHOW"),
            "(error) ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  EXPECT_EQ(client.run("CLIENT UNBLOCK 2"), "(integer) 1");
  EXPECT_EQ(other.messages(), "(integer) 0");
  EXPECT_EQ(client.run("CLIENT UNBLOCK 2"), "(integer) 0");
  EXPECT_EQ(client.run("CLIENT UNBLOCK 99"), "(integer) 0");
  other.run("WAIT 1 0");
  EXPECT_EQ(client.run("CLIENT UNBLOCK 2 ERROR"), "(integer) 1");
  EXPECT_EQ(other.messages(), "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK");
  EXPECT_FALSE(other.link().paused());
}

TEST_F(ClientCommandsTest, AWaitOfWhoWantsNoRepliesHasNone) {
  other.run("CLIENT REPLY OFF");
  other.run("WAIT 1 10");
  advance(10ms);
  server().before_sleep();
  EXPECT_EQ(other.messages(), "");
  EXPECT_EQ(other.run("CLIENT REPLY ON"), "OK");
}

TEST_F(ClientCommandsTest, TheOutputLimitHoldsWithinAPipeline) {
  client.run({"SET", "k", std::string(100'000, 'x')});
  server().parts().config.output_normal.hard_bytes = 1 << 20;
  std::string pipeline;
  for (int i = 0; i < 500; ++i) pipeline += "GET k\r\n";
  const std::string replies = other.send(pipeline + "SET after 1\r\n");
  EXPECT_TRUE(other.link().closing());
  EXPECT_LT(replies.size(), 2u << 20);
  EXPECT_EQ(client.run("EXISTS after"), "(integer) 0");
}

TEST_F(ClientCommandsTest, TheOutputLimitHoldsWithinATransaction) {
  client.run({"SET", "k", std::string(100'000, 'x')});
  server().parts().config.output_normal.hard_bytes = 1 << 20;
  other.run("MULTI");
  for (int i = 0; i < 100; ++i) other.run("GET k");
  other.run("SET after 1");
  const std::string replies = other.send("EXEC\r\n");
  EXPECT_TRUE(other.link().closing());
  EXPECT_LT(replies.size(), 2u << 20);
  EXPECT_EQ(client.run("EXISTS after"), "(integer) 1");  // a transaction is never cut short
}

TEST_F(ClientCommandsTest, APipelineOfLargeRepliesGoesOnInTheNextTurn) {
  client.run({"SET", "k", std::string(100'000, 'x')});
  std::string pipeline;
  for (int i = 0; i < 50; ++i) pipeline += "GET k\r\n";
  std::size_t most = 0;
  std::size_t all = 0;
  for (std::string part = other.send(pipeline); !part.empty(); part = other.resume()) {
    most = std::max(most, part.size());
    all += part.size();
  }
  EXPECT_LT(most, 2u << 20);
  EXPECT_EQ(all, 50 * std::string("$100000\r\n\r\n").size() + 50 * 100'000);
}

TEST_F(ClientCommandsTest, TheLargestClientsAreEvicted) {
  TestClient& kept = connect("127.0.0.1:5003");
  kept.run("CLIENT NO-EVICT ON");
  kept.link().output_.assign(1 << 20, 'x');
  other.link().output_.assign(1 << 19, 'x');
  EXPECT_EQ(client.run("CONFIG SET maxmemory-clients 1200kb"), "OK");
  server().before_sleep();
  EXPECT_TRUE(other.link().closing());
  EXPECT_FALSE(kept.link().closing());
  EXPECT_FALSE(client.link().closing());
  EXPECT_EQ(info(client, "stats", "evicted_clients"), "1");
}

TEST_F(ClientCommandsTest, MaxmemoryClientsMayBeAPercentage) {
  EXPECT_EQ(client.run("CONFIG SET maxmemory-clients 5%"), "OK");
  EXPECT_EQ(client.run("CONFIG GET maxmemory-clients"), R"(["maxmemory-clients", "5%"])");
  EXPECT_EQ(server().parts().clients.memory_limit(), 0u);
  server().parts().config.maxmemory = std::uint64_t{100} << 20;
  EXPECT_EQ(server().parts().clients.memory_limit(), 5u << 20);
  EXPECT_TRUE(has(client.run("CONFIG SET maxmemory-clients 101%"), "(error)"));
}

TEST_F(ClientCommandsTest, ListHasAllFiltersAndTheirOpposites) {
  other.run("CLIENT SETNAME two");
  other.run("CLIENT SETINFO LIB-NAME lib");
  other.run("CLIENT SETINFO LIB-VER 1.2");
  other.run("CLIENT CAPA redirect something");
  other.run("SELECT 3");
  other.run("MULTI");
  advance(5s);
  for (const char* const filter :
       {"ID 2 3", "NAME two", "LIB-NAME lib", "LIB-VER 1.2", "CAPA r", "DB 3", "FLAGS x",
        "ADDR 127.0.0.1:5002", "IDLE 5 SKIPME yes", "MAXAGE 5 SKIPME yes", "IP 127.0.0.1 FLAGS x",
        "NOT-ID 1", "NOT-DB 0", "NOT-FLAGS N", "NOT-ADDR 127.0.0.1:5001", "TYPE normal NOT-ID 1",
        "USER default SKIPME yes"}) {
    const std::string shown = client.run("CLIENT LIST " + std::string(filter));
    EXPECT_TRUE(has(shown, "id=2 ")) << filter << shown;
    EXPECT_FALSE(has(shown, "id=1 ")) << filter << shown;
  }
  for (const char* const filter :
       {"NOT-NAME two", "NOT-LIB-NAME lib", "NOT-LIB-VER 1.2", "NOT-CAPA r", "NOT-IP 127.0.0.1",
        "NOT-TYPE normal", "NOT-LADDR 127.0.0.1:6379", "IP 127.0.0.2", "ID 3", "IDLE 6"}) {
    EXPECT_FALSE(has(client.run("CLIENT LIST " + std::string(filter)), "id=2 ")) << filter;
  }
  EXPECT_EQ(client.run("CLIENT LIST FLAGS q"),
            "(error) ERR Unknown flags found in the provided filter: q");
  EXPECT_EQ(client.run("CLIENT LIST NOT-IDLE 5"), "(error) ERR syntax error");
  EXPECT_EQ(client.run("CLIENT LIST IDLE 0"), "(error) ERR idle should be greater than 0");
  EXPECT_EQ(client.run("CLIENT KILL FLAGS x NOT-NAME one"), "(integer) 1");
  EXPECT_TRUE(other.link().closing());
}

}  // namespace client_commands_test
}  // namespace mayfly
