// SPDX-License-Identifier: Apache-2.0
// What time does to the entries of a store: who gets which deadline, when a key is gone, and who
// removes it then.

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_ttl_test {

using namespace std::chrono_literals;

class StoreTtlTest : public OpenStoreFixture {};

TEST_F(StoreTtlTest, ATtlOfDLastsExactlyD) {
  must(store_.put("key", "value", 10ms));

  clock_.advance(9ms);
  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(must(store_.get_entry("key"))->ttl, 1ms);
  clock_.advance(1ms);
  EXPECT_EQ(value("key"), "(none)");
}

// All that can see a key, one for each way in.
TEST_F(StoreTtlTest, EveryReaderSeesTheSameBoundary) {
  must(store_.put("key", "value", 10ms));
  const auto seen_by = [](const ReadTxn& txn) {
    const std::array<std::string_view, 1> keys = {"key"};
    std::string seen;
    seen += must(txn.get("key")) ? "g" : "";
    seen += must(txn.get_entry("key")) ? "e" : "";
    seen += must(txn.deadline("key")) ? "d" : "";
    seen += must(txn.contains("key")) ? "c" : "";
    seen += must(txn.get_many(keys))[0] ? "m" : "";
    seen += rows_of(txn).empty() ? "" : "r";
    seen += must(txn.expiring(Time::min(), kNever)).empty() ? "" : "x";
    seen += must(txn.count()).live == 0 ? "" : "l";
    seen += must(txn.count()).with_ttl == 0 ? "" : "t";
    seen += must(txn.count()).expired == 1 ? "" : "p";
    return seen;
  };

  clock_.advance(9ms);
  EXPECT_EQ(seen_by(must(store_.read())), "gedcmrxltp");
  clock_.advance(1ms);
  EXPECT_EQ(seen_by(must(store_.read())), "");
}

TEST_F(StoreTtlTest, APlainPutMakesTheKeyPermanent) {
  must(store_.put("key", "old", 10s));
  must(store_.put("key", "new"));

  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(count().with_ttl, 0u);
  EXPECT_EQ(must(store_.next_deadline()), kNever);
  clock_.advance(24h);
  EXPECT_EQ(must(store_.purge_expired()).removed, 0u);
  EXPECT_EQ(value("key"), "new");
}

TEST_F(StoreTtlTest, APutWithATtlReplacesTheDeadline) {
  for (const Millis ttl : {Millis(10s), Millis(99s), Millis(5s)}) {
    must(store_.put("key", "value", ttl));
    EXPECT_EQ(deadline("key"), kStart + ttl);
    EXPECT_EQ(must(store_.next_deadline()), kStart + ttl) << "an old row is in the expiry index";
    EXPECT_EQ(must(store_.expiring(kStart, kNever)).size(), 1u);
  }
  expect_sound();
}

TEST_F(StoreTtlTest, AnExpiredKeyCanBePutAnew) {
  must(store_.put("plain", "old", 10s));
  must(store_.put("again", "old", 10s));
  must(store_.put("kept", "old", 10s));
  clock_.advance(10s);
  must(store_.put("plain", "new"));
  must(store_.put("again", "new", 5s));
  must(store_.put("kept", "new", Expiry::unchanged()));

  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"again", "new", kStart + 15s},
                                                 {"kept", "new", kNever},
                                                 {"plain", "new", kNever}}));
  EXPECT_EQ(must(store_.purge_expired()).removed, 0u);
  expect_sound();
}

TEST_F(StoreTtlTest, RefusesAnExpiryThatOnlyCachesHave) {
  must(store_.put("key", "v"));
  for (const Expiry& expiry : {Expiry::sliding(10s), Expiry(10s).refresh_after(5s)}) {
    EXPECT_EQ(store_.put("key", "w", expiry).error().code, Code::invalid);
    EXPECT_EQ(store_.expire("key", expiry).error().code, Code::invalid);
    EXPECT_EQ(store_.increment("number", 1, expiry).error().code, Code::invalid);
  }
  EXPECT_EQ(value("key"), "v");
  EXPECT_EQ(deadline("key"), kNever);
}

