// SPDX-License-Identifier: Apache-2.0
// Clients that wait for elements of lists: chains and cycles of moves, several keys, other types,
// and what is propagated. What holds for every type is in key_waiters_test.cc.

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "server/blocking/key_waiters.h"
#include "server/blocking/waiters_fixture.h"
#include "server/core/reclaimer.h"

namespace mayfly {
namespace list_waiters_test {

using namespace std::chrono_literals;

constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";

class ListWaitersTest : public testing::Test, public WaitersFixture {
 protected:
  // How many changes these requests count for the next snapshot.
  std::uint64_t changes(std::initializer_list<std::string> requests) {
    const std::uint64_t before = server().parts().stats.dirty;
    for (const std::string& request : requests) writer.run(request);
    return server().parts().stats.dirty - before;
  }
  std::string elements(const std::string& key) { return writer.run("LRANGE " + key + " 0 -1"); }
};

// ---- Serving ----

TEST_F(ListWaitersTest, ClientsAreServedInTheOrderOfArrival) {
  block(b, "BLPOP l 0");
  block(a, "BRPOP l 0");
  block(c, "BLMPOP 0 1 l LEFT COUNT 9");
  EXPECT_EQ(writer.run("RPUSH l 1 2 3 4"), "(integer) 4");
  EXPECT_EQ(b.messages(), R"(["l", "1"])");
  EXPECT_EQ(a.messages(), R"(["l", "4"])");
  EXPECT_EQ(c.messages(), R"(["l", ["2", "3"]])");
  EXPECT_EQ(writer.run("EXISTS l"), "(integer) 0");
}

// One push each, and one push for all.
TEST_F(ListWaitersTest, ManyClientsOfOneKeyAreServedInOrder) {
  constexpr int kClients = 2000;
  std::vector<TestClient*> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(&connect("127.0.0.1:6000"));
  const auto check = [&] {
    for (int i = 0; i < kClients; ++i) {
      const std::string reply = clients[static_cast<std::size_t>(i)]->messages();
      ASSERT_EQ(reply, R"(["l", ")" + std::to_string(i) + "\"]");
    }
  };
  for (TestClient* const client : clients) client->run("BLPOP l 0");
  for (int i = 0; i < kClients; ++i) writer.run("RPUSH l " + std::to_string(i));
  check();

