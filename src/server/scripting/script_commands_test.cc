// SPDX-License-Identifier: Apache-2.0
// EVAL and EVALSHA, the scripts that are kept, replies and errors.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lua/sha1.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace script_commands_test {

class ScriptCommandsTest : public testing::Test, protected ServerFixture {
 protected:
  std::string eval(const std::string& code, const std::vector<std::string>& words = {"0"}) {
    return run("EVAL", code, words);
  }
  std::string run(const std::string& command, const std::string& first,
                  const std::vector<std::string>& words) {
    std::vector<std::string> all = {command, first};
    all.insert(all.end(), words.begin(), words.end());
    return client.run(all);
  }
  std::string load(const std::string& code) { return client.run({"SCRIPT", "LOAD", code}); }
  bool exists(const std::string& code) {
    return client.run("SCRIPT EXISTS " + sha1_hex(code)) == "[(integer) 1]";
  }
  std::string info_of(const std::string& field) {
    const std::string text = client.run("INFO everything");
    const std::size_t at = text.find(field + ":");
    if (at == std::string::npos) return "none";
    const std::size_t begin = at + field.size() + 1;
    return text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
  }
  static std::string numbered(int number) { return "return " + std::to_string(number); }

  TestClient& client = connect();
  TestClient& other = connect();
};

// ---- Arguments ----

TEST_F(ScriptCommandsTest, KeysAndArgumentsAreApart) {
  EXPECT_EQ(eval("return {KEYS[1], KEYS[2], #KEYS, ARGV[1], #ARGV}", {"2", "a", "b", "c"}),
            R"(["a", "b", (integer) 2, "c", (integer) 1])");
  EXPECT_EQ(eval("return {#KEYS, #ARGV, ARGV[1]}", {"0", std::string("\0\r\n", 3)}),
            R"([(integer) 0, (integer) 1, "\x00\r\n"])");
}

