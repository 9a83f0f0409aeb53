// SPDX-License-Identifier: Apache-2.0
// The deadlines of keys: setting, telling and removing them, and where the boundary is.

#include <string>

#include "commands/call_fixture.h"

namespace mayfly {
namespace key_expire_test {


class ExpireCommandsTest : public CallFixture {
 protected:
  ExpireCommandsTest() { run("SET k v"); }

  std::int64_t now_ms() const { return now().time_since_epoch().count(); }
};

TEST_F(ExpireCommandsTest, AKeyIsGoneAtItsDeadline) {
  EXPECT_EQ(run("EXPIRE k 10"), "(integer) 1");
  advance(Millis(9'999));
  EXPECT_EQ(run("EXISTS k"), "(integer) 1");
  EXPECT_EQ(run("PTTL k"), "(integer) 1");
  advance(Millis(1));
  EXPECT_EQ(run("PTTL k"), "(integer) -2");
  EXPECT_EQ(events(), "x:expired:k m:keymiss:k");
  EXPECT_EQ(keyspace().stats().expired_keys, 1u);
}

TEST_F(ExpireCommandsTest, EachSpellingSetsTheSameDeadline) {
  const std::string at = in_ms(Millis(5'000));
  for (const auto& [name, number] :
       {std::pair{"EXPIRE", std::string("5")}, std::pair{"PEXPIRE", std::string("5000")},
        std::pair{"EXPIREAT", std::to_string(now_ms() / 1000 + 5)}, std::pair{"PEXPIREAT", at}}) {
    EXPECT_EQ(run({name, "k", number}), "(integer) 1");
    EXPECT_EQ(events(), "g:expire:k");
    EXPECT_EQ(changed_keys(), "k");
    EXPECT_EQ(propagated(), "PEXPIREAT k " + at);
    EXPECT_EQ(run("PEXPIRETIME k"), "(integer) " + at);
  }
}

TEST_F(ExpireCommandsTest, WhatIsNotThereGetsNoDeadline) {
  EXPECT_EQ(run("EXPIRE nothing 10"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_F(ExpireCommandsTest, ADeadlineInThePastExpiresTheKeyAtOnce) {
  for (const std::string& line :
       {std::string("EXPIRE k 0"), std::string("EXPIRE k -1"), std::string("PEXPIRE k -5"),
        std::string("EXPIREAT k 1"), "PEXPIREAT k " + in_ms(Millis(0)),
        std::string("PEXPIREAT k -1")}) {
    run("SET k v");
    const std::uint64_t before = keyspace().stats().expired_keys;
    EXPECT_EQ(run(line), "(integer) 1") << line;
    EXPECT_EQ(events(), "x:expired:k") << line;
    EXPECT_EQ(changed_keys(), "k") << line;
    EXPECT_EQ(propagated(), "UNLINK k") << line;
    EXPECT_EQ(keyspace().stats().expired_keys, before + 1) << line;
    EXPECT_EQ(run("EXISTS k"), "(integer) 0") << line;
  }
}

TEST_F(ExpireCommandsTest, WhatThePrimarySaysAboutThePastIsObeyed) {
  context().policy = Policy::show;
  EXPECT_EQ(run("PEXPIREAT k 1"), "(integer) 1");
  EXPECT_EQ(run("PEXPIRETIME k"), "(integer) 1");
  EXPECT_EQ(run("PTTL k"), "(integer) 0");
}

TEST_F(ExpireCommandsTest, ConditionsLookAtThePresentDeadline) {
  EXPECT_EQ(run("EXPIRE k 10 XX"), "(integer) 0");
  EXPECT_EQ(run("EXPIRE k 10 GT"), "(integer) 0");  // never is later than anything
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("EXPIRE k 10 LT"), "(integer) 1");
  EXPECT_EQ(run("EXPIRE k 20 NX"), "(integer) 0");
  EXPECT_EQ(run("EXPIRE k 10 GT"), "(integer) 0");
  EXPECT_EQ(run("EXPIRE k 10 LT"), "(integer) 0");
  EXPECT_EQ(run("EXPIRE k 11 gt"), "(integer) 1");
  EXPECT_EQ(run("EXPIRE k 9 XX LT"), "(integer) 1");
  EXPECT_EQ(propagated(), "PEXPIREAT k " + in_ms(Millis(9'000)));
  EXPECT_EQ(run("EXPIRE k -1 GT"), "(integer) 0");
  EXPECT_EQ(run("EXPIRE k -1 LT"), "(integer) 1");
  EXPECT_EQ(propagated(), "UNLINK k");
  run("SET k v");
  EXPECT_EQ(run("EXPIRE k 10 NX NX"), "(integer) 1");
}

TEST_F(ExpireCommandsTest, ConditionsThatContradictAreRefused) {
  constexpr const char* kNx =
      "(error) ERR NX and XX, GT or LT options at the same time are not compatible";
  constexpr const char* kBoth = "(error) ERR GT and LT options at the same time are not compatible";
  EXPECT_EQ(run("EXPIRE k 10 NX XX"), kNx);
  EXPECT_EQ(run("EXPIRE k 10 GT NX"), kNx);
  EXPECT_EQ(run("EXPIRE k 10 NX LT GT"), kNx);
  EXPECT_EQ(run("EXPIRE k 10 GT LT"), kBoth);
  EXPECT_EQ(run("EXPIRE k 10 XX LT GT"), kBoth);
  EXPECT_EQ(run("EXPIRE k 10 Foo"), "(error) ERR Unsupported option Foo");
  EXPECT_EQ(run("EXPIRE k x Foo"), "(error) ERR Unsupported option Foo");
}

TEST_F(ExpireCommandsTest, TimesBeyondTheCalendarAreRefused) {
  EXPECT_EQ(run("EXPIRE k x"), kNoInteger);
  EXPECT_EQ(run("EXPIRE k 1.5"), kNoInteger);
  EXPECT_EQ(run("EXPIRE k 9223372036854775807"),
            "(error) ERR invalid expire time in 'expire' command");
  EXPECT_EQ(run("EXPIRE k -9223372036854775808"),
            "(error) ERR invalid expire time in 'expire' command");
  EXPECT_EQ(run("PEXPIRE k 9223372036854775807"),
            "(error) ERR invalid expire time in 'pexpire' command");
  EXPECT_EQ(run("EXPIREAT k 9223372036854775807"),
            "(error) ERR invalid expire time in 'expireat' command");
  EXPECT_EQ(run("EXPIRE nothing 9223372036854775807"),
            "(error) ERR invalid expire time in 'expire' command");
}

TEST_F(ExpireCommandsTest, SecondsAreRounded) {
  for (const auto& [ms, seconds] : {std::pair{1, "0"}, std::pair{499, "0"}, std::pair{500, "1"},
                                    std::pair{1499, "1"}, std::pair{1500, "2"}}) {
    run({"PEXPIRE", "k", std::to_string(ms)});
    EXPECT_EQ(run("TTL k"), std::string("(integer) ") + seconds) << ms;
    EXPECT_EQ(run("EXPIRETIME k"),
              "(integer) " + std::to_string(now_ms() / 1000 + std::stoi(seconds)))
        << ms;
  }
}

TEST_F(ExpireCommandsTest, AbsenceAndImmortalityHaveNumbers) {
  for (const std::string name : {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"}) {
    EXPECT_EQ(run({name, "nothing"}), "(integer) -2") << name;
    EXPECT_EQ(run({name, "k"}), "(integer) -1") << name;
  }
}

TEST_F(ExpireCommandsTest, AskingForTheDeadlineIsNoUse) {
  const std::uint32_t access = database().node(database().find(context(), "k")).access;
  advance(std::chrono::hours(1));
  run("TTL k");
  EXPECT_EQ(lookups(), "h");
  EXPECT_EQ(database().node(database().find(context(), "k")).access, access);
}

TEST_F(ExpireCommandsTest, PersistTakesTheDeadlineAway) {
  EXPECT_EQ(run("PERSIST nothing"), "(integer) 0");
  EXPECT_EQ(run("PERSIST k"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
  run("EXPIRE k 10");
  EXPECT_EQ(run("PERSIST k"), "(integer) 1");
  EXPECT_EQ(events(), "g:persist:k");
  EXPECT_EQ(propagated(), "PERSIST k");
  advance(Millis(10'000));
  EXPECT_EQ(run("TTL k"), "(integer) -1");
}

}  // namespace key_expire_test
}  // namespace mayfly
