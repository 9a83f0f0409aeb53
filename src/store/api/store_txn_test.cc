// SPDX-License-Identifier: Apache-2.0
// Transactions: what they see, one reading of the clock for each, errors that stick, and what is
// left of one that has ended.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_txn_test {

using namespace std::chrono_literals;

class StoreTxnTest : public OpenStoreFixture {};

TEST_F(StoreTxnTest, WritesTakeEffectTogetherAtCommit) {
  auto txn = must(store_.write());
  txn.put("a", "1");
  txn.put("b", "2", 10s);
  EXPECT_EQ(value_of(txn, "a"), "1") << "it sees its own";
  EXPECT_EQ(value("a"), "(none)") << "others don't";
  EXPECT_EQ(stored(), 0u);
  must(txn.commit());

  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"a", "1"}, {"b", "2", kStart + 10s}}));
}

TEST_F(StoreTxnTest, RollbackUndoesEverything) {
  must(store_.put("erased", "1", 10s));
  must(store_.put("changed", "2"));
  must(store_.put("moved", "3", 20s));
  must(store_.put("kept", "4", 30s));
  const std::vector<Shown> before = rows_of(store_);

  auto txn = must(store_.write());
  EXPECT_TRUE(txn.erase("erased"));
  txn.put("changed", "x", 1s);
  EXPECT_TRUE(txn.expire("moved", 1s));
  EXPECT_TRUE(txn.persist("kept"));
  txn.put("new", "y", 1s);
  EXPECT_EQ(txn.increment("counter"), 1);
  txn.rollback();

  EXPECT_EQ(rows_of(store_), before);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 10s);
  EXPECT_EQ(count().with_ttl, 3u);
  expect_sound();
}

TEST_F(StoreTxnTest, OneThatIsDestroyedIsUndone) {
  { must(store_.write()).put("key", "value", 10s); }
  EXPECT_EQ(stored(), 0u);
  must(store_.put("key", "value"));
}

TEST_F(StoreTxnTest, OneThatIsAssignedOverIsUndoneAndItsLockIsFree) {
  Store other = open({.busy_timeout = 0ms});
  auto txn = must(store_.write());
  txn.put("key", "value");
  EXPECT_EQ(code_of(other.put("key", "other")), Code::busy);
  WriteTxn moved = std::move(txn);
  moved.put("second", "value");
  must(moved.commit());
  must(other.put("third", "value"));
  EXPECT_EQ(stored(), 3u);
}

TEST_F(StoreTxnTest, CallsOfATransactionAnswerLikeThoseOfTheStore) {
  auto txn = must(store_.write());
  EXPECT_TRUE(txn.put_if_absent("key", "1", 10s));
  EXPECT_FALSE(txn.put_if_absent("key", "2"));
  EXPECT_EQ(txn.increment("key", 4), 5);
  EXPECT_FALSE(txn.compare_and_set("key", "1", "6"));
  EXPECT_TRUE(txn.compare_and_set("key", "5", "6"));
  EXPECT_EQ(must(txn.get_entry("key"))->ttl, Millis(10s));
  EXPECT_EQ(must(txn.get_entry("key"))->value, "6");
  EXPECT_FALSE(txn.expire("key", 5s, When::later));
  EXPECT_TRUE(txn.touch("key", 20s));
  EXPECT_EQ(must(txn.deadline("key")), kStart + 20s);
  EXPECT_TRUE(txn.persist("key"));
  EXPECT_FALSE(txn.persist("key"));
  const std::array<std::string_view, 3> keys = {"key", "x", "key"};
  EXPECT_EQ(must(txn.get_many(keys))[2], "6");
  EXPECT_EQ(must(txn.get_many(keys))[1], std::nullopt);
  EXPECT_TRUE(txn.erase("key"));
  EXPECT_FALSE(txn.erase("key"));
  txn.put("x", "7");
  EXPECT_EQ(txn.erase_many(keys), 1u);
  EXPECT_TRUE(txn.status().ok());
  must(txn.commit());
  EXPECT_EQ(stored(), 0u);
}

