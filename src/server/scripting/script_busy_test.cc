// SPDX-License-Identifier: Apache-2.0
// Scripts that run for longer than busy-reply-threshold: what other clients get meanwhile, and how
// such a script ends. The host lets others speak when the server gives it the opportunity.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/core/clients.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/loading.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace script_busy_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

constexpr const char* kBusyScript =
    "(error) BUSY Mayfly is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
    "NOSAVE.";
constexpr const char* kBusyFunction =
    "(error) BUSY Mayfly is busy running a script. You can only call FUNCTION KILL or SHUTDOWN "
    "NOSAVE.";
constexpr const char* kForever = "while true do end";
constexpr const char* kKilledScript =
    "(error) ERR Script killed by user with SCRIPT KILL. script: on @user_script:1.";

class ScriptBusyTest : public testing::Test, protected ServerFixture {
 protected:
  ScriptBusyTest() {
    server().parts().config.busy_reply_threshold = 1;
    client.run({"FUNCTION", "LOAD",
                "#!lua name=lib\n"
                "redis.register_function('forever', function() while true do end end)\n"
                "redis.register_function('writes', function(keys)\n"
                "  redis.call('SET', keys[1], 1) while true do end end)"});
    propagated.clear();
    when_busy = [this] {  // in the first call what the test says
      ++calls;
      if (const std::function<void()> once = std::exchange(meanwhile, nullptr)) once();
    };
  }

  // Runs a script that has no end; `what` happens meanwhile, which must end it.
  std::string eval(const std::string& code, std::function<void()> what) {
    meanwhile = std::move(what);
    return client.run({"EVAL", code, "0"});
  }
  std::string kill() { return other.run("SCRIPT KILL"); }

  TestClient& client = connect();
  TestClient& other = connect("127.0.0.1:5001");
  std::function<void()> meanwhile;
  int calls = 0;
};

TEST_F(ScriptBusyTest, OthersGetBusyAndMayKill) {
  std::string get;
  std::string killed;
  EXPECT_EQ(eval(kForever,
                 [&] {
                   get = other.run("GET k");
                   killed = kill();
                 }),
            kKilledScript);
  EXPECT_EQ(get, kBusyScript);
  EXPECT_EQ(killed, "OK");
  EXPECT_EQ(other.run("GET k"), "(nil)");
  EXPECT_EQ(kill(), "(error) NOTBUSY No scripts in execution right now.");
  EXPECT_FALSE(client.link().paused());
}

TEST_F(ScriptBusyTest, AFastScriptIsNotBusy) {
  server().parts().config.busy_reply_threshold = 5000;
  EXPECT_EQ(client.run({"EVAL", "for i = 1, 1000000 do end return 1", "0"}), "(integer) 1");
  server().parts().config.busy_reply_threshold = 0;  // never
  EXPECT_EQ(client.run({"EVAL", "for i = 1, 1000000 do end return 1", "0"}), "(integer) 1");
  EXPECT_EQ(calls, 0);
}

TEST_F(ScriptBusyTest, WhatIsAllowedMeanwhile) {
  std::vector<std::string> wrong;
  eval(kForever, [&] {
    for (const std::string line :
         {"AUTH x", "HELLO 2", "CLIENT ID", "CLIENT SETNAME me", "CLIENT GETNAME",
          "CLIENT REPLY ON", "SELECT 1", "MULTI", "DISCARD", "WATCH k", "UNWATCH",
          "REPLCONF capa eof", "FUNCTION STATS", "RESET", "CLIENT NO-EVICT on",
          "CLIENT SETINFO lib-name x"}) {
      if (other.run(line).find("BUSY") != std::string::npos) wrong.push_back(line);
    }
    for (const std::string line : {"PING",
                                   "GET k",
                                   "SET k 1",
                                   "INFO",
                                   "CONFIG GET port",
                                   "EVAL x 0",
                                   "SCRIPT FLUSH",
                                   "SCRIPT EXISTS x",
                                   "FUNCTION LIST",
                                   "FUNCTION FLUSH",
                                   "FCALL forever 0",
                                   "SHUTDOWN",
                                   "SHUTDOWN SAVE",
                                   "CLIENT LIST",
                                   "CLIENT KILL ID 1",
                                   "DEBUG JMAP",
                                   "SUBSCRIBE c",
                                   "MONITOR",
                                   "SYNC",
                                   "REPLICAOF NO ONE",
                                   "BGSAVE",
                                   "WAIT 0 0",
                                   "CLIENT PAUSE 10"}) {
      if (other.run(line) != kBusyScript) wrong.push_back(line);
    }
    kill();
  });
  EXPECT_EQ(wrong, Lines{});
}

