// SPDX-License-Identifier: Apache-2.0
// Puts that a transaction gathers are seen by it at once, whatever it does next, and cannot be told
// from puts that were written one by one.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_gather_test {

using namespace std::chrono_literals;

class StoreGatherTest : public OpenStoreFixture {
 protected:
  // A transaction that has gathered b (for 20 s), a (for 10 s) and c. The first put of all is
  // written at once.
  WriteTxn gathering() {
    WriteTxn txn = must(store_.write());
    txn.put("first", "0");
    txn.put("b", "2", 20s);
    txn.put("a", "1", 10s);
    txn.put("c", "3");
    return txn;
  }

  const std::vector<Shown> all_{
      {"a", "1", kStart + 10s}, {"b", "2", kStart + 20s}, {"c", "3"}, {"first", "0"}};
};

TEST_F(StoreGatherTest, AreCommitted) {
  WriteTxn txn = gathering();
  must(txn.commit());
  EXPECT_EQ(rows_of(store_), all_);
  EXPECT_EQ(count().with_ttl, 2u);
  expect_sound();
}

TEST_F(StoreGatherTest, AreGoneAfterARollback) {
  WriteTxn txn = gathering();
  txn.rollback();
  EXPECT_EQ(stored(), 0u);
  EXPECT_EQ(code_of(txn.get("a")), Code::invalid) << "it has ended";
}

TEST_F(StoreGatherTest, AreSeenByEveryCallThatLooks) {
  const std::vector<std::function<bool(WriteTxn&)>> looks{
      [](WriteTxn& txn) { return value_of(txn, "a") == "1"; },
      [](WriteTxn& txn) { return must(txn.contains("b")); },
      [](WriteTxn& txn) { return must(txn.deadline("b")) == kStart + 20s; },
      [](WriteTxn& txn) { return must(txn.get_entry("a"))->ttl == Millis(10s); },
      [](WriteTxn& txn) {
        const std::vector<std::string_view> keys{"a", "x", "c"};
        return must(txn.get_many(keys))[2] == "3";
      },
      [](WriteTxn& txn) { return must(txn.count()).stored == 4; },
      [](WriteTxn& txn) { return must(txn.next_deadline()) == kStart + 10s; },
      [](WriteTxn& txn) { return must(txn.expiring(kStart, kNever)).size() == 2; },
      [](WriteTxn& txn) { return rows_of(txn).size() == 4; },
      [](WriteTxn& txn) { return !txn.put_if_absent("c", "x"); },
      [](WriteTxn& txn) { return txn.compare_and_set("a", "1", "9"); },
      [](WriteTxn& txn) { return txn.increment("b", 5) == 7; },
      [](WriteTxn& txn) { return txn.erase("c"); },
      [](WriteTxn& txn) { return txn.expire("c", 5s); },
      [](WriteTxn& txn) { return txn.persist("a"); },
      [](WriteTxn& txn) { return txn.touch("b", 30s); },
  };
  for (std::size_t i = 0; i < looks.size(); ++i) {
    WriteTxn txn = gathering();
    EXPECT_TRUE(looks[i](txn)) << "look " << i;
    must(txn.status());
  }
}

TEST_F(StoreGatherTest, AreClearedPurgedAndDroppedLikeOthers) {
  WriteTxn txn = gathering();
  txn.clear();
  EXPECT_EQ(must(txn.count()).stored, 0u);
  txn.put("x", "1");
  txn.put("gone", "2", kStart - 1s);
  EXPECT_EQ(txn.purge_expired(), 1u);
  const Family family = must(txn.create_family("family"));
  txn.put("y", "3", 1s, family);
  txn.put("z", "4", 1s, family);
  must(txn.drop_family("family"));
  txn.put("v", "5");
  txn.put("z", "6", 1s, family);
  EXPECT_EQ(code_of(txn.status()), Code::not_found) << "the family is gone";
}

