// SPDX-License-Identifier: Apache-2.0
// Guessing passwords: the rate, the waits, and the lines of the log.

#include "server/login/login_attempts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace login_attempts_test {

using namespace std::chrono_literals;

constexpr const char* kWrong =
    "(error) WRONGPASS invalid username-password pair or user is disabled.";

Config with_password() {
  Config config;
  config.requirepass = "secret";
  return config;
}

class LoginAttemptsTest : public testing::Test, protected ServerFixture {
 protected:
  LoginAttemptsTest() : ServerFixture(with_password()) {}

  // A turn of the loop, and what resumed links had left.
  std::string turn(TestClient& client) {
    sweep();
    return client.resume();
  }
  std::vector<std::string> failures() const {
    std::vector<std::string> found;
    std::ranges::copy_if(lines, std::back_inserter(found), [](const std::string& line) {
      return line.find("Failed logins") != line.npos;
    });
    return found;
  }
  void take_tokens(TestClient& client) {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(client.run("AUTH wrong"), kWrong) << i;
  }
};

TEST_F(LoginAttemptsTest, WaitForASecondWhenManyHaveFailed) {
  TestClient& client = connect();
  take_tokens(client);
  EXPECT_EQ(client.run("AUTH secret"), "");  // it waits, though it is right
  advance(999ms);
  EXPECT_EQ(turn(client), "");
  advance(1ms);
  EXPECT_EQ(turn(client), "+OK\r\n");
}

TEST_F(LoginAttemptsTest, AreBoundedForOneConnection) {
  TestClient& client = connect();
  take_tokens(client);
  std::size_t guesses = 0;
  for (int i = 0; i < 1000; ++i) {  // 10 s
    std::string replies = client.link().paused() ? turn(client) : client.send("AUTH wrong\r\n");
    guesses += replies.empty() ? 0 : 1;
    advance(10ms);
  }
  EXPECT_LE(guesses, 120u);
  EXPECT_GE(guesses, 10u);
}

TEST_F(LoginAttemptsTest, WaitByHelloToo) {
  TestClient& client = connect();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.run("HELLO 3 AUTH default wrong"), kWrong);
  EXPECT_EQ(client.run("HELLO 3 AUTH default secret"), "");
  EXPECT_EQ(turn(client), "");
  advance(1s);
  EXPECT_NE(turn(client).find("proto"), std::string::npos);
  EXPECT_EQ(connect().run("HELLO 3").substr(0, 14), "(error) NOAUTH");  // no login: not delayed
}

TEST_F(LoginAttemptsTest, OthersAreNotSlowedDown) {
  take_tokens(connect("10.0.0.1:1"));
  EXPECT_EQ(connect("10.0.0.2:1").run("AUTH secret"), "OK");
  TestClient& same = connect("10.0.0.1:2");
  EXPECT_EQ(same.run("AUTH secret"), "");
  advance(1s);
  EXPECT_EQ(turn(same), "+OK\r\n");
}

TEST_F(LoginAttemptsTest, AreLookedAtEvenIfOthersTakeAllTokens) {
  TestClient& attacker = connect("10.0.0.1:1");
  take_tokens(attacker);
  TestClient& client = connect("10.0.0.1:2");
  EXPECT_EQ(client.run("AUTH secret"), "");
  advance(1s);
  for (int i = 0; i < 20; ++i)
    server().parts().clients.attempts().failed("10.0.0.1:1", "a", wall().now());
  EXPECT_EQ(turn(client), "+OK\r\n");
}

TEST_F(LoginAttemptsTest, CannotBeQueuedToAvoidTheWait) {
  TestClient& client = connect();
  client.run("AUTH secret");
  client.run("MULTI");
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.run("AUTH wrong"), "QUEUED");
  const std::string replies = client.run("EXEC");
  std::size_t looked_at = 0;
  for (std::size_t at = replies.find("WRONGPASS"); at != replies.npos;
       at = replies.find("WRONGPASS", at + 1)) {
    ++looked_at;
  }
  EXPECT_EQ(looked_at, 100u);
}

TEST_F(LoginAttemptsTest, AreSharedByANetworkOfIpv6) {
  EXPECT_EQ(network_of("10.0.0.1:99"), "10.0.0.1");
  EXPECT_EQ(network_of("[2001:db8:1:2:3:4:5:6]:99"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("[2001:db8:1:2:ffff::]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("[::ffff:10.0.0.1]:99"), "10.0.0.1");
  EXPECT_EQ(network_of("[::1]:99"), "::1");
  EXPECT_EQ(network_of("/tmp/a.sock:0"), "/tmp/a.sock");
  take_tokens(connect("[2001:db8:1:2::1]:1"));
  EXPECT_EQ(connect("[2001:db8:1:2::2]:1").run("AUTH secret"), "");
  EXPECT_EQ(connect("[2001:db8:1:3::2]:1").run("AUTH secret"), "OK");
}

TEST_F(LoginAttemptsTest, HaveALineInTheLogEveryTenSeconds) {
  TestClient& client = connect("10.0.0.1:1");
  for (int i = 0; i < 5; ++i) client.run("AUTH eve\\x wrong");
  ASSERT_EQ(failures().size(), 1u);
  EXPECT_EQ(failures()[0], "Failed logins from 10.0.0.1: 1 (last user (redacted))");
  connect("10.0.0.2:1").run("AUTH wrong");
  EXPECT_EQ(failures().size(), 2u);
  server().parts().config.hide_user_data_from_log = false;
  client.run({"AUTH", "a\r\nb\x1b", "wrong"});
  advance(9900ms);
  sweep();
  EXPECT_EQ(failures().size(), 2u);
  advance(100ms);
  sweep();
  ASSERT_EQ(failures().size(), 3u);
  EXPECT_EQ(failures()[2], "Failed logins from 10.0.0.1: 5 (last user a\\x0d\\x0ab\\x1b)");
  advance(100s);
  sweep();
  EXPECT_EQ(failures().size(), 3u);
  EXPECT_EQ(server().parts().clients.attempts().size(), 0u);  // forgotten
  TestClient& known = connect();
  known.run("AUTH secret");
  EXPECT_NE(known.run("INFO stats").find("acl_access_denied_auth:7"), std::string::npos);
}

TEST_F(LoginAttemptsTest, RememberABoundedNumberOfAddresses) {
  LoginAttempts& attempts = server().parts().clients.attempts();
  for (int i = 0; i < 3; ++i) attempts.failed("10.9.9.9:1", "a", wall().now());
  for (std::size_t i = 0; i < 2 * LoginAttempts::kAddressesMost; ++i) {
    attempts.failed("host" + std::to_string(i) + ":1", "a", wall().now());
  }
  EXPECT_EQ(attempts.size(), LoginAttempts::kAddressesMost);
}

}  // namespace login_attempts_test
}  // namespace mayfly
