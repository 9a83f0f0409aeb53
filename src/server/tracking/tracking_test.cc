// SPDX-License-Identifier: Apache-2.0
// Client-side caching in a whole server, with a clock that is moved by hand.

#include "server/tracking/tracking.h"

#include <gtest/gtest.h>

#include "server/core/server_fixture.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

class TrackingTest : public ::testing::Test, protected ServerFixture {
 protected:
  TestClient& connect3(std::string_view tracking = "") {
    TestClient& client = connect();
    client.run("HELLO 3");
    if (!tracking.empty()) {
      EXPECT_EQ(client.run("CLIENT TRACKING ON" + std::string(tracking)), "OK");
    }
    return client;
  }

  // What came by the end of the turn.
  std::string told(TestClient& client) {
    server().before_sleep();
    return client.messages();
  }

  static std::string invalidated(std::string_view key) {
    return "(push) [\"invalidate\", [\"" + std::string(key) + "\"]]";
  }

  const TrackedKeys& table() { return server().parts().tracking.table(); }

  TestClient& writer = connect();
};

// ---- Expiry ----

struct Expiring {
  std::string_view name;
  std::string_view make;  // something that expires after 50 ms, beside something that does not
  std::string_view read;
};
constexpr Expiring kExpiring[] = {
    {"key", "SET k v PX 50", "GET k"},
    {"hash", "HSET k stays 1", "HGETALL k"},
    {"set", "SADD k stays", "SMEMBERS k"},
    {"zset", "ZADD k 1 stays", "ZRANGE k 0 -1"},
};

class ExpiryTrackingTest : public TrackingTest, public ::testing::WithParamInterface<Expiring> {
 protected:
  void make() {
    writer.run(GetParam().make);
    if (GetParam().name == "hash") writer.run("HSETEX k PX 50 FIELDS 1 goes 1");
    if (GetParam().name == "set") writer.run("SADDEX k PX 50 MEMBERS 1 goes");
    if (GetParam().name == "zset") writer.run("ZADDEX k PX 50 MEMBERS 1 2 goes");
  }
};

