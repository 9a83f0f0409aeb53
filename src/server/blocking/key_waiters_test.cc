// SPDX-License-Identifier: Apache-2.0
// Clients that wait for keys, with the commands of sorted sets.

#include "server/blocking/key_waiters.h"

#include <gtest/gtest.h>

#include <string>

#include "server/blocking/blocked_clients.h"
#include "server/blocking/waiters_fixture.h"
#include "server/core/reclaimer.h"

namespace mayfly {
namespace key_waiters_test {

using namespace std::chrono_literals;

class KeyWaitersTest : public testing::Test, public WaitersFixture {
 protected:
  std::string info(std::string_view name) {
    const std::string text = writer.send("INFO everything\r\n");
    const std::string line = "\n" + std::string(name) + ":";
    const std::size_t at = text.find(line);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + line.size();
    return text.substr(begin, text.find('\r', begin) - begin);
  }
  void set_deadline(std::string_view key, std::string_view member, Millis from_now) {
    const ExecContext context{.now = wall().now()};
    Database& database = server().parts().keyspace[0];
    MembersRef members = database.members(context, database.find(context, key));
    EXPECT_TRUE(members.set_deadline(member, context.now + from_now));
    members.finish();
  }
};

// ---- Serving ----

TEST_F(KeyWaitersTest, TheNextWriterServesAWaitingClient) {
  block(a, "BZPOPMIN z 0");
  EXPECT_EQ(writer.run("ZADD z 1 m"), "(integer) 1");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
  EXPECT_FALSE(is_waiting(a));
  EXPECT_EQ(writer.run("EXISTS z"), "(integer) 0");
}

TEST_F(KeyWaitersTest, ClientsAreServedInTheOrderOfArrival) {
  block(b, "BZPOPMIN z 0");
  block(a, "BZPOPMIN z 0");
  block(c, "BZPOPMIN z 0");
  writer.run("ZADD z 1 x 2 y");
  EXPECT_EQ(b.messages(), R"(["z", "x", "1"])");
  EXPECT_EQ(a.messages(), R"(["z", "y", "2"])");
  EXPECT_EQ(c.messages(), "");
  EXPECT_TRUE(is_waiting(c));
}

TEST_F(KeyWaitersTest, TheOrderOfKeysInTheRequestDecides) {
  block(a, "BZPOPMIN z1 z2 z1 0");
  transact({"ZADD z2 1 two", "ZADD z1 1 one"});
  EXPECT_EQ(a.messages(), R"(["z1", "one", "1"])");
  EXPECT_EQ(writer.run("EXISTS z1 z2"), "(integer) 1");
  EXPECT_EQ(server().parts().key_waiters.keys(), 0u);
}

TEST_F(KeyWaitersTest, ATransactionServesWhenItEnds) {
  block(a, "BZPOPMAX z 0");
  EXPECT_EQ(transact({"ZADD z 1 x", "ZADD z 2 y", "ZCARD z"}),
            "[(integer) 1, (integer) 1, (integer) 2]");
  EXPECT_EQ(a.messages(), R"(["z", "y", "2"])");
}

TEST_F(KeyWaitersTest, WhatATransactionTakesBackServesNobody) {
  block(a, "BZPOPMIN z 0");
  transact({"ZADD z 1 x", "ZREM z x"});
  transact({"ZADD z 1 x", "DEL z", "SET z text"});
  EXPECT_TRUE(is_waiting(a));
  writer.run("DEL z");
  writer.run("ZADD z 1 x");
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
}

TEST_F(KeyWaitersTest, AKeyOfAnotherTypeServesNobody) {
  block(a, "BZPOPMIN z 0");
  writer.run("SET z text");
  writer.run("DEL z");
  writer.run("HSET z f v");
  EXPECT_EQ(a.messages(), "");
  EXPECT_TRUE(is_waiting(a));
  EXPECT_EQ(b.run("BZPOPMIN z 0"),
            "(error) WRONGTYPE Operation against a key holding the wrong kind of value");
}

TEST_F(KeyWaitersTest, OtherCommandsThatMakeTheKeyServeToo) {
  block(a, "BZPOPMIN z 0");
  writer.run("ZADD other 1 m");
  const std::string dump = writer.send("DUMP other\r\n");
  writer.run("RENAME other z");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");

  block(a, "BZPOPMIN z 0");
  writer.run("ZADD other 1 m");
  writer.run("COPY other z");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");

  block(a, "BZPOPMIN z 0");
  const std::size_t begin = dump.find("\r\n") + 2;
  EXPECT_EQ(writer.run({"RESTORE", "z", "0", dump.substr(begin, dump.size() - 2 - begin)}), "OK");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");

  block(a, "BZPOPMIN z 0");
  writer.run("SELECT 1");
  writer.run("ZADD z 1 m");
  EXPECT_TRUE(is_waiting(a)) << "another database";
  writer.run("MOVE z 0");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
}

TEST_F(KeyWaitersTest, SwappingDatabasesServes) {
  writer.run("SELECT 1");
  writer.run("ZADD z 1 m");
  block(a, "BZPOPMIN z 0");
  writer.run("SWAPDB 0 1");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
  block(a, "BZPOPMIN z 0");
  writer.run("FLUSHALL");
  EXPECT_TRUE(is_waiting(a));
}

TEST_F(KeyWaitersTest, AnExpiredMemberServesNobody) {
  server().parts().reclaimer.set_sweeping(false);
  block(a, "BZPOPMIN z 0");
  transact({"ZADD z 1 x 2 y", "CLIENT PAUSE 1000 WRITE"});
  set_deadline("z", "x", 10ms);
  advance(20ms);
  EXPECT_EQ(writer.run("CLIENT UNPAUSE"), "OK");
  EXPECT_EQ(a.messages(), R"(["z", "y", "2"])");
}

TEST_F(KeyWaitersTest, WatchesSeeWhatAServedClientTakes) {
  writer.run("ZADD z 1 x");
  block(a, "BZPOPMIN other 0");
  b.run("WATCH other");
  writer.run("ZADD other 1 x");
  a.messages();
  b.run("MULTI");
  b.run("PING");
  EXPECT_EQ(b.run("EXEC"), "(nil)");
}

TEST_F(KeyWaitersTest, NobodyWaitsInATransaction) {
  a.run("MULTI");
  a.run("BZPOPMIN z 0");
  a.run("BZMPOP 0 1 z MIN");
  EXPECT_EQ(a.run("EXEC"), "[(nil), (nil)]");
}

// ---- The client ----

TEST_F(KeyWaitersTest, RequestsBehindOneThatWaitsComeAfterIt) {
  EXPECT_EQ(a.send("BZPOPMIN z 0\r\nPING\r\nBZPOPMIN z 0\r\nECHO x\r\n"), "");
  writer.run("ZADD z 1 m");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
  EXPECT_EQ(a.resume(), "+PONG\r\n");
  EXPECT_TRUE(is_waiting(a));
  writer.run("ZADD z 1 m");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
  EXPECT_EQ(a.resume(), "$1\r\nx\r\n");
}

TEST_F(KeyWaitersTest, Resp3HasNumbersAndItsOwnNull) {
  a.run("HELLO 3");
  block(a, "BZPOPMIN z 0");
  writer.run("ZADD z 1.5 m");
  EXPECT_EQ(a.send(""), "*3\r\n$1\r\nz\r\n$1\r\nm\r\n,1.5\r\n");
  block(a, "BZPOPMIN z 0.01");
  advance(10ms);
  turn();
  EXPECT_EQ(a.send(""), "_\r\n");
}

TEST_F(KeyWaitersTest, WhoWantsNoRepliesGetsNone) {
  a.run("CLIENT REPLY OFF");
  block(a, "BZPOPMIN z 0");
  writer.run("ZADD z 1 m");
  EXPECT_EQ(a.messages(), "");
  EXPECT_FALSE(is_waiting(a));
  EXPECT_EQ(a.run("CLIENT REPLY ON"), "OK");

  EXPECT_EQ(a.send("CLIENT REPLY SKIP\r\nBZPOPMIN z 0\r\n"), "");
  EXPECT_TRUE(is_waiting(a));
  writer.run("ZADD z 1 m");
  EXPECT_EQ(a.messages(), "");
  EXPECT_EQ(a.run("PING"), "PONG");

  EXPECT_EQ(a.send("CLIENT REPLY SKIP\r\nBZPOPMIN z 0.5\r\n"), "");
  advance(500ms);
  turn();
  EXPECT_EQ(a.messages(), "");
  EXPECT_EQ(a.run("PING"), "PONG");
}

TEST_F(KeyWaitersTest, AClientThatLeavesIsNotServed) {
  auto gone = std::make_unique<TestClient>(server(), "127.0.0.1:5005");
  block(*gone, "BZPOPMIN z y 0");
  block(a, "BZPOPMIN z 0");
  gone.reset();
  EXPECT_EQ(info("total_blocking_keys"), "1");
  writer.run("ZADD z 1 m");
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
}

TEST_F(KeyWaitersTest, AClientThatIsKilledInTheSameTransactionIsNotServed) {
  block(a, "BZPOPMIN z 0");
  block(b, "BZPOPMIN z 0");
  transact({"ZADD z 1 m", "CLIENT KILL ID " + std::to_string(a.client().id())});
  EXPECT_EQ(a.messages(), "");
  EXPECT_EQ(b.messages(), R"(["z", "m", "1"])");
}

TEST_F(KeyWaitersTest, UnblockEndsAWait) {
  const std::string id = std::to_string(a.client().id());
  block(a, "BZPOPMIN z 0");
  EXPECT_EQ(writer.run("CLIENT UNBLOCK " + id), "(integer) 1");
  EXPECT_EQ(a.messages(), "(nil)");
  EXPECT_EQ(writer.run("CLIENT UNBLOCK " + id), "(integer) 0");
  block(a, "BZPOPMIN z 0");
  EXPECT_EQ(writer.run("CLIENT UNBLOCK " + id + " ERROR"), "(integer) 1");
  EXPECT_EQ(a.messages(), "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK");
  block(a, "BZPOPMIN z 0");
  transact({"CLIENT UNBLOCK " + id, "ZADD z 1 m"});
  EXPECT_EQ(a.messages(), "(nil)");
  EXPECT_EQ(writer.run("ZCARD z"), "(integer) 1");
}

// ---- Time ----

TEST_F(KeyWaitersTest, AWaitEndsOnTime) {
  block(a, "BZPOPMIN z 1.5");
  block(b, "BZPOPMAX z 0.25");
  block(c, "BZMPOP 0 1 z MIN");
  advance(200ms);
  EXPECT_EQ(turn(), 50ms);
  advance(49ms);
  turn();
  EXPECT_EQ(b.messages(), "");
  advance(1ms);
  turn();
  EXPECT_EQ(b.send(""), "*-1\r\n");
  advance(1249ms);
  turn();
  EXPECT_EQ(a.messages(), "");
  advance(1ms);
  turn();
  EXPECT_EQ(a.messages(), "(nil)");
  EXPECT_TRUE(is_waiting(c));
  EXPECT_EQ(info("clients_in_timeout_table"), "0");
}

// The key is there when the request runs again, and gone when it looks: others took it.
TEST_F(KeyWaitersTest, ARequestThatWaitsOnKeepsItsPlaceAndItsEnd) {
  block(a, "BZPOPMIN z 1");
  advance(500ms);
  block(b, "BZPOPMIN z 1");
  server().parts().reclaimer.set_sweeping(false);
  transact({"ZADD z 1 x", "CLIENT PAUSE 100 WRITE"});
  set_deadline("z", "x", 10ms);
  advance(100ms);
  turn();
  EXPECT_TRUE(is_waiting(a));
  EXPECT_TRUE(is_waiting(b));
  writer.run("ZADD z 1 y");
  EXPECT_EQ(a.messages(), R"(["z", "y", "1"])");
  advance(899ms);
  turn();
  EXPECT_TRUE(is_waiting(b));
  advance(1ms);
  turn();
  EXPECT_EQ(b.messages(), "(nil)");
}

// ---- Statistics ----

TEST_F(KeyWaitersTest, InfoAndClientListCountThem) {
  block(a, "BZPOPMIN x y 10");
  block(b, "BZPOPMIN y 0");
  EXPECT_EQ(info("blocked_clients"), "2");
  EXPECT_EQ(info("clients_in_timeout_table"), "1");
  EXPECT_EQ(info("total_blocking_keys"), "2");
  EXPECT_EQ(info("total_blocking_keys_on_nokey"), "0");
  EXPECT_NE(writer.run("CLIENT LIST ID " + std::to_string(a.client().id())).find(" flags=b "),
            std::string::npos);
  writer.run("ZADD y 1 m 2 n");
  EXPECT_EQ(info("blocked_clients"), "0");
  EXPECT_EQ(info("clients_in_timeout_table"), "0");
  EXPECT_EQ(info("total_blocking_keys"), "0");
}

TEST_F(KeyWaitersTest, ARequestIsCountedOnceAndWhenItIsAnswered) {
  block(a, "BZPOPMIN z 1");
  block(b, "BZPOPMIN z 0");
  EXPECT_EQ(info("cmdstat_bzpopmin"), "");
  writer.run("ZADD z 1 m");
  EXPECT_TRUE(info("cmdstat_bzpopmin").starts_with("calls=1,")) << info("cmdstat_bzpopmin");
  writer.run("CLIENT UNBLOCK " + std::to_string(b.client().id()) + " ERROR");
  EXPECT_TRUE(info("cmdstat_bzpopmin").starts_with("calls=2,"));
  EXPECT_TRUE(info("cmdstat_bzpopmin").ends_with("rejected_calls=1,failed_calls=0"))
      << info("cmdstat_bzpopmin");
}

TEST_F(KeyWaitersTest, MonitorsSeeARequestOnce) {
  c.run("MONITOR");
  block(a, "BZPOPMIN z 0");
  writer.run("ZADD z 1 m");
  const std::string seen = c.messages();
  const std::size_t first = seen.find("BZPOPMIN");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(seen.find("BZPOPMIN", first + 1), std::string::npos) << seen;
}

// ---- Propagation ----

TEST_F(KeyWaitersTest, WhatIsTakenIsPropagatedBehindTheWriteByItself) {
  block(a, "BZPOPMIN z 0");
  block(b, "BZPOPMAX z 0");
  propagated.clear();
  transact({"ZADD z 1 x", "ZADD z 2 y 3 w"});
  EXPECT_EQ(propagated, (std::vector<std::string>{"0: MULTI", "0: ZADD z 1 x", "0: ZADD z 2 y 3 w",
                                                  "0: EXEC", "0: ZPOPMIN z", "0: ZPOPMAX z"}));
}

}  // namespace key_waiters_test
}  // namespace mayfly
