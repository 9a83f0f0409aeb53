// SPDX-License-Identifier: Apache-2.0
// What clients may cost before they have logged in.

#include "server/login/strangers.h"

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace strangers_test {

using namespace std::chrono_literals;

Config with_password() {
  Config config;
  config.requirepass = "secret";
  return config;
}

class StrangersTest : public testing::Test, protected ServerFixture {
 protected:
  StrangersTest() : ServerFixture(with_password()) {}

  const Strangers& strangers() { return server().parts().clients.strangers(); }
  std::size_t clients() { return server().parts().clients.all().size(); }

  // What the loop does when a link is closed by us.
  void reap(TestClient& client) { client.end(); }

  std::string pings(std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += "*1\r\n$4\r\nPING\r\n";
    return bytes;
  }
};

TEST_F(StrangersTest, AreClosedAboveSixteenKilobytesOfOutput) {
  TestClient& stranger = connect();
  arrive(stranger.link(), &stranger.client(), pings(400));  // 34 bytes each come back
  EXPECT_TRUE(stranger.is_connected());
  EXPECT_EQ(stranger.link().output_.size(), 400u * 34);
  EXPECT_LE(stranger.link().output_capacity(), Strangers::kOutputMost);
  arrive(stranger.link(), &stranger.client(), pings(1'000'000));
  EXPECT_FALSE(stranger.is_connected());
  EXPECT_LE(stranger.link().output_.size(), Strangers::kOutputMost + 34);
  EXPECT_EQ(stranger.client().info.commands, 0u);
  EXPECT_EQ(strangers().size(), 0u);
  EXPECT_EQ(strangers().memory(), 0u);
}

TEST_F(StrangersTest, AreServedOnAndOnIfTheyRead) {
  TestClient& stranger = connect();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stranger.send(pings(400)).size(), 400u * 34) << i;
  EXPECT_TRUE(stranger.is_connected());
}

TEST_F(StrangersTest, GetNothingIfTheReplyListIsEnforced) {
  TestClient& known = connect();
  known.run("AUTH secret");
  TestClient& once = connect();
  once.run("AUTH secret");
  once.run("RESET");
  EXPECT_EQ(known.run("DEBUG CLIENT-ENFORCE-REPLY-LIST 1"), "OK");
  EXPECT_EQ(once.run("GET a"), "(error) NOAUTH Authentication required.");
  EXPECT_TRUE(once.is_connected());
  TestClient& stranger = connect();
  stranger.run("GET a");
  EXPECT_FALSE(stranger.is_connected());
  EXPECT_EQ(known.run("DEBUG CLIENT-ENFORCE-REPLY-LIST 0"), "OK");
  EXPECT_EQ(connect().run("GET a"), "(error) NOAUTH Authentication required.");
}

TEST_F(StrangersTest, WhoWasLoggedInOnceHasNoSuchLimits) {
  TestClient& once = connect();
  EXPECT_EQ(once.run("AUTH secret"), "OK");
  EXPECT_EQ(once.run("RESET"), "RESET");
  arrive(once.link(), &once.client(), pings(4000));
  EXPECT_TRUE(once.is_connected());
  advance(61s);
  sweep();
  EXPECT_TRUE(once.is_connected());
}

TEST_F(StrangersTest, KeepInputOfOneRequestAtMost) {
  TestClient& stranger = connect();
  const std::string word = "$16384\r\n" + std::string(16384, 'a') + "\r\n";
  std::string request = "*10\r\n";
  for (int i = 0; i < 9; ++i) request += word;
  arrive(stranger.link(), &stranger.client(), request);
  EXPECT_TRUE(stranger.is_connected());
  EXPECT_GT(strangers().memory(), 9u * 16384);
  EXPECT_LE(stranger.link().input_.capacity(), Strangers::kInputMost);
  arrive(stranger.link(), &stranger.client(), "$16384\r\n");
  EXPECT_LE(stranger.link().input_.capacity(), Strangers::kInputMost);
}