TEST_F(StoreTtlTest, UnchangedKeepsTheDeadlineOrTheLackOfOne) {
  must(store_.put("session", "old", 10s));
  must(store_.put("key", "old"));
  clock_.advance(3s);
  must(store_.put("session", "new", Expiry::unchanged()));
  must(store_.put("key", "new", Expiry::unchanged()));
  must(store_.put("made", "new", Expiry::unchanged()));

  EXPECT_EQ(deadline("session"), kStart + 10s);
  EXPECT_EQ(value("session"), "new");
  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(deadline("made"), kNever);
}

TEST_F(StoreTtlTest, ADeadlineMayBeGivenAsSuch) {
  must(store_.put("voucher", "code", kStart + 24h));
  EXPECT_EQ(deadline("voucher"), kStart + 24h);
  must(store_.put("day", "code", std::chrono::sys_days(std::chrono::days(30'000))));
  EXPECT_EQ(deadline("day"), Time(std::chrono::days(30'000)));
  must(store_.put("never", "code", kNever));
  EXPECT_EQ(deadline("never"), kNever);
  EXPECT_EQ(count().with_ttl, 2u);
}

TEST_F(StoreTtlTest, ATtlFinerThanAMillisecondIsRoundedUp) {
  must(store_.put("key", "value", 1us));
  EXPECT_EQ(deadline("key"), kStart + 1ms);
}

TEST_F(StoreTtlTest, WhatIsDueAtOnceIsStoredAndNeverSeen) {
  const std::vector<Expiry> due = {0ms,          -1ms,        Millis::min(),   kStart,
                                   kStart - 1ms, Time::min(), Time(Millis(-1))};
  for (std::size_t i = 0; i < due.size(); ++i) {
    must(store_.put("key" + std::to_string(i), "value", due[i]));
  }

  EXPECT_EQ(count().stored, due.size());
  EXPECT_EQ(count().expired, due.size());
  EXPECT_EQ(count().live, 0u);
  auto txn = must(store_.read());
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_FALSE(must(txn.contains("key" + std::to_string(i)))) << i;
  }
  EXPECT_TRUE(rows_of(txn).empty());
  EXPECT_EQ(must(store_.purge_expired()).removed, due.size());
  expect_sound();
}

TEST_F(StoreTtlTest, WhatIsDueAtOnceReplacesALiveEntry) {
  must(store_.put("key", "old"));
  must(store_.put("key", "new", -5s));

  EXPECT_EQ(count().live, 0u);
  EXPECT_EQ(value("key"), "(none)");
}

TEST_F(StoreTtlTest, ATtlTooLongForTheCalendarMeansNever) {
  must(store_.put("longest", "value", Millis::max()));
  must(store_.put("ages", "value", std::chrono::years(200'000'000)));
  must(store_.put("last", "value", kNever - 1ms));

  EXPECT_EQ(deadline("longest"), kNever);
  EXPECT_EQ(deadline("last"), kNever - 1ms);
  EXPECT_EQ(must(store_.get_entry("longest"))->ttl, std::nullopt);
  EXPECT_EQ(must(store_.get_entry("last"))->ttl, kNever - 1ms - kStart);
  EXPECT_EQ(deadline("ages"), kStart + std::chrono::years(200'000'000));
  EXPECT_EQ(count().with_ttl, 2u);
}

TEST_F(StoreTtlTest, AClockThatGoesBackShowsWhatHasNotBeenRemoved) {
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  EXPECT_EQ(count().live, 0u);
  clock_.set(kStart);
  EXPECT_EQ(count().live, 1u);
  EXPECT_EQ(value("key"), "value");
}

// --- Default TTL ---------------------------------------------------------------------------------

TEST_F(StoreTtlTest, TheDefaultTtlIsForThoseWhoAreToldNone) {
  must(store_.set_default_ttl(60s));
  EXPECT_EQ(must(store_.default_ttl()), Millis(60s));
  must(store_.put("plain", "v"));
  must(store_.put("ttl", "v", 5s));
  must(store_.put("never", "v", Expiry::never()));
  EXPECT_TRUE(must(store_.put_if_absent("absent", "v")));
  EXPECT_EQ(must(store_.increment("counter")), 1);
  must(store_.put("unchanged", "v", Expiry::unchanged()));
  EXPECT_TRUE(must(store_.compare_and_set("set", std::nullopt, "v")));

  EXPECT_EQ(deadline("unchanged"), kStart + 60s) << "a new key has nothing to keep";
  EXPECT_EQ(deadline("set"), kStart + 60s);
  EXPECT_EQ(deadline("plain"), kStart + 60s);
  EXPECT_EQ(deadline("ttl"), kStart + 5s);
  EXPECT_EQ(deadline("never"), kNever);
  EXPECT_EQ(deadline("absent"), kStart + 60s);
  EXPECT_EQ(deadline("counter"), kStart + 60s);
}

TEST_F(StoreTtlTest, TheDefaultTtlIsInTheFile) {
  must(store_.set_default_ttl(60s));
  reopen();
  EXPECT_EQ(must(store_.default_ttl()), Millis(60s));
  must(store_.put("key", "v"));
  EXPECT_EQ(deadline("key"), kStart + 60s);

  must(store_.set_default_ttl(std::nullopt));
  reopen();
  EXPECT_EQ(must(store_.default_ttl()), std::nullopt);
  must(store_.put("key", "v"));
  EXPECT_EQ(deadline("key"), kNever);
}

TEST_F(StoreTtlTest, TheDefaultTtlIsUndoneByRollback) {
  must(store_.set_default_ttl(60s));
  auto txn = must(store_.write());
  must(txn.set_default_ttl(5s));
  txn.put("inside", "v");
  EXPECT_EQ(must(txn.deadline("inside")), kStart + 5s);
  txn.rollback();

  EXPECT_EQ(must(store_.default_ttl()), Millis(60s));
  must(store_.put("key", "v"));
  EXPECT_EQ(deadline("key"), kStart + 60s);
}

// --- Changing a deadline alone -------------------------------------------------------------------

TEST_F(StoreTtlTest, ExpireChangesTheDeadlineAndNotTheValue) {
  must(store_.put("key", "value"));
  EXPECT_TRUE(must(store_.expire("key", 10s)));
  EXPECT_EQ(deadline("key"), kStart + 10s);
  EXPECT_TRUE(must(store_.expire("key", 5s)));
  EXPECT_EQ(deadline("key"), kStart + 5s);
  EXPECT_TRUE(must(store_.expire("key", Expiry::never())));
  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(must(store_.next_deadline()), kNever);
  EXPECT_FALSE(must(store_.expire("other", 10s)));
  EXPECT_FALSE(must(store_.contains("other")));
}

TEST_F(StoreTtlTest, ExpireRemovesAKeyWhoseNewDeadlineIsDue) {
  for (const Expiry due : {Expiry(0ms), Expiry(-1s), Expiry(kStart)}) {
    must(store_.put("key", "value", 10s));
    EXPECT_TRUE(must(store_.expire("key", due)));
    EXPECT_EQ(stored(), 0u);
  }
  EXPECT_EQ(must(store_.next_deadline()), kNever);
}

TEST_F(StoreTtlTest, ExpireDoesNotRaiseTheDead) {
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  EXPECT_FALSE(must(store_.expire("key", 10s)));
  EXPECT_FALSE(must(store_.persist("key")));
  EXPECT_FALSE(must(store_.touch("key", 10s)));
  EXPECT_EQ(value("key"), "(none)");
}

TEST_F(StoreTtlTest, ExpireObeysItsConditions) {
  const auto after = [this](Expiry has, Expiry gets, When when) {
    must(store_.put("key", "value", has));
    const bool did = must(store_.expire("key", gets, when));
    const Time now_has = deadline("key");
    const std::string left = now_has == kNever ? "never" : std::to_string((now_has - kStart) / 1s);
    return (did ? "yes " : "no ") + left;
  };
  const Expiry never = Expiry::never();

  EXPECT_EQ(after(never, 10s, When::unset), "yes 10");
  EXPECT_EQ(after(20s, 10s, When::unset), "no 20");
  EXPECT_EQ(after(never, 10s, When::set), "no never");
  EXPECT_EQ(after(20s, 10s, When::set), "yes 10");
  EXPECT_EQ(after(20s, 30s, When::later), "yes 30");
  EXPECT_EQ(after(20s, 20s, When::later), "no 20");
  EXPECT_EQ(after(20s, 10s, When::later), "no 20");
  EXPECT_EQ(after(never, 10s, When::later), "no never");
  EXPECT_EQ(after(20s, 10s, When::sooner), "yes 10");
  EXPECT_EQ(after(20s, 20s, When::sooner), "no 20");
  EXPECT_EQ(after(20s, 30s, When::sooner), "no 20");
  EXPECT_EQ(after(never, 10s, When::sooner), "yes 10");
  EXPECT_EQ(after(never, 10s, When::set | When::sooner), "no never");
  EXPECT_EQ(after(20s, 30s, When::set | When::later), "yes 30");
  EXPECT_EQ(after(20s, -1s, When::later), "no 20") << "a condition guards removal too";
}

TEST_F(StoreTtlTest, ConditionsThatContradictEachOtherAreRefused) {
  must(store_.put("key", "value"));
  EXPECT_EQ(code_of(store_.expire("key", 1s, When::unset | When::set)), Code::invalid);
  EXPECT_EQ(code_of(store_.expire("key", 1s, When::unset | When::later)), Code::invalid);
  EXPECT_EQ(code_of(store_.expire("key", 1s, When::later | When::sooner)), Code::invalid);
  EXPECT_EQ(deadline("key"), kNever);
}

TEST_F(StoreTtlTest, PersistTellsWhetherThereWasADeadline) {
  must(store_.put("key", "value", 10s));
  EXPECT_TRUE(must(store_.persist("key")));
  EXPECT_FALSE(must(store_.persist("key")));
  EXPECT_FALSE(must(store_.persist("other")));
  clock_.advance(10s);
  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(count().with_ttl, 0u);
}

TEST_F(StoreTtlTest, TouchOnlyPutsOff) {
  must(store_.put("session", "token", 10s));
  must(store_.put("key", "value"));

  EXPECT_TRUE(must(store_.touch("session", 5s)));
  EXPECT_EQ(deadline("session"), kStart + 10s);
  EXPECT_TRUE(must(store_.touch("session", 20s)));
  EXPECT_EQ(deadline("session"), kStart + 20s);
  EXPECT_TRUE(must(store_.touch("session", -1s)));
  EXPECT_EQ(deadline("session"), kStart + 20s);
  EXPECT_TRUE(must(store_.touch("key", 5s)));
  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_FALSE(must(store_.touch("other", 5s)));
}

// --- Expired reads -------------------------------------------------------------------------------

using Reading = std::function<bool(const Store&)>;

// Each way to read one key, and whether it found it.
const std::vector<Reading>& readings() {
  static const std::vector<Reading> all = {
      [](const Store& store) { return must(store.get("key")).has_value(); },
      [](const Store& store) { return must(store.get_entry("key")).has_value(); },
      [](const Store& store) { return must(store.deadline("key")).has_value(); },
      [](const Store& store) { return must(store.contains("key")); },
      [](const Store& store) {
        std::string out;
        return must(store.get_into(out, "key"));
      },
      [](const Store& store) {
        const std::array<std::string_view, 2> keys = {"none", "key"};
        return must(store.get_many(keys))[1].has_value();
      },
  };
  return all;
}

// A read commits nothing: what it found goes with the next commit of the process.
TEST_F(StoreTtlTest, TheNextCommitRemovesTheExpiredKeyThatAReadMet) {
  must(store_.put("live", "value", 10h));
  for (std::size_t i = 0; i < readings().size(); ++i) {
    store_.reset_stats();
    must(store_.put("key", "value", 10s));
    must(store_.put("unread", "value", 10s));
    clock_.advance(10s);
    const std::uint64_t logged = must(store_.stats()).logged_bytes;
    EXPECT_FALSE(readings()[i](store_)) << i;
    EXPECT_EQ(must(store_.stats()).logged_bytes, logged) << i;
    EXPECT_EQ(count().expired, 2u) << i;
    must(store_.put("live", "value", 10h));
    EXPECT_EQ(count().stored, 2u) << i;
    EXPECT_EQ(count().expired, 1u) << i;
    EXPECT_EQ(must(store_.stats()).expired_lazily, 1u) << i;
    must(store_.purge_expired());
  }
  expect_sound();
}

TEST_F(StoreTtlTest, AReadWithAWriterAboutSaysAbsentAndRemovesNothing) {
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  reopen({.busy_timeout = 60s});
  Store other = open();
  auto writer = must(other.write());

  const std::int64_t start = monotonic_ns();
  for (std::size_t i = 0; i < readings().size(); ++i) {
    EXPECT_FALSE(readings()[i](store_)) << i;
    EXPECT_FALSE(readings()[i](other)) << i;
    std::thread([&] { EXPECT_FALSE(readings()[i](store_)) << i; }).join();
  }
  EXPECT_LT(monotonic_ns() - start, 30'000'000'000) << "it waits for the writer";
  EXPECT_EQ(count().expired, 1u);
  EXPECT_EQ(must(store_.stats()).expired_lazily, 0u);
  EXPECT_EQ(must(store_.stats()).errors, 0u);
  writer.put("another", "value");
  must(writer.commit());
  EXPECT_EQ(value("key"), "(none)");
  EXPECT_EQ(count().expired, 0u);
  EXPECT_EQ(value("another"), "value");
}

TEST_F(StoreTtlTest, AReadOnlyStoreWritesNothingOfWhatHasExpired) {
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  must(store_.close());
  store_ = open({.read_only = true});
  const std::uint64_t before = transaction_of(store_);

  for (const Reading& reading : readings()) EXPECT_FALSE(reading(store_));
  EXPECT_TRUE(rows_of(store_).empty());
  EXPECT_EQ(count().expired, 1u);
  EXPECT_EQ(transaction_of(store_), before);
}

TEST_F(StoreTtlTest, AReadOnlyHandleWritesNothingBesideOneThatWrites) {
  const Store reader = open({.read_only = true});
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  const std::uint64_t before = transaction_of(store_);

  for (const Reading& reading : readings()) EXPECT_FALSE(reading(reader));
  EXPECT_EQ(transaction_of(store_), before);
  EXPECT_EQ(count().expired, 1u);
}

TEST_F(StoreTtlTest, AReadTransactionWritesNothing) {
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  const std::uint64_t before = transaction_of(store_);
  {
    auto txn = must(store_.read());
    EXPECT_FALSE(must(txn.contains("key")));
    EXPECT_FALSE(must(txn.get("key")));
    EXPECT_TRUE(rows_of(txn).empty());
  }
  EXPECT_EQ(transaction_of(store_), before);
  EXPECT_EQ(count().expired, 1u);
}

TEST_F(StoreTtlTest, AReadThatFindsALiveKeyWritesNothing) {
  must(store_.put("key", "value", 10s));
  const std::uint64_t before = transaction_of(store_);
  clock_.advance(9'999ms);
  for (const Reading& reading : readings()) EXPECT_TRUE(reading(store_));
  EXPECT_EQ(transaction_of(store_), before);
}

// SNKV committed the caller's transaction here (lesson A1).
TEST_F(StoreTtlTest, InAWriteTransactionTheRemovalJoinsIt) {
  must(store_.put("key", "value", 10s));
  must(store_.put("mine", "old"));
  clock_.advance(10s);
  const std::uint64_t before = transaction_of(store_);
  auto txn = must(store_.write());
  txn.put("mine", "new");
  EXPECT_FALSE(must(txn.get("key")));
  EXPECT_EQ(count().expired, 1u) << "others see it when it is committed";
  txn.rollback();

  EXPECT_EQ(count().expired, 1u);
  EXPECT_EQ(transaction_of(store_), before);
  EXPECT_EQ(value("mine"), "old");
  auto again = must(store_.write());
  EXPECT_FALSE(must(again.contains("key")));
  must(again.commit());
  EXPECT_EQ(count().stored, 1u);
  expect_sound();
}

TEST_F(StoreTtlTest, EveryReadOfAWriteTransactionRemovesAndRollbackRestores) {
  const std::vector<std::function<bool(const ReadTxn&)>> all = {
      [](const ReadTxn& txn) { return must(txn.get("key")).has_value(); },
      [](const ReadTxn& txn) { return must(txn.get_entry("key")).has_value(); },
      [](const ReadTxn& txn) { return must(txn.deadline("key")).has_value(); },
      [](const ReadTxn& txn) { return must(txn.contains("key")); },
  };
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto txn = must(store_.write());
    EXPECT_FALSE(all[i](txn)) << i;
    txn.rollback();
    EXPECT_EQ(count().expired, 1u) << i;
    EXPECT_EQ(must(store_.next_deadline()), kStart + 10s) << i;
  }
  clock_.set(kStart);
  EXPECT_EQ(value("key"), "value") << "the rollback restored all of it";
  for (std::size_t i = 0; i < all.size(); ++i) {
    must(store_.put("key", "value", kStart + 10s));
    clock_.set(kStart + 10s);
    auto txn = must(store_.write());
    EXPECT_FALSE(all[i](txn)) << i;
    must(txn.commit());
    EXPECT_EQ(stored(), 0u) << i;
    clock_.set(kStart);
  }
}

TEST_F(StoreTtlTest, AKeyMetExpiredAndPutAnewInTheSameTransactionStays) {
  for (const char* key : {"plain", "timed", "counter"}) must(store_.put(key, "1", 10s));
  clock_.advance(10s);
  auto txn = must(store_.write());
  for (const char* key : {"plain", "timed", "counter"}) EXPECT_FALSE(must(txn.contains(key)));
  txn.put("plain", "new");
  txn.put("timed", "new", 10s);
  EXPECT_EQ(txn.increment("counter", 5), 5);
  must(txn.commit());
  EXPECT_EQ(rows_of(must(store_.read())).size(), 3u);
  EXPECT_EQ(stored(), 3u);
  expect_sound();
}

// Lessons A4 and A5: nothing that fails or is undone may leave the store blind for expiry.
TEST_F(StoreTtlTest, ExpiryIsStillSeenAfterTheLastTtlKeyWasErasedAndRolledBack) {
  must(store_.put("key", "value", 10s));
  const std::vector<std::function<void(WriteTxn&)>> ways = {
      [](WriteTxn& txn) { txn.erase("key"); },
      [](WriteTxn& txn) { txn.put("key", "plain"); },
      [](WriteTxn& txn) { txn.clear(); },
      [](WriteTxn& txn) { txn.persist("key"); },
      [](WriteTxn& txn) { txn.expire("key", 0ms); },
  };
  for (const auto& way : ways) {
    auto txn = must(store_.write());
    way(txn);
    EXPECT_EQ(must(txn.count()).with_ttl, 0u);
    txn.rollback();
    EXPECT_EQ(count().with_ttl, 1u);
  }
  clock_.advance(10s);
  EXPECT_FALSE(must(must(store_.read()).get("key")));
  EXPECT_TRUE(rows_of(must(store_.read())).empty());
  EXPECT_EQ(value("key"), "(none)");
}

// Lesson A6 and A7: what one handle does with TTLs, the others know.
TEST_F(StoreTtlTest, AHandleOpenedBeforeTheFirstTtlExpiresKeysAllTheSame) {
  const Store early = open();
  EXPECT_EQ(value_of(early, "key"), "(none)");
  must(store_.put("key", "value", 10s));
  EXPECT_EQ(value_of(early, "key"), "value");
  clock_.advance(10s);

  EXPECT_EQ(must(early.count()).expired, 1u);
  EXPECT_EQ(value_of(early, "key"), "(none)");
  must(store_.put("other", "value"));
  EXPECT_EQ(must(early.count()).stored, 1u);
}

TEST_F(StoreTtlTest, APlainPutThroughAnotherHandleIsNotSweptAsExpired) {
  Store other = open();
  must(other.put("unrelated", "value"));
  must(store_.put("key", "old", 10s));
  must(other.put("key", "new"));
  clock_.advance(10s);

  EXPECT_EQ(must(store_.purge_expired()).removed, 0u);
  EXPECT_EQ(value("key"), "new");
  EXPECT_EQ(value_of(other, "key"), "new");
}

}  // namespace store_ttl_test
}  // namespace mayfly::internal