TEST_F(ScriptCommandsTest, NumberOfKeysIsChecked) {
  EXPECT_EQ(eval("return 1", {"x"}), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(eval("return 1", {"-1"}), "(error) ERR Number of keys can't be negative");
  EXPECT_EQ(eval("return 1", {"1"}),
            "(error) ERR Number of keys can't be greater than number of args");
  EXPECT_EQ(eval("return 1", {"9223372036854775807"}),
            "(error) ERR Number of keys can't be greater than number of args");
  EXPECT_FALSE(exists("return 1"));  // it was never compiled
  EXPECT_EQ(client.run("EVAL x"), "(error) ERR wrong number of arguments for 'eval' command");
}

TEST_F(ScriptCommandsTest, NothingOfAScriptIsSeenByTheNext) {
  eval("return 1", {"1", "secret key", "secret value"});
  EXPECT_EQ(eval("return {#KEYS, #ARGV, tostring(KEYS[1]), tostring(ARGV[1])}"),
            R"([(integer) 0, (integer) 0, "nil", "nil"])");
  EXPECT_TRUE(eval("leak = 1").starts_with("(error) ERR "));
  EXPECT_TRUE(eval("return leak").starts_with("(error) ERR "));
  eval("KEYS[5] = 'x' ARGV.y = 'y'");
  EXPECT_EQ(eval("return {tostring(KEYS[5]), tostring(ARGV.y)}"), R"(["nil", "nil"])");
  EXPECT_TRUE(eval("string.leak = 1").starts_with("(error) ERR "));
  eval("redis.setresp(3) redis.set_repl(redis.REPL_NONE)");
  client.run("HSET h f v");
  EXPECT_EQ(eval("return redis.call('HGETALL', 'h')[1]"), "\"f\"");  // an array: RESP2 again
}

// ---- The scripts that are kept ----

TEST_F(ScriptCommandsTest, DigestsAreOfAnyCase) {
  const std::string code = "return ARGV[1]";
  std::string digest = sha1_hex(code);
  EXPECT_EQ(run("EVALSHA", digest, {"0", "x"}),
            "(error) NOSCRIPT No matching script. Please use EVAL.");
  EXPECT_EQ(eval(code, {"0", "x"}), "\"x\"");
  EXPECT_EQ(run("EVALSHA", digest, {"0", "y"}), "\"y\"");
  for (char& c : digest) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(run("EVALSHA", digest, {"0", "z"}), "\"z\"");
  EXPECT_EQ(run("EVALSHA_RO", digest, {"0", "z"}), "\"z\"");
  EXPECT_EQ(run("EVALSHA", digest.substr(1), {"0"}),
            "(error) NOSCRIPT No matching script. Please use EVAL.");
}

TEST_F(ScriptCommandsTest, LoadShowExistsAndFlush) {
  EXPECT_EQ(load("return 7"), "\"" + sha1_hex("return 7") + "\"");
  EXPECT_EQ(client.run("SCRIPT EXISTS x " + sha1_hex("return 7")), "[(integer) 0, (integer) 1]");
  EXPECT_EQ(client.run("SCRIPT SHOW " + sha1_hex("return 7")), "\"return 7\"");
  EXPECT_EQ(client.run("SCRIPT SHOW " + sha1_hex("return 8")),
            "(error) NOSCRIPT No matching script. Please use EVAL.");
  EXPECT_EQ(client.run("SCRIPT FLUSH NOW"),
            "(error) ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  EXPECT_TRUE(exists("return 7"));
  for (const std::string flush : {"SCRIPT FLUSH", "SCRIPT FLUSH SYNC", "SCRIPT FLUSH async"}) {
    load("return 7");
    EXPECT_EQ(client.run(flush), "OK");
    EXPECT_FALSE(exists("return 7"));
    EXPECT_EQ(info_of("number_of_cached_scripts"), "0");
  }
  EXPECT_EQ(eval("return 7"), "(integer) 7");
  EXPECT_EQ(client.run("SCRIPT KILL"), "(error) NOTBUSY No scripts in execution right now.");
  EXPECT_EQ(client.run("SCRIPT DEBUG NO"), "OK");
}

TEST_F(ScriptCommandsTest, WhatCannotBeCompiledIsNotKept) {
  EXPECT_TRUE(
      load("return (")
          .starts_with("(error) ERR Error compiling script (new function): user_script:1: "));
  EXPECT_TRUE(
      eval("return (")
          .starts_with("(error) ERR Error compiling script (new function): user_script:1: "));
  EXPECT_TRUE(eval("\x1bLJ\x02").starts_with("(error) ERR Error compiling script"));  // bytecode
  EXPECT_EQ(info_of("number_of_cached_scripts"), "0");
  EXPECT_EQ(eval("#!lua flags=x\nreturn 1"), "(error) ERR Unexpected flag in script shebang: x");
  EXPECT_EQ(eval("#!pascal\nreturn 1"), "(error) ERR Could not find scripting engine 'pascal'");
  EXPECT_EQ(eval("#!lua name=x\nreturn 1"), "(error) ERR Unknown lua shebang option: name=x");
  EXPECT_EQ(eval("#!lua"), "(error) ERR Invalid script shebang");
  EXPECT_EQ(info_of("number_of_cached_scripts"), "0");
  EXPECT_EQ(eval("#!lua flags=\nreturn 1"), "(integer) 1");
}

TEST_F(ScriptCommandsTest, EvalKeepsFiveHundredAndTheOldestGoes) {
  for (int i = 0; i < 500; ++i) eval(numbered(i));
  EXPECT_EQ(info_of("number_of_cached_scripts"), "500");
  EXPECT_EQ(info_of("evicted_scripts"), "0");
  eval(numbered(0));  // used: it stays
  eval(numbered(500));
  EXPECT_TRUE(exists(numbered(0)));
  EXPECT_FALSE(exists(numbered(1)));
  EXPECT_EQ(info_of("number_of_cached_scripts"), "500");
  EXPECT_EQ(info_of("evicted_scripts"), "1");
  EXPECT_EQ(run("EVALSHA", sha1_hex(numbered(2)), {"0"}), "(integer) 2");
  eval(numbered(501));
  EXPECT_TRUE(exists(numbered(2)));
  EXPECT_FALSE(exists(numbered(3)));
}

TEST_F(ScriptCommandsTest, WhatIsLoadedStays) {
  load(numbered(1'000));
  eval(numbered(1'001));
  load(numbered(1'001));  // by EVAL before: from now on it stays
  load(numbered(1'001));
  eval(numbered(1'000));
  for (int i = 0; i < 1'000; ++i) eval(numbered(i));
  EXPECT_TRUE(exists(numbered(1'000)));
  EXPECT_TRUE(exists(numbered(1'001)));
  EXPECT_EQ(info_of("number_of_cached_scripts"), "502");
  EXPECT_EQ(info_of("evicted_scripts"), "500");
  client.run("SCRIPT FLUSH");
  EXPECT_EQ(info_of("used_memory_scripts_eval"), "0");
}

TEST_F(ScriptCommandsTest, ManyScriptsTakeNoMoreMemory) {
  const auto bytes = [&] { return std::stoul(info_of("used_memory_vm_eval")); };
  const std::string text(2'000, 'x');
  const auto run_some = [&](int from, int to) {
    for (int i = from; i < to; ++i) eval("return '" + text + std::to_string(i) + "'");
  };
  run_some(0, 2'000);
  const std::size_t before = bytes();
  run_some(2'000, 8'000);
  EXPECT_LT(bytes(), before + before / 2);
  EXPECT_EQ(info_of("number_of_cached_scripts"), "500");
}

// ---- Replies ----

TEST_F(ScriptCommandsTest, RepliesInBothProtocols) {
  const std::string code =
      "redis.setresp(3) return {1.9, -1.9, 'x', false, true, {ok = 'fine'}, {err = 'MY error'},"
      "{double = 1.5}, {map = {a = 1}}, {set = {b = true}}, {big_number = '123'},"
      "{verbatim_string = {format = 'txt', string = 'v'}}, nil, 'never'}";
  EXPECT_EQ(eval(code), R"([(integer) 1, (integer) -1, "x", (integer) 0, (integer) 1, fine, )"
                        R"((error) MY error, "1.5", ["a", (integer) 1], ["b"], "123", "v"])");
  client.run("HELLO 3");
  EXPECT_EQ(eval(code), R"([(integer) 1, (integer) -1, "x", (false), (true), fine, )"
                        R"((error) MY error, (double) 1.5, {"a": (integer) 1}, (set) ["b"], )"
                        R"((big) 123, (verbatim) "v"])");
  EXPECT_EQ(eval("return {false, true}"), "[(nil), (integer) 1]");  // setresp(2)
}

TEST_F(ScriptCommandsTest, RepliesOfCommandsInScripts) {
  client.run("HSET h f v");
  client.run("ZADD z 1.5 m");
  EXPECT_EQ(eval("return redis.call('GET', 'none') == false"), "(integer) 1");
  EXPECT_EQ(eval("return redis.call('PING').ok"), "\"PONG\"");
  EXPECT_EQ(eval("return redis.call('HGETALL', 'h')"), R"(["f", "v"])");
  EXPECT_EQ(eval("redis.setresp(3) return redis.call('HGETALL', 'h').map.f"), "\"v\"");
  EXPECT_EQ(eval("redis.setresp(3) return redis.call('GET', 'none') == nil"), "(integer) 1");
  EXPECT_EQ(eval("redis.setresp(3) return redis.call('ZSCORE', 'z', 'm').double * 2"),
            "(integer) 3");
  EXPECT_EQ(eval("redis.setresp(3) return redis.call('HGETALL', 'h')"), R"(["f", "v"])");
  client.run("HELLO 3");
  EXPECT_EQ(eval("return redis.call('HGETALL', 'h')"), R"(["f", "v"])");
  EXPECT_EQ(eval("redis.setresp(3) return redis.call('HGETALL', 'h')"), R"({"f": "v"})");
}

// ---- Errors ----

TEST_F(ScriptCommandsTest, ErrorsSayWhere) {
  EXPECT_EQ(eval("\n\nerror('mine')"),
            "(error) ERR user_script:3: mine script: on @user_script:3.");
  EXPECT_EQ(eval("\nreturn redis.call('INCR', KEYS[1], 1)", {"1", "k"}),
            "(error) ERR Wrong number of args calling command from script script: on "
            "@user_script:2.");
  client.run("SET s text");
  EXPECT_EQ(eval("return redis.call('INCR', 's')"),
            "(error) ERR value is not an integer or out of range script: on @user_script:1.");
  EXPECT_EQ(eval("return redis.call('HGET', 's', 'f')"),
            "(error) WRONGTYPE Operation against a key holding the wrong kind of value script: on "
            "@user_script:1.");
  EXPECT_EQ(eval("return redis.pcall('INCR', 's')"),
            "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(eval("return redis.pcall('INCR', 's').err"),
            "\"ERR value is not an integer or out of range\"");
  EXPECT_EQ(eval("return redis.error_reply('MY word')"), "(error) MY word");
  EXPECT_EQ(eval("return redis.error_reply('word')"), "(error) ERR word");
  EXPECT_EQ(eval("error({err = 'MY table'})"), "(error) MY table script: on @user_script:1.");
}

TEST_F(ScriptCommandsTest, ErrorsOfCallsThatCannotBe) {
  const std::string end = " script: on @user_script:1.";
  EXPECT_EQ(eval("redis.call()"),
            "(error) ERR Please specify at least one argument for this call" + end);
  EXPECT_EQ(eval("redis.call('NOSUCH')"), "(error) ERR Unknown command called from script" + end);
  EXPECT_EQ(eval("redis.call('CLIENT', 'NOSUCH')"),
            "(error) ERR Unknown command called from script" + end);
  EXPECT_EQ(eval("redis.call('SET', 'k', {})"),
            "(error) ERR Command arguments must be strings or integers" + end);
  EXPECT_EQ(eval("redis.call('SET', 'k', true)"),
            "(error) ERR Command arguments must be strings or integers" + end);
  EXPECT_EQ(eval("return redis.call('SET', 'k', 1.5) and redis.call('GET', 'k')"), "\"1.5\"");
  EXPECT_EQ(eval("return redis.call('SET', 'k', 10) and redis.call('GET', 'k')"), "\"10\"");
}

TEST_F(ScriptCommandsTest, ErrorsAreCountedOnce) {
  client.run("SET s text");
  eval("return redis.call('INCR', 's')");
  EXPECT_NE(client.run("INFO errorstats").find("errorstat_ERR:count=1"), std::string::npos);
  eval("redis.pcall('INCR', 's') return redis.error_reply('MINE x')");
  const std::string errors = client.run("INFO errorstats");
  EXPECT_NE(errors.find("errorstat_ERR:count=2"), std::string::npos) << errors;
  EXPECT_NE(errors.find("errorstat_MINE:count=1"), std::string::npos) << errors;
}

TEST_F(ScriptCommandsTest, CommandsThatScriptsMayNotCall) {
  for (const std::string name : {"'EVAL', 'return 1', 0",
                                 "'SCRIPT', 'FLUSH'",
                                 "'FUNCTION', 'FLUSH'",
                                 "'FCALL', 'f', 0",
                                 "'MULTI'",
                                 "'EXEC'",
                                 "'WATCH', 'k'",
                                 "'SUBSCRIBE', 'c'",
                                 "'AUTH', 'x'",
                                 "'HELLO'",
                                 "'SHUTDOWN', 'NOSAVE'",
                                 "'CONFIG', 'GET', 'port'",
                                 "'CLIENT', 'ID'",
                                 "'MONITOR'",
                                 "'SAVE'",
                                 "'REPLICAOF', 'NO', 'ONE'",
                                 "'SYNC'",
                                 "'DEBUG', 'JMAP'",

                                 "'RESET'",
                                 "'QUIT'",
                                 "'EVALSHA_RO', 'x', 0",
                                 "'ROLE'",
                                 "'BGREWRITEAOF'"}) {
    const std::string reply = eval("local r = redis.call(" + name + ") return r");
    EXPECT_EQ(reply,
              "(error) ERR This Mayfly command is not allowed from script script: on "
              "@user_script:1.")
        << name;
  }
  client.run("DEBUG SET-DISABLE-DENY-SCRIPTS 1");
  EXPECT_EQ(eval("return redis.call('CONFIG', 'GET', 'port')[1]"), "\"port\"");
  // What would change the Lua state under the script is refused in any case.
  for (const std::string name :
       {"'EVAL', 'return 1', 0", "'SCRIPT', 'FLUSH'", "'FUNCTION', 'FLUSH'", "'FCALL', 'f', 0"}) {
    EXPECT_TRUE(eval("return redis.call(" + name + ")")
                    .starts_with("(error) ERR This Mayfly command is not allowed from script"))
        << name;
  }
}

TEST_F(ScriptCommandsTest, BlockingCommandsDoNotBlock) {
  EXPECT_EQ(eval("return redis.call('BLPOP', 'none', 0)"), "(nil)");
  EXPECT_EQ(eval("return redis.call('BZPOPMIN', 'none', 0)"), "(nil)");
  EXPECT_EQ(eval("return redis.call('BLMOVE', 'none', 'x', 'LEFT', 'LEFT', 0)"), "(nil)");
  EXPECT_EQ(eval("return redis.call('WAIT', 1, 0)"), "(integer) 0");
  EXPECT_EQ(eval("return redis.call('XREAD', 'BLOCK', 0, 'STREAMS', 'none', '$')"), "(nil)");
  client.run("RPUSH l a b");
  EXPECT_EQ(eval("return redis.call('BLPOP', 'l', 0)"), R"(["l", "a"])");
  EXPECT_FALSE(client.client().is_blocked());
}

TEST_F(ScriptCommandsTest, ThoseWhoWaitAreServedAfterTheScript) {
  EXPECT_EQ(other.run("BLPOP l 0"), "");
  EXPECT_EQ(eval("redis.call('RPUSH', 'l', 'a') return redis.call('LLEN', 'l')"), "(integer) 1");
  EXPECT_EQ(other.messages(), R"(["l", "a"])");
  EXPECT_EQ(other.run("BLPOP l 0"), "");
  eval("redis.call('RPUSH', 'l', 'a') redis.call('DEL', 'l')");
  EXPECT_EQ(other.messages(), "");
}

TEST_F(ScriptCommandsTest, SelectInAScriptIsItsOwn) {
  EXPECT_EQ(eval("redis.call('SELECT', 3) return redis.call('SET', 'k', 'three')"), "OK");
  EXPECT_EQ(client.run("GET k"), "(nil)");
  EXPECT_EQ(eval("return redis.call('GET', 'k')"), "(nil)");
  client.run("SELECT 3");
  EXPECT_EQ(eval("return redis.call('GET', 'k')"), "\"three\"");
}

// ---- Memory ----

TEST_F(ScriptCommandsTest, ReadOnlyScriptsWriteNothing) {
  const std::string end =
      "(error) ERR Write commands are not allowed from read-only scripts. script: on "
      "@user_script:";
  for (const std::string call : {"'SET', 'k', 1", "'DEL', 'k'", "'PUBLISH', 'c', 'm'",
                                 "'PFCOUNT', 'k'", "'SPUBLISH', 'c', 'm'"}) {
    EXPECT_EQ(run("EVAL_RO", "return redis.call(" + call + ")", {"0"}), end + "1.") << call;
    EXPECT_EQ(eval("#!lua flags=no-writes\nreturn redis.call(" + call + ")"), end + "2.") << call;
  }
  EXPECT_EQ(run("EVAL_RO", "return redis.call('GET', 'k')", {"0"}), "(nil)");
  EXPECT_EQ(run("EVAL_RO", "#!lua\nreturn 1", {"0"}),
            "(error) ERR Can not execute a script with write flag using *_ro command.");
}

}  // namespace script_commands_test
}  // namespace mayfly
