// SPDX-License-Identifier: Apache-2.0
// What a script cannot reach, change or leave behind.

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_sandbox_test {

constexpr std::string_view kReadonly = "Attempt to modify a readonly table";
constexpr std::string_view kMissing = "Script attempted to access nonexistent global variable";

bool fails_with(TestScript& script, const std::string& code, std::string_view text) {
  const std::string result = script.run(code);
  if (result.starts_with("error: ") && result.find(text) != result.npos) return true;
  ADD_FAILURE() << code << ": " << result;
  return false;
}

TEST(LuaSandbox, HasNoFilesProcessesAndDebugging) {
  TestScript script;
  for (const char* const name :
       {"print", "dofile", "loadfile", "require", "module", "package", "io", "debug", "jit", "ffi",
        "getfenv", "setfenv", "newproxy", "rawlen", "arg", "anything"}) {
    EXPECT_TRUE(fails_with(script, std::string("return ") + name, kMissing));
    EXPECT_EQ(script.run(std::string("return rawget(_G, '") + name + "')"), "_");
  }
  EXPECT_EQ(
      script.run("local n = 0 for k in pairs(os) do n = n + 1 end return {n, type(os.clock)}"),
      "*2\r\n:1\r\n$8\r\nfunction");
  EXPECT_EQ(script.run("return {os.execute, os.getenv, table.move, string.buffer}"), "*0");
}

TEST(LuaSandbox, LoadsNoBytecode) {
  TestScript script;
  const std::string bytecode = script.text("return string.dump(function() return 7 end)");
  ASSERT_TRUE(bytecode.starts_with("\x1bLJ"));
  EXPECT_TRUE(script.run(bytecode).starts_with("no script: "));
  EXPECT_EQ(script.text("return type(loadstring(string.dump(function() end)))"), "nil");
  EXPECT_EQ(script.text("return type(load(string.dump(function() end)))"), "nil");
  EXPECT_EQ(script.text("local d = string.dump(function() end) local i = 0 "
                        "return type(load(function() i = i + 1 return d:sub(i, i) end))"),
            "nil");
  EXPECT_EQ(script.text("return type(load(string.dump(function() end), 'x', 'b'))"), "nil");
  EXPECT_EQ(script.run("return loadstring('return 1 + 1')()"), ":2");
  EXPECT_EQ(script.run("local p = {'return ', '7'} local i = 0 "
                       "return load(function() i = i + 1 return p[i] end)()"),
            ":7");
  EXPECT_EQ(script.run("return select(2, load(function() return {} end))"),
            "$36\r\nreader function must return a string");
  EXPECT_EQ(script.run("return load('return 1 + 1', 'x', 'b', {})()"), ":2");
}

TEST(LuaSandbox, LoadedCodeHasTheSameGlobals) {
  TestScript script;
  EXPECT_TRUE(fails_with(script, "loadstring('x = 1')()", kReadonly));
  EXPECT_TRUE(fails_with(script, "return loadstring('return dofile')()", kMissing));
  EXPECT_TRUE(fails_with(script, "return load('return os.execute()', 'x', 't', {os = 1})()",
                         "attempt to call field 'execute'"));
  EXPECT_EQ(script.run("return loadstring('return _G')() == _G", 3), "#t");
}

TEST(LuaSandbox, GlobalsCannotBeWritten) {
  TestScript script;
  for (const char* const code :
       {"x = 1", "_G.x = 1", "_G['print'] = 1", "rawset(_G, 'x', 1)", "setmetatable(_G, {})",
        "setmetatable(_G, nil)", "table.insert(_G, 1)", "table.remove(_G)", "table.sort(_G)",
        "function f() end", "pcall = nil", "_G = {}", "string = nil",
        "coroutine.wrap(function() x = 1 end)()", "setmetatable({}, {__index = _G}); y = 2"}) {
    EXPECT_TRUE(fails_with(script, code, kReadonly));
  }
  EXPECT_TRUE(fails_with(script, "return x", kMissing));
  EXPECT_TRUE(fails_with(script, "return _G.x", kMissing));
}

TEST(LuaSandbox, LibrariesCannotBeWritten) {
  TestScript script;
  for (const std::string name :
       {"string", "table", "math", "coroutine", "os", "bit", "cjson", "cmsgpack", "struct"}) {
    EXPECT_TRUE(fails_with(script, name + ".x = 1", kReadonly));
    EXPECT_TRUE(fails_with(script, "rawset(" + name + ", 'x', 1)", kReadonly));
    EXPECT_TRUE(fails_with(script, "setmetatable(" + name + ", {})", kReadonly));
    EXPECT_TRUE(fails_with(script, "table.insert(" + name + ", 1)", kReadonly));
    EXPECT_TRUE(fails_with(script, "table.insert(" + name + ", 1, 1)", kReadonly));
    EXPECT_TRUE(fails_with(script, "table.remove(" + name + ")", kReadonly));
    EXPECT_TRUE(fails_with(script, "table.sort(" + name + ")", kReadonly));
    EXPECT_TRUE(fails_with(script, "getmetatable(" + name + ").__index = {}", kReadonly));
    EXPECT_TRUE(fails_with(script, "getmetatable(" + name + ").__newindex = nil", kReadonly));
    EXPECT_TRUE(fails_with(script, "rawset(getmetatable(" + name + "), '__index', 1)", kReadonly));
    EXPECT_EQ(script.run("return getmetatable(" + name + ").__index"), "_");
    EXPECT_EQ(
        script.run("local n = 0 for k, v in pairs(" + name + ") do n = n + 1 end return n > 0", 3),
        "#t");
    EXPECT_EQ(script.run("return next(" + name + ") ~= nil", 3), "#t");
  }
}

// What one script does to a metatable, the next must not see.
TEST(LuaSandbox, MetatablesOfBasicTypesAreHidden) {
  TestScript script;
  EXPECT_TRUE(fails_with(script, "getmetatable('').__index = function() return 1 end", kReadonly));
  EXPECT_TRUE(fails_with(script, "getmetatable(getmetatable('')).__index = 1", kReadonly));
  EXPECT_TRUE(fails_with(script, "rawset(getmetatable(''), '__index', 1)", kReadonly));
  EXPECT_TRUE(fails_with(script, "setmetatable(getmetatable(''), {})", kReadonly));
  EXPECT_EQ(script.run("return getmetatable(getmetatable(_G)) == getmetatable('')", 3), "#t");
  EXPECT_EQ(script.run("return rawget(getmetatable(''), '__index')"), "_");
  EXPECT_EQ(script.run("return next(getmetatable(''))"), "_");
  for (const char* const value : {"nil", "true", "1", "type", "function() end", "cjson.null",
                                  "coroutine.create(function() end)"}) {
    EXPECT_EQ(script.run("return getmetatable(" + std::string(value) + ")"), "_") << value;
  }
  EXPECT_TRUE(fails_with(script, "setmetatable('', {})", "table expected"));
  EXPECT_EQ(script.run("return ('x'):rep(2)"), "$2\r\nxx");
}

// LuaJIT knows numbers of 64 bits by themselves. They lead nowhere.
TEST(LuaSandbox, NumbersOfTheForeignInterfaceAreHarmless) {
  TestScript script;
  EXPECT_EQ(script.run("return {1LL, 2, getmetatable(1LL), tostring(1ULL + 1)}"),
            "*4\r\n_\r\n:2\r\n$3\r\nffi\r\n$4\r\n2ULL");
  for (const char* const code :
       {"return (1LL).x", "local x = 1LL x.y = 1", "local x = 1i x.re = 1", "return (1LL)()",
        "return #1LL", "return 1LL .. ''", "return getmetatable(1LL).x.y",
        "return cjson.encode(1LL)", "return setmetatable(1LL, {})", "return rawset(1LL, 1, 1)",
        "return 1LL < {}"}) {
    EXPECT_TRUE(script.run(code).starts_with("error: ")) << code;
  }
  EXPECT_EQ(
      script.run("return {tostring(1LL / 0LL), tostring(1ULL % 0ULL), (1i)[7], "
                 "cmsgpack.pack(1LL)}"),
      "*4\r\n$22\r\n-9223372036854775808LL\r\n$22\r\n9223372036854775808ULL\r\n:1\r\n$1\r\n\xC0");
  EXPECT_TRUE(fails_with(script, "return ffi", kMissing));
}

TEST(LuaSandbox, CollectorGoesOn) {
  TestScript script({.memory_most = std::size_t{16} << 20});
  EXPECT_EQ(script.run("collectgarbage('stop') collectgarbage('setpause', 100000) "
                       "collectgarbage('setstepmul', 1) "
                       "for i = 1, 3e5 do local t = {i, {}} end return collectgarbage('count') > 0",
                       3),
            "#t");
  EXPECT_TRUE(fails_with(script, "local x = collectgarbage('x')", "invalid option"));
}

TEST(LuaSandbox, TablesOfAScriptAreItsOwn) {
  TestScript script;
  EXPECT_EQ(script.run("local t = setmetatable({}, {__index = string}) t.x = 1 rawset(t, 'y', 2) "
                       "table.insert(t, 3) return {t.x, t.y, t[1], t.len('abc')}"),
            "*4\r\n:1\r\n:2\r\n:3\r\n:3");
  EXPECT_EQ(script.run("local t = {3, 1, 2} table.sort(t) return t"), "*3\r\n:1\r\n:2\r\n:3");
  EXPECT_EQ(script.run("return table.remove({1, 2})"), ":2");
}

TEST(LuaSandbox, ErrorsOfReplacedFunctionsNameThePlaceInTheScript) {
  TestScript script;
  EXPECT_EQ(script.run("\nlocal x = table.insert(nil, 1)"),
            "error: user_script:2: bad argument #1 to 'insert' (table expected, got nil)");
  EXPECT_EQ(script.run("\n\nx = 1"), "error: user_script:3: Attempt to modify a readonly table");
  EXPECT_EQ(script.run("local y = 1 + x"),
            "error: user_script:1: Script attempted to access nonexistent global variable 'x'");
}

TEST(LuaSandbox, ErrorHandlerGetsTheError) {
  TestScript script;
  EXPECT_EQ(script.run("return {select(2, xpcall(function() error('a', 0) end, function(e) "
                       "return 'got ' .. e end))}"),
            "*1\r\n$5\r\ngot a");
  EXPECT_EQ(script.run("return {select(2, xpcall(function(...) return ... end, error, 5, 6))}"),
            "*2\r\n:5\r\n:6");
  EXPECT_TRUE(fails_with(script, "xpcall(type)", "bad argument #2 to 'xpcall' (value expected)"));
}

TEST(LuaSandbox, InsecureFunctionsDoNotReachTheRealGlobals) {
  TestScript script({.insecure = true});
  EXPECT_EQ(script.run("return {getfenv() == _G, getfenv(0) == _G, getfenv(1) == _G, "
                       "getfenv(string.rep) == _G, getfenv(function() end) == _G, "
                       "getfenv(coroutine.create) == _G}",
                       3),
            "*6\r\n#t\r\n#t\r\n#t\r\n#t\r\n#t\r\n#t");
  EXPECT_EQ(script.run("local function f() return x end setfenv(f, {x = 5}) return f()"), ":5");
  EXPECT_TRUE(fails_with(script, "setfenv(0, {})", "cannot change environment"));
  EXPECT_TRUE(fails_with(script, "setfenv(string.rep, {})", "cannot change environment"));
  EXPECT_EQ(script.run("return {type(newproxy(true)), getmetatable(newproxy(true))}"),
            "*1\r\n$8\r\nuserdata");
}

TEST(LuaSandbox, EnvironmentShowsTheTableThatItIsGiven) {
  TestScript script;
  LuaState& state = script.state();
  lua_State* const lua = state.get();
  const LuaStackGuard guard(lua);
  ASSERT_TRUE(state.load("return x", "@x"));
  state.push_environment();
  lua_newtable(lua);
  lua_pushinteger(lua, 5);
  lua_setfield(lua, -2, "x");
  state.set_environment_source(-2);
  lua_setfenv(lua, -2);
  ASSERT_EQ(lua_pcall(lua, 0, 1, 0), 0);
  EXPECT_EQ(lua_tointeger(lua, -1), 5);
}

}  // namespace lua_sandbox_test
}  // namespace mayfly
