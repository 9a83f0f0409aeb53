// SPDX-License-Identifier: Apache-2.0
// Addresses of servers, as people write them.
#include "tools/server_address.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace server_address_test {

ServerAddress parsed(std::string_view text) {
  const Result<ServerAddress> address = parse_server_address(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message);
  return address ? *address : ServerAddress();
}

std::string refusal(std::string_view text) {
  const Result<ServerAddress> address = parse_server_address(text);
  return address ? "taken: " + address->text() : address.error().message;
}

TEST(ServerAddress, WhatIsLeftOutIsThisMachineAndTheUsualPort) {
  EXPECT_EQ(parsed("redis://").text(), "redis://127.0.0.1:6379/0");
  EXPECT_EQ(parsed("redis://db.example").text(), "redis://db.example:6379/0");
  EXPECT_EQ(parsed("valkey://db.example:7000/3").text(), "redis://db.example:7000/3");
  EXPECT_EQ(parsed("redis://:7000/").text(), "redis://127.0.0.1:7000/0");
  EXPECT_EQ(parsed("db.example:7000").text(), "redis://db.example:7000/0");
  EXPECT_EQ(parsed("redis://[::1]:7000/2").text(), "redis://[::1]:7000/2");
}

TEST(ServerAddress, UserAndPasswordAreDecodedAndNeverShown) {
  const ServerAddress both = parsed("redis://anna:p%40ss%2Fw:rd@host:1/2");
  EXPECT_EQ(both.user, "anna");
  EXPECT_EQ(both.password, "p@ss/w:rd");
  EXPECT_EQ(both.text(), "redis://host:1/2");
  EXPECT_EQ(parsed("redis://:secret@host").password, "secret");
  EXPECT_EQ(parsed("redis://:se@cret@host").password, "se@cret");
  EXPECT_EQ(refusal("redis://:secret@host:port").find("secret"), std::string::npos);
}

TEST(ServerAddress, ASocketOfThisMachineIsAPath) {
  EXPECT_EQ(parsed("unix:///run/valkey.sock?db=3").text(), "unix:///run/valkey.sock?db=3");
  EXPECT_EQ(parsed("unix:///run/valkey.sock").path, "/run/valkey.sock");
  EXPECT_EQ(parsed("unix://:pw@/run/v.sock").password, "pw");
}

TEST(ServerAddress, SaysWhatIsWrong) {
  EXPECT_NE(refusal("redis://host:99999").find("'99999'"), std::string::npos);
  EXPECT_NE(refusal("redis://host:1/x").find("the database: 'x'"), std::string::npos);
  EXPECT_NE(refusal("redis://user@host").find("no password"), std::string::npos);
  EXPECT_NE(refusal("http://host").find("'http://'"), std::string::npos);
  EXPECT_NE(refusal("rediss://host").find("TLS"), std::string::npos);
  EXPECT_NE(refusal("redis://:%4@host").find("hexadecimal"), std::string::npos);
  EXPECT_NE(refusal("redis://::1").find("[::1]"), std::string::npos);
  EXPECT_NE(refusal("unix://run/x").find("unix:///path"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
}

}  // namespace server_address_test
}  // namespace mayfly
