// SPDX-License-Identifier: Apache-2.0
// Purges: exactly what is due and not one more, in steps that let others in, within limits, and
// inside a transaction as a part of it.

#include <gtest/gtest.h>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_purge_test {

using namespace std::chrono_literals;

class StorePurgeTest : public OpenStoreFixture {
 protected:
  // Keys that are due one after the other, a millisecond apart, from the first on.
  void put_timed(int number, Family family = {}) {
    auto txn = must(store_.write());
    for (int i = 1; i <= number; ++i) txn.put(name(i), "value", Millis(i), family);
    must(txn.commit());
  }
  // Not in the order of their deadlines.
  static std::string name(int i) {
    return std::to_string(i * 7919 % 10'007) + "-" + std::to_string(i);
  }
};

TEST_F(StorePurgeTest, RemovesExactlyWhatIsDue) {
  put_timed(1'000);
  must(store_.put("permanent", "value"));
  clock_.advance(400ms);
  const Purged purged = store_.purge_expired();

  must(purged.status);
  EXPECT_TRUE(purged.done);
  EXPECT_EQ(purged.removed, 400u);
  EXPECT_EQ(count().stored, 601u);
  EXPECT_EQ(count().expired, 0u);
  EXPECT_EQ(value(name(400)), "(none)");
  EXPECT_EQ(value(name(401)), "value");
  EXPECT_EQ(must(store_.stats()).purged, 400u);
  EXPECT_EQ(store_.purge_expired().removed, 0u);
  expect_sound();
}

TEST_F(StorePurgeTest, ADeadlineOfNowIsDueAndOneAMillisecondLaterIsNot) {
  put_timed(2);
  EXPECT_EQ(store_.purge_expired().removed, 0u);
  clock_.advance(1ms);
  EXPECT_EQ(store_.purge_expired().removed, 1u);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 2ms);
}

TEST_F(StorePurgeTest, AnEmptyStoreHasNothingToPurge) {
  const Purged purged = store_.purge_expired_all();
  must(purged.status);
  EXPECT_TRUE(purged.done);
  EXPECT_EQ(purged.removed, 0u);
}

TEST_F(StorePurgeTest, TakesTheOldestDeadlinesFirst) {
  put_timed(100);
  clock_.advance(1s);
  const Purged purged = store_.purge_expired({.entries = 30});

  EXPECT_EQ(purged.removed, 30u);
  EXPECT_FALSE(purged.done);
  EXPECT_TRUE(purged.status.ok());
  EXPECT_EQ(must(store_.next_deadline()), kStart + 31ms);
  EXPECT_EQ(store_.purge_expired({.entries = 70}).removed, 70u);
  EXPECT_EQ(stored(), 0u);
}

TEST_F(StorePurgeTest, ALimitOfNothingRemovesNothing) {
  put_timed(3);
  clock_.advance(1s);
  const Purged purged = store_.purge_expired({.entries = 0});

  EXPECT_EQ(purged.removed, 0u);
  EXPECT_FALSE(purged.done);
  EXPECT_EQ(count().expired, 3u);
}

TEST_F(StorePurgeTest, ALimitThatIsNotReachedIsNoLimit) {
  put_timed(100);
  clock_.advance(50ms);
  const Purged purged = store_.purge_expired({.entries = 51});
  EXPECT_EQ(purged.removed, 50u);
  EXPECT_TRUE(purged.done);
}

TEST_F(StorePurgeTest, ALimitOnTimeStopsIt) {
  put_timed(2'000);
  clock_.advance(10s);
  const Purged none = store_.purge_expired({.time = 0ms});
  EXPECT_FALSE(none.done);
  EXPECT_LT(none.removed, 2'000u);

  EXPECT_EQ(count().expired, 2'000u - none.removed) << "the number is what was removed";
  const Purged rest = store_.purge_expired({.time = 1h});
  EXPECT_EQ(rest.removed + none.removed, 2'000u);
  EXPECT_TRUE(rest.done);
}

TEST_F(StorePurgeTest, WorksInSmallTransactions) {
  must(store_.close());
  store_ = open({.purge_batch = 10});
  put_timed(95);
  clock_.advance(1s);
  const std::uint64_t before = must(store_.stats()).commits;

  EXPECT_EQ(store_.purge_expired().removed, 95u);
  EXPECT_GE(must(store_.stats()).commits, before + 10);
  EXPECT_LE(must(store_.stats()).commits, before + 11);
}

TEST_F(StorePurgeTest, TheBatchIsTwoHundredAndFiftySixUnlessToldOtherwise) {
  put_timed(512);
  clock_.advance(10s);
  const std::uint64_t before = must(store_.stats()).commits;
  EXPECT_EQ(store_.purge_expired({.entries = 256}).removed, 256u);
  EXPECT_GE(must(store_.stats()).commits, before + 1)
      << "more only if ten milliseconds were up before";
  EXPECT_EQ(store_.purge_expired().removed, 256u);
}

TEST_F(StorePurgeTest, NothingDueTakesNoWriteLock) {
  put_timed(10);
  must(store_.put("key", "value"));
  Store other = open({.busy_timeout = 0ms});
  const std::uint64_t before = transaction_of(store_);
  auto writer = must(store_.write());

  const Purged purged = other.purge_expired();
  EXPECT_TRUE(purged.status.ok());
  EXPECT_TRUE(purged.done);
  EXPECT_TRUE(other.purge_expired_all().status.ok());
  writer.rollback();
  EXPECT_EQ(transaction_of(store_), before);
}

TEST_F(StorePurgeTest, WithAWriterAboutSaysBusyAndHowFarItGot) {
  put_timed(10);
  clock_.advance(1s);
  Store other = open({.busy_timeout = 0ms});
  auto writer = must(store_.write());

  const Purged purged = other.purge_expired();
  EXPECT_EQ(code_of(purged.status), Code::busy);
  EXPECT_FALSE(purged.done);
  EXPECT_EQ(purged.removed, 0u);
  EXPECT_EQ(code_of(other.purge_expired_all().status), Code::busy);
  writer.rollback();
  EXPECT_EQ(other.purge_expired().removed, 10u);
}

TEST_F(StorePurgeTest, AReadOnlyStoreRefusesWhenSomethingIsDue) {
  put_timed(10);
  clock_.advance(5ms);
  must(store_.close());
  store_ = open({.read_only = true});

  EXPECT_EQ(code_of(store_.purge_expired().status), Code::denied);
  EXPECT_EQ(store_.purge_expired().removed, 0u);
  EXPECT_EQ(count().expired, 5u);
}

TEST_F(StorePurgeTest, OneFamilyOrAllOfThem) {
  const Family users = must(store_.create_family("users"));
  const Family carts = must(store_.create_family("carts"));
  put_timed(10);
  put_timed(20, users);
  put_timed(30, carts);
  clock_.advance(15ms);

  EXPECT_EQ(store_.purge_expired({}, users).removed, 15u);
  EXPECT_EQ(count().expired, 10u);
  EXPECT_EQ(count(carts).expired, 15u);
  const Purged some = store_.purge_expired_all({.entries = 12});
  EXPECT_EQ(some.removed, 12u) << "the limit is for all together";
  EXPECT_FALSE(some.done);
  const Purged rest = store_.purge_expired_all();
  EXPECT_EQ(rest.removed, 13u);
  EXPECT_TRUE(rest.done);
  EXPECT_EQ(stored() + stored(users) + stored(carts), 20u);
}

// Lesson A2: SNKV committed the caller's transaction, even with nothing to purge.
TEST_F(StorePurgeTest, InsideATransactionItJoinsIt) {
  put_timed(600);
  clock_.advance(500ms);
  const std::uint64_t before = transaction_of(store_);
  auto txn = must(store_.write());
  txn.put("mine", "value");
  EXPECT_EQ(txn.purge_expired(), 500u);
  EXPECT_EQ(stored_in(txn), 101u);
  EXPECT_EQ(txn.purge_expired(), 0u);
  EXPECT_EQ(count().expired, 500u) << "nothing is committed yet";
  txn.rollback();

  EXPECT_EQ(transaction_of(store_), before);
  EXPECT_EQ(count().expired, 500u);
  EXPECT_EQ(value("mine"), "(none)");
  clock_.set(kStart);
  EXPECT_EQ(count().live, 600u);
  expect_sound();
}

TEST_F(StorePurgeTest, InsideATransactionItKeepsItsLimit) {
  const Family users = must(store_.create_family("users"));
  put_timed(10);
  put_timed(10, users);
  clock_.advance(1s);
  auto txn = must(store_.write());

  EXPECT_EQ(txn.purge_expired(0), 0u);
  EXPECT_EQ(txn.purge_expired(3), 3u);
  EXPECT_EQ(must(txn.next_deadline()), kStart + 4ms);
  EXPECT_EQ(txn.purge_expired(2, users), 2u);
  EXPECT_EQ(txn.purge_expired_all(9), 9u);
  EXPECT_EQ(txn.purge_expired_all(), 6u);
  must(txn.commit());
  EXPECT_EQ(stored() + stored(users), 0u);
  expect_sound();
}

TEST_F(StorePurgeTest, InsideATransactionWhatItPutItselfIsPurgedToo) {
  auto txn = must(store_.write());
  txn.put("key", "value", -1s);
  txn.put("live", "value", 1s);
  EXPECT_EQ(txn.purge_expired(), 1u);
  must(txn.commit());
  EXPECT_EQ(stored(), 1u);
}

TEST_F(StorePurgeTest, LeavesKeysWhoseDeadlineWasChanged) {
  put_timed(10);
  must(store_.put(name(1), "permanent"));
  EXPECT_TRUE(must(store_.persist(name(2))));
  EXPECT_TRUE(must(store_.expire(name(3), 1h)));
  must(store_.put(name(4), "later", 1h));
  clock_.advance(1s);

  EXPECT_EQ(store_.purge_expired().removed, 6u);
  EXPECT_EQ(count().live, 4u);
  EXPECT_EQ(value(name(1)), "permanent");
}

TEST_F(StorePurgeTest, RemovesLongKeys) {
  for (int i = 0; i < 50; ++i) {
    must(store_.put(std::string(700, 'k') + std::to_string(i), "value", Millis(i + 1)));
  }
  clock_.advance(20ms);
  EXPECT_EQ(store_.purge_expired().removed, 20u);
  EXPECT_EQ(rows_of(store_).size(), 30u);
  expect_sound();
}

TEST_F(StorePurgeTest, AReaderOfAnOldSnapshotKeepsSeeingWhatWasPurged) {
  put_timed(100);
  auto reader = must(store_.read());
  clock_.advance(1s);
  EXPECT_EQ(store_.purge_expired().removed, 100u);
  EXPECT_EQ(value_of(reader, name(5)), "value");
  EXPECT_EQ(must(reader.count()).with_ttl, 100u);
}

TEST_F(StorePurgeTest, AStoreWhoseTtlKeysAreAllGoneTakesNewOnes) {
  for (int round = 0; round < 3; ++round) {
    put_timed(100);
    clock_.advance(1s);
    EXPECT_EQ(store_.purge_expired().removed, 100u);
    EXPECT_EQ(must(store_.next_deadline()), kNever);
    EXPECT_EQ(value(name(3)), "(none)");
  }
  must(store_.put("key", "value", 10s));
  clock_.advance(10s);
  EXPECT_FALSE(must(must(store_.read()).contains("key")));
}

}  // namespace store_purge_test
}  // namespace mayfly::internal