TEST_F(StoreTxnTest, ClearInsideATransactionIsUndoneWithIt) {
  for (int i = 0; i < 500; ++i) must(store_.put("key" + std::to_string(i), "v", 10s));
  auto txn = must(store_.write());
  txn.clear();
  EXPECT_EQ(stored_in(txn), 0u);
  txn.put("key7", "new", 5s);
  EXPECT_EQ(must(txn.count()).with_ttl, 1u);
  txn.rollback();

  EXPECT_EQ(count().with_ttl, 500u);
  EXPECT_EQ(deadline("key7"), kStart + 10s);
  expect_sound();
}

TEST_F(StoreTxnTest, AReaderSeesOneMomentWhateverIsCommitted) {
  must(store_.put("key", "old"));
  auto reader = must(store_.read());
  must(store_.put("key", "new"));
  must(store_.put("other", "new", 10s));

  EXPECT_EQ(value_of(reader, "key"), "old");
  EXPECT_EQ(value_of(reader, "other"), "(none)");
  EXPECT_EQ(must(reader.count()).stored, 1u);
  EXPECT_EQ(value_of(must(store_.read()), "key"), "new");
}

// Lesson A12: reads are of now, not of the time when the handle was opened.
TEST_F(StoreTxnTest, AHandleThatOnlyReadsSeesWhatOthersCommit) {
  const Store reader = open({.read_only = true});
  for (int i = 0; i < 5; ++i) {
    must(store_.put("key", std::to_string(i)));
    EXPECT_EQ(value_of(reader, "key"), std::to_string(i));
  }
}

// Lesson A11: two handles that read and write in turn.
TEST_F(StoreTxnTest, TwoHandlesReadAndWriteInTurn) {
  Store other = open();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(must(store_.increment("counter", 1, 10s)), 2 * i + 1);
    EXPECT_EQ(value_of(other, "counter"), std::to_string(2 * i + 1));
    EXPECT_EQ(must(other.increment("counter", 1, 10s)), 2 * i + 2);
    EXPECT_EQ(value("counter"), std::to_string(2 * i + 2));
  }
}

// --- One reading of the clock --------------------------------------------------------------------

TEST_F(StoreTxnTest, NothingExpiresInTheMiddleOfAReadTransaction) {
  must(store_.put("key", "value", 10s));
  auto txn = must(store_.read());
  clock_.advance(1h);

  EXPECT_EQ(txn.now(), kStart);
  EXPECT_EQ(value_of(txn, "key"), "value");
  EXPECT_EQ(must(txn.get_entry("key"))->ttl, Millis(10s));
  EXPECT_EQ(must(txn.count()).expired, 0u);
  EXPECT_EQ(rows_of(txn).size(), 1u);
  EXPECT_EQ(must(txn.expiring(kStart, kNever)).size(), 1u);
  EXPECT_FALSE(must(must(store_.read()).contains("key")));
}

TEST_F(StoreTxnTest, NothingExpiresInTheMiddleOfAWriteTransaction) {
  must(store_.put("key", "value", 10s));
  auto txn = must(store_.write());
  clock_.advance(10s);
  txn.put("new", "value", 10s);
  txn.put("short", "value", 1ms);

  EXPECT_EQ(txn.now(), kStart);
  EXPECT_EQ(value_of(txn, "key"), "value");
  EXPECT_EQ(value_of(txn, "short"), "value");
  EXPECT_EQ(txn.purge_expired(), 0u);
  EXPECT_FALSE(txn.put_if_absent("key", "other"));
  EXPECT_EQ(must(txn.deadline("new")), kStart + 10s) << "a TTL counts from the same moment";
  must(txn.commit());
  EXPECT_EQ(count().live, 0u);
  EXPECT_EQ(count().expired, 3u);
}

TEST_F(StoreTxnTest, ACursorOfTheStoreReadsTheClockOnce) {
  must(store_.put("a", "1", 10s));
  must(store_.put("b", "2", 10s));
  auto cursor = must(store_.cursor());
  ASSERT_TRUE(cursor.first());
  clock_.advance(10s);
  EXPECT_TRUE(cursor.next());
  EXPECT_EQ(cursor.key(), "b");
}

