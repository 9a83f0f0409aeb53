// SPDX-License-Identifier: Apache-2.0
// Only calls that are returned get parentheses, and texts and comments are left alone.

#include "server/scripting/tail_calls.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace tail_calls_test {

TEST(TailCalls, AreInParentheses) {
  EXPECT_EQ(without_tail_calls("return redis.call('GET', KEYS[1])"),
            "return (redis.call('GET', KEYS[1]))");
  EXPECT_EQ(without_tail_calls("if x then return server.pcall(f(1), (2)) end"),
            "if x then return (server.pcall(f(1), (2))) end");
  EXPECT_EQ(without_tail_calls("return --[[why]] redis . call ( 'a' ) -- done)"),
            "return --[[why]] (redis . call ( 'a' )) -- done)");
  EXPECT_EQ(without_tail_calls("return redis.call(f(function() return redis.call('a') end))"),
            "return (redis.call(f(function() return (redis.call('a')) end)))");
  EXPECT_EQ(without_tail_calls("return redis.call('a')[1], 2"), "return (redis.call('a'))[1], 2");
}

TEST(TailCalls, OtherCodeStays) {
  for (const std::string code :
       {"", "return call('a')", "local a = redis.call('a') return a", "return f(redis.call('a'))",
        "x = 'return redis.call(1)'", "x = \"\\\"return redis.call(1)\"", "-- return redis.call(1)",
        "x = [==[ return redis.call(1) ]] ]==]", "--[[ return redis.call(1) ]] return 1",
        "return redis.sha1hex('a')", "return myredis.call(1)", "return redis.called(1)",
        "return redis.call'PING'"}) {
    EXPECT_EQ(without_tail_calls(code), code);
  }
}

TEST(TailCalls, WhatIsNoLuaStays) {
  for (const std::string code :
       {"return redis.call(", "return redis.call('a'))", "return redis.call('a') 'x",
        "return redis.call('a') --[[", "return redis.call('a') [[x", "return redis.call('a') '\\",
        ")", "return redis.call(1) ("}) {
    EXPECT_EQ(without_tail_calls(code).find("(redis"), std::string::npos) << code;
  }
}

TEST(TailCalls, LinesStay) {
  const std::string text = without_tail_calls("return\n\nredis.call(\n'a'\n)\nx");
  EXPECT_EQ(text, "return\n\n(redis.call(\n'a'\n))\nx");
}

}  // namespace tail_calls_test
}  // namespace mayfly
