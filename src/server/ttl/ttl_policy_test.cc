// SPDX-License-Identifier: Apache-2.0
// ttl-policy: which rule applies, what is refused, what gets a default, and what is propagated.

#include "commands/ttl/ttl_policy.h"

#include <gtest/gtest.h>

#include "mayfly/random.h"
#include "server/core/server_fixture.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace ttl_policy_test {

class TtlPolicyTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }
  Database& database() { return fixture_.server().parts().keyspace[0]; }
  ExecContext context() const { return {.now = fixture_.wall().now()}; }
  // Keys without a TTL.
  std::string endless() {
    std::string names;
    database().each([&](Slot slot) {
      const bool is_alive = database().is_alive(context(), slot);
      if (is_alive && database().deadline(slot) == kNever) {
        names.append(database().key(slot)).append(" ");
      }
      return true;
    });
    return names;
  }
  bool is_refused(std::string_view line) { return run(line).starts_with("(error) TTLPOLICY "); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

// Requests that make keys or change their TTLs, in every way.
constexpr std::string_view kWrites[] = {"SET a 1",
                                        "SET b 2 EX 50",
                                        "SET a 1 KEEPTTL",
                                        "SET b 2 NX",
                                        "SET c 3 XX GET",
                                        "SETNX c 1",
                                        "SETEX a 20 1",
                                        "MSET a 1 b 2",
                                        "MSETNX d 1 e 2",
                                        "GETSET a 2",
                                        "GETEX a PERSIST",
                                        "GETEX a EX 10",
                                        "PERSIST b",
                                        "EXPIRE a 10",
                                        "INCR n",
                                        "APPEND s x",
                                        "SETRANGE s 3 x",
                                        "SETBIT bits 3 1",
                                        "BITOP OR bits a b",
                                        "BITFIELD bits SET u8 0 1",
                                        "HSET h f v",
                                        "HINCRBY h n 1",
                                        "HSETEX h2 EX 10 FIELDS 1 f v",
                                        "LPUSH l a b",
                                        "LPUSHX l c",
                                        "RPOPLPUSH l l2",
                                        "LMOVE l l2 LEFT LEFT",
                                        "SADD s1 a b",
                                        "SMOVE s1 s2 a",
                                        "SUNIONSTORE s3 s1 s2",
                                        "ZADD z 1 a",
                                        "ZUNIONSTORE z2 1 z",
                                        "ZRANGESTORE z3 z 0 -1",
                                        "XADD x * f v",
                                        "XGROUP CREATE x2 g 0 MKSTREAM",
                                        "PFADD p a",
                                        "PFMERGE p2 p",
                                        "GEOADD geo 1 1 m",
                                        "GEOSEARCHSTORE geo2 geo FROMLONLAT 1 1 BYRADIUS 9 km",
                                        "COPY a aa",
                                        "COPY a aa REPLACE",
                                        "RENAME aa ab",
                                        "RENAMENX ab ac",
                                        "SORT l STORE l3",
                                        "DEL a",
                                        "DEL l",
                                        "DEL s3",
                                        "SADDEX sx EX 9 MEMBERS 1 a",
                                        "ZADDEX zx EX 9 MEMBERS 1 1 a",
                                        "ZINCRBY zi 1 m",
                                        "MSETEX 2 m1 1 m2 2 EX 5",
                                        "MSETEX 2 m1 1 m3 2",
                                        "INCRBYFLOAT nf 1",
                                        "HSETNX hn f v",
                                        "LPUSH l c",
                                        "BLMOVE l l4 LEFT LEFT 0.01"};

TEST_F(TtlPolicyTest, WhereATtlIsRequiredNoKeyIsEverWithoutOne) {
  for (const std::string_view rule : {"* required yes", "* max 1h"}) {
    run("FLUSHALL");
    client_.run({"CONFIG", "SET", "ttl-policy", std::string(rule)});
    Random random(7);
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string_view line = kWrites[random.below(std::size(kWrites))];
      const std::size_t keys = database().stored();
      if (is_refused(line)) {
        ++refused;
        EXPECT_LE(database().stored(), keys) << line;  // some had expired
      }
      if (random.below(3) == 0) run("SET a 1 EX 100");
      ASSERT_EQ(endless(), "") << line;
    }
    EXPECT_GT(refused, 1000);
  }
}

