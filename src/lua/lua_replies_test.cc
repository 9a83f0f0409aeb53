// SPDX-License-Identifier: Apache-2.0
// Values of Lua as replies and back, by what Valkey 9.1 answers to the same scripts.

#include "lua/lua_replies.h"

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_replies_test {

using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;

// Pushes a reply and writes it again.
std::string there_and_back(std::string_view bytes, int script_protocol, int reply_protocol) {
  static TestScript script;
  lua_State* const lua = script.state().get();
  const LuaStackGuard guard(lua);
  if (!push_reply(lua, bytes)) return "refused";
  std::string out;
  Reply reply(out, reply_protocol);
  write_reply(lua, reply, script_protocol);
  return out + std::string(bytes);
}

// What a script sees of a reply.
std::string seen(std::string_view bytes, const std::string& expression) {
  TestScript script;
  lua_State* const lua = script.state().get();
  EXPECT_TRUE(push_reply(lua, bytes));
  script.state().set_global("reply");
  return script.text("return " + expression);
}

TEST(WriteReply, WritesBasicTypes) {
  TestScript script;
  EXPECT_EQ(script.run("return nil"), "_");
  EXPECT_EQ(script.run("return nil", 2, 2), "$-1");
  EXPECT_EQ(script.run("return"), "_");
  EXPECT_EQ(script.run("return true"), ":1");
  EXPECT_EQ(script.run("return false"), "_");
  EXPECT_EQ(script.run("return true", 3), "#t");
  EXPECT_EQ(script.run("return false", 3), "#f");
  EXPECT_EQ(script.run("return false", 3, 2), ":0");
  EXPECT_EQ(script.run("return 'a\\0\\r\\nb'"), "$5\r\na\0\r\nb"s);
  EXPECT_EQ(script.run("return function() end"), "_");
  EXPECT_EQ(script.run("return cjson.null"), "_");
  EXPECT_EQ(script.run("return coroutine.create(type)"), "_");
}

TEST(WriteReply, CutsNumbersOff) {
  TestScript script;
  EXPECT_EQ(script.run("return 3.99"), ":3");
  EXPECT_EQ(script.run("return -3.99"), ":-3");
  EXPECT_EQ(script.run("return 2^53"), ":9007199254740992");
  EXPECT_EQ(script.run("return -2^63"), ":-9223372036854775808");
  EXPECT_EQ(script.run("return 2^63"), ":-9223372036854775808");
  EXPECT_EQ(script.run("return 1/0"), ":-9223372036854775808");
  EXPECT_EQ(script.run("return 0/0"), ":-9223372036854775808");
}

TEST(WriteReply, ArrayEndsAtTheFirstNil) {
  TestScript script;
  EXPECT_EQ(script.run("return {}"), "*0");
  EXPECT_EQ(script.run("return {1, 'a', {2, {}}, false, 3.5}"),
            "*5\r\n:1\r\n$1\r\na\r\n*2\r\n:2\r\n*0\r\n_\r\n:3");
  EXPECT_EQ(script.run("return {1, nil, 3}"), "*1\r\n:1");
  EXPECT_EQ(script.run("return {nil, 2}"), "*0");
  EXPECT_EQ(script.run("return {a = 1, 2}"), "*1\r\n:2");
  EXPECT_EQ(script.run("return setmetatable({1}, {__index = function() return 9 end})"),
            "*1\r\n:1");
}

TEST(WriteReply, WritesMarkedTables) {
  TestScript script;
  EXPECT_EQ(script.run("return {ok = 'fine'}"), "+fine");
  EXPECT_EQ(script.run("return {ok = 'a\\r\\nb\\0c'}"), "+a  b");
  EXPECT_EQ(script.run("return {err = 'MY error\\r\\n'}"), "-MY error");
  EXPECT_EQ(script.run("return {err = 'a\\nb'}"), "-a b");
  EXPECT_EQ(script.run("return {{err = 'X'}, {ok = 'Y'}}"), "*2\r\n-X\r\n+Y");
  EXPECT_EQ(script.run("return {double = 0.1}"), ",0.1");
  EXPECT_EQ(script.run("return {double = 0.1}", 2, 2), "$3\r\n0.1");
  EXPECT_EQ(script.run("return {double = 1/0}"), ",inf");
  EXPECT_EQ(script.run("return {big_number = '123\\r\\n'}"), "(123  ");
  EXPECT_EQ(script.run("return {map = {a = 1}}"), "%1\r\n$1\r\na\r\n:1");
  EXPECT_EQ(script.run("return {map = {a = 1}}", 2, 2), "*2\r\n$1\r\na\r\n:1");
  EXPECT_EQ(script.run("return {set = {a = true}}"), "~1\r\n$1\r\na");
  EXPECT_EQ(script.run("return {map = {}}"), "%0");
  EXPECT_EQ(script.run("return {verbatim_string = {format = 'txt', string = 'a'}}"), "=5\r\ntxt:a");
  EXPECT_EQ(script.run("return {verbatim_string = {format = 'txt', string = 'a'}}", 3, 2),
            "$1\r\na");
  EXPECT_EQ(script.run("return {verbatim_string = {format = 'm', string = ''}}"), "=4\r\nm  :");
  EXPECT_EQ(script.run("return {verbatim_string = {format = 'mark', string = ''}}"), "=4\r\nmar:");
}

TEST(WriteReply, TakesOnlyRawFieldsOfTheRightType) {
  TestScript script;
  EXPECT_EQ(script.run("return {ok = 5, 1}"), "*1\r\n:1");
  EXPECT_EQ(script.run("return {err = {}}"), "*0");
  EXPECT_EQ(script.run("return {double = '1'}"), "*0");
  EXPECT_EQ(script.run("return {map = 1}"), "*0");
  EXPECT_EQ(script.run("return {verbatim_string = {format = 1, string = 'x'}, map = {}}"), "%0");
  EXPECT_EQ(script.run("return setmetatable({}, {__index = {ok = 'x'}})"), "*0");
  EXPECT_EQ(script.run("return {ok = 'ok', err = 'err', map = {}}"), "-err");
  EXPECT_EQ(script.run("return {set = {}, big_number = '1', double = 2, ok = 'ok'}"), "+ok");
  EXPECT_EQ(script.run("return {set = {}, map = {}, big_number = '1'}"), "(1");
}

TEST(WriteReply, EndsWhereTheStackOfLuaEnds) {
  TestScript script;
  const std::string out = script.run("local t = {} t[1] = t return t");
  EXPECT_TRUE(out.starts_with("*1\r\n*1\r\n*1\r\n"));
  EXPECT_TRUE(out.ends_with("-ERR reached lua stack limit"));
  EXPECT_LT(out.size(), 100'000U);
  EXPECT_TRUE(script.run("local t = {} t.map = {t} return t").find("stack limit") != out.npos);
}

TEST(WriteReply, RefusesWhatHasNoEnd) {
  TestScript script;
  for (const char* const code :
       {"local t = {} t[1] = t t[2] = t return t", "local t = {} t.map = {t, t} return t",
        "local s = ('x'):rep(1e5) local t = {} for i = 1, 100 do t[i] = s end "
        "return {t, t, t, t, t, t}"}) {
    lua_State* const lua = script.state().get();
    const LuaStackGuard guard(lua);
    ASSERT_TRUE(script.state().load(code, "@x"));
    ASSERT_EQ(lua_pcall(lua, 0, 1, 0), 0);
    std::string out = "before";
    Reply reply(out, 3);
    write_reply(lua, reply, 2, 10'000'000);
    EXPECT_EQ(out, "before-ERR the reply of the script is too large\r\n");
  }
}

TEST(WriteReply, WritesHugeArrays) {
  TestScript script;
  const std::string out = script.run("local t = {} for i = 1, 1e5 do t[i] = i end return t");
  EXPECT_TRUE(out.starts_with("*100000\r\n:1\r\n"));
  EXPECT_TRUE(out.ends_with(":100000"));
}

TEST(PushReply, ComesBackInTheProtocolOfTheScript) {
  for (const std::string_view same : {"+OK\r\n",         "-ERR no\r\n",
                                      ":12\r\n",         ":-9\r\n",
                                      "$3\r\nabc\r\n",   "$0\r\n\r\n",
                                      "*0\r\n",          "*2\r\n:1\r\n*1\r\n$1\r\na\r\n",
                                      "#t\r\n",          "#f\r\n",
                                      ",1.5\r\n",        ",inf\r\n",
                                      ",-inf\r\n",       "(12345678901234567890\r\n",
                                      "=5\r\ntxt:a\r\n", "%1\r\n$1\r\na\r\n:1\r\n",
                                      "~1\r\n:1\r\n",    "%0\r\n",
                                      "~0\r\n",          "_\r\n"}) {
    EXPECT_EQ(there_and_back(same, 3, 3), same);
  }
  EXPECT_EQ(there_and_back("$-1\r\n", 2, 2), "$-1\r\n");
  EXPECT_EQ(there_and_back("*-1\r\n", 2, 2), "$-1\r\n");
  EXPECT_EQ(there_and_back(">2\r\n:1\r\n:2\r\n", 3, 3), "*2\r\n:1\r\n:2\r\n");
  EXPECT_EQ(there_and_back("|1\r\n+a\r\n:2\r\n:1\r\n", 3, 3), ":1\r\n") << "an attribute";
  EXPECT_EQ(there_and_back(":1\r\n:2\r\n", 3, 3), ":1\r\n:2\r\n") << "takes one reply off";
}

TEST(PushReply, ScriptsSeeTheTypes) {
  EXPECT_EQ(seen("+OK\r\n", "reply.ok"), "OK");
  EXPECT_EQ(seen("-ERR no\r\n", "reply.err"), "ERR no");
  EXPECT_EQ(seen("$-1\r\n", "tostring(reply)"), "false");
  EXPECT_EQ(seen("*-1\r\n", "tostring(reply)"), "false");
  EXPECT_EQ(seen("_\r\n", "tostring(rawget(_G, 'reply'))"), "nil");
  EXPECT_EQ(seen("#t\r\n", "tostring(reply)"), "true");
  EXPECT_EQ(seen(",1.5\r\n", "tostring(reply.double)"), "1.5");
  EXPECT_EQ(seen("%1\r\n+a\r\n$1\r\nb\r\n", "type(next(reply.map))"), "table");
  EXPECT_EQ(seen("%1\r\n$1\r\na\r\n$1\r\nb\r\n", "reply.map.a"), "b");
  EXPECT_EQ(seen("~1\r\n$1\r\na\r\n", "tostring(reply.set.a)"), "true");
  EXPECT_EQ(seen("(99\r\n", "reply.big_number"), "99");
  EXPECT_EQ(seen("=5\r\ntxt:a\r\n", "reply.verbatim_string.string"), "a");
  EXPECT_EQ(seen("=5\r\ntxt:a\r\n", "reply.verbatim_string.format"), "txt");
  EXPECT_EQ(seen("*3\r\n:1\r\n_\r\n:3\r\n", "tostring(reply[2]) .. reply[3]"), "nil3");
}

TEST(PushReply, RefusesWhatIsNoReply) {
  for (const std::string_view bytes :
       {"", "+", "+OK", "+OK\r", ":\r\n", ":x\r\n", "$5\r\nabc\r\n", "$-2\r\n", "*2\r\n:1\r\n",
        "*-2\r\n", "%1\r\n:1\r\n", "=3\r\ntxt\r\n", "?\r\n", "*9223372036854775807\r\n:1\r\n",
        "$99999999999999999999\r\n", "~1\r\n"}) {
    EXPECT_EQ(there_and_back(bytes, 3, 3), "refused") << bytes;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "*1\r\n";
  EXPECT_EQ(there_and_back(deep + ":1\r\n", 3, 3), "refused");
  deep.clear();
  for (int i = 0; i < 100'000; ++i) deep += "|0\r\n";
  EXPECT_EQ(there_and_back(deep + ":1\r\n", 3, 3), "refused");
}

TEST(PushError, AddsACode) {
  TestScript script;
  lua_State* const lua = script.state().get();
  const auto pushed = [&](std::string_view text) {
    const LuaStackGuard guard(lua);
    push_error(lua, text);
    lua_getfield(lua, -1, "err");
    return std::string(text_at(lua, -1));
  };
  EXPECT_EQ(pushed("no"), "ERR no");
  EXPECT_EQ(pushed("-MY no\r\n"), "MY no");
  EXPECT_EQ(pushed("-no"), "ERR no");
  EXPECT_EQ(pushed(""), "ERR ");
}

TEST(LuaWords, ReadsTextsAndNumbers) {
  TestScript script;
  lua_State* const lua = script.state().get();
  LuaWords words;
  push_text(lua, "a\0b"s);
  for (const double number : {5.0, -0.0, 0.1, 1e15, 1e20, 4611686018427387904.0, 1.5e300, -2.5}) {
    lua_pushnumber(lua, number);
  }
  ASSERT_TRUE(words.read(lua));
  const std::vector<std::string_view> expected = {
      "a\0b"sv,   "5",   "0", "0.1", "1000000000000000", "1e+20", "4611686018427387904",
      "1.5e+300", "-2.5"};
  EXPECT_EQ(words.words(), expected);
  lua_pushboolean(lua, 1);
  EXPECT_FALSE(words.read(lua));
}

}  // namespace lua_replies_test
}  // namespace mayfly