// --- Errors that stick ---------------------------------------------------------------------------

TEST_F(StoreTxnTest, AfterAWriteThatFailsTheRestDoNothing) {
  must(store_.put("there", "value", 10s));
  auto txn = must(store_.write());
  txn.put("before", "value");
  txn.put("", "no key");
  EXPECT_EQ(code_of(txn.status()), Code::invalid);
  txn.put("after", "value");
  EXPECT_FALSE(txn.put_if_absent("absent", "value"));
  EXPECT_FALSE(txn.erase("there"));
  EXPECT_FALSE(txn.expire("there", 1s));
  EXPECT_FALSE(txn.persist("there"));
  EXPECT_FALSE(txn.touch("there", 99s));
  txn.clear();
  EXPECT_EQ(txn.purge_expired(), 0u);
  const Status commit = txn.commit();

  EXPECT_EQ(code_of(commit), Code::invalid);
  EXPECT_NE(message_of(commit).find("empty"), std::string::npos) << message_of(commit);
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"there", "value", kStart + 10s}}));
  must(store_.put("key", "the lock is free"));
}

TEST_F(StoreTxnTest, TheFirstErrorIsTheOneThatIsTold) {
  auto txn = must(store_.write());
  txn.put("text", "text");
  EXPECT_EQ(txn.increment("text"), 0);
  const std::string first = message_of(txn.status());
  txn.put("", "no key");
  EXPECT_EQ(message_of(txn.status()), first);
  EXPECT_EQ(message_of(txn.commit()), first);
}

TEST_F(StoreTxnTest, EveryWriteThatCanFailSticks) {
  const std::string bad(kStoreKeyMax + 1, 'k');
  const std::array<std::string_view, 2> keys = {"key", bad};
  const std::vector<std::function<void(WriteTxn&)>> writes = {
      [&](WriteTxn& txn) { txn.put(bad, "v"); },
      [&](WriteTxn& txn) { txn.put_if_absent(bad, "v"); },
      [&](WriteTxn& txn) { txn.compare_and_set(bad, std::nullopt, "v"); },
      [&](WriteTxn& txn) { txn.increment(bad); },
      [&](WriteTxn& txn) { txn.erase(bad); },
      [&](WriteTxn& txn) { txn.erase_many(keys); },
      [&](WriteTxn& txn) { txn.expire(bad, 1s); },
      [&](WriteTxn& txn) { txn.expire("key", 1s, When::unset | When::set); },
      [&](WriteTxn& txn) { txn.persist(bad); },
      [&](WriteTxn& txn) { txn.touch(bad, 1s); },
  };
  must(store_.put("key", "value"));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    auto txn = must(store_.write());
    writes[i](txn);
    EXPECT_EQ(code_of(txn.status()), Code::invalid) << i;
    EXPECT_EQ(code_of(txn.commit()), Code::invalid) << i;
  }
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"key", "value"}}));
}

TEST_F(StoreTxnTest, AReadThatFailsSpoilsNothing) {
  auto txn = must(store_.write());
  txn.put("key", "value");
  EXPECT_EQ(code_of(txn.get("")), Code::invalid);
  EXPECT_EQ(code_of(txn.family("none")), Code::not_found);
  EXPECT_TRUE(txn.status().ok());
  must(txn.commit());
  EXPECT_EQ(value("key"), "value");
}

// --- After the end -------------------------------------------------------------------------------