TEST_F(TtlPolicyTest, WithADefaultEveryNewKeyGetsItAndReplicasToo) {
  ClusterFixture cluster(2);
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(cluster.run(0, {"CONFIG", "SET", "ttl-policy", "* default 1h max 1h jitter 20"}), "OK");
  Random random(9);
  for (int i = 0; i < 2000; ++i) {
    const std::string_view line = kWrites[random.below(std::size(kWrites))];
    cluster.run(0, line);
    cluster[0].server().parts().keyspace[0].each([&](Slot slot) {
      const Database& keys = cluster[0].server().parts().keyspace[0];
      EXPECT_LE(keys.deadline(slot) - cluster[0].wall().now(), Millis(3'600'000)) << line;
      return true;
    });
  }
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(cluster.digest(0), cluster.digest(1));
}

TEST_F(TtlPolicyTest, TheLongestPrefixWins) {
  Random random(3);
  TtlPolicy policy;
  std::vector<TtlRule> model;
  const auto text = [&](std::size_t most) {
    std::string made;
    for (std::size_t n = random.below(most + 1); n > 0; --n) {
      made += static_cast<char>('a' + random.below(3));
    }
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string prefix = text(4);
    std::erase_if(model, [&](const TtlRule& rule) { return rule.prefix == prefix; });
    if (random.below(2) == 0) {
      TtlRule rule;
      rule.prefix = prefix;
      rule.jitter = static_cast<double>(i % 100);
      model.push_back(rule);
      policy.set(rule);
    } else {
      policy.remove(prefix);
    }
    const std::string key = text(7);
    const TtlRule* wanted = nullptr;
    for (const TtlRule& rule : model) {
      const bool is_longer = wanted == nullptr || rule.prefix.size() > wanted->prefix.size();
      if (key.starts_with(rule.prefix) && is_longer) wanted = &rule;
    }
    const TtlRule* const found = policy.find(key);
    ASSERT_EQ(found == nullptr, wanted == nullptr) << key;
    if (found != nullptr) {
      ASSERT_EQ(found->prefix, wanted->prefix) << key;
      ASSERT_EQ(found->jitter, wanted->jitter) << key;
    }
  }
}

TEST_F(TtlPolicyTest, MaxRefusesLongerTtlsAndChangesNothing) {
  run("SET s:a old EX 10");
  EXPECT_EQ(run("TTLPOLICY SET s: max 1m"), "OK");
  EXPECT_EQ(run("SET s:a new EX 61"),
            "(error) TTLPOLICY the TTL of key 's:a' is too long: the rule for 's:' allows 1m");
  EXPECT_EQ(run("SET s:a new"),
            "(error) TTLPOLICY key 's:a' must have a TTL of at most 1m: the rule for 's:' says so "
            "(give one with SET ... EX or the like)");
  EXPECT_TRUE(is_refused("EXPIRE s:a 61"));
  EXPECT_TRUE(is_refused("PERSIST s:a"));
  EXPECT_TRUE(is_refused("MSETEX 2 x 1 s:a 2 EX 61"));
  run("SET y 1");
  EXPECT_TRUE(is_refused("RENAME y s:y"));
  EXPECT_TRUE(is_refused("COPY y s:y"));
  EXPECT_EQ(run("GET s:a"), "\"old\"");
  EXPECT_EQ(run("TTL s:a"), "(integer) 10");
  EXPECT_EQ(run("EXISTS x s:y"), "(integer) 0");
  EXPECT_EQ(run("SET s:a new EX 60"), "OK");
  EXPECT_EQ(run("EXPIRE s:a -1"), "(integer) 1");
  EXPECT_EQ(run("SET other v"), "OK");
  EXPECT_NE(run("INFO stats").find("ttl_policy_violations:7"), std::string::npos);
}

