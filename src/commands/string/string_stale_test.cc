// SPDX-License-Identifier: Apache-2.0
// SET with STALE and TOKEN, GETSTALE and DELLEASE: what is fresh, stale and missing, who gets a
// token, what ends a lease, and what other commands do to the stale time.

#include <map>
#include <set>
#include <string>
#include <utility>

#include "commands/call_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace string_stale_test {

using std::chrono::seconds;

class StaleTest : public CallFixture {
 protected:
  // The token in a reply of GETSTALE; empty if there is none.
  static std::string token_in(const std::string& reply) {
    const std::size_t comma = reply.rfind(", ");
    const std::string last = reply.substr(comma + 2, reply.size() - comma - 3);
    return last == "(nil)" ? "" : last.substr(1, last.size() - 2);
  }
  std::string state_of(const std::string& key) {
    const std::string reply = run("GETSTALE " + key + " LEASE 0");
    const std::size_t first =
        reply.find("\", \"") == reply.npos ? reply.find(", \"") + 3 : reply.find("\", \"") + 4;
    return reply.substr(first, reply.find('"', first) - first);
  }
  std::string take(const std::string& key) { return token_in(run("GETSTALE " + key)); }
};

TEST_F(StaleTest, AValueIsFreshThenStaleThenGone) {
  EXPECT_EQ(run("SET page html EX 60 STALE 30"), "OK");
  EXPECT_EQ(run("GETSTALE page"), R"(["html", "fresh", (nil)])");
  EXPECT_EQ(run("PTTL page"), "(integer) 90000");
  advance(seconds(60) - Millis(1));
  EXPECT_EQ(run("GETSTALE page"), R"(["html", "fresh", (nil)])");
  advance(Millis(1));
  EXPECT_EQ(run("GETSTALE page LEASE 0"), R"(["html", "stale", (nil)])");
  EXPECT_EQ(run("GET page"), R"("html")");
  advance(seconds(30) - Millis(1));
  EXPECT_EQ(run("GETSTALE page LEASE 0"), R"(["html", "stale", (nil)])");
  advance(Millis(1));
  EXPECT_EQ(run("GETSTALE page LEASE 0"), R"([(nil), "missing", (nil)])");
  EXPECT_EQ(run("EXISTS page"), "(integer) 0");
}

TEST_F(StaleTest, AKeyWithoutAStaleTimeIsFreshUntilItIsGone) {
  run("SET page html");
  EXPECT_EQ(state_of("page"), "fresh");
  run("SET page html EX 60");
  advance(seconds(59));
  EXPECT_EQ(state_of("page"), "fresh");
  advance(seconds(1));
  EXPECT_EQ(state_of("page"), "missing");
}