TEST_F(StoreTxnTest, OneThatHasEndedRefusesEverythingAndHarmsNothing) {
  must(store_.put("key", "value", 10s));
  const Family users = must(store_.create_family("users"));
  for (const bool commits : {true, false}) {
    auto txn = must(store_.write());
    txn.put("other", "value");
    txn.put("other", "value", 10s, users);
    if (commits) {
      must(txn.commit());
    } else {
      txn.rollback();
    }
    const std::vector<Shown> before = rows_of(store_);
    txn.put("late", "value");
    EXPECT_FALSE(txn.erase("key"));
    txn.clear();
    EXPECT_EQ(txn.purge_expired(), 0u);
    EXPECT_FALSE(txn.get("key").ok());
    EXPECT_FALSE(txn.contains("key").ok());
    EXPECT_FALSE(txn.count().ok());
    EXPECT_FALSE(txn.cursor().ok());
    EXPECT_FALSE(txn.next_deadline().ok());
    EXPECT_FALSE(txn.create_family("late").ok());
    EXPECT_FALSE(txn.drop_family("late").ok());
    EXPECT_FALSE(txn.get("key", users).ok()) << "nor one whose family it has used";
    EXPECT_FALSE(txn.count(users).ok());
    EXPECT_FALSE(txn.cursor({}, users).ok());
    EXPECT_FALSE(txn.next_deadline(users).ok());
    EXPECT_FALSE(txn.status().ok());
    EXPECT_FALSE(txn.commit().ok()) << "SNKV said OK to a commit of nothing (lesson E12)";
    txn.rollback();
    EXPECT_EQ(rows_of(store_), before);
  }
  must(store_.put("late", "value"));
}

TEST_F(StoreTxnTest, TheFirstCallAfterTheEndIsRefusedWhicheverItIs) {
  must(store_.create_family("users"));
  const std::vector<std::function<bool(WriteTxn&)>> calls = {
      [](WriteTxn& txn) { return txn.status().ok(); },
      [](WriteTxn& txn) { return txn.commit().ok(); },
      [](WriteTxn& txn) { return txn.create_family("late").ok(); },
      [](WriteTxn& txn) { return txn.drop_family("users").ok(); },
      [](WriteTxn& txn) { return txn.set_default_ttl(1s).ok(); },
      [](WriteTxn& txn) { return txn.put_if_absent("late", "value"); },
      [](WriteTxn& txn) { return txn.purge_expired_all() != 0; },
      [](WriteTxn& txn) { return txn.get("key").ok(); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto txn = must(store_.write());
    txn.put("key", "value", 10s);
    must(txn.commit());
    EXPECT_FALSE(calls[i](txn)) << i;
  }
  EXPECT_EQ(must(store_.families()), std::vector<std::string>{"users"});
  EXPECT_EQ(must(store_.default_ttl()), std::nullopt);
}

TEST_F(StoreTxnTest, OneThatHasEndedMayOutliveItsStore) {
  auto committed = must(store_.write());
  committed.put("key", "value", 10s);
  must(committed.commit());
  auto rolled_back = must(store_.write());
  rolled_back.put("key", "other");
  rolled_back.rollback();
  reopen();
  EXPECT_FALSE(committed.get("key").ok());
  EXPECT_FALSE(rolled_back.commit().ok());
  EXPECT_EQ(value("key"), "value");
}

TEST_F(StoreTxnTest, AnEmptyTransactionCommits) {
  const std::uint64_t before = transaction_of(store_);
  auto txn = must(store_.write());
  must(txn.commit());
  EXPECT_LE(transaction_of(store_), before + 1);
}

TEST_F(StoreTxnTest, AReadTransactionMayMoveToAnotherThread) {
  must(store_.put("key", "value"));
  auto txn = must(store_.read());
  std::thread([moved = std::move(txn)] { EXPECT_EQ(value_of(moved, "key"), "value"); }).join();
  must(store_.put("key", "new"));
}

TEST_F(StoreTxnTest, OneThreadMayHaveManyReadTransactions) {
  must(store_.put("key", "0"));
  std::vector<ReadTxn> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(must(store_.read()));
    must(store_.put("key", std::to_string(i + 1)));
  }
  for (std::size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(value_of(readers[i], "key"), std::to_string(i));
  }
}

TEST_F(StoreTxnTest, AFailedWriteOutsideTransactionsLeavesNoLockBehind) {
  EXPECT_EQ(code_of(store_.put("", "v")), Code::invalid);
  must(store_.put("text", "text"));
  EXPECT_EQ(code_of(store_.increment("text")), Code::invalid);
  Store other = open({.busy_timeout = 0ms});
  must(other.put("key", "value"));
}

}  // namespace store_txn_test
}  // namespace mayfly::internal
