// SPDX-License-Identifier: Apache-2.0
// JITTER on every command that sets a TTL: bounds, a number of its own for each key and member,
// absolute deadlines to replicas, and what is refused.

#include "commands/ttl/jitter.h"

#include <set>

#include "commands/call_fixture.h"

namespace mayfly {
namespace jitter_test {

constexpr std::string_view kSyntax = "(error) ERR syntax error";
constexpr std::string_view kPercentage = "(error) ERR JITTER must be a percentage from 0 to 100";

class JitterTest : public CallFixture {
 protected:
  // The numbers among the propagated words that are deadlines here, as distances from now.
  std::vector<std::int64_t> propagated_ttls() const {
    std::vector<std::int64_t> ttls;
    std::string text = propagated();
    for (char& c : text) c = c == ';' ? ' ' : c;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = std::min(text.find(' ', i), text.size());
      const std::string word = text.substr(i, end - i);
      if (word.size() == 13 && word.starts_with("18")) {
        ttls.push_back(std::stoll(word) - now().time_since_epoch().count());
      }
      i = end + 1;
    }
    return ttls;
  }

  std::int64_t pttl(std::string_view key) {
    const Slot slot = database().find(context(), key);
    EXPECT_NE(slot, kNoSlot) << key;
    return (database().deadline(slot) - now()).count();
  }
  std::int64_t pttl(std::string_view key, std::string_view name) {
    const Slot slot = database().find(context(), key);
    return (database().members(context(), slot).find(name)->deadline - now()).count();
  }
  void expect_within(std::int64_t ttl, std::int64_t least, std::int64_t most,
                     std::string_view what) {
    EXPECT_GE(ttl, least) << what;
    EXPECT_LE(ttl, most) << what;
  }
};

TEST_F(JitterTest, EveryCommandThatGivesAKeyATtlStaysWithinThePercentage) {
  const std::string at_second = std::to_string(now().time_since_epoch().count() / 1000 + 1000);
  const std::string at_milli = in_ms(Millis(1'000'000));
  for (const std::string& line : {
           std::string("SET k v EX 1000 JITTER 50"),
           std::string("SET k v JITTER 50 PX 1000000"),
           "SET k v EXAT " + at_second + " jitter 50",
           "SET k v PXAT " + at_milli + " JITTER 50",
           std::string("SETEX k 1000 v JITTER 50"),
           std::string("PSETEX k 1000000 v JITTER 50"),
           std::string("GETEX k EX 1000 JITTER 50"),
           std::string("MSETEX 1 k v EX 1000 JITTER 50"),
           std::string("EXPIRE k 1000 JITTER 50"),
           std::string("PEXPIRE k 1000000 JITTER 50"),
           "EXPIREAT k " + at_second + " JITTER 50",
           "PEXPIREAT k " + at_milli + " JITTER 50",
           std::string("EXPIRE k 1000 XX JITTER 50"),
       }) {
    std::set<std::int64_t> seen;
    for (int i = 0; i < 50; ++i) {
      run("SET k v EX 5");
      run(line);
      expect_within(pttl("k"), 500'000, 1'500'000, line);
      EXPECT_EQ(propagated_ttls(), std::vector{pttl("k")}) << line << ": " << propagated();
      seen.insert(pttl("k"));
    }
    EXPECT_GT(seen.size(), 40u) << line;
    EXPECT_LT(*seen.begin(), 700'000) << line;
    EXPECT_GT(*seen.rbegin(), 1'300'000) << line;
  }
}

TEST_F(JitterTest, EveryCommandThatGivesMembersATtlGivesEachItsOwn) {
  const std::string at_second = std::to_string(now().time_since_epoch().count() / 1000 + 1000);
  const std::string at_milli = in_ms(Millis(1'000'000));
  for (const std::string& line : {
           std::string("HEXPIRE h 1000 JITTER 50 FIELDS 3 a b c"),
           std::string("HPEXPIRE h 1000000 NX JITTER 50 FIELDS 3 a b c"),
           "HEXPIREAT h " + at_second + " JITTER 50 FIELDS 3 a b c",
           "HPEXPIREAT h " + at_milli + " JITTER 50 FIELDS 3 a b c",
           std::string("HSETEX h EX 1000 JITTER 50 FIELDS 3 a 1 b 2 c 3"),
           std::string("HSETEX h JITTER 50 1000 a 1 b 2 c 3"),
           std::string("HGETEX h EX 1000 JITTER 50 FIELDS 3 a b c"),
           std::string("FIELDEXPIRE h JITTER 50 1000 a b c"),
           std::string("SEXPIRE s 1000 JITTER 50 MEMBERS 3 a b c"),
           std::string("SADDEX s EX 1000 JITTER 50 MEMBERS 3 a b c"),
           std::string("SADDEX s JITTER 50 1000 a b c"),
           std::string("ZEXPIRE z 1000 JITTER 50 MEMBERS 3 a b c"),
           std::string("ZADDEX z EX 1000 JITTER 50 MEMBERS 3 1 a 2 b 3 c"),
       }) {
    run("DEL h s z");
    run("HSET h a 1 b 2 c 3");
    run("SADD s a b c");
    run("ZADD z 1 a 2 b 3 c");
    run(line);
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(space + 1, 1);
    std::set<std::int64_t> seen;
    std::vector<std::int64_t> stored;
    for (const std::string_view name : {"a", "b", "c"}) {
      stored.push_back(pttl(key, name));
      expect_within(stored.back(), 500'000, 1'500'000, line);
    }
    EXPECT_EQ(std::set(stored.begin(), stored.end()).size(), 3u) << line;
    EXPECT_EQ(propagated_ttls(), stored) << propagated();
  }
}

TEST_F(JitterTest, OneMemberOfKeydb) {
  run("SADD s a");
  for (const std::string& line :
       {std::string("EXPIREMEMBER s a 1000 JITTER 50"),
        std::string("EXPIREMEMBER s a 1000000 ms JITTER 50"),
        "EXPIREMEMBERAT s a " + std::to_string(now().time_since_epoch().count() / 1000 + 1000) +
            " JITTER 50",
        "PEXPIREMEMBERAT s a " + in_ms(Millis(1'000'000)) + " JITTER 50"}) {
    EXPECT_EQ(run(line), "(integer) 1") << line;
    expect_within(pttl("s", "a"), 500'000, 1'500'000, line);
    EXPECT_NE(pttl("s", "a"), 1'000'000) << line;
    EXPECT_EQ(propagated_ttls(), std::vector{pttl("s", "a")}) << propagated();
  }
  EXPECT_EQ(run("EXPIREMEMBER s a 10 x JITTER 5"), "(error) ERR Invalid unit arg");
  EXPECT_EQ(run("EXPIREMEMBER s a 10 s ms JITTER 5"),
            "(error) ERR wrong number of arguments for 'expiremember' command");
}

TEST_F(JitterTest, MsetexGivesEachKeyItsOwnAndPropagatesThemOneByOne) {
  EXPECT_EQ(run("MSETEX 3 a 1 b 2 c 3 NX EX 1000 JITTER 20"), "(integer) 1");
  EXPECT_EQ(propagated_ttls(), (std::vector{pttl("a"), pttl("b"), pttl("c")})) << propagated();
  EXPECT_EQ(std::set({pttl("a"), pttl("b"), pttl("c")}).size(), 3u);
  EXPECT_TRUE(propagated().starts_with("SET a 1 PXAT ")) << propagated();
}

TEST_F(JitterTest, ZeroIsExactAndMembersStayTogether) {
  run("SET k v EX 10 JITTER 0");
  EXPECT_EQ(propagated(), "SET k v PXAT " + in_ms(Millis(10'000)));
  run("HSETEX h EX 10 JITTER 0.0 FIELDS 2 a 1 b 2");
  EXPECT_EQ(propagated(), "HSETEX h PXAT " + in_ms(Millis(10'000)) + " FIELDS 2 a 1 b 2");
}

TEST_F(JitterTest, FractionsAreAllowedAndTheResultIsAtLeastAMillisecond) {
  for (int i = 0; i < 200; ++i) {
    run("SET k v PX 1 JITTER 100");
    expect_within(pttl("k"), 1, 2, "PX 1");
    run("SET k v PX 1000 JITTER 0.2");
    expect_within(pttl("k"), 998, 1002, "0.2 %");
  }
}

TEST_F(JitterTest, ItIsEven) {
  int below = 0;
  constexpr int kTimes = 4000;
  for (int i = 0; i < kTimes; ++i) {
    run("SET k v PX 1000000 JITTER 100");
    if (pttl("k") < 500'000) ++below;
  }
  EXPECT_NEAR(below, kTimes / 4, kTimes / 20);
}

TEST_F(JitterTest, ConditionsCompareTheDeadlineWithItsJitter) {
  int longer = 0;
  for (int i = 0; i < 100; ++i) {
    run("SET k v EX 1000");
    if (run("EXPIRE k 1000 GT JITTER 50") == "(integer) 1") {
      ++longer;
      EXPECT_GT(pttl("k"), 1'000'000);
    } else {
      EXPECT_EQ(pttl("k"), 1'000'000);
      EXPECT_EQ(propagated(), "");
    }
  }
  EXPECT_GT(longer, 25);
  EXPECT_LT(longer, 75);
}

TEST_F(JitterTest, AMemberThatIsNamedTwiceKeepsTheLastDeadline) {
  run("HSETEX h EX 1000 JITTER 50 FIELDS 2 a 1 a 2");
  EXPECT_EQ(propagated_ttls().back(), pttl("h", "a"));
  EXPECT_EQ(run("HGET h a"), "\"2\"");
}

TEST_F(JitterTest, MembersThatAreNotChangedAreNotPropagated) {
  run("HSET h a 1 b 2 c 3");
  run("HEXPIRE h 1000 FIELDS 1 b");
  EXPECT_EQ(run("HEXPIRE h 1000 NX JITTER 50 FIELDS 4 a b x c"),
            "[(integer) 1, (integer) 0, (integer) -2, (integer) 1]");
  EXPECT_EQ(propagated_ttls(), (std::vector{pttl("h", "a"), pttl("h", "c")})) << propagated();
}

TEST_F(JitterTest, APastDeadlineExpiresAtOnce) {
  run("SET k v");
  EXPECT_EQ(run("EXPIRE k -1 JITTER 100"), "(integer) 1");
  EXPECT_EQ(propagated(), "UNLINK k");
  run("HSET h a 1 b 2");
  EXPECT_EQ(run("HEXPIRE h 0 JITTER 100 FIELDS 1 a"), "[(integer) 2]");
  EXPECT_EQ(propagated(), "HDEL h a");
}

TEST_F(JitterTest, AFarDeadlineDoesNotWrapAround) {
  EXPECT_EQ(run("SET k v PX 9000000000000000000 JITTER 100"), "OK");
  EXPECT_GT(pttl("k"), 0);
  EXPECT_EQ(run("SET k v PX 9000000000000000 JITTER 100"), "OK");
  EXPECT_GT(pttl("k"), 0);
}

TEST_F(JitterTest, NothingIsLostWhenTheOptionIsWrong) {
  run("SET k v");
  run("HSET h a 1");
  run("SADD s a");
  for (const std::string_view line :
       {"SET k w JITTER 5", "SET k w KEEPTTL JITTER 5", "SET k w EX 10 JITTER", "GETEX k JITTER 5",
        "GETEX k PERSIST JITTER 5", "MSETEX 1 k w JITTER 5", "HSETEX h JITTER 5 FIELDS 1 a 2",
        "HSETEX h KEEPTTL JITTER 5 FIELDS 1 a 2", "HGETEX h JITTER 5 FIELDS 1 a",
        "SADDEX s JITTER 5 MEMBERS 1 b", "ZADDEX z JITTER 5 MEMBERS 1 1 a"}) {
    EXPECT_EQ(run(line), kSyntax) << line;
    EXPECT_EQ(propagated(), "") << line;
  }
  for (const std::string_view percent : {"-1", "100.1", "x", "nan", "inf", "5%"}) {
    for (const std::string_view begin :
         {"SET k w EX 10 JITTER ", "SETEX k 10 w JITTER ", "GETEX k EX 10 JITTER ",
          "EXPIRE k 10 JITTER ", "MSETEX 1 k w EX 10 JITTER ", "EXPIREMEMBER s a 10 JITTER "}) {
      EXPECT_EQ(run(std::string(begin).append(percent)), kPercentage) << begin << percent;
    }
    EXPECT_EQ(run("HEXPIRE h 10 JITTER " + std::string(percent) + " FIELDS 1 a"), kPercentage);
    EXPECT_EQ(run("SADDEX s JITTER " + std::string(percent) + " 10 b"), kPercentage);
  }
  EXPECT_EQ(run("SETEX k 10 w JITTER"),
            "(error) ERR wrong number of arguments for 'setex' command");
  EXPECT_EQ(run("SETEX k 10 w x 5"), "(error) ERR wrong number of arguments for 'setex' command");
  EXPECT_EQ(run("EXPIRE k 10 JITTER"), "(error) ERR Unsupported option JITTER");
  EXPECT_EQ(run("FIELDEXPIRE h JITTER 5 10"),
            "(error) ERR wrong number of arguments for 'fieldexpire' command");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_EQ(run("TTL k"), "(integer) -1");
  EXPECT_EQ(run("HTTL h FIELDS 1 a"), "[(integer) -1]");
  EXPECT_EQ(run("SCARD s"), "(integer) 1");
}

// Commands of a primary have deadlines, but an old log may repeat what a client sent.
TEST_F(JitterTest, MembersNamedLikeTheOptionAreMembers) {
  EXPECT_EQ(run("HSETEX h EX 10 FIELDS 1 JITTER 5"), "(integer) 1");
  EXPECT_EQ(run("HGET h JITTER"), "\"5\"");
  EXPECT_EQ(run("SADDEX s 10 JITTER 5"), "(integer) 2");
}

}  // namespace jitter_test
}  // namespace mayfly