TEST_F(StoreGatherTest, ReplaceWhatWasThereBefore) {
  must(store_.put("longer", "1", 5s));
  must(store_.put("same", "2", 5s));
  must(store_.put("permanent", "3", 5s));
  must(store_.put("timed", "4"));
  must(store_.put("expired", "5", 1s));
  clock_.advance(1s);
  WriteTxn txn = must(store_.write());
  txn.put("first", "0");
  txn.put("longer", "a", 50s);
  txn.put("same", "b", 4s);  // the deadline that it had
  txn.put("permanent", "c");
  txn.put("timed", "d", 9s);
  txn.put("expired", "e", 9s);
  must(txn.commit());
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"expired", "e", kStart + 10s},
                                                 {"first", "0"},
                                                 {"longer", "a", kStart + 51s},
                                                 {"permanent", "c"},
                                                 {"same", "b", kStart + 5s},
                                                 {"timed", "d", kStart + 10s}}));
  EXPECT_EQ(count().with_ttl, 4u);
  expect_sound();
}

TEST_F(StoreGatherTest, OnesThatAreDueAlreadyAreNotSeen) {
  WriteTxn txn = must(store_.write());
  txn.put("first", "0");
  txn.put("second", "1", 0s);
  EXPECT_EQ(value_of(txn, "second"), "(none)");
  txn.put("third", "1", 0s);
  must(txn.commit());
  EXPECT_EQ(count().live, 1u);
}

TEST_F(StoreGatherTest, TheLastPutOfAKeyCountsWhateverItsSize) {
  const std::string large(5000, 'l');
  WriteTxn txn = gathering();
  txn.put("a", large, 10s);
  txn.put("b", "small");
  txn.put("b", large);
  txn.put("c", large);
  txn.put("c", "small", 7s);
  must(txn.commit());
  EXPECT_EQ(value("a"), large);
  EXPECT_EQ(value("b"), large);
  EXPECT_EQ(value("c"), "small");
  EXPECT_EQ(deadline("b"), kNever);
  EXPECT_EQ(deadline("c"), kStart + 7s);
  expect_sound();
}

TEST_F(StoreGatherTest, ACursorSeesPutsThatComeAfterIt) {
  WriteTxn txn = gathering();
  Cursor cursor = must(txn.cursor());
  EXPECT_TRUE(cursor.first());
  txn.put("a2", "4", 1s);
  txn.put("a1", "5");
  EXPECT_TRUE(cursor.next());
  EXPECT_EQ(cursor.key(), "a1");
  EXPECT_TRUE(cursor.next());
  EXPECT_EQ(cursor.key(), "a2");
  EXPECT_EQ(cursor.deadline(), kStart + 1s);
}

TEST_F(StoreGatherTest, MoreThanFitIntoMemoryAreWrittenInParts) {
  const std::string value(1500, 'v');
  const int count = 40'000;  // 60 MB
  WriteTxn txn = must(store_.write());
  for (int i = 0; i < count; ++i) {
    txn.put(std::to_string(i * 7919L % count), value, Millis(i % 1000 + 1));
  }
  must(txn.commit());
  EXPECT_EQ(this->count().live, static_cast<std::uint64_t>(count));
  EXPECT_EQ(this->count().with_ttl, static_cast<std::uint64_t>(count));
  EXPECT_EQ(must(store_.stats()).puts, static_cast<std::uint64_t>(count));
  expect_sound();
}

TEST_F(StoreGatherTest, AStoreThatIsFullSaysSoAndKeepsWhatItHad) {
  reopen({.map_bytes = 1 << 20});
  must(store_.put("kept", "1"));
  WriteTxn txn = must(store_.write());
  int put = 0;
  for (; txn.status().ok() && put < 10'000; ++put) {
    txn.put("key" + std::to_string(put), std::string(500, 'v'), 10s);
  }
  EXPECT_LT(put, 10'000) << "it is said when it happens, not at the end";
  EXPECT_EQ(code_of(txn.commit()), Code::full);
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"kept", "1"}}));
  must(store_.put("key", "value", 1s));
  expect_sound();
}

}  // namespace store_gather_test
}  // namespace mayfly::internal