INSTANTIATE_TEST_SUITE_P(All, ExpiryTrackingTest, ::testing::ValuesIn(kExpiring),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(ExpiryTrackingTest, AReaderIsToldAtTheDeadlineWithoutAnyAccess) {
  for (const std::string_view mode : {" ", " NOLOOP", " OPTOUT"}) {
    make();
    TestClient& client = connect3(mode);
    client.run(GetParam().read);
    advance(49ms);
    sweep();
    EXPECT_EQ(client.messages(), "") << mode;
    advance(1ms);
    sweep();
    EXPECT_EQ(client.messages(), invalidated("k")) << mode;
    advance(10s);
    sweep();
    EXPECT_EQ(client.messages(), "") << mode;
    client.run("CLIENT TRACKING OFF");
    writer.run("DEL k");
  }
}

TEST_P(ExpiryTrackingTest, ABroadcastComesAtTheDeadlineWithoutAnyAccess) {
  make();
  TestClient& all = connect3(" BCAST NOLOOP");
  TestClient& some = connect3(" BCAST PREFIX k");
  TestClient& stranger = connect3(" BCAST PREFIX other");
  advance(49ms);
  sweep();
  EXPECT_EQ(all.messages() + some.messages(), "");
  advance(1ms);
  sweep();
  EXPECT_EQ(all.messages(), invalidated("k"));
  EXPECT_EQ(some.messages(), invalidated("k"));
  EXPECT_EQ(stranger.messages(), "");
}

TEST_P(ExpiryTrackingTest, AReaderThatFindsItExpiredIsToldBehindItsReply) {
  writer.run("DEBUG SET-ACTIVE-EXPIRE 0");
  make();
  TestClient& client = connect3(" NOLOOP");
  TestClient& other = connect3(" ");
  client.run(GetParam().read);
  other.run(GetParam().read);
  advance(50ms);
  // Of a value whose members are due, some reads remove them, and some leave it to the sweep.
  const std::string out = client.run(GetParam().read);
  const bool is_told = out.ends_with(invalidated("k"));
  if (GetParam().name == "key") {
    EXPECT_EQ(out, "(nil) " + invalidated("k"));
  }
  writer.run("DEBUG SET-ACTIVE-EXPIRE 1");
  sweep();
  EXPECT_EQ(client.messages(), is_told ? "" : invalidated("k"));
  EXPECT_EQ(other.messages(), invalidated("k"));
}

TEST_P(ExpiryTrackingTest, AfterAPauseReadersAreTold) {
  make();
  TestClient& client = connect3(" ");
  client.run(GetParam().read);
  writer.run("CLIENT PAUSE 1000 WRITE");
  advance(60ms);
  sweep();
  EXPECT_EQ(client.messages(), "");
  client.run(GetParam().read);  // it sees nothing of what is due, and reads it again
  writer.run("CLIENT UNPAUSE");
  sweep();
  EXPECT_EQ(client.messages(), invalidated("k"));
}

TEST_F(TrackingTest, ADeadlineThatIsMovedOrTakenAwayIsAChange) {
  TestClient& client = connect3(" ");
  writer.run("SET k v PX 50");
  client.run("GET k");
  writer.run("PERSIST k");
  EXPECT_EQ(client.messages(), invalidated("k"));
  client.run("GET k");
  advance(60ms);
  sweep();
  EXPECT_EQ(client.messages(), "");
  writer.run("EXPIRE k -1");
  EXPECT_EQ(client.messages(), invalidated("k"));
}

// ---- Broadcasts ----

TEST_F(TrackingTest, AKeyThatSeveralChangeInATurnIsToldToAll) {
  TestClient& one = connect3(" BCAST NOLOOP");
  TestClient& other = connect3(" BCAST NOLOOP PREFIX k");
  EXPECT_EQ(one.run("SET k 1"), "OK");
  EXPECT_EQ(other.run("APPEND k 2"), "(integer) 2");
  EXPECT_EQ(one.run("SET mine 1"), "OK");
  EXPECT_EQ(told(one), invalidated("k"));
  EXPECT_EQ(told(other), invalidated("k"));
}

TEST_F(TrackingTest, PrefixesMayGoBeforeTheEndOfTheTurn) {
  TestClient& one = connect3(" BCAST PREFIX a PREFIX b");
  TestClient& other = connect3(" BCAST PREFIX b");
  writer.run("MSET a 1 b 2");
  one.run("CLIENT TRACKING OFF");
  EXPECT_EQ(server().parts().tracking.prefixes(), 1u);
  EXPECT_EQ(told(one), "");
  EXPECT_EQ(other.messages(), invalidated("b"));
  writer.run("MSET a 1 b 2");
  one.run("CLIENT TRACKING ON BCAST PREFIX a");
  EXPECT_EQ(told(one), "");
  EXPECT_EQ(other.messages(), invalidated("b"));
}

// ---- The table's limit ----

TEST_F(TrackingTest, ARequestDropsAsManyKeysAsItAdds) {
  writer.run("CONFIG SET tracking-table-max-keys 10");
  TestClient& client = connect3(" ");
  std::size_t messages = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string out = client.run("MGET a" + std::to_string(i) + " b" + std::to_string(i));
    EXPECT_TRUE(out.starts_with("[(nil), (nil)]")) << out;
    for (std::size_t at = 0; (at = out.find("invalidate", at)) != std::string::npos; ++at) {
      ++messages;
    }
    EXPECT_LE(table().keys(), 10u);
  }
  EXPECT_EQ(messages, 190u);
  EXPECT_EQ(table().items(), 10u);
}

TEST_F(TrackingTest, ALowerLimitIsReachedInSteps) {
  TestClient& client = connect3(" NOLOOP");
  for (int i = 0; i < 700; ++i) client.run("GET " + std::to_string(i));
  writer.run("CONFIG SET tracking-table-max-keys 1");
  for (const std::size_t left : {600u, 400u, 100u, 1u, 1u}) {
    server().before_sleep();
    EXPECT_EQ(table().keys(), left);
  }
  std::size_t messages = 0;
  const std::string out = client.messages();
  for (std::size_t at = 0; (at = out.find("invalidate", at)) != std::string::npos; ++at) ++messages;
  EXPECT_EQ(messages, 699u);
  writer.run("CONFIG SET tracking-table-max-keys 0");
  for (int i = 0; i < 700; ++i) client.run("GET " + std::to_string(i));
  sweep();
  EXPECT_EQ(table().keys(), 700u);
}

TEST_F(TrackingTest, TheLastTrackingClientTakesTheTableAlong) {
  TestClient& one = connect3(" ");
  TestClient& other = connect3(" ");
  one.run("MGET a b");
  other.run("MGET b c");
  EXPECT_EQ(table().items(), 4u);
  one.run("CLIENT TRACKING OFF");
  EXPECT_EQ(table().items(), 4u);
  other.run("RESET");
  EXPECT_EQ(table().keys(), 0u);
  one.run("CLIENT TRACKING ON");
  writer.run("MSET a 1 b 2 c 3");
  EXPECT_EQ(told(one), "");
}

// ---- Slow clients, and clients that are gone ----