TEST_F(ScriptBusyTest, NothingIsEvictedMeanwhile) {
  other.run("SET k v");
  other.run("MULTI");
  server().parts().config.maxmemory_policy = Eviction::allkeys_random;
  std::string queued;
  EXPECT_EQ(eval("for i = 1, 3000000 do end return redis.call('GET', 'k')",
                 [&] {
                   server().parts().config.maxmemory = 1;
                   queued = other.run("CLIENT ID");
                 }),
            "\"v\"");
  EXPECT_EQ(queued, "QUEUED");
}

TEST_F(ScriptBusyTest, ATransactionMeetsBusyToo) {
  std::vector<std::string> replies;
  eval(kForever, [&] {
    for (const std::string line : {"MULTI", "SET k 1", "EXEC", "PING"}) {
      replies.push_back(other.run(line));
    }
    kill();
  });
  EXPECT_EQ(replies.at(0), "OK");
  EXPECT_EQ(replies.at(1), kBusyScript);
  EXPECT_TRUE(replies.at(2).starts_with("(error) EXECABORT Transaction discarded because of: BUSY"))
      << replies.at(2);
  EXPECT_EQ(replies.at(3), kBusyScript);
  EXPECT_EQ(other.run("GET k"), "(nil)");
}

TEST_F(ScriptBusyTest, AKilledScriptCannotCatchIt) {
  EXPECT_TRUE(eval("while true do pcall(function() while true do end end) end", [&] {
                kill();
              }).starts_with("(error) ERR Script killed by user with SCRIPT KILL."));
  EXPECT_TRUE(eval("local f = function() while true do end end "
                   "for i = 1, 1e9 do pcall(pcall, f) end",
                   [&] { kill(); })
                  .starts_with("(error) ERR Script killed by user with SCRIPT KILL."));
  EXPECT_TRUE(eval("local c = coroutine.wrap(function() while true do end end) "
                   "while true do pcall(c) end",
                   [&] { kill(); })
                  .starts_with("(error) "));
  EXPECT_EQ(client.run({"EVAL", "return 1", "0"}), "(integer) 1");
}

TEST_F(ScriptBusyTest, OneThatHasWrittenCannotBeKilled) {
  std::string killed;
  EXPECT_EQ(eval("redis.call('SET', 'k', 1) for i = 1, 3000000 do end return 'done'",
                 [&] { killed = kill(); }),
            "\"done\"");
  EXPECT_TRUE(killed.starts_with("(error) UNKILLABLE Sorry the script already executed write"));
  EXPECT_EQ(propagated, Lines{"0: SET k 1"});
  eval("redis.call('SET', 'k', 1) for i = 1, 3000000 do end",
       [&] { killed = other.run("FUNCTION KILL"); });
  EXPECT_TRUE(killed.starts_with("(error) UNKILLABLE ")) << killed;
}

TEST_F(ScriptBusyTest, OneThatTriedToWriteCanBeKilled) {
  server().parts().config.min_replicas_to_write = 1;
  EXPECT_EQ(eval("redis.pcall('SET', 'k', 1) while true do end", [&] { kill(); }), kKilledScript);
}

TEST_F(ScriptBusyTest, FunctionsAreKilledByTheirCommand) {
  std::vector<std::string> replies;
  meanwhile = [&] {
    replies.push_back(other.run("GET k"));
    replies.push_back(other.run("SCRIPT KILL"));
    replies.push_back(other.run("FUNCTION STATS"));
    replies.push_back(other.run("FUNCTION KILL"));
  };
  EXPECT_EQ(client.run("FCALL forever 1 key"),
            "(error) ERR Script killed by user with FUNCTION KILL. script: on @user_function:2.");
  EXPECT_EQ(replies.at(0), kBusyFunction);
  EXPECT_EQ(replies.at(1), kBusyFunction);
  EXPECT_TRUE(replies.at(2).starts_with(R"(["running_script", ["name", "forever", "command", )"
                                        R"(["FCALL", "forever", "1", "key"], "duration_ms", )"))
      << replies.at(2);
  EXPECT_EQ(replies.at(3), "OK");
  EXPECT_TRUE(client.run("FUNCTION STATS").starts_with(R"(["running_script", (nil), )"));

  eval(kForever, [&] {
    replies.push_back(other.run("FUNCTION KILL"));
    kill();
  });
  EXPECT_EQ(replies.at(4), kBusyScript);
}

