// SPDX-License-Identifier: Apache-2.0
// What the server does between requests.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/http/readiness.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace reclaimer_test {

using namespace std::chrono_literals;

class ReclaimerTest : public testing::Test, protected ServerFixture {
 protected:
  TestClient& client = connect();
};

TEST_F(ReclaimerTest, TheLoopSleepsUntilTheNextDeadline) {
  sweep();
  client.run("SET k v PX 30");
  EXPECT_EQ(server().before_sleep(), 30ms);
  advance(30ms);
  sweep();
  EXPECT_EQ(server().parts().keyspace[0].stored(), 0u);
  EXPECT_EQ(server().parts().keyspace.stats().late_by_sweep.max_ms(), 0u);
}

TEST_F(ReclaimerTest, AFullMemoryIsToldOnceAMinuteAndByReady) {
  const auto count = [this](std::string_view text) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != line.npos; });
  };
  client.run("SET k v");
  EXPECT_FALSE(why_not_ready(server().parts()));
  client.run("CONFIG SET maxmemory 1");
  EXPECT_TRUE(why_not_ready(server().parts())) << "known without trying";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.run("SET k w").starts_with("(error) OOM"));
    advance(Millis(1000));
    sweep();
  }
  EXPECT_EQ(count("maxmemory is reached"), 1);
  advance(Millis(60'000));
  sweep();
  client.run("SET k w");
  EXPECT_EQ(count("maxmemory is reached"), 2);
  EXPECT_TRUE(why_not_ready(server().parts())->starts_with("OOM "));
  client.run("CONFIG SET maxmemory 0");
  EXPECT_FALSE(why_not_ready(server().parts()));
  client.run("CONFIG SET maxmemory 1gb");
  EXPECT_EQ(client.run("SET k w"), "OK");
  EXPECT_EQ(count("There is room below maxmemory again"), 1);
}

TEST_F(ReclaimerTest, WhoCanEvictIsReady) {
  const std::string value(10'000, 'v');
  for (int i = 0; i < 200; ++i) client.run("SET k" + std::to_string(i) + " " + value);
  client.run("CONFIG SET maxmemory-policy allkeys-random");
  client.run("CONFIG SET maxmemory " + std::to_string(used_memory() - 100'000));
  EXPECT_FALSE(why_not_ready(server().parts()));
  EXPECT_EQ(client.run("SET k0 v"), "OK");
  EXPECT_NE(std::ranges::find_if(
                lines,
                [](const std::string& line) { return line.find("keys are evicted") != line.npos; }),
            lines.end());
}

TEST_F(ReclaimerTest, SetActiveExpireStopsTheSweepOnly) {
  EXPECT_EQ(client.run("DEBUG SET-ACTIVE-EXPIRE 0"), "OK");
  client.run("SET k v PX 30");
  client.run("HSETEX h PX 30 FIELDS 2 a 1 b 2");
  client.run("HSET h c 3");
  advance(30ms);
  sweep();
  EXPECT_EQ(server().parts().keyspace[0].stored(), 2u);
  EXPECT_EQ(client.run("GET k"), "(nil)");
  EXPECT_EQ(client.run("HLEN h"), "(integer) 1");
  EXPECT_EQ(client.run("HKEYS h"), "[\"c\"]");
  client.run("DEBUG SET-ACTIVE-EXPIRE 1");
  sweep();
  EXPECT_EQ(server().parts().keyspace.stats().expired_members, 2u);
}

TEST_F(ReclaimerTest, SweptFieldsArePropagatedAsOneHdel) {
  client.run("HSETEX h PX 30 FIELDS 2 a 1 b 2");
  client.run("HSET h c 3");
  propagated.clear();
  advance(30ms);
  sweep();
  EXPECT_EQ(propagated, std::vector<std::string>{"0: HDEL h a b"});
}

TEST_F(ReclaimerTest, WhatACommandMetIsPropagatedBeforeIt) {
  client.run("DEBUG SET-ACTIVE-EXPIRE 0");
  client.run("HSETEX h PX 30 FIELDS 1 a 1");
  client.run("HSET h c 3");
  propagated.clear();
  advance(30ms);
  client.run("HSET h a new");
  EXPECT_EQ(propagated,
            (std::vector<std::string>{"0: MULTI", "0: HDEL h a", "0: HSET h a new", "0: EXEC"}));
}

TEST_F(ReclaimerTest, WithoutMemoryWritesAreRefusedAndReadsGoOn) {
  client.run("SET k v");
  server().parts().config.maxmemory = 1;
  EXPECT_EQ(client.run("SET k w"),
            "(error) OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(client.run("GET k"), "\"v\"");
  EXPECT_EQ(client.run("DEL k"), "(integer) 1");
}

TEST_F(ReclaimerTest, WhatIsDueGoesBeforeAnythingAliveIsEvicted) {
  client.run("DEBUG SET-ACTIVE-EXPIRE 0");
  client.run("CONFIG SET maxmemory-policy allkeys-lru");
  client.run({"SET", "dead", std::string(1 << 20, 'x'), "PX", "10"});
  client.run("SET alive v");
  advance(10ms);
  server().parts().config.maxmemory = used_memory() - (1 << 19);
  EXPECT_EQ(client.run("SET another v"), "OK");
  EXPECT_EQ(client.run("GET alive"), "\"v\"");
  EXPECT_EQ(server().parts().keyspace.stats().evicted_keys, 0u);
  EXPECT_EQ(server().parts().keyspace.stats().expired_keys, 1u);
}

TEST_F(ReclaimerTest, MembersThatAreDueGoBeforeAnythingAliveIsEvicted) {
  constexpr int kMembers = 40'000;
  client.run("DEBUG SET-ACTIVE-EXPIRE 0");
  client.run("CONFIG SET maxmemory-policy allkeys-lru");
  for (const std::string put : {"HSETEX", "SADDEX", "ZADDEX"}) {
    SCOPED_TRACE(put);
    server().parts().config.maxmemory = 0;
    client.run("FLUSHALL");
    sweep();
    std::vector<std::string> words = {put, "k", "PX", "10", "MEMBERS", std::to_string(kMembers)};
    for (int i = 0; i < kMembers; ++i) {
      if (put == "ZADDEX") words.emplace_back("1");
      words.push_back(std::to_string(i) + "m");
      if (put == "HSETEX") words.emplace_back("v");
    }
    client.run(words);
    client.run(put == "HSETEX"   ? "HSET k alive v"
               : put == "SADDEX" ? "SADD k alive"
                                 : "ZADD k 1 alive");
    client.run("SET other v");
    words.clear();
    propagated.clear();
    advance(10ms);
    const std::uint64_t before = server().parts().keyspace.stats().expired_members;
    server().parts().config.maxmemory = used_memory() - (1 << 17);
    EXPECT_EQ(client.run("SET another v"), "OK");
    EXPECT_EQ(client.run("EXISTS k other another"), "(integer) 3");
    EXPECT_EQ(server().parts().keyspace.stats().evicted_keys, 0u);
    EXPECT_GT(server().parts().keyspace.stats().expired_members, before);
  }
}

TEST_F(ReclaimerTest, EvictionMakesRoomAndTells) {
  client.run("CONFIG SET maxmemory-policy volatile-ttl");
  client.run({"SET", "late", std::string(1 << 20, 'x'), "EX", "100"});
  client.run({"SET", "soon", std::string(1 << 20, 'x'), "EX", "50"});
  propagated.clear();
  server().parts().config.maxmemory = used_memory() - (1 << 19);
  EXPECT_EQ(client.run("SET k v"), "OK");
  EXPECT_EQ(client.run("EXISTS late soon"), "(integer) 1");
  EXPECT_EQ(client.run("EXISTS late"), "(integer) 1");
  EXPECT_EQ(propagated.front(), "0: UNLINK soon");
}

TEST_F(ReclaimerTest, ALargeHashIsFreedBetweenRequests) {
  std::vector<std::string> words = {"HSET", "h"};
  for (int i = 0; i < 2000; ++i) words.insert(words.end(), {"f" + std::to_string(i), "v"});
  client.run(words);
  client.run("DEL h");
  EXPECT_EQ(server().parts().keyspace.lazy_free().pending(), 2000u);
  sweep();
  EXPECT_TRUE(server().parts().keyspace.lazy_free().is_empty());
}

}  // namespace reclaimer_test
}  // namespace mayfly