TEST_F(StaleTest, OneCallerGetsAToken) {
  run("SET page html PX 100 PSTALE 100000");
  advance(Millis(100));
  const std::string token = take("page");
  EXPECT_EQ(token.size(), 16u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(run("GETSTALE page"), R"(["html", "stale", (nil)])");
  advance(seconds(10) - Millis(1));
  EXPECT_EQ(take("page"), "");
  advance(Millis(1));  // the lease is over
  const std::string second = take("page");
  EXPECT_NE(second, "");
  EXPECT_NE(second, token);
  EXPECT_EQ(run("SET page late EX 60 TOKEN " + token), "(nil)");
  EXPECT_EQ(run("SET page new EX 60 STALE 5 TOKEN " + second), "OK");
  EXPECT_EQ(run("GETSTALE page"), R"(["new", "fresh", (nil)])");
  EXPECT_EQ(run("SET page again EX 60 TOKEN " + second), "(nil)");
}

TEST_F(StaleTest, OneCallerGetsATokenForAMissingKey) {
  const std::string token = take("page");
  EXPECT_NE(token, "");
  EXPECT_EQ(run("GETSTALE page"), R"([(nil), "missing", (nil)])");
  EXPECT_EQ(run("SET page html EX 60 TOKEN " + token), "OK");
  EXPECT_EQ(state_of("page"), "fresh");
}

TEST_F(StaleTest, ALeaseOutlivesTheKey) {
  run("SET page html PX 100 PSTALE 100");
  advance(Millis(150));
  const std::string token = take("page");
  advance(Millis(50));
  EXPECT_EQ(run("GETSTALE page"), R"([(nil), "missing", (nil)])");
  EXPECT_EQ(run("SET page new TOKEN " + token), "OK");
}

TEST_F(StaleTest, TheLeaseTimeCanBeGiven) {
  EXPECT_NE(token_in(run("GETSTALE page LEASE 500")), "");
  advance(Millis(499));
  EXPECT_EQ(take("page"), "");
  advance(Millis(1));
  EXPECT_NE(take("page"), "");
  keyspace().options().stale_lease = seconds(1);
  EXPECT_NE(take("other"), "");
  advance(seconds(1));
  EXPECT_NE(take("other"), "");
}

TEST_F(StaleTest, ALeaseCanBeGivenBack) {
  const std::string token = take("page");
  EXPECT_EQ(run("DELLEASE page 0123456789abcdef"), "(integer) 0");
  EXPECT_EQ(run("DELLEASE other " + token), "(integer) 0");
  EXPECT_EQ(take("page"), "");
  EXPECT_EQ(run("DELLEASE page " + token), "(integer) 1");
  EXPECT_EQ(run("DELLEASE page " + token), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_NE(take("page"), "");
  EXPECT_EQ(run("SET page late TOKEN " + token), "(nil)");
}

TEST_F(StaleTest, EveryChangeEndsTheLease) {
  for (const std::string change :
       {"SET page x", "SET page x EX 5", "DEL page", "UNLINK page", "APPEND page x",
        "EXPIRE page 100", "PERSIST page", "RENAME page other", "RENAME other page", "FLUSHDB",
        "FLUSHALL", "SWAPDB 0 1", "MOVE page 1", "COPY other page REPLACE", "GETDEL page",
        "SETRANGE page 0 x", "MSET page x", "GETEX page EX 5"}) {
    run("FLUSHALL");
    run("SET other v");
    run("SET page html PX 1 PSTALE 100000");
    advance(Millis(1));
    const std::string token = take("page");
    ASSERT_NE(token, "") << change;
    ASSERT_EQ(run(change).find("(error)"), std::string::npos) << change;
    EXPECT_EQ(run("SET page late TOKEN " + token), "(nil)") << change;
  }
}

TEST_F(StaleTest, RemovingAMissingKeyEndsItsLease) {
  for (const std::string change : {"DEL page", "UNLINK other page", "FLUSHDB", "FLUSHALL"}) {
    const std::string token = take("page");
    ASSERT_NE(token, "") << change;
    run(change);
    EXPECT_EQ(run("SET page late TOKEN " + token), "(nil)") << change;
  }
}

TEST_F(StaleTest, ReadsAndOtherKeysEndNoLease) {
  run("SET page html PX 1 PSTALE 100000");
  advance(Millis(1));
  const std::string token = take("page");
  for (const std::string other : {"GET page", "TTL page", "SET other x", "DEL other", "GETEX page",
                                  "COPY page copied", "EXPIRE page 100 NX", "SETNX page x"}) {
    run(other);
  }
  select(1);
  run("SET page x");
  run("FLUSHDB");
  EXPECT_EQ(run("SET page late TOKEN " + token), "(nil)");
  select(0);
  EXPECT_EQ(run("SET page new TOKEN " + token), "OK");
}

TEST_F(StaleTest, OnlyAPrimaryGivesLeases) {
  run("SET page html PX 1 PSTALE 100000");
  advance(Millis(1));
  const std::string token = take("page");
  context().policy = Policy::hide;
  EXPECT_EQ(run("GETSTALE page"), R"(["html", "stale", (nil)])");
  EXPECT_EQ(run("GETSTALE missing"), R"([(nil), "missing", (nil)])");
  EXPECT_EQ(run("DELLEASE page " + token), "(integer) 0");
  EXPECT_EQ(run("SET page new TOKEN " + token), "(nil)");
}

TEST_F(StaleTest, ReplicasGetAbsoluteTimes) {
  run("SET page html EX 60 STALE 30");
  EXPECT_EQ(propagated(), "SET page html PXAT " + in_ms(seconds(60)) + " PSTALE 30000");
  const std::string wire = propagated();
  run("DEL page");
  run(wire);
  EXPECT_EQ(run("PTTL page"), "(integer) 90000");
  EXPECT_EQ(database().stale_time(database().find(context(), "page")), seconds(30));
  const std::string token = take("missing");
  run("SET missing x TOKEN " + token);
  EXPECT_EQ(propagated(), "SET missing x");
  EXPECT_EQ(events(), "n:new:missing $:set:missing");
}

TEST_F(StaleTest, CommandsThatSetATtlEndTheStaleTime) {
  for (const std::string change :
       {"EXPIRE page 100", "PEXPIREAT page 9999999999999", "GETEX page EX 100", "PERSIST page",
        "SET page x EX 100", "SET page x", "GETSET page x", "MSETEX 1 page x EX 100",
        "SETEX page 100 x"}) {
    run("SET page html EX 10 STALE 10");
    run(change);
    advance(seconds(15));
    EXPECT_EQ(state_of("page"), "fresh") << change;
  }
}

TEST_F(StaleTest, CommandsThatKeepTheTtlKeepTheStaleTime) {
  for (const std::string change :
       {"SET page x KEEPTTL", "APPEND page x", "SETRANGE page 0 x", "MSETEX 1 page x KEEPTTL",
        "GETEX page", "SETBIT page 0 1", "EXPIRE page 100 NX", "SET page y XX KEEPTTL GET"}) {
    run("SET page html EX 10 STALE 10");
    run(change);
    advance(seconds(10) - Millis(1));
    EXPECT_EQ(state_of("page"), "fresh") << change;
    advance(Millis(1));
    EXPECT_EQ(state_of("page"), "stale") << change;
    advance(seconds(10));
    EXPECT_EQ(state_of("page"), "missing") << change;
  }
}

TEST_F(StaleTest, AKeyTakesItsStaleTimeAlong) {
  run("SET page html EX 10 STALE 10");
  run("RENAME page renamed");
  run("COPY renamed copied");
  run("COPY renamed copied DB 1");
  run("MOVE copied 2");
  run("SWAPDB 1 3");
  advance(seconds(10));
  EXPECT_EQ(state_of("renamed"), "stale");
  select(3);
  EXPECT_EQ(state_of("copied"), "stale");
  select(2);
  EXPECT_EQ(state_of("copied"), "stale");
  run("SET copied x");
  EXPECT_EQ(state_of("copied"), "fresh");
}

TEST_F(StaleTest, APastTtlWithAStaleTimeIsStaleAtOnce) {
  EXPECT_EQ(run("SET page html PXAT " + in_ms(Millis(-5)) + " PSTALE 10"), "OK");
  EXPECT_EQ(state_of("page"), "stale");
  EXPECT_EQ(run("SET page html PXAT " + in_ms(Millis(-5)) + " PSTALE 5"), "OK");
  EXPECT_EQ(state_of("page"), "missing");
}

TEST_F(StaleTest, JitterIsOfTheFreshTime) {
  std::set<std::string> ends;
  for (int i = 0; i < 20; ++i) {
    run("SET page html EX 100 STALE 10 JITTER 50");
    const Slot slot = database().find(context(), "page");
    EXPECT_EQ(database().stale_time(slot), seconds(10));
    const Millis ttl = database().deadline(slot) - now();
    EXPECT_GE(ttl, seconds(60));
    EXPECT_LE(ttl, seconds(160));
    ends.insert(run("PTTL page"));
  }
  EXPECT_GT(ends.size(), 10u);
}

TEST_F(StaleTest, ARuleForTheTtlCountsTheStaleTime) {
  policy().set({.prefix = "page", .default_ttl = {}, .max_ttl = seconds(60)});
  EXPECT_EQ(run("SET page html EX 50 STALE 10"), "OK");
  EXPECT_EQ(run("SET page html EX 51 STALE 10").substr(0, 18), "(error) TTLPOLICY ");
}

TEST_F(StaleTest, BadRequestsAreRefused) {
  constexpr std::string_view kSyntax = "(error) ERR syntax error";
  constexpr std::string_view kTime = "(error) ERR invalid stale time in 'set' command";
  constexpr std::string_view kTtl = "(error) ERR STALE needs a TTL: EX, PX, EXAT or PXAT";
  run("SET page html");
  EXPECT_EQ(run("SET page x STALE 5"), kTtl);
  EXPECT_EQ(run("SET page x KEEPTTL STALE 5"), kTtl);
  EXPECT_EQ(run("SET page x EX 5 STALE"), kSyntax);
  EXPECT_EQ(run("SET page x EX 5 STALE 5 PSTALE 5"), kSyntax);
  EXPECT_EQ(run("SET page x EX 5 STALE 0"), kTime);
  EXPECT_EQ(run("SET page x EX 5 STALE -1"), kTime);
  EXPECT_EQ(run("SET page x EX 5 STALE many"), kTime);
  EXPECT_EQ(run("SET page x EX 5 STALE 9223372036854775"), kTime);
  EXPECT_EQ(run("SET page x PXAT 9223372036854775806 PSTALE 1"), kTime);
  EXPECT_EQ(run("SET page x EX 5 TOKEN"), kSyntax);
  EXPECT_EQ(run("SET page x TOKEN 0123456789abcdef NX"), kSyntax);
  EXPECT_EQ(run("SET page x XX TOKEN 0123456789abcdef"), kSyntax);
  EXPECT_EQ(run("SET page x TOKEN 0123456789abcdef GET"), kSyntax);
  for (const std::string token : {"0", "0000000000000000", "0123456789abcdef", "-000000000000001",
                                  "0123456789abcdefg", "\xFF"}) {
    EXPECT_EQ(run({"SET", "page", "x", "TOKEN", token}), "(nil)") << token;
  }
  EXPECT_EQ(run("GETSTALE page LEASE"), kSyntax);
  EXPECT_EQ(run("GETSTALE page LEASE 5 6"), kSyntax);
  EXPECT_EQ(run("GETSTALE page LOAN 5"), kSyntax);
  EXPECT_EQ(run("GETSTALE page LEASE -1"), "(error) ERR LEASE must be 0 to 86400000 milliseconds");
  EXPECT_EQ(run("GETSTALE page LEASE 86400001"),
            "(error) ERR LEASE must be 0 to 86400000 milliseconds");
  EXPECT_EQ(run("GET page"), R"("html")");
  run("HSET h f v");
  EXPECT_EQ(run("GETSTALE h"),
            "(error) WRONGTYPE Operation against a key holding the wrong kind of value");
}

// What the model knows of a key.
struct Page {
  std::string value;
  Time fresh_until = kNever;
  Time deadline = kNever;
  std::string token;
  Time lease = Time(Millis(0));

  // The value is gone, the lease is not.
  void expire() {
    value.clear();
    fresh_until = kNever;
    deadline = kNever;
  }
  // A change ends the lease.
  void set(std::string text, Time fresh, Time end) {
    *this = Page();
    value = std::move(text);
    fresh_until = fresh;
    deadline = end;
  }
};

// Random requests against three numbers for each key.
TEST_F(StaleTest, BehavesLikeAModel) {
  std::map<std::string, Page> pages;
  Random random(19);
  const auto number = [&](std::uint64_t below) { return std::to_string(random.below(below) + 1); };
  for (int step = 0; step < 20'000; ++step) {
    advance(Millis(random.below(30)));
    const std::string key(1, static_cast<char>('a' + random.below(4)));
    Page& page = pages[key];
    if (is_due(page.deadline, now())) page.expire();
    const bool is_there = !page.value.empty();
    const std::string value = "v" + std::to_string(step);
    const std::string fresh = number(200);
    const std::string stale = number(200);
    const std::string times = " PX " + fresh + " PSTALE " + stale;
    const auto put = [&] {
      const Time fresh_until = now() + Millis(std::stoll(fresh));
      page.set(value, fresh_until, fresh_until + Millis(std::stoll(stale)));
    };
    switch (random.below(8)) {
      case 0:
        ASSERT_EQ(run("SET " + key + " " + value + times), "OK");
        put();
        break;
      case 1: {
        const bool may = !page.token.empty() && now() < page.lease;
        const std::string token = page.token.empty() ? "0123456789abcdef" : page.token;
        ASSERT_EQ(run("SET " + key + " " + value + times + " TOKEN " + token),
                  may ? "OK" : "(nil)");
        if (may) put();
        break;
      }
      case 2:
        if (random.below(4) != 0) break;
        ASSERT_EQ(run("DEL " + key), is_there ? "(integer) 1" : "(integer) 0");
        page = Page();
        break;
      case 3:
        ASSERT_EQ(run("PEXPIRE " + key + " " + fresh), is_there ? "(integer) 1" : "(integer) 0");
        if (is_there) page.set(page.value, kNever, now() + Millis(std::stoll(fresh)));
        break;
      default: {
        const bool is_fresh = is_there && now() < page.fresh_until;
        const bool gets = !is_fresh && now() >= page.lease;
        const std::string reply = run("GETSTALE " + key + " LEASE 50");
        const std::string begin = is_there ? "[\"" + page.value + "\", " : "[(nil), ";
        const std::string state = is_fresh ? "fresh" : is_there ? "stale" : "missing";
        ASSERT_EQ(reply.substr(0, begin.size() + state.size() + 2), begin + "\"" + state + "\"");
        ASSERT_EQ(token_in(reply).empty(), !gets) << reply;
        if (!gets) break;
        page.token = token_in(reply);
        page.lease = now() + Millis(50);
      }
    }
    ASSERT_EQ(keyspace().leases().check_invariants(), "");
  }
}

}  // namespace string_stale_test
}  // namespace mayfly