TEST_F(ScriptBusyTest, ShutdownEndsOneThatHasWritten) {
  std::string reply = "none";
  meanwhile = [&] { reply = other.run("SHUTDOWN NOSAVE"); };
  client.run("FCALL writes 1 k");
  EXPECT_EQ(reply, "");
  EXPECT_TRUE(is_shut_down);
  EXPECT_EQ(propagated, Lines{});  // not a part of it
}

TEST_F(ScriptBusyTest, TimeStandsStillMeanwhile) {
  client.run("SET k v PX 10");
  std::string code =
      "local before = redis.call('TIME') for i = 1, 3000000 do end "
      "local after = redis.call('TIME') "
      "return {before[1] == after[1] and before[2] == after[2], redis.call('GET', 'k')}";
  EXPECT_EQ(eval(code,
                 [&] {
                   advance(1s);
                   other.run("GET k");
                   other.run("FUNCTION STATS");
                   other.run("SELECT 0");
                 }),
            R"([(integer) 1, "v"])");
  EXPECT_EQ(client.run("GET k"), "(nil)");
}

TEST_F(ScriptBusyTest, TheCallerIsNotReadMeanwhile) {
  bool is_paused = false;
  EXPECT_EQ(eval(kForever,
                 [&] {
                   is_paused = client.link().paused();
                   kill();
                 }),
            kKilledScript);
  EXPECT_TRUE(is_paused);
}

TEST_F(ScriptBusyTest, TheCallerMayGoAway) {
  eval("redis.call('SET', 'k', 1) for i = 1, 3000000 do end redis.call('SET', 'l', 1)",
       [&] { client.link().close_now("the other side closed the connection"); });
  EXPECT_EQ(other.run("MGET k l"), R"(["1", "1"])");
  EXPECT_EQ(propagated, (Lines{"0: MULTI", "0: SET k 1", "0: SET l 1", "0: EXEC"}));
}

TEST_F(ScriptBusyTest, OthersMayGoAwayAndCome) {
  auto guest = std::make_unique<TestClient>(server(), "127.0.0.1:5002");
  std::unique_ptr<TestClient> late;
  std::string reply;
  guest->run("WATCH k");
  eval(kForever, [&] {
    guest.reset();
    late = std::make_unique<TestClient>(server(), "127.0.0.1:5003");
    reply = late->run("PING");
    kill();
  });
  EXPECT_EQ(reply, kBusyScript);
  EXPECT_EQ(late->run("PING"), "PONG");
}

TEST_F(ScriptBusyTest, InATransactionTheRestRunsAfterIt) {
  client.run("MULTI");
  client.run({"EVAL", kForever, "0"});
  client.run("SET k 1");
  meanwhile = [&] { kill(); };
  const std::string reply = client.run("EXEC");
  EXPECT_TRUE(reply.starts_with("[(error) ERR Script killed by user")) << reply;
  EXPECT_TRUE(reply.ends_with(", OK]")) << reply;
}

TEST_F(ScriptBusyTest, RepliesThatAreNotWantedDoNotCome) {
  client.run("CLIENT REPLY OFF");
  // As a loop does that sends what is there already.
  EXPECT_EQ(client.send("*3\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n0\r\n"), "");
  EXPECT_EQ(eval(kForever, [&] { kill(); }), "");
}

TEST_F(ScriptBusyTest, ScriptsAreServedAgainAfterwards) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(eval(kForever, [&] { kill(); }), kKilledScript);
    EXPECT_EQ(client.run({"EVAL", "return redis.call('SET', 'k', ARGV[1])", "0", "v"}), "OK");
    EXPECT_EQ(other.run("GET k"), "\"v\"");
  }
}

// Each of these is one instruction of Lua, which takes from seconds to centuries.
TEST_F(ScriptBusyTest, ItCanBeKilledWithinOneInstruction) {
  for (const std::string code :
       {"return ('('):rep(1e6):find('%b()')", "return redis.sha1hex(('x'):rep(1e8))",
        "return cjson.decode('[' .. ('1,'):rep(5e7) .. '1]')",
        "local t = {1} for i = 1, 40 do t = {t, t} end return cjson.encode(t)",
        "local s = ('x = 1 '):rep(1e5) while true do loadstring(s) end",
        "local t = {1} for i = 1, 40 do t = {t, t} end return t"}) {
    std::string killed;
    const std::string reply = eval(code, [&] { killed = kill(); });
    EXPECT_EQ(killed, "OK") << code;
    EXPECT_TRUE(reply.starts_with("(error) ERR Script killed by user with SCRIPT KILL.")) << reply;
    EXPECT_EQ(client.run({"EVAL", "return 1", "0"}), "(integer) 1");
  }
}

