// SPDX-License-Identifier: Apache-2.0
// A script that takes too much memory, time or stack gets an error, and the next one runs.

#include "lua/lua_state.h"

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_state_test {

constexpr std::size_t kSmall = std::size_t{16} << 20;

TEST(LuaMemory, ScriptThatAllocatesWithoutEndIsStopped) {
  for (const char* const code :
       {"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} while true do t[#t + 1] = {a = 1, b = {}} end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        "local t = {} while true do local c = coroutine.wrap(coroutine.yield) c() t[#t + 1] = c "
        "end",
        "return ('x'):rep(1e9)",
        "return ('x'):rep(1e9, 'y')",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(1000) end return table.concat(t)",
        "return (('x'):rep(1e5):gsub('.', ('y'):rep(1000)))",
        "return (('x'):rep(1e5):gsub('.', function() return ('y'):rep(1000) end))",
        "return (('x'):rep(1e7):upper():lower():reverse())",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "return loadstring('return {' .. ('1,'):rep(5e6) .. '}')",
        "local t = {1} for i = 1, 14 do t = {t, t, t, t, t} end return cmsgpack.pack(t)",
        "local t = {1} for i = 1, 30 do t = {t, t} end return cjson.encode(t)",
        "return cjson.encode(('\\1'):rep(5e6))",
        "return cjson.decode('[' .. ('[],'):rep(2e6))",
        "return cmsgpack.unpack('\\221\\0\\255\\255\\255' .. ('\\144'):rep(4e6))",
        "return struct.pack(('i32'):rep(2e6), 1)"}) {
    TestScript script({.memory_most = kSmall});
    const std::string result = script.run(code);
    EXPECT_TRUE(result.starts_with("error: ")) << code << ": " << result.substr(0, 100);
    EXPECT_EQ(script.run("return 'alive'"), "$5\r\nalive") << code;
    EXPECT_LT(script.state().bytes(), kSmall) << code;
  }
}

TEST(LuaMemory, ErrorSaysSo) {
  TestScript script({.memory_most = kSmall});
  EXPECT_EQ(script.run("local t = {} while true do t[#t + 1] = {} end"),
            "error: not enough memory");
  EXPECT_EQ(script.run("local t = {1} for i = 1, 30 do t = {t, t} end cjson.encode(t)"),
            "error: user_script:1: not enough memory");
}

TEST(LuaMemory, ScriptMayCatchTheErrorAndGoOn) {
  TestScript script({.memory_most = kSmall});
  EXPECT_EQ(script.run("local ok = pcall(function() local t = {} while true do t[#t + 1] = {} end "
                       "end) collectgarbage() return {tostring(ok), 1}"),
            "*2\r\n$5\r\nfalse\r\n:1");
  EXPECT_EQ(script.run("local t = {} local function fill() while true do t[#t + 1] = {} end end "
                       "return {xpcall(fill, fill)}"),
            "*2\r\n_\r\n$17\r\nnot enough memory");  // the handler fails too
}

// Else each of them would find the memory full, and collecting begins only when it doubles.
TEST(LuaMemory, IsFreeAgainForTheNextScript) {
  TestScript script({.memory_most = kSmall});
  for (int i = 0; i < 20; ++i) {
    script.run("local t = {} while true do t[#t + 1] = {} end");
    EXPECT_LT(script.state().bytes(), kSmall / 2);
    EXPECT_EQ(script.run("return #('x'):rep(1e6)"), ":1000000");
  }
}

TEST(LuaMemory, OfOurLibrariesIsGivenBackAfterAnError) {
  TestScript script;
  for (int i = 0; i < 100; ++i) {
    script.run("cjson.encode({('x'):rep(1e5), print})");
    script.run("cjson.decode('[\"' .. ('\\\\n'):rep(1e5) .. '\"')");
    script.run("cmsgpack.pack(('x'):rep(1e5), setmetatable({}, {})) cmsgpack.pack()");
    script.run("struct.pack('sz', ('x'):rep(1e5), 1)");
    script.run("(('x'):rep(1e5)):gsub('.', function(c) error('no') end)");
  }
  script.state().collect_all();
  EXPECT_LT(script.state().bytes(), 1'000'000);
}

TEST(LuaTime, ScriptIsInterrupted) {
  for (const char* const code :
       {"while true do end", "repeat until false", "for i = 1, 1e15 do end",
        "local function f() return f() end f()", "while true do pcall(error) end",
        "while true do pcall(function() while true do end end) end",
        "local function f() while true do pcall(f) end end f()",
        "while true do xpcall(function() while true do end end, function() while true do end end) "
        "end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local c = coroutine.wrap(function() while true do coroutine.yield() end end) "
        "while true do c() end",
        "setmetatable({}, {__index = function(t, k) while true do end end}).x = nil "
        "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
        "table.sort({1, 2, 3}, function() while true do end end)",
        "(('x'):rep(10)):gsub('.', function() while true do end end)",
        "while true do load(function() while true do end end) end",
        "local mt = {} mt.__tostring = tostring while true do tostring(1) end",
        "for i = 1, 1e9 do ('x'):rep(10) end"}) {
    TestScript script;
    const std::string result = script.run_killed(code);
    EXPECT_TRUE(result.ends_with("killed")) << code << ": " << result;
    EXPECT_EQ(script.run("return 1"), ":1") << code;
  }
}

// One call of these takes minutes to centuries.
TEST(LuaTime, PatternIsInterrupted) {
  for (const char* const code :
       {"return ('a'):rep(30000):find('.-.-.-.-.-b')", "return ('a'):rep(30000):match('a*a*a*a*b')",
        "return ('a'):rep(30000):gsub('a*a*a*a*b', '')",
        "for x in ('a'):rep(30000):gmatch('(a-)(a-)(a-)(a-)b') do end",
        "return ('a'):rep(100):find(('a?'):rep(100) .. ('a'):rep(100))",
        "while true do pcall(string.find, ('a'):rep(30000), '.-.-.-.-.-b') end",
        "coroutine.wrap(function() return ('a'):rep(30000):find('.-.-.-.-.-b') end)()"}) {
    TestScript script;
    const std::string result = script.run_killed(code);
    EXPECT_TRUE(result.ends_with("killed")) << code << ": " << result;
    EXPECT_EQ(script.run("return 1"), ":1") << code;
  }
}

TEST(LuaTime, HookCanLetTheScriptGoOn) {
  TestScript script;
  EXPECT_EQ(script.run_killed("local s = 0 for i = 1, 100000 do s = s + 1 end return s", 1 << 30),
            ":100000");
}

TEST(LuaStack, EndlessRecursionIsAnError) {
  for (const char* const code :
       {"local function f() return 1 + f() end return f()",
        "local function f() return (('x'):gsub('.', f)) end return f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) "
        "return (k:gsub('.', t)) end return ('x'):gsub('.', t)",
        "local function f() return coroutine.wrap(f)() end return f()",
        "local function f() local _, e = coroutine.resume(coroutine.create(f)) error(e, 0) end f()",
        "local function f(a, b) table.sort({3, 2, 1}, f) return a < b end return f(1, 2)",
        "local m = {} m.__lt = function() table.sort({setmetatable({}, m), setmetatable({}, m)}) "
        "end return setmetatable({}, m) < setmetatable({}, m)",
        "local m = {} m.__tostring = function(x) return string.format('%s', x) end "
        "return tostring(setmetatable({}, m))",
        "local m = {} m.__index = function(t, k) return t[k] .. 'x' end "
        "return setmetatable({}, m).x",
        "local m = {} m.__concat = function(a, b) return a .. b .. 'x' end "
        "return setmetatable({}, m) .. 'x'"}) {
    TestScript script({.memory_most = std::size_t{256} << 20});
    const std::string result = script.run(code);
    EXPECT_TRUE(result.find("overflow") != result.npos) << code << ": " << result.substr(0, 100);
    EXPECT_EQ(script.run("return 1"), ":1") << code;
  }
}

// A coroutine has a stack of Lua of its own, and each of them could fill the C stack anew.
TEST(LuaStack, NestedCoroutinesShareTheCStack) {
  TestScript script;
  EXPECT_EQ(script.run("local begun = 0 "
                       "local function fill() "
                       "  local function less() "
                       "    if not pcall(table.sort, {3, 2, 1}, less) and begun < 50 then "
                       "      begun = begun + 1 "
                       "      coroutine.resume(coroutine.create(fill)) "
                       "    end "
                       "    error('back') "
                       "  end "
                       "  table.sort({3, 2, 1}, less) "
                       "end "
                       "pcall(fill) return begun"),
            ":50");
}

TEST(LuaStack, DeepSourceIsAnError) {
  TestScript script;
  EXPECT_TRUE(script.run("return " + std::string(100'000, '(')).starts_with("no script: "));
  EXPECT_TRUE(script.run("return " + std::string(100'000, '{')).starts_with("no script: "));
  EXPECT_TRUE(script.run("return '\x1bLJ'").starts_with("$"));
}

}  // namespace lua_state_test
}  // namespace mayfly