  for (TestClient* const client : clients) client->run("BLPOP l 0");
  std::string line = "RPUSH l";
  for (int i = 0; i < kClients; ++i) line += " " + std::to_string(i);
  EXPECT_EQ(writer.run(line), "(integer) 2000");
  check();
  EXPECT_EQ(writer.run("EXISTS l"), "(integer) 0");
  EXPECT_EQ(server().parts().key_waiters.keys(), 0u);
}

TEST_F(ListWaitersTest, SeveralKeysAreTriedInTheOrderOfTheRequest) {
  block(a, "BLPOP one two one 0");
  transact({"RPUSH two 2", "RPUSH one 1"});
  EXPECT_EQ(a.messages(), R"(["one", "1"])");
  block(a, "BLMPOP 0 2 one other RIGHT COUNT 9");
  block(b, "BLMPOP 0 2 one other LEFT COUNT 9");
  transact({"RPUSH one 1 2", "RPUSH other 3 4"});
  EXPECT_EQ(a.messages(), R"(["one", ["2", "1"]])");
  EXPECT_EQ(b.messages(), R"(["other", ["3", "4"]])");
}

TEST_F(ListWaitersTest, OnlyListsServe) {
  block(a, "BLPOP l 0");
  block(b, "BZPOPMIN l 0");
  block(c, "BLPOP l 0");
  writer.run("SET l text");
  writer.run("DEL l");
  writer.run("ZADD l 1 member");
  EXPECT_EQ(b.messages(), R"(["l", "member", "1"])");
  transact({"RPUSH l x", "DEL l", "SET l text"});
  EXPECT_TRUE(is_waiting(a));
  writer.run("DEL l");
  writer.run("RPUSH l x y");
  EXPECT_EQ(a.messages(), R"(["l", "x"])");
  EXPECT_EQ(c.messages(), R"(["l", "y"])");
}

TEST_F(ListWaitersTest, OtherCommandsThatMakeTheListServeToo) {
  writer.run("RPUSH other x");
  block(a, "BLPOP l 0");
  writer.run("SORT other ALPHA STORE l");
  EXPECT_EQ(a.messages(), R"(["l", "x"])");
  block(a, "BRPOP l 0");
  writer.run("COPY other l");
  EXPECT_EQ(a.messages(), R"(["l", "x"])");
  block(a, "BLMOVE l m LEFT LEFT 0");
  writer.run("LMOVE other l LEFT LEFT");
  EXPECT_EQ(a.messages(), "\"x\"");
  block(a, "BLPOP l 0");
  writer.run("RENAME m l");
  EXPECT_EQ(a.messages(), R"(["l", "x"])");
  writer.run("SELECT 1");
  writer.run("RPUSH l x");
  block(a, "BLPOP l 0");
  writer.run("SWAPDB 0 1");
  EXPECT_EQ(a.messages(), R"(["l", "x"])");
}

// ---- Moves ----

TEST_F(ListWaitersTest, AMoveServesWhoWaitsForItsDestination) {
  block(b, "BLPOP target 0");
  block(a, "BLMOVE l target LEFT RIGHT 0");
  writer.run("RPUSH l x");
  EXPECT_EQ(a.messages(), "\"x\"");
  EXPECT_EQ(b.messages(), R"(["target", "x"])");
  EXPECT_EQ(writer.run("EXISTS l target"), "(integer) 0");
}

TEST_F(ListWaitersTest, ChainsAndCyclesOfMovesEnd) {
  block(a, "BLMOVE one two RIGHT LEFT 0");
  block(b, "BLMOVE two three LEFT RIGHT 0");
  writer.run("RPUSH one x");
  EXPECT_EQ(a.messages() + b.messages(), R"("x""x")");
  EXPECT_EQ(elements("one") + elements("two") + elements("three"), R"([][]["x"])");

  block(a, "BRPOPLPUSH one two 0");
  block(b, "BRPOPLPUSH two one 0");
  writer.run("RPUSH one y");
  EXPECT_EQ(a.messages() + b.messages(), R"("y""y")");
  EXPECT_EQ(elements("one") + elements("two"), R"(["y"][])");
  writer.run("DEL one");

  block(a, "BRPOPLPUSH one one 0");
  block(b, "BRPOPLPUSH one one 0");
  writer.run("RPUSH one z");
  EXPECT_EQ(a.messages() + b.messages(), R"("z""z")");
  EXPECT_EQ(elements("one"), R"(["z"])");
}

TEST_F(ListWaitersTest, AMoveThatFailsLeavesTheElementToTheNext) {
  writer.run("SET text v");
  block(a, "BRPOPLPUSH l text 0");
  block(b, "BRPOPLPUSH l other 0");
  writer.run("RPUSH l x y");
  EXPECT_EQ(a.messages(), kWrongType);
  EXPECT_EQ(b.messages(), "\"y\"");
  EXPECT_EQ(elements("l"), R"(["x"])");
}

// The element that a move brings comes after those that were there before it.
TEST_F(ListWaitersTest, NestedServingIsFair) {
  block(a, "BRPOPLPUSH one three 0");
  block(b, "BLPOP two 0");
  block(c, "BLMPOP 0 2 two three LEFT COUNT 1");
  transact({"LPUSH one 1", "LPUSH two 2"});
  EXPECT_EQ(a.messages(), "\"1\"");
  EXPECT_EQ(b.messages(), R"(["two", "2"])");
  EXPECT_EQ(c.messages(), R"(["three", ["1"]])");
}

TEST_F(ListWaitersTest, APushAndAPopInOnePipelineAreFair) {
  block(a, "BLPOP l 0");
  EXPECT_EQ(b.send("LPUSH l 1\r\nBLPOP l 0\r\n"), ":1\r\n");
  EXPECT_EQ(a.messages(), R"(["l", "1"])");
  EXPECT_TRUE(is_waiting(b));
  writer.run("LPUSH l 2");
  EXPECT_EQ(b.messages(), R"(["l", "2"])");
}

TEST_F(ListWaitersTest, WatchesSeeTheDestinationOfAMove) {
  block(a, "BRPOPLPUSH l target 0");
  b.run("WATCH target");
  b.run("MULTI");
  b.run("PING");
  writer.run("LPUSH l x");
  EXPECT_EQ(b.run("EXEC"), "(nil)");
}

// ---- Time ----

TEST_F(ListWaitersTest, TheEndOfAWaitIsANullArrayForMovesToo) {
  block(a, "BLMOVE l m LEFT LEFT 0.01");
  block(b, "BRPOPLPUSH l m 0.01");
  block(c, "BLPOP l 0.01");
  advance(10ms);
  turn();
  EXPECT_EQ(a.send("") + b.send("") + c.send(""), "*-1\r\n*-1\r\n*-1\r\n");
}

// A key that is due serves nobody, and is not even removed for it.
TEST_F(ListWaitersTest, AListThatIsDueServesNobody) {
  server().parts().reclaimer.set_sweeping(false);
  writer.run("SELECT 1");
  writer.run("RPUSH l x");
  writer.run("PEXPIRE l 100");
  block(a, "BRPOP l 0");
  advance(100ms);
  propagated.clear();
  writer.run("SWAPDB 0 1");
  EXPECT_TRUE(is_waiting(a));
  EXPECT_EQ(propagated, (std::vector<std::string>{"1: SWAPDB 0 1"}));
  EXPECT_EQ(b.run("EXISTS l"), "(integer) 0");
  EXPECT_EQ(propagated.back(), "0: UNLINK l");
}

// ---- Propagation ----

TEST_F(ListWaitersTest, WhatIsTakenIsPropagatedInItsPlace) {
  block(a, "BLPOP l 0");
  block(b, "BLMOVE l m left RIGHT 0");
  block(c, "BLMPOP 0 1 l RIGHT COUNT 9");
  propagated.clear();
  writer.send("SET k 1\r\nRPUSH l 1 2 3 4\r\nSET k 2\r\n");
  EXPECT_EQ(propagated,
            (std::vector<std::string>{"0: SET k 1", "0: RPUSH l 1 2 3 4", "0: LPOP l",
                                      "0: LMOVE l m left RIGHT", "0: RPOP l 2", "0: SET k 2"}));
  EXPECT_EQ(a.messages() + b.messages() + c.messages(), R"(["l", "1"]"2"["l", ["4", "3"]])");
  propagated.clear();
  block(a, "BRPOPLPUSH l m 0");
  block(b, "BRPOP l 0");
  writer.run("RPUSH l 1 2");
  EXPECT_EQ(propagated,
            (std::vector<std::string>{"0: RPUSH l 1 2", "0: RPOPLPUSH l m", "0: RPOP l"}));
}

TEST_F(ListWaitersTest, EachElementCountsAsAChange) {
  EXPECT_EQ(changes({"RPUSH l 1 2 3 4 5 6 7 8"}), 8u);
  EXPECT_EQ(changes({"LPOP l"}), 1u);
  EXPECT_EQ(changes({"RPOP l 2"}), 2u);
  EXPECT_EQ(changes({"LMOVE l m LEFT LEFT"}), 1u);
  EXPECT_EQ(changes({"LSET l 0 x", "LINSERT l AFTER x y"}), 2u);
  EXPECT_EQ(changes({"LTRIM l 1 -2", "LTRIM l 0 -1"}), 2u);
  EXPECT_EQ(changes({"LREM l 0 y", "LREM l 0 none"}), 1u);
  EXPECT_EQ(changes({"LMPOP 1 l LEFT COUNT 9"}), 2u);
  EXPECT_EQ(changes({"RPUSH l 1 2 3", "LTRIM l 5 9"}), 6u);
  EXPECT_EQ(changes({"RPUSH l 3 1 2", "SORT l STORE l"}), 6u);
  block(a, "BLPOP k 0");
  block(b, "BLMOVE k m LEFT LEFT 0");
  EXPECT_EQ(changes({"RPUSH k 1 2"}), 4u);
}

}  // namespace list_waiters_test
}  // namespace mayfly