TEST_F(TtlPolicyTest, TheDefaultIsPropagatedAsADeadline) {
  run("TTLPOLICY SET c: default 10s");
  const std::string at = std::to_string(fixture_.wall().now().time_since_epoch().count() + 10'000);
  fixture_.propagated.clear();
  run("SET c:a 1");
  EXPECT_EQ(fixture_.propagated, std::vector<std::string>{"0: SET c:a 1 PXAT " + at});
  fixture_.propagated.clear();
  run("LPUSH c:l 1");
  EXPECT_EQ(fixture_.propagated, (std::vector<std::string>{"0: MULTI", "0: LPUSH c:l 1",
                                                           "0: PEXPIREAT c:l " + at, "0: EXEC"}));
  fixture_.advance(Millis(4000));
  run("LPUSH c:l 2");
  EXPECT_EQ(run("PTTL c:l"), "(integer) 6000");  // it is not new
}

TEST_F(TtlPolicyTest, ScriptsAndTransactionsObey) {
  run("TTLPOLICY SET s: required yes");
  EXPECT_NE(client_.run({"EVAL", "return redis.call('INCR', KEYS[1])", "1", "s:n"})
                .find("TTLPOLICY key 's:n' must have a TTL"),
            std::string::npos);
  run("MULTI");
  run("INCR s:n");
  run("SET s:n 1 EX 10");
  run("INCR s:n");
  const std::string replies = run("EXEC");
  EXPECT_TRUE(replies.starts_with("[(error) TTLPOLICY")) << replies;
  EXPECT_TRUE(replies.ends_with("OK, (integer) 2]")) << replies;
}

TEST_F(TtlPolicyTest, RulesAreShownAndChanged) {
  EXPECT_EQ(client_.run({"CONFIG", "SET", "ttl-policy",
                         "s: default 1800 max 1d ; \"a b\" jitter 2.5 ; * required yes"}),
            "OK");
  EXPECT_EQ(
      run("CONFIG GET ttl-policy"),
      "[\"ttl-policy\", \"* required yes ; \\\"a b\\\" jitter 2.5 ; s: default 30m max 1d\"]");
  EXPECT_EQ(run("TTLPOLICY GET s:1"),
            "[\"prefix\", \"s:\", \"default-ms\", (integer) 1800000, \"max-ms\", (integer) "
            "86400000, \"required\", \"no\", \"jitter-percent\", \"0\"]");
  EXPECT_EQ(run("TTLPOLICY DEL *"), "(integer) 1");
  EXPECT_EQ(run("TTLPOLICY DEL *"), "(integer) 0");
  EXPECT_EQ(run("TTLPOLICY GET x"), "(nil)");
  for (const std::string_view wrong :
       {"TTLPOLICY SET s: max", "TTLPOLICY SET s: max 0", "TTLPOLICY SET s: max 1y",
        "TTLPOLICY SET s: default 2h max 1h", "TTLPOLICY SET s: jitter 101",
        "TTLPOLICY SET s: required x", "TTLPOLICY SET s:* max 1h", "TTLPOLICY SET s: foo 1"}) {
    EXPECT_TRUE(run(wrong).starts_with("(error) ERR ")) << wrong;
  }
  EXPECT_TRUE(client_.run({"CONFIG", "SET", "ttl-policy", "s: max"}).starts_with("(error)"));
  EXPECT_NE(run("CONFIG GET ttl-policy").find("s: default 30m"), std::string::npos);
  EXPECT_EQ(client_.run({"CONFIG", "SET", "ttl-policy", ""}), "OK");
  EXPECT_EQ(run("TTLPOLICY LIST"), "[]");
}

}  // namespace ttl_policy_test
}  // namespace mayfly