TEST_F(TrackingTest, AClientThatDoesNotReadIsClosedAtItsLimit) {
  writer.run({"CONFIG", "SET", "client-output-buffer-limit", "normal 2000 0 0"});
  TestClient& slow = connect3(" BCAST");
  TestClient& quick = connect3(" BCAST");
  int messages = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(writer.run("SET key" + std::to_string(i) + " 1"), "OK");
    if (told(quick) == invalidated("key" + std::to_string(i))) ++messages;
  }
  EXPECT_EQ(messages, 200);
  EXPECT_FALSE(slow.is_connected());
  EXPECT_LT(slow.link().output_.size(), 2200u);
  EXPECT_TRUE(quick.is_connected());
}

TEST_F(TrackingTest, AReaderThatDoesNotReadIsClosedAtItsLimit) {
  writer.run({"CONFIG", "SET", "client-output-buffer-limit", "normal 2000 0 0"});
  TestClient& slow = connect3(" ");
  const auto read = [](const std::string& key) { return "GET " + key + "\r\n"; };
  std::string reads;
  for (int i = 0; i < 200; ++i) reads += read("key" + std::to_string(i));
  slow.send(reads);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(writer.run("SET key" + std::to_string(i) + " 1"), "OK");
  EXPECT_FALSE(slow.is_connected());
  EXPECT_LT(slow.link().output_.size(), 2200u);
}

TEST_F(TrackingTest, AClientThatIsGoneIsNotToldAndBreaksARedirect) {
  TestClient& target = connect3();
  TestClient& client = connect3(" REDIRECT " + std::to_string(target.client().id()));
  client.run("MGET a b");
  writer.run("SET a 1");
  EXPECT_EQ(target.messages(), invalidated("a"));
  EXPECT_EQ(target.run("QUIT"), "OK");
  writer.run("SET b 1");
  EXPECT_EQ(target.messages(), "");
  EXPECT_EQ(client.messages(), "(push) [\"tracking-redir-broken\", (integer) " +
                                   std::to_string(target.client().id()) + "]");
  EXPECT_NE(client.run("CLIENT TRACKINGINFO").find("broken_redirect"), std::string::npos);
  EXPECT_NE(client.run("CLIENT INFO").find("flags=tR "), std::string::npos);
  // Without RESP3 there is only the flag.
  TestClient& old = connect();
  old.run("CLIENT TRACKING ON REDIRECT " + std::to_string(writer.client().id()));
  EXPECT_EQ(old.run("CLIENT GETREDIR"), "(integer) " + std::to_string(writer.client().id()));
}

TEST_F(TrackingTest, AClientMayRedirectToItself) {
  const std::string self = std::to_string(writer.client().id());
  writer.run("CLIENT TRACKING ON REDIRECT " + self);
  TestClient& other = connect();
  writer.run("GET key");
  writer.run("SUBSCRIBE __redis__:invalidate");
  other.run("SET key 1");
  EXPECT_EQ(writer.messages(), R"(["message", "__redis__:invalidate", ["key"]])");
  other.run("FLUSHALL");
  EXPECT_EQ(writer.messages(), R"(["message", "__redis__:invalidate", (nil)])");
}

// ---- What else replaces data ----

TEST_F(TrackingTest, WhateverReplacesTheDataIsToldOnce) {
  TestClient& one = connect3(" ");
  TestClient& all = connect3(" BCAST PREFIX x");
  const std::string null = "(push) [\"invalidate\", (nil)]";
  for (const std::string_view request : {"FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "DEBUG RELOAD"}) {
    one.run("GET key");
    EXPECT_EQ(writer.run(request), "OK") << request;
    EXPECT_EQ(told(one), null) << request;
    EXPECT_EQ(told(all), null) << request;
    EXPECT_EQ(table().keys(), 0u);
  }
  EXPECT_EQ(one.run("FLUSHALL"), "OK " + null);
}

TEST_F(TrackingTest, EvictedKeysAreToldBeforeTheNextReply) {
  TestClient& client = connect3(" NOLOOP");
  TestClient& all = connect3(" BCAST NOLOOP");
  client.run("SETEX k 1000 v");
  client.run("GET k");
  sweep();
  all.messages();
  writer.run("CONFIG SET maxmemory-policy volatile-random");
  server().parts().config.maxmemory = 1;  // CONFIG SET would evict at once
  EXPECT_EQ(client.run("GET other"), invalidated("k") + " (nil)");
  EXPECT_EQ(told(all), invalidated("k"));
}

TEST_F(TrackingTest, ClientListShowsIt) {
  TestClient& client = connect3(" BCAST");
  EXPECT_NE(client.run("CLIENT INFO").find("flags=tB "), std::string::npos);
  EXPECT_NE(client.run("CLIENT INFO").find(" redir=0 "), std::string::npos);
  EXPECT_NE(writer.run("CLIENT INFO").find(" redir=-1 "), std::string::npos);
}

}  // namespace
}  // namespace mayfly
