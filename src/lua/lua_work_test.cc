// SPDX-License-Identifier: Apache-2.0
// Each library function whose time grows with its input gives way while it works: the hook is
// called after some steps, and can end the script.

#include "lua/lua_work.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_work_test {

// How often the hook of a script was called since it called mark().
struct Calls {
  static inline int count = 0;
  static inline int kill_at = 0;
  static inline bool is_marked = false;

  static void hook(lua_State* lua, lua_Debug*) {
    if (!is_marked || ++count != kill_at) return;
    lua_pushliteral(lua, "killed");
    lua_error(lua);
  }
  static int mark(lua_State*) {
    is_marked = true;
    return 0;
  }
};

struct Row {
  const char* prepare;
  const char* call;  // one call of a library function
};

// Some millions of bytes, elements or steps each: a hundredth of the memory limit.
constexpr Row kRows[] = {
    {"local s = ('('):rep(3000)", "s:find('%b()')"},
    {"local s = ('('):rep(300)", "s:match('.-%b()')"},
    {"local s = ('x'):rep(5e6)", "s:find('y', 1, true)"},
    {"local s, w = ('x'):rep(2e4), ('x'):rep(1e4) .. 'y'", "s:find(w, 1, true)"},
    {"local s, w = ('x'):rep(5e6), ('x'):rep(5e6) .. 'y'", "s:find(w)"},
    {"local s = ('x'):rep(5e6)", "s:find('y')"},
    {"local s, p = ('x'):rep(500), '[' .. ('y'):rep(1e4) .. ']'", "s:find(p)"},
    {"local s, p = ('x'):rep(500), '%f[' .. ('y'):rep(1e4) .. ']'", "s:find(p)"},
    {"local p = '[' .. ('y'):rep(5e6) .. ']'", "('x'):find(p)"},
    {"local p = '%f[' .. ('y'):rep(5e6) .. ']'", "('x'):find(p)"},
    {"local s = ('x'):rep(700)", "s:find('(x+)%1y')"},
    {"local s = ('x'):rep(5e6)", "s:match('x*$')"},
    {"local s = ('x'):rep(5e6)", "s:gmatch('y')()"},
    {"local s = ('x'):rep(1e6)", "s:gsub('x', 'yyyy')"},
    {"local s, r = ('x'):rep(100), ('y'):rep(1e5)", "s:gsub('x', r)"},
    {"local s, r = ('x'):rep(100), {x = ('y'):rep(1e5)}", "s:gsub('x', r)"},
    {"local s = ('x'):rep(1e6)", "s:gsub('x', tostring)"},
    {"", "('x'):rep(8e6)"},
    {"", "('xy'):rep(3e6)"},
    {"", "(''):rep(4e6, ',')"},
    {"local s = ('x'):rep(5e6)", "s:lower()"},
    {"local s = ('x'):rep(5e6)", "s:upper()"},
    {"local s = ('x'):rep(5e6)", "s:reverse()"},
    {"local s = ('x'):rep(5e6)", "string.format(s)"},
    {"local s = ('%%'):rep(4e6)", "string.format(s)"},
    {"local s = ('x'):rep(5e6)", "string.format('%s', s)"},
    {"local s = ('\\1'):rep(3e6)", "string.format('%q', s)"},
    {"local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(50) end", "table.concat(t)"},
    {"local t = {} for i = 1, 1e6 do t[i] = '' end", "table.concat(t, ', , ')"},
    {"local t = {} for i = 1, 1e5 do t[i] = -i end", "table.sort(t)"},
    {"local t = {} for i = 1, 1e5 do t[i] = -i end",
     "table.sort(t, function(a, b) return a < b end)"},
    {"local t, s = {}, ('x'):rep(1e5) for i = 1, 200 do t[i] = s .. (1000 - i) end",
     "table.sort(t)"},
    {"local t = {} for i = 1, 4e6 do t[i] = i end", "table.insert(t, 1, 0)"},
    {"", "table.insert({}, -4e6, 1)"},
    {"", "table.insert({}, '-4000000', 1)"},
    {"local t = {} for i = 1, 4e6 do t[i] = i end", "table.insert(t, '1', 0)"},
    {"local t = {} for i = 1, 4e6 do t[i] = i end", "table.remove(t, 1)"},
    {"local t = {} for i = 1, 4e6 do t[i] = i end", "table.maxn(t)"},
    {"local t = {} for i = 1, 1e6 do t[i] = i end", "table.foreach(t, math.randomseed)"},
    {"local t = {} for i = 1, 1e6 do t[i] = i end", "table.foreachi(t, math.randomseed)"},
    {"local s = (' '):rep(5e6) .. '1'", "tonumber(s)"},
    {"local s = '1' .. (' '):rep(5e6)", "tonumber(s, 16)"},
    {"local s = ('x = 1 '):rep(1e5)", "loadstring(s)"},
    {"local s = ('x = 1 '):rep(1e5)", "load(s)"},
    {"local n, s = 0, ('x = 1 '):rep(1e5)",
     "load(function() n = n + 1 return n == 1 and s or nil end)"},
    {"local t = {} for i = 1, 2e5 do t[i] = {} end", "collectgarbage()"},
    {"local s = ('x'):rep(5e6)", "cjson.encode(s)"},
    {"local s = ('\\1'):rep(1e6)", "cjson.encode(s)"},
    {"local t = {} for i = 1, 1e6 do t[i] = 1 end", "cjson.encode(t)"},
    {"local t = {1} for i = 1, 19 do t = {t, t} end", "cjson.encode(t)"},
    {"local t = {} for i = 1, 4e5 do t[-i] = 1 end", "cjson.encode(t)"},
    {"local s = '\"' .. ('x'):rep(5e6) .. '\"'", "cjson.decode(s)"},
    {"local s = '\"' .. ('\\\\n'):rep(4e6) .. '\"'", "cjson.decode(s)"},
    {"local s = '[' .. ('1,'):rep(1e6) .. '1]'", "cjson.decode(s)"},
    {"local s = (' '):rep(5e6) .. '1'", "cjson.decode(s)"},
    {"local s = ('x'):rep(5e6)", "cmsgpack.pack(s)"},
    {"local t = {} for i = 1, 2e6 do t[i] = 1 end", "cmsgpack.pack(t)"},
    {"local t = {} for i = 1, 1e6 do t[-i] = 1 end", "cmsgpack.pack(t)"},
    {"local s = cmsgpack.pack({}) .. '\\221\\0\\064\\0\\0' .. ('\\1'):rep(4194304)",
     "cmsgpack.unpack(s)"},
    {"local s = '\\221\\0\\064\\0\\0' .. ('\\1'):rep(4194304)", "cmsgpack.unpack_one(s)"},
    {"local s = '\\221\\0\\064\\0\\0' .. ('\\1'):rep(4194304)", "cmsgpack.unpack_limit(s, 1)"},
    {"local s = ('x'):rep(3e6)", "struct.pack(s)"},
    {"local s = ('x'):rep(5e6)", "struct.pack('s', s)"},
    {"local s = ('i0'):rep(1e6)", "struct.size(s)"},
    {"local s = ('x'):rep(3e6)", "struct.unpack(s, s)"},
};

