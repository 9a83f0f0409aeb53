// SPDX-License-Identifier: Apache-2.0
// What is logged, in every state of a server.

#include "server/expiry/expiry_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/expiry/expiry_log_fixture.h"
#include "server/monitoring/memory.h"

namespace mayfly {
namespace expiry_log_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class ExpiryLogTest : public testing::Test, protected ServerFixture {
 protected:
  ExpiryLogTest() : ServerFixture(logging_config()) { client.run("DEBUG SET-ACTIVE-EXPIRE 0"); }

  Lines log(int database = 0) { return log_of(server(), database); }
  void sweep_now() {
    client.run("DEBUG SET-ACTIVE-EXPIRE 1");
    sweep();
    client.run("DEBUG SET-ACTIVE-EXPIRE 0");
  }
  // The names of the propagated commands.
  std::string units() {
    std::string text;
    for (const std::string& line : propagated) {
      const std::string command = line.substr(3);
      text += command.substr(0, command.find(' ')) + " ";
    }
    propagated.clear();
    return text;
  }
  bool info_has(const std::string& line) {
    return client.run("INFO expiry").find(line) != std::string::npos;
  }

  TestClient& client = connect();
};

TEST_F(ExpiryLogTest, AnEntrySaysWhatExpiredWhenAndHow) {
  client.run("CONFIG SET expiry-log-values yes");
  client.run("SET swept v PX 10");
  client.run("SET met w PX 10");
  client.run("HSETEX h PX 10 FIELDS 1 f x");
  client.run("SADDEX s PX 10 MEMBERS 1 a");
  client.run("ZADDEX z PX 10 MEMBERS 1 1.5 b");
  client.run("RPUSH l 1 2");
  client.run("PEXPIRE l 10");
  client.run("HSET now f1 v1 f2 v2");
  client.run("HPEXPIREAT now 1 FIELDS 1 f1");
  client.run("SET gone v");
  client.run("EXPIRE gone -2");
  client.run("SET get v");
  client.run("GETEX get PXAT 1");
  EXPECT_EQ(log(), (Lines{"0 now/f1 hash past +1699999999999=v1", "0 gone string past +2000=v",
                          "0 get string past +1699999999999=v"}));
  client.run("CONFIG SET expiry-log no");
  client.run("DEL __expired__");
  client.run("CONFIG SET expiry-log yes");
  advance(12ms);
  client.run("GET met");
  sweep_now();
  Lines seen = log();
  std::ranges::sort(seen);
  EXPECT_EQ(seen,
            (Lines{"0 h/f hash sweep +2=x", "0 l list sweep +2", "0 met string access +2=w",
                   "0 s/a set sweep +2", "0 swept string sweep +2=v", "0 z/b zset sweep +2=1.5"}));
}

TEST_F(ExpiryLogTest, NothingIsLoggedForWhatDidNotExistOrWasDeleted) {
  client.run("SET a v PXAT 1");
  client.run("HSETEX h PXAT 1 FIELDS 1 f v");
  client.run("SET b v PX 10");
  client.run("DEL b");
  client.run("SET c v PX 10");
  client.run("PERSIST c");
  advance(20ms);
  sweep_now();
  EXPECT_EQ(log(), Lines{});
  EXPECT_EQ(client.run("EXISTS __expired__"), "(integer) 0") << "made by the first entry";
}

// ---- Members that are due when their key goes ----

TEST_F(ExpiryLogTest, MembersThatAreDueWhenTheirKeyGoesAreLogged) {
  const char* const removals[] = {"DEL k",          "UNLINK k", "SET k v",
                                  "RENAME other k", "MOVE k 2", "COPY other k REPLACE",
                                  "GETDEL k",       "MSET k v", "SUNIONSTORE k other",
                                  "PEXPIREAT k 1"};
  for (const std::string line : removals) {
    SCOPED_TRACE(line);
    client.run("FLUSHALL");
    client.run("SADD other x");
    client.run("HSETEX k PX 10 FIELDS 2 due1 x due2 y");
    client.run("HSET k stays z");
    client.run("HSETEX k PX 100 FIELDS 1 later z");
    advance(10ms);
    units();
    client.run(line);
    const bool keeps = line == "MOVE k 2" || line == "GETDEL k";  // GETDEL: of another type
    Lines seen = log();
    std::erase_if(seen, [](const std::string& entry) { return !entry.starts_with("0 k/"); });
    std::ranges::sort(seen);
    EXPECT_EQ(seen,
              keeps ? Lines{} : (Lines{"0 k/due1 hash access +0", "0 k/due2 hash access +0"}));
    if (!keeps) {
      const std::string sent = units();
      EXPECT_TRUE(sent.starts_with("MULTI XADD XADD ")) << sent;
    }
    sweep_now();
    if (!keeps) {
      EXPECT_EQ(log().size(), line == "PEXPIREAT k 1" ? 3u : 2u) << "nothing twice";
    }
    if (line == "MOVE k 2") {
      EXPECT_EQ(log(2).size(), 2u) << "by the database that it has now";
    }
  }
}

TEST_F(ExpiryLogTest, AKeyExpiresAfterItsMembers) {
  for (const bool is_swept : {false, true}) {
    client.run("FLUSHALL");
    client.run("ZADDEX z PX 10 MEMBERS 2 1 a 2 b");
    client.run("ZADD z 3 stays");
    client.run("PEXPIRE z 10");
    advance(10ms);
    if (is_swept) sweep_now();
    EXPECT_EQ(client.run("EXISTS z"), "(integer) 0");
    const std::string how = is_swept ? "sweep +0" : "access +0";
    EXPECT_EQ(log(), (Lines{"0 z/a zset " + how, "0 z/b zset " + how, "0 z zset " + how}));
  }
}

// A sweep has a budget, also for members of a key that is due itself.
TEST_F(ExpiryLogTest, ALargeKeyExpiresInSteps) {
  constexpr int kMembers = 1000;
  std::string line = "SADDEX s PX 10 MEMBERS " + std::to_string(kMembers);
  for (int i = 0; i < kMembers; ++i) line += " m" + std::to_string(i);
  client.run(line);
  client.run("PEXPIRE s 10");
  advance(10ms);
  Keyspace& keyspace = server().parts().keyspace;
  const std::size_t swept = keyspace.sweep({.now = wall().now()}, 32);
  EXPECT_GE(swept, 32u);
  EXPECT_LE(swept, 64u);
  EXPECT_EQ(keyspace[0].check_invariants(), "");
  EXPECT_NE(keyspace[0].stored_slot("s"), kNoSlot);
  sweep_now();
  EXPECT_EQ(log().size(), kMembers + 1u);
  EXPECT_EQ(log().back(), "0 s set sweep +0");
  EXPECT_EQ(keyspace[0].check_invariants(), "");
}

TEST_F(ExpiryLogTest, RestoreWithATimeInThePastIsAnExpiryOfTheOldValue) {
  client.run("SET a old");
  client.run("CONFIG SET expiry-log-values yes");
  const std::string script =
      "local v = redis.call('DUMP', 'a') redis.call('SET', 'a', 'older') "
      "return redis.call('RESTORE', KEYS[1], 1, v, 'REPLACE', 'ABSTTL')";
  EXPECT_EQ(client.run({"EVAL", script, "1", "a"}), "OK");
  EXPECT_EQ(log().size(), 1u);
  EXPECT_TRUE(log().at(0).starts_with("0 a string past ")) << log().at(0);
  EXPECT_TRUE(log().at(0).ends_with("=older")) << log().at(0);
  client.run("SET a old");
  EXPECT_EQ(client.run({"EVAL", script, "1", "new"}), "OK");
  EXPECT_EQ(log().size(), 1u) << "there was none";
}

TEST_F(ExpiryLogTest, FlushallForgetsTheLogToo) {
  client.run("HSETEX h PX 10 FIELDS 1 f v");
  client.run("EXPIRE h -1");
  EXPECT_EQ(log().size(), 1u);
  client.run("FLUSHALL");
  EXPECT_EQ(log(), Lines{});
}

// ---- Propagation ----

TEST_F(ExpiryLogTest, AnEntryAndItsRemovalAreOneUnit) {
  client.run("SET a v PX 10");
  client.run("SET b v PX 10");
  client.run("HSETEX h PX 10 FIELDS 2 f x g y");
  client.run("HSET h stays z");
  advance(10ms);
  units();
  client.run("GET a");
  const std::string at = std::to_string(wall().now().time_since_epoch().count());
  EXPECT_EQ(propagated, (Lines{"0: MULTI",
                               "0: XADD __expired__ " + at + "-0 db 0 key a type string deadline " +
                                   at + " at " + at + " how access",
                               "0: UNLINK a", "0: EXEC"}));
  units();
  sweep_now();
  EXPECT_EQ(units(), "XEXPIRED ") << "entries and removals, as one request";
  EXPECT_EQ(log().size(), 4u);
}

TEST_F(ExpiryLogTest, CommandsThatMeetAnyKeysTransactionsAndScriptsAreUnits) {
  const auto fill = [&] {
    for (const char* key : {"a", "b", "c"}) client.run(std::string("SET ") + key + " v PX 10");
    advance(10ms);
    units();
  };
  fill();
  client.run("SCAN 0 COUNT 100");
  EXPECT_EQ(units(), "MULTI XADD UNLINK XADD UNLINK XADD UNLINK EXEC ");
  fill();
  client.run("MULTI");
  for (const char* line : {"GET a", "SET other v", "GET b"}) client.run(line);
  client.run("EXEC");
  EXPECT_EQ(units(), "MULTI XADD UNLINK SET XADD UNLINK EXEC ");
  client.run("GET c");
  fill();
  client.run({"EVAL",
              "redis.set_repl(redis.REPL_NONE) redis.call('get', 'a') "
              "return redis.call('xlen', '__expired__')",
              "0"});
  EXPECT_EQ(units(), "MULTI XADD UNLINK EXEC ") << "an expiry is no effect of the script";
  EXPECT_EQ(log().size(), 7u);
}

TEST_F(ExpiryLogTest, ADeadlineInThePastIsOneUnit) {
  client.run("SET a v");
  client.run("HSET h f v g w");
  units();
  client.run("EXPIRE a -1");
  EXPECT_EQ(units(), "MULTI XADD UNLINK EXEC ");
  client.run("HPEXPIREAT h 1 FIELDS 2 f g");
  EXPECT_EQ(units(), "MULTI XADD XADD HDEL EXEC ");
  EXPECT_EQ(log().size(), 3u);
}

TEST_F(ExpiryLogTest, IdsGrowEvenIfTheClockGoesBack) {
  client.run("SET a v");
  client.run("SET b v");
  client.run("SET c v");
  client.run("EXPIRE a -1");
  client.run("EXPIRE b -1");
  advance(-5s);
  client.run("EXPIRE c -1");
  EXPECT_EQ(client.run("XLEN __expired__"), "(integer) 3");
  const std::vector<LogEntry> entries = log_entries(server());
  EXPECT_EQ(entries[0].at("id"), "1700000000000-0");
  EXPECT_EQ(entries[1].at("id"), "1700000000000-1");
  EXPECT_EQ(entries[2].at("id"), "1700000000000-2");
}

// ---- Readers ----

TEST_F(ExpiryLogTest, ABlockedReaderWakesBySweepAndByAccess) {
  TestClient& reader = connect();
  client.run("SET a v PX 10");
  client.run("SET b v PX 10");
  EXPECT_EQ(reader.run("XREAD BLOCK 0 STREAMS __expired__ $"), "");
  advance(10ms);
  client.run("GET a");
  EXPECT_NE(reader.messages().find("\"key\", \"a\""), std::string::npos);
  client.run("XGROUP CREATE __expired__ g $");
  EXPECT_EQ(reader.run("XREADGROUP GROUP g me BLOCK 0 STREAMS __expired__ >"), "");
  sweep_now();
  EXPECT_NE(reader.messages().find("\"key\", \"b\""), std::string::npos);
}

// XREAD itself finds something expired, after it has looked at the log.
TEST_F(ExpiryLogTest, AReaderThatMakesAnEntryItselfDoesNotMissIt) {
  TestClient& reader = connect();
  client.run("XADD s 1-1 a b");
  client.run("PEXPIRE s 10");
  advance(10ms);
  const std::string reply = reader.run("XREAD BLOCK 0 STREAMS __expired__ s 0 0");
  EXPECT_NE((reply + reader.messages()).find("\"key\", \"s\""), std::string::npos);
}

TEST_F(ExpiryLogTest, ThereAreNoKeyspaceEventsForIt) {
  TestClient& subscriber = connect();
  client.run("CONFIG SET notify-keyspace-events KEA");
  subscriber.run("PSUBSCRIBE *");
  client.run("SET a v");
  client.run("EXPIRE a -1");
  const std::string seen = subscriber.messages();
  EXPECT_NE(seen.find("expired"), std::string::npos);
  EXPECT_EQ(seen.find("__expired__"), std::string::npos) << seen;
}

TEST_F(ExpiryLogTest, ATransactionThatWatchesItFails) {
  client.run("SET a v PX 10");
  client.run("WATCH __expired__");
  connect().run("EXPIRE a -1");
  client.run("MULTI");
  client.run("PING");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
}

// ---- Limits ----

TEST_F(ExpiryLogTest, SmallLimitsAreExactAndPropagated) {
  client.run("CONFIG SET expiry-log-max-entries 3");
  for (int i = 0; i < 5; ++i) {
    client.run("SET k" + std::to_string(i) + " v");
    client.run("EXPIRE k" + std::to_string(i) + " -1");
  }
  EXPECT_EQ(log().size(), 3u);
  EXPECT_EQ(log_entries(server()).front().at("key"), "k2");
  EXPECT_EQ(propagated[propagated.size() - 3], "0: XTRIM __expired__ MAXLEN = 3");
  EXPECT_TRUE(info_has("expiry_log_entries:3"));
  EXPECT_TRUE(info_has("expiry_log_trimmed:2"));
  client.run("CONFIG SET expiry-log-max-entries 1");
  EXPECT_EQ(log().size(), 1u) << "at once";
  EXPECT_EQ(propagated.back(), "0: XTRIM __expired__ MAXLEN = 1");
}

TEST_F(ExpiryLogTest, LargeLogsLoseBlocksAndStayBelowTheirLimits) {
  client.run("CONFIG SET expiry-log-max-entries 10000");
  const auto expire = [&](int count) {
    for (int i = 0; i < count; ++i) client.run("SET k" + std::to_string(i) + " v PX 10");
    advance(10ms);
    sweep_now();
  };
  expire(12'000);
  EXPECT_LE(log().size(), 10'000u);
  EXPECT_GT(log().size(), 9'800u);
  client.run("CONFIG SET expiry-log-max-bytes 100kb");
  EXPECT_TRUE(info_has("expiry_log_added:12000"));
  expire(3'000);
  const ExpiryLog::Totals totals = server().parts().expiry_log.totals();
  EXPECT_LE(totals.bytes, 100u << 10);
  EXPECT_GT(totals.bytes, 80u << 10);
  client.run("CONFIG SET expiry-log-max-bytes 1 expiry-log-max-entries 0");
  expire(3'000);
  EXPECT_GT(log().size(), 0u) << "one block stays";
  EXPECT_LE(log().size(), 100u);
}

// ---- States ----

TEST_F(ExpiryLogTest, ItIsNeverEvicted) {
  client.run("SET a v");
  client.run("EXPIRE a -1");
  client.run("CONFIG SET maxmemory-policy allkeys-random");
  const std::string big(100'000, 'x');
  for (int i = 0; i < 20; ++i) client.run({"SET", "big" + std::to_string(i), big});
  server().parts().config.maxmemory = used_memory() - (3 << 19);
  client.run("SET b v");
  EXPECT_EQ(log().size(), 1u);
  server().parts().config.maxmemory = 1;
  EXPECT_EQ(client.run("SET b v"),
            "(error) OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(client.run("KEYS *"), "[\"__expired__\"]") << "all others went";
  server().parts().config.maxmemory = 0;
}

TEST_F(ExpiryLogTest, FullMemoryDoesNotStopIt) {
  client.run("SET a v PX 10");
  server().parts().config.maxmemory = 1;
  advance(10ms);
  sweep_now();
  EXPECT_EQ(log().size(), 1u);
  server().parts().config.maxmemory = 0;
}

TEST_F(ExpiryLogTest, FlushRemovesItAndSwapTakesItAlong) {
  client.run("SET a v");
  client.run("EXPIRE a -1");
  EXPECT_EQ(client.run("SWAPDB 0 1"), "OK");
  EXPECT_EQ(log(0), Lines{});
  EXPECT_EQ(log(1), Lines{"0 a string past +1000"});
  client.run("SELECT 1");
  client.run("SET b v");
  client.run("EXPIRE b -1");
  EXPECT_EQ(log(1), (Lines{"0 a string past +1000", "1 b string past +1000"}));
  EXPECT_EQ(client.run("FLUSHALL"), "OK");
  EXPECT_EQ(log(1), Lines{});
  client.run("SET c v");
  client.run("EXPIRE c -1");
  EXPECT_EQ(log(1), Lines{"1 c string past +1000"});
}

TEST_F(ExpiryLogTest, NothingExpiresDuringAPauseOrAnImport) {
  client.run("SET a v PX 10");
  client.run("SET b v PX 10");
  client.run("CLIENT PAUSE 60000 WRITE");
  advance(10ms);
  EXPECT_EQ(client.run("GET a"), "(nil)");
  sweep_now();
  EXPECT_EQ(log(), Lines{});
  client.run("CLIENT UNPAUSE");
  client.run("CONFIG SET import-mode yes");
  EXPECT_EQ(client.run("GET a"), "(nil)");
  sweep_now();
  EXPECT_EQ(log(), Lines{});
  client.run("SET a w");  // a write removes what is due first
  EXPECT_EQ(log(), Lines{"0 a string access +0"});
  client.run("CONFIG SET import-mode no");
  sweep_now();
  EXPECT_EQ(log(), (Lines{"0 a string access +0", "0 b string sweep +0"}));
}

TEST_F(ExpiryLogTest, ItsOwnDeadlineGoesWithTheFirstEntry) {
  client.run("CONFIG SET expiry-log no");
  client.run("XADD __expired__ 1-1 a b");
  client.run("PEXPIRE __expired__ 100");
  client.run("CONFIG SET expiry-log yes");
  client.run("SET a v");
  client.run("EXPIRE a -1");
  EXPECT_EQ(client.run("PTTL __expired__"), "(integer) -1");
  EXPECT_EQ(client.run("XLEN __expired__"), "(integer) 2") << "a stream of that name goes on";
}

TEST_F(ExpiryLogTest, AKeyOfAnotherTypeIsAClearErrorAndCanBeDeleted) {
  client.run("CONFIG SET expiry-log no");
  client.run("SELECT 3");
  client.run("SET __expired__ mine");
  const std::string refused = client.run("CONFIG SET expiry-log yes");
  EXPECT_NE(refused.find("The key '__expired__' of database 3 is no stream"), std::string::npos)
      << refused;
  EXPECT_EQ(client.run("CONFIG GET expiry-log"), "[\"expiry-log\", \"no\"]");

  // At the start of a server the data is loaded after the configuration.
  server().parts().config.expiry_log = true;
  server().parts().apply_config();
  client.run("SET a v");
  client.run("EXPIRE a -1");
  EXPECT_EQ(client.run("GET __expired__"), "\"mine\"");
  EXPECT_TRUE(info_has("expiry_log_dropped:1"));
  EXPECT_NE(lines.back().find("Expiries in database 3 are not logged"), std::string::npos);
  EXPECT_EQ(client.run("RENAME __expired__ mine"), "OK");
  client.run("SET b v");
  client.run("EXPIRE b -1");
  EXPECT_EQ(log(3), Lines{"3 b string past +1000"});
}

TEST_F(ExpiryLogTest, OffItCostsNothingAndItsStreamStays) {
  client.run("SET a v");
  client.run("EXPIRE a -1");
  client.run("CONFIG SET expiry-log no");
  EXPECT_EQ(server().parts().keyspace.observer(), nullptr);
  client.run("SET b v");
  client.run("EXPIRE b -1");
  EXPECT_EQ(log().size(), 1u);
  EXPECT_EQ(client.run("DEL __expired__"), "(integer) 1");
}

}  // namespace expiry_log_test
}  // namespace mayfly