// The script has ended then: nothing else is left that it could be killed in.
TEST_F(ScriptBusyTest, ItCanBeKilledWhileItsReplyIsWritten) {
  const std::string large(30'000'000, 'x');
  for (const std::string code :
       {"return ARGV[1]", "return {ARGV[1]}", "return {map = {a = ARGV[1]}}"}) {
    std::string killed;
    meanwhile = [&] { killed = kill(); };
    const std::string reply = client.run({"EVAL", code, "0", large});
    EXPECT_EQ(killed, "OK") << code;
    EXPECT_TRUE(reply.starts_with("(error) ERR Script killed by user with SCRIPT KILL."))
        << reply.substr(0, 100);
    EXPECT_EQ(client.run({"EVAL", "return 1", "0"}), "(integer) 1");
  }
}

// Functions that are nested nearly as deep as they may be (LuaJIT takes 200 levels, two for each),
// each with as many variables as it may have: the name of a global one is compared with all of
// them. It takes minutes to compile.
std::string slow_code() {
  std::string locals = "local a0";
  for (int i = 1; i < 190; ++i) locals += ", a" + std::to_string(i);
  std::string code = "local function never()\n";
  for (int i = 0; i < 90; ++i) code += "return function()\n" + locals + "\n";
  for (int i = 0; i < 300'000; ++i) code += "x=x ";
  for (int i = 0; i < 90; ++i) code += "end\n";
  return code + "end\n";
}

TEST_F(ScriptBusyTest, ItCanBeKilledWhileItIsCompiled) {
  const std::string code = slow_code();
  std::string get;
  std::string killed;
  const auto kills = [&] {
    get = other.run("GET k");
    killed = kill();
  };
  EXPECT_EQ(eval(code, kills), "(error) ERR Script killed by user with SCRIPT KILL.");
  EXPECT_EQ(get, kBusyScript);
  EXPECT_EQ(killed, "OK");
  meanwhile = kills;
  killed.clear();
  EXPECT_EQ(client.run({"SCRIPT", "LOAD", code}),
            "(error) ERR Script killed by user with SCRIPT KILL.");
  EXPECT_EQ(killed, "OK");
  EXPECT_EQ(client.run({"EVAL", "return 1", "0"}), "(integer) 1");
}

TEST_F(ScriptBusyTest, TimeIsLimitedWhileALibraryIsCompiled) {
  EXPECT_EQ(client.run({"FUNCTION", "LOAD", "#!lua name=slow\n" + slow_code()}),
            "(error) ERR Error compiling function: ERR FUNCTION LOAD timeout");
  EXPECT_EQ(client.run({"FUNCTION", "LOAD",
                        "#!lua name=good\nredis.register_function('f', function() end)"}),
            "\"good\"");
}

TEST_F(ScriptBusyTest, CodeThatIsTooLongIsRefused) {
  const std::string code = "--" + std::string(kCodeBytesMost - 2, 'x');
  EXPECT_EQ(client.run({"EVAL", code, "0"}), "(nil)");
  const std::string refused = "(error) ERR the code is too long: 4194305 bytes, of at most 4194304";
  EXPECT_EQ(client.run({"EVAL", code + "x", "0"}), refused);
  EXPECT_EQ(client.run({"SCRIPT", "LOAD", code + "x"}), refused);
  EXPECT_EQ(client.run({"FUNCTION", "LOAD", code + "x"}), refused);
}

// The append-only file that is being loaded has such a script.
TEST_F(ScriptBusyTest, WhileDataIsLoadedOthersGetLoading) {
  class EndlessTask final : public LoadTask {
    Result<bool> step(std::size_t) override { return false; }
    std::uint64_t offset() const override { return 0; }
    std::uint64_t total() const override { return 0; }
  };
  std::string get;
  std::string info;
  eval(kForever, [&] {
    server().parts().loading.begin(std::make_unique<EndlessTask>(), wall().now(),
                                   [](const Status&) {});
    get = other.run("GET k");
    info = other.run("INFO server");
    server().parts().loading.abandon();
    kill();
  });
  EXPECT_EQ(get, "(error) LOADING Mayfly is loading the dataset in memory");
  EXPECT_EQ(info, kBusyScript) << "it may run while data is loaded, but not within a script";
}

}  // namespace script_busy_test
}  // namespace mayfly
