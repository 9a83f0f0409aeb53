// SPDX-License-Identifier: Apache-2.0
// DEBUG: who may use it, and what it says.

#include <gtest/gtest.h>

#include <set>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace debug_commands_test {

constexpr std::string_view kZeros = "0000000000000000000000000000000000000000";

class DebugTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }
  std::string digest() { return run("DEBUG DIGEST"); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(DebugTest, IsAllowedByConfigurationOnly) {
  TestClient& far = fixture_.connect("10.1.2.3:5000");
  Config& config = fixture_.server().parts().config;
  config.enable_debug_command = "no";
  EXPECT_TRUE(run("DEBUG DIGEST").starts_with("(error) ERR DEBUG command not allowed."));
  config.enable_debug_command = "local";
  EXPECT_EQ(run("DEBUG DIGEST"), kZeros);
  if (far.is_connected()) {
    EXPECT_TRUE(far.run("DEBUG DIGEST").starts_with("(error) ERR DEBUG command not allowed."));
  }
}

TEST_F(DebugTest, UnknownWordsAreRefused) {
  EXPECT_EQ(run("DEBUG FOO"),
            "(error) ERR unknown subcommand or wrong number of arguments for 'FOO'. Try DEBUG "
            "HELP.");
  EXPECT_EQ(run("DEBUG SLEEP"),
            "(error) ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG "
            "HELP.");
}

TEST_F(DebugTest, SetActiveExpireStopsTheSweep) {
  run("SET k v PX 10");
  EXPECT_EQ(run("DEBUG SET-ACTIVE-EXPIRE 0"), "OK");
  fixture_.advance(Millis(10));
  fixture_.sweep();
  EXPECT_EQ(fixture_.server().parts().keyspace[0].stored(), 1u);
  EXPECT_EQ(run("DEBUG SET-ACTIVE-EXPIRE 1"), "OK");
  fixture_.sweep();
  EXPECT_EQ(fixture_.server().parts().keyspace[0].stored(), 0u);
}

TEST_F(DebugTest, PauseCronStopsPeriodicTasks) {
  fixture_.server().parts().config.timeout = 10;
  TestClient& idle = fixture_.connect();
  run("DEBUG PAUSE-CRON 1");
  fixture_.advance(Millis(20'000));
  fixture_.sweep();
  EXPECT_TRUE(idle.is_connected());
  run("DEBUG PAUSE-CRON 0");
  fixture_.advance(Millis(200));
  fixture_.sweep();
  EXPECT_FALSE(idle.is_connected());
}

TEST_F(DebugTest, TheDigestOfNothingIsZero) {
  EXPECT_EQ(digest(), kZeros);
  run("SET k v");
  EXPECT_NE(digest(), kZeros);
  run("DEL k");
  EXPECT_EQ(digest(), kZeros);
}

TEST_F(DebugTest, TheDigestDoesNotDependOnOrderOrEncoding) {
  run("SET a 1");
  run("HSET h x 1 y 2");
  const std::string before = digest();
  run("FLUSHALL");
  run("CONFIG SET hash-max-listpack-entries 0");
  run("HSET h y 2");
  run("HSET h x 1");
  run("SET a 1");
  EXPECT_EQ(run("OBJECT ENCODING h"), R"("hashtable")");
  EXPECT_EQ(digest(), before);
}

TEST_F(DebugTest, TheDigestOfListsAndStreamsDoesNotDependOnTheirEncoding) {
  const auto fill = [&] {
    run("RPUSH l 1 b 1 c");
    for (const char* entry : {"1-1 f v", "1-2 f w", "2-0 g v"}) run(std::string("XADD x ") + entry);
    run("XGROUP CREATE x g 0");
    run("XGROUP CREATECONSUMER x g ann");
    return digest();
  };
  const std::string before = fill();
  run("FLUSHALL");
  run("CONFIG SET list-max-listpack-size 1 stream-node-max-entries 1");
  EXPECT_EQ(fill(), before);
  EXPECT_EQ(run("OBJECT ENCODING l"), R"("quicklist")");
}

TEST_F(DebugTest, TheDigestSeesEveryDifferenceOfListsAndStreams) {
  std::set<std::string> seen;
  for (const char* command :
       {"RPUSH l a b", "RPUSH l a", "LSET l 0 b", "LSET l 1 a", "LPOP l", "XADD x 1-1 f v",
        "XADD x 1-2 f v", "XADD y 1-1 f v", "XDEL x 1-2", "XSETID x 5-5",
        "XSETID x 5-5 ENTRIESADDED 9", "XGROUP CREATE x g 0", "XGROUP CREATECONSUMER x g ann",
        "XGROUP CREATECONSUMER x g bob", "XREADGROUP GROUP g ann STREAMS x >",
        "XCLAIM x g bob 0 1-1 JUSTID", "XCLAIM x g bob 0 1-1 RETRYCOUNT 7 JUSTID",
        "XGROUP SETID x g 0-5", "XACK x g 1-1"}) {
    EXPECT_FALSE(run(command).starts_with("(error)")) << command;
    EXPECT_TRUE(seen.insert(digest()).second) << command;
  }
}

TEST_F(DebugTest, TheDigestSeesEveryDifference) {
  std::set<std::string> seen;
  const auto is_new = [&] { return seen.insert(digest()).second; };
  run("SET a 1");
  EXPECT_TRUE(is_new());
  run("SET a 2");
  EXPECT_TRUE(is_new());
  run("PEXPIREAT a 1700000100000");
  EXPECT_TRUE(is_new());
  run("PEXPIREAT a 1700000100001");
  EXPECT_TRUE(is_new());
  run("RENAME a b");
  EXPECT_TRUE(is_new());
  run("MOVE b 1");
  EXPECT_TRUE(is_new());
  run("HSET h f v");
  EXPECT_TRUE(is_new());
  run("HPEXPIREAT h 1700000100000 FIELDS 1 f");
  EXPECT_TRUE(is_new());
  run("HPEXPIREAT h 1700000100001 FIELDS 1 f");
  EXPECT_TRUE(is_new());
}

TEST_F(DebugTest, TheDigestLeavesOutWhatIsDue) {
  run("DEBUG SET-ACTIVE-EXPIRE 0");
  run("SET a 1");
  run("HSET h keep 1");
  const std::string before = digest();
  run("SET b 1 PX 10");
  run("HSET h gone 1");
  run("HPEXPIRE h 10 FIELDS 1 gone");
  EXPECT_NE(digest(), before);
  fixture_.advance(Millis(10));
  EXPECT_EQ(digest(), before);
}

TEST_F(DebugTest, TheDigestOfAValueLeavesOutTheName) {
  run("SET a 1");
  run("SET b 1");
  const std::string both = run("DEBUG DIGEST-VALUE a b nosuch");
  EXPECT_EQ(both.substr(1, 40), both.substr(43, 40));
  EXPECT_EQ(both.substr(85, 40), kZeros);
}

TEST_F(DebugTest, ObjectTellsHowAKeyIsKept) {
  run("SET k v");
  const std::string text = run("DEBUG OBJECT k");
  EXPECT_TRUE(text.starts_with("Value at:0x")) << text;
  EXPECT_NE(text.find(" refcount:1 encoding:embstr serializedlength:1 lru:"), std::string::npos);
  fixture_.advance(std::chrono::seconds(7));
  EXPECT_TRUE(run("DEBUG OBJECT k").ends_with("lru_seconds_idle:7"));
  EXPECT_EQ(run("DEBUG OBJECT nosuch"), "(error) ERR no such key");
}

TEST_F(DebugTest, TablesTellTheirSizes) {
  run("HSET h f v");
  const std::string stats = run("DEBUG HTSTATS 0");
  EXPECT_TRUE(
      stats.starts_with("\"[Dictionary HT]\\nHash table 0 stats (main hash table):\\n"
                        " table size: 12\\n number of entries: 1\\n[Expires HT]\\n"
                        "Hash table 0 stats (main hash table):\\nNo stats available"))
      << stats;
  EXPECT_NE(stats.find("stored: 1"), std::string::npos);
  run("SET k v EX 10");
  EXPECT_NE(run("DEBUG HTSTATS 0 full")
                .find("[Expires HT]\\nHash table 0 stats (main hash "
                      "table):\\n table size: 1\\n number of entries: 1"),
            std::string::npos);
  EXPECT_EQ(run("DEBUG HTSTATS 16"), "(error) ERR Out of range database");
  EXPECT_TRUE(run("DEBUG HTSTATS-KEY h").starts_with("(error) ERR The value stored"));
  EXPECT_TRUE(run("DEBUG LISTPACK h").starts_with("1 fields in "));
  run("CONFIG SET hash-max-listpack-entries 0");
  run("HSET h g v");
  EXPECT_TRUE(run("DEBUG HTSTATS-KEY h")
                  .starts_with("\"Hash table 0 stats (main hash table):\\n table size: 12\\n "
                               "number of entries: 2\\n"));
  EXPECT_NE(run("DEBUG HTSTATS-KEY h").find("stored: 2"), std::string::npos);
  EXPECT_EQ(run("DEBUG LISTPACK h"), "(error) ERR Not a listpack encoded object.");
}

TEST_F(DebugTest, TellsHowListsAreKept) {
  run("CONFIG SET list-max-listpack-size 3");
  run("RPUSH l a b c");
  EXPECT_TRUE(run("DEBUG LISTPACK l").starts_with("3 elements in "));
  EXPECT_EQ(run("DEBUG QUICKLIST l"), "(error) ERR Not a quicklist encoded object.");
  EXPECT_EQ(run("DEBUG OBJECT l").find(" ql_"), std::string::npos);
  run("RPUSH l d");
  EXPECT_EQ(run("DEBUG LISTPACK l"), "(error) ERR Not a listpack encoded object.");
  EXPECT_TRUE(run("DEBUG QUICKLIST l").starts_with("4 elements in 2 chunks of "));
  EXPECT_TRUE(run("DEBUG QUICKLIST l 1").starts_with("4 elements in 2 chunks of "));
  EXPECT_NE(
      run("DEBUG OBJECT l").find(" ql_nodes:2 ql_avg_node:2.00 ql_listpack_max:3 ql_compressed:0 "),
      std::string::npos);
  run("CONFIG SET list-compress-depth 1");
  EXPECT_NE(run("DEBUG OBJECT l").find(" ql_compressed:1 "), std::string::npos);
  EXPECT_EQ(run("DEBUG QUICKLIST-PACKED-THRESHOLD 1b"), "OK");
}

TEST_F(DebugTest, PopulateMakesStringsThatAreNotThere) {
  run("SET k:1 mine");
  EXPECT_EQ(run("DEBUG POPULATE 3 k 9"), "OK");
  EXPECT_EQ(run("MGET k:0 k:1 k:2"), R"(["value:0\x00\x00", "mine", "value:2\x00\x00"])");
  EXPECT_EQ(run("DEBUG POPULATE 2"), "OK");
  EXPECT_EQ(run("GET key:1"), R"("value:1")");
  EXPECT_TRUE(run("DEBUG POPULATE -1").starts_with("(error)"));
}

TEST_F(DebugTest, ProtocolHasEveryType) {
  const std::pair<std::string, std::string> rows[] = {
      {"string", R"("Hello World")"},
      {"integer", "(integer) 12345"},
      {"null", "(nil)"},
      {"array", "[(integer) 0, (integer) 1, (integer) 2]"},
      {"set", "(set) [(integer) 0, (integer) 1, (integer) 2]"},
      {"map", "{(integer) 0: (false), (integer) 1: (true), (integer) 2: (false)}"},
      {"true", "(true)"},
      {"false", "(false)"},
      {"double", "(double) 3.141"},
      {"bignum", "(big) 1234567999999999999999999999999999999"},
      {"verbatim", R"((verbatim) "This is a verbatim\nstring")"},
  };
  run("HELLO 3");
  for (const auto& [type, reply] : rows) EXPECT_EQ(run("DEBUG PROTOCOL " + type), reply) << type;
  EXPECT_TRUE(client_.send("DEBUG PROTOCOL attrib\r\n").starts_with("|1\r\n$14\r\nkey-popularity"));
  EXPECT_TRUE(client_.send("DEBUG PROTOCOL push\r\n").starts_with(">2\r\n"));
  EXPECT_TRUE(run("DEBUG PROTOCOL foo").starts_with("(error) ERR Wrong protocol type name."));
}

TEST_F(DebugTest, TheRest) {
  EXPECT_EQ(run("DEBUG SLEEP 0"), "OK");
  EXPECT_EQ(run("DEBUG ERROR CODE"), "(error) CODE");
  EXPECT_EQ(run("DEBUG STRINGMATCH-LEN a*c abc"), "(integer) 1");
  EXPECT_EQ(run("DEBUG STRINGMATCH-LEN a*c abd"), "(integer) 0");
  EXPECT_EQ(run("DEBUG LOG hello"), "OK");
  EXPECT_EQ(fixture_.lines.back(), "DEBUG LOG: hello");
  EXPECT_EQ(run("DEBUG CHANGE-REPL-ID"), "OK");
  EXPECT_EQ(run("DEBUG QUICKLIST-PACKED-THRESHOLD 10"), "OK");
  EXPECT_EQ(run("DEBUG DICT-RESIZING 0"), "OK");
  EXPECT_TRUE(run("DEBUG HELP").starts_with("[DEBUG <subcommand>"));
}

}  // namespace debug_commands_test
}  // namespace mayfly