class LuaWorkTest : public testing::TestWithParam<Row> {
 protected:
  LuaWorkTest() {
    lua_pushcfunction(script_.state().get(), Calls::mark);
    script_.state().set_global("mark");
  }

  std::string run(int kill_at) {
    Calls::count = 0;
    Calls::kill_at = kill_at;
    Calls::is_marked = false;
    script_.state().interrupt_every(100'000, Calls::hook);
    std::string code = GetParam().prepare;
    code += "\nmark()\nlocal result = ";
    code += GetParam().call;
    std::string result = script_.run(code);
    script_.state().interrupt_every(0, nullptr);
    return result;
  }

  TestScript script_;
};

TEST_P(LuaWorkTest, GivesWayOften) {
  const std::string result = run(INT_MAX);
  EXPECT_FALSE(result.starts_with("error")) << result.substr(0, 200);
  EXPECT_GE(Calls::count, 3) << GetParam().call;
  EXPECT_LE(script_.state().work().largest(), LuaWork::kAtOnce + 2 * LuaWork::kPiece)
      << "more steps than this were done at once: " << GetParam().call;
}

TEST_P(LuaWorkTest, CanBeEndedWhileItWorks) {
  const std::string result = run(2);
  EXPECT_EQ(Calls::count, 2) << result.substr(0, 200);
  EXPECT_EQ(script_.run("return 1"), ":1");
}

INSTANTIATE_TEST_SUITE_P(OfLibraries, LuaWorkTest, testing::ValuesIn(kRows));

// They would be read as numbers at once.
TEST(LuaWork, ALongTextIsNoNumberForAFunction) {
  TestScript script;
  for (const std::string call :
       {"string.rep('', s)", "string.find('x', 'x', s)", "string.gsub('x', 'x', '', s)",
        "string.format('%d', s)", "table.insert({}, s, 1)", "table.concat({}, '', s)",
        "table.concat({}, '', 1, s)", "math.random(s)", "math.randomseed(s)", "tonumber('1', s)",
        "struct.pack('i', s)", "struct.unpack('i', s, s)", "cmsgpack.unpack_one('x', s)",
        "cmsgpack.unpack_limit('x', s)", "cjson.encode_max_depth(s)"}) {
    const std::string result = script.run("local s = ('1'):rep(2^20 + 1) return " + call);
    EXPECT_NE(result.find("number expected, got a long string"), result.npos) << call << result;
  }
  EXPECT_EQ(script.run("return #string.rep('x', (' '):rep(1000) .. '3')"), ":3");
}

// LuaJIT fills the table anew when it grows, in one go.
TEST(LuaWork, ATableCannotHaveSoManyFieldsThatItGrowsForLong) {
  TestScript script;
  EXPECT_EQ(script.run("local t = {} for i = 1, 2^21 do t[-i] = 1 end return t[-2^21]"), ":1");
  EXPECT_EQ(script.run("local t = {} for i = 1, 2^21 + 1 do t[-i] = 1 end return 1"),
            "error: not enough memory");
  EXPECT_EQ(script.run("local t = {} for i = 1, 2^21 + 1 do t[i] = 1 end return #t"), ":2097153");
  EXPECT_EQ(script.run("return #('x'):rep(24 * 2^22)"), ":100663296");
}

// Code may be large or slow to compile.
TEST(LuaWork, CompilingGivesWay) {
  LuaState state;
  Calls::count = 0;
  Calls::is_marked = true;
  std::string code;
  for (int i = 0; i < 200'000; ++i) code += "x = 1 ";
  Calls::kill_at = INT_MAX;
  state.interrupt_every(INT_MAX, Calls::hook);
  EXPECT_TRUE(state.load(code, "@code").ok());
  EXPECT_GE(Calls::count, 3);
  EXPECT_LE(state.work().largest(), LuaWork::kAtOnce + 2 * LuaWork::kPiece);
  Calls::count = 0;
  Calls::kill_at = 2;
  const Status killed = state.load(code, "@code");
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().message, "killed");
  Calls::kill_at = INT_MAX;
  EXPECT_TRUE(state.load("return 1", "@code").ok());
}

// A handler of signals sets this while a function works.
TEST(LuaWork, GivesWayAtOnceWhenAnAlarmHasRung) {
  TestScript script;
  Calls::count = 0;
  Calls::kill_at = INT_MAX;
  Calls::is_marked = true;
  script.state().interrupt_every(INT_MAX, [](lua_State* lua, lua_Debug* event) {
    LuaWork::of(lua).set_due(false);
    Calls::hook(lua, event);
  });
  script.state().work().set_due(true);
  EXPECT_EQ(script.run("return (('x'):lower())"), "$1\r\nx");
  EXPECT_EQ(Calls::count, 1);
}

TEST(LuaWork, MemoryOfALargeValueIsPreparedInPieces) {
  static int pauses = 0;
  static bool goes_on = true;
  TestScript script;
  script.state().work().set_due(true);
  script.state().set_pause([](void*) { return ++pauses, goes_on; }, nullptr);
  EXPECT_EQ(script.run("return #(('x'):rep(2^25))"), ":33554432");
  EXPECT_GE(pauses, 8);
  pauses = 0;
  goes_on = false;
  EXPECT_EQ(script.run("return #(('y'):rep(2^25))"), "error: user_script:1: not enough memory");
  EXPECT_EQ(pauses, 1) << "a smaller block is refused as well";
  EXPECT_EQ(script.run("return 1"), ":1");
}

}  // namespace lua_work_test
}  // namespace mayfly