// Each of them ends in the middle: of a word, of a length, of the words that were announced.
TEST_F(StrangersTest, KeepAtMostTheirInputWhereverARequestEnds) {
  const std::string word = "$16384\r\n" + std::string(16384, 'a') + "\r\n";
  std::string nine = "*10\r\n";
  for (int i = 0; i < 9; ++i) nine += word;
  const std::string length = "$" + std::string(60'000, '0');
  for (const std::string& end :
       {"$16384\r\n" + std::string(16000, 'a'), length, "$16000\r\n" + std::string(15'900, 'a')}) {
    const std::string request = nine + end;
    for (const std::size_t step : {std::size_t{1000}, std::size_t{16'384}, request.size()}) {
      TestClient& stranger = connect();
      for (std::size_t at = 0; at < request.size() && stranger.is_connected(); at += step) {
        arrive(stranger.link(), &stranger.client(), request.substr(at, step));
        EXPECT_LE(stranger.link().input_.capacity(), Strangers::kInputMost);
        EXPECT_LE(stranger.link().input_.size(), Strangers::kInputMost);
      }
      stranger.end();
    }
  }
}

TEST_F(StrangersTest, InlineRequestsAreBoundedToo) {
  TestClient& stranger = connect();
  arrive(stranger.link(), &stranger.client(), std::string(70'000, 'x'));
  EXPECT_FALSE(stranger.is_connected());
}

TEST_F(StrangersTest, HaveAMinuteToLogIn) {
  TestClient& stranger = connect();
  TestClient& known = connect();
  EXPECT_EQ(known.run("AUTH secret"), "OK");
  advance(59s);
  sweep();
  EXPECT_TRUE(stranger.is_connected());
  EXPECT_EQ(stranger.run("PING"), "(error) NOAUTH Authentication required.");  // does not help
  advance(1s);
  sweep();
  EXPECT_FALSE(stranger.is_connected());
  EXPECT_TRUE(known.is_connected());
  EXPECT_EQ(known.run("CONFIG SET auth-timeout 0"), "OK");
  TestClient& other = connect();
  advance(24h);
  sweep();
  EXPECT_TRUE(other.is_connected());
}

TEST_F(StrangersTest, TakeSixteenMegabytesTogetherAndTheLargestGoFirst) {
  TestClient& small = connect();
  arrive(small.link(), &small.client(), "*2\r\n$4\r\nAUTH\r\n$6\r\n");
  std::string part = "*10\r\n";
  for (int i = 0; i < 8; ++i) part += "$16384\r\n" + std::string(16384, 'a') + "\r\n";
  std::size_t open = 0;
  std::vector<TestClient*> large;
  for (int i = 0; i < 300; ++i) {
    large.push_back(&connect("10.0.0.1:" + std::to_string(1000 + i)));
    arrive(large.back()->link(), &large.back()->client(), part);
    EXPECT_LE(strangers().memory(), Strangers::kMemoryMost);
  }
  for (TestClient* const each : large) open += each->is_connected() ? 1 : 0;
  EXPECT_LT(open, 130u);
  EXPECT_GT(open, 90u);
  EXPECT_EQ(small.send("secret\r\n"), "+OK\r\n");
  EXPECT_EQ(strangers().size(), open);
}

// Many small ones: those that connect next must not cost a look at each of the others.
TEST_F(StrangersTest, RoomIsMadeForManyAtOnce) {
  const std::string part = "*10\r\n$16384\r\n" + std::string(8000, 'a');
  std::size_t count = 0;
  const auto come = [&] {
    TestClient& stranger = connect("10.0.0.1:" + std::to_string(1000 + count++));
    arrive(stranger.link(), &stranger.client(), part);
  };
  while (strangers().looks_at_all() == 0) come();
  const std::uint64_t before = strangers().looks_at_all();
  for (int i = 0; i < 1000; ++i) come();
  EXPECT_LT(strangers().looks_at_all(), before + 12);
  EXPECT_LE(strangers().memory(), Strangers::kMemoryMost);
}

TEST_F(StrangersTest, MakeRoomAtMaxclients) {
  TestClient& known = connect();
  EXPECT_EQ(known.run("AUTH secret"), "OK");
  EXPECT_EQ(known.run("CONFIG SET maxclients 3"), "OK");
  TestClient& first = connect();
  TestClient& second = connect();
  TestClient& third = connect();  // within the same turn of the loop
  TestClient& fourth = connect();
  EXPECT_FALSE(first.is_connected());
  EXPECT_FALSE(second.is_connected());
  EXPECT_TRUE(third.is_connected());
  EXPECT_EQ(third.run("AUTH secret"), "OK");
  EXPECT_EQ(fourth.run("AUTH secret"), "OK");
  reap(first);
  reap(second);
  EXPECT_EQ(clients(), 3u);
  TestClient& refused = connect();  // all three have logged in
  EXPECT_FALSE(refused.is_connected());
  reap(third);
  EXPECT_TRUE(connect().is_connected());
}

TEST_F(StrangersTest, AreNoneAnyMoreWhenThePasswordIsRemoved) {
  TestClient& known = connect();
  EXPECT_EQ(known.run("AUTH secret"), "OK");
  TestClient& stranger = connect();
  EXPECT_EQ(strangers().size(), 1u);
  EXPECT_EQ(known.run({"CONFIG", "SET", "requirepass", ""}), "OK");
  EXPECT_EQ(strangers().size(), 0u);
  EXPECT_EQ(stranger.run("PING"), "PONG");
}

}  // namespace strangers_test
}  // namespace mayfly
