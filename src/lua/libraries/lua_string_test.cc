// SPDX-License-Identifier: Apache-2.0
// The functions that replace those of LuaJIT do the same as those of Lua 5.1.

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_string_test {

// The values of an expression, as texts.
std::string values(const std::string& expression) {
  TestScript script;
  return script.text("local t = {" + expression +
                     "} for i = 1, table.maxn(t) do t[i] = tostring(t[i]) end "
                     "return table.concat(t, ' ')");
}

TEST(StringFind, FindsPlainTexts) {
  EXPECT_EQ(values("('hello'):find('l')"), "3 3");
  EXPECT_EQ(values("('hello'):find('l', 4)"), "4 4");
  EXPECT_EQ(values("('hello'):find('x')"), "");
  EXPECT_EQ(values("('a.b'):find('.', 2, true)"), "2 2");
  EXPECT_EQ(values("('abc'):find('')"), "1 0");
  EXPECT_EQ(values("('abc'):find('', 10)"), "4 3");
  EXPECT_EQ(values("('abc'):find('c', -1)"), "3 3");
  EXPECT_EQ(values("('abcabc'):find('a', -3)"), "4 4");
  EXPECT_EQ(values("('abc'):find('a', -99)"), "1 1");
  EXPECT_EQ(values("('a\\0b'):find('\\0b')"), "2 3");
  EXPECT_EQ(values("(123):find(2)").substr(0, 6), "error:");
  EXPECT_EQ(values("string.find(123, 2)"), "2 2");
}

TEST(StringFind, MatchesPatterns) {
  EXPECT_EQ(values("('hello world'):find('(o)( )')"), "5 6 o  ");
  EXPECT_EQ(values("('key = val'):match('^(%w+)%s*=%s*(%w+)$')"), "key val");
  EXPECT_EQ(values("('  x  '):match('^%s*(.-)%s*$')"), "x");
  EXPECT_EQ(values("('aaa'):find('a-', 2)"), "2 1");
  EXPECT_EQ(values("('aaa'):match('a+')"), "aaa");
  EXPECT_EQ(values("('aaab'):match('a-b')"), "aaab");
  EXPECT_EQ(values("('ab'):match('a?b?c?')"), "ab");
  EXPECT_EQ(values("('f(a(b)c)d'):match('%b()')"), "(a(b)c)");
  EXPECT_EQ(values("('THE (quick) fox'):find('%f[%a]%a+%f[%A]', 5)"), "6 10");
  EXPECT_EQ(values("('abcabc'):match('(a)(b)c%1')"), "a b");
  EXPECT_EQ(values("('abc'):match('()b()')"), "2 3");
  EXPECT_EQ(values("('x]y'):match('[]]')"), "]");
  EXPECT_EQ(values("('x-y'):match('[x-]+')"), "x-");
  EXPECT_EQ(values("('x^y'):match('[%^y]+')"), "^y");
  EXPECT_EQ(values("('b1'):match('[^%d]')"), "b");
  EXPECT_EQ(values("('a$'):match('a$')"), "");
  EXPECT_EQ(values("('a$b'):match('a$b')"), "a$b");
  EXPECT_EQ(values("('a\\0b'):match('%z')").size(), 1U);
  EXPECT_EQ(values("('Ab1 _'):match('%u%l%d%s%p')"), "Ab1 _");
  EXPECT_EQ(values("('Ab1 _'):match('%U')"), "b");
  EXPECT_EQ(values("('g'):match('%g')"), "g") << "no class in Lua 5.1";
}

TEST(StringFind, RefusesWrongPatterns) {
  const std::string at = "error: user_script:1: ";
  EXPECT_EQ(values("('a'):find('%')"), at + "malformed pattern (ends with '%')");
  EXPECT_EQ(values("('a'):find('[a')"), at + "malformed pattern (missing ']')");
  EXPECT_EQ(values("('a'):find('[]')"), at + "malformed pattern (missing ']')");
  EXPECT_EQ(values("('a'):find('[%')"), at + "malformed pattern (missing ']')");
  EXPECT_EQ(values("('a'):find('(a')"), at + "unfinished capture");
  EXPECT_EQ(values("('a'):find('.)')"), at + "invalid pattern capture");
  EXPECT_EQ(values("('a'):find('%1')"), at + "invalid capture index");
  EXPECT_EQ(values("('a'):find('(%1)')"), at + "invalid capture index");
  EXPECT_EQ(values("('a'):find('%b(')"), at + "unbalanced pattern");
  EXPECT_EQ(values("('a'):find('%fa')"), at + "missing '[' after '%f' in pattern");
  EXPECT_EQ(values("('a'):find(('()'):rep(33))"), at + "too many captures");
  EXPECT_EQ(values("(('a'):rep(300)):find(('a?'):rep(300))"), at + "pattern too complex");
}

TEST(StringGmatch, GoesThroughAllMatches) {
  TestScript script;
  EXPECT_EQ(script.text("local s = '' for a, b in ('x=1, y=2'):gmatch('(%w+)=(%w+)') do "
                        "s = s .. a .. b .. ';' end return s"),
            "x1;y2;");
  EXPECT_EQ(script.text("local n = 0 for w in ('abc'):gmatch('') do n = n + 1 end return n"), "4");
  EXPECT_EQ(script.text("local n = 0 for w in ('^a^a'):gmatch('^a') do n = n + 1 end return n"),
            "2");
}

TEST(StringGsub, ReplacesByTextTableAndFunction) {
  EXPECT_EQ(values("('hello world'):gsub('o', '0')"), "hell0 w0rld 2");
  EXPECT_EQ(values("('hello world'):gsub('o', '0', 1)"), "hell0 world 1");
  EXPECT_EQ(values("('hello'):gsub('', '-')"), "-h-e-l-l-o- 6");
  EXPECT_EQ(values("('abc'):gsub('%w', '%0%0%%')"), "aa%bb%cc% 3");
  EXPECT_EQ(values("('x=1'):gsub('(%w)=(%w)', '%2=%1')"), "1=x 1");
  EXPECT_EQ(values("('abc'):gsub('()', '%1')"), "1a2b3c4 4");
  EXPECT_EQ(values("('$a $b'):gsub('%$(%w)', {a = 'A', b = false})"), "A $b 2");
  EXPECT_EQ(values("('abc'):gsub('%w', function(c) if c == 'b' then return 5 end end)"), "a5c 3");
  EXPECT_EQ(values("('aaa'):gsub('^a', 'b')"), "baa 1");
  EXPECT_EQ(values("('abc'):gsub('b*', '-')"), "-a--c- 4");
  EXPECT_EQ(values("('abc'):gsub('b', 'x', -1)"), "abc 0");
  EXPECT_EQ(values("('abc'):gsub('b', 7)"), "a7c 1");
}

TEST(StringGsub, RefusesWrongReplacements) {
  const std::string at = "error: user_script:1: ";
  EXPECT_EQ(values("('abc'):gsub('b', '%2')"), at + "invalid capture index");
  EXPECT_EQ(values("('abc'):gsub('b', function() return {} end)"),
            at + "invalid replacement value (a table)");
  EXPECT_EQ(values("string.gsub('abc', 'b', true)"),
            at + "bad argument #3 to 'gsub' (string/function/table expected)");
  EXPECT_EQ(values("('abc'):gsub('b', function() error('no', 0) end)"), "error: no");
}

TEST(Coroutines, PassValuesBothWays) {
  TestScript script;
  EXPECT_EQ(script.run("local c = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) "
                       "return b * 2, nil, 9 end) return {c(1), c(5)}"),
            "*2\r\n:2\r\n:10");
  EXPECT_EQ(script.run("return {coroutine.resume(coroutine.create(function(...) return select('#', "
                       "...), ... end), 1, nil, 3)}",
                       3),
            "*3\r\n#t\r\n:3\r\n:1");
}

TEST(Coroutines, ReportErrors) {
  EXPECT_EQ(values("coroutine.resume(coroutine.create(function() error('z', 0) end))"), "false z");
  TestScript script;
  EXPECT_EQ(script.run("coroutine.wrap(function() error('z', 0) end)()"),
            "error: user_script:1: z");
  EXPECT_EQ(script.run("local ok, e = pcall(coroutine.wrap(function() error({7}) end)) return e"),
            "*1\r\n:7");
  EXPECT_EQ(script.run("local c = coroutine.create(type) coroutine.resume(c, 1) "
                       "return select(2, coroutine.resume(c))"),
            "$28\r\ncannot resume dead coroutine");
  EXPECT_EQ(script.run("local c c = coroutine.create(function() return coroutine.resume(c) end) "
                       "return select(3, coroutine.resume(c))"),
            "$31\r\ncannot resume running coroutine");
  EXPECT_EQ(script.run("local a a = coroutine.create(function() return coroutine.resume("
                       "coroutine.create(function() return coroutine.resume(a) end)) end) "
                       "return select(4, coroutine.resume(a))"),
            "$30\r\ncannot resume normal coroutine");
  EXPECT_EQ(script.run("local x = coroutine.resume(1)"),
            "error: user_script:1: bad argument #1 to 'resume' (coroutine expected)");
}

TEST(StringRep, RefusesWhatIsTooLarge) {
  EXPECT_EQ(values("('ab'):rep(3), ('ab'):rep(3, '-'), ('x'):rep(2.9), ('x'):rep(1, 'yy')"),
            "ababab ab-ab-ab xx x");
  EXPECT_EQ(values("('x'):rep(0), ('x'):rep(-1e10), (''):rep(1e10), (''):rep(0 / 0)"), "   ");
  EXPECT_EQ(values("(''):rep(3, ','), ('ab'):rep('2')"), ",, abab");
  TestScript script;
  for (const char* const call : {"string.rep('x', 1e10)", "string.rep('xx', 2^31)",
                                 "string.rep('', 1e10, ',')", "string.rep('x', 1e300)"}) {
    EXPECT_EQ(script.run(std::string("local s = ") + call),
              "error: user_script:1: resulting string too large")
        << call;
  }
  EXPECT_EQ(script.run("local s = string.rep('x', {})"),
            "error: user_script:1: bad argument #2 to 'rep' (number expected, got table)");
}

TEST(StringCase, ChangesLettersOfAsciiAndTheOrder) {
  EXPECT_EQ(values("('aZ9\228'):upper(), ('AzZ'):lower(), ('abc'):reverse(), (''):reverse()"),
            "AZ9\228 azz cba ");
  TestScript script;
  EXPECT_EQ(script.run("local s = '' for i = 1, 5000 do s = s .. i end "
                       "return s:reverse():reverse() == s and s:reverse():byte() == 48 and 1"),
            ":1");
}

TEST(StringFormat, WritesAsLua) {
  EXPECT_EQ(values("('%s %d %5.2f|%-5s|%5s|'):format('a', 3, 1.005, 'b', 'c')"),
            "a 3  1.00|b    |    c|");
  EXPECT_EQ(values("('%%%c%x %X %o'):format(65, 255, 255, 8)"), "%Aff FF 10");
  EXPECT_EQ(values("('%s %s %s'):format(nil, true, 1.5)"), "nil true 1.5");
  EXPECT_EQ(values("('%.3s|%q'):format('abcdef', 'a\"\\\\\\n\\0\\0011')"),
            "abc|\"a\\\"\\\\\\\n\\0\\0011\"");
  EXPECT_EQ(values("('%s'):format(setmetatable({}, {__tostring = function() return 'me' end}))"),
            "me");
  EXPECT_EQ(values("('%d'):format('10'), ('%s'):format('a\\0b') == 'a\\0b'"), "10 true");
  TestScript script;
  EXPECT_EQ(script.run("local s = string.format('%d', 'x')"),
            "error: user_script:1: bad argument #2 to 'format' (number expected, got string)");
  EXPECT_EQ(script.run("local s = ('%y'):format(1)"),
            "error: user_script:1: invalid option '%y' to 'format'");
  EXPECT_TRUE(script.run("local s = ('%s'):format()").starts_with("error: user_script:1: bad "))
      << script.run("local s = ('%s'):format()");
}

TEST(TableFunctions, AreThoseOfLua) {
  EXPECT_EQ(values("table.concat({1, 'b', 2.5}, ', '), table.concat({}), "
                   "table.concat({1, 2, 3}, '-', 2), table.concat({1, 2, 3}, '', 1, 2)"),
            "1, b, 2.5  2-3 12");
  EXPECT_EQ(values("(function() local t = {} for i = 1, 20 do t[i] = (i * 7) % 20 end "
                   "table.sort(t) return table.concat(t, ',') end)()"),
            "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19");
  EXPECT_EQ(values("(function() local t = {'b', 'a', 'c'} "
                   "table.sort(t, function(x, y) return x > y end) return table.concat(t) end)()"),
            "cba");
  EXPECT_EQ(values("(function() local t = {} for i = 1, 3000 do t[i] = i end "
                   "table.insert(t, 2, 'new') return #t .. t[1] .. t[2] .. t[3] .. t[3001] end)()"),
            "30011new23000");
  EXPECT_EQ(values("(function() local t = {3, 1, 2} pcall(table.sort, t, error) "
                   "return table.concat(t) end)()"),
            "312")
      << "an error leaves it as it was";
  TestScript script;
  EXPECT_EQ(script.run("local s = table.concat({1, {}, 3})"),
            "error: user_script:1: invalid value (table) at index 2 in table for 'concat'");
  EXPECT_EQ(script.run("local t = {1, 'x'} table.sort(t)"),
            "error: attempt to compare string with number");
}

TEST(ToNumber, ReadsLongTexts) {
  EXPECT_EQ(values("tonumber('0x10'), tonumber(' 7 '), tonumber('ff', 16), tonumber('8', 8), "
                   "tonumber({}), tonumber('1e3'), tonumber(''), tonumber(5)"),
            "16 7 255 nil nil 1000 nil 5");
  EXPECT_EQ(values("tonumber((' '):rep(10000) .. '12' .. (' '):rep(10000)), "
                   "tonumber(('0'):rep(10000) .. '12'), tostring(tonumber(('1'):rep(2e6)))"),
            "12 12 nil");
  TestScript script;
  EXPECT_EQ(script.run("local x = tonumber()"),
            "error: user_script:1: bad argument #1 to 'tonumber' (value expected)");
  EXPECT_EQ(script.run("local x = tonumber('1', 99)"),
            "error: user_script:1: bad argument #2 to 'tonumber' (base out of range)");
}

TEST(Random, GivesTheNumbersOfValkey) {
  TestScript script;
  EXPECT_EQ(script.run("math.randomseed(0) local t = {} "
                       "for i = 1, 6 do t[i] = math.random(1e6) end "
                       "t[7] = math.random(-5, 5) return t"),
            "*7\r\n:170829\r\n:749902\r\n:96372\r\n:870466\r\n:577304\r\n:785800\r\n:2");
  EXPECT_EQ(script.run("math.randomseed(0) return math.random(2^31 - 1)"), ":366850415");
  EXPECT_EQ(script.run("local x = math.random(0)"),
            "error: user_script:1: bad argument #1 to 'random' (interval is empty)");
  EXPECT_EQ(script.run("local x = math.random(1, 2, 3)"),
            "error: user_script:1: wrong number of arguments");
}

}  // namespace lua_string_test
}  // namespace mayfly
