// SPDX-License-Identifier: Apache-2.0
// A transaction of many writes sees each of them at once, whatever it does next: one that becomes a
// record of the log, one that goes straight into LMDB because it is larger than a quarter of a
// segment, and one that does so in the middle.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_batch_test {

using namespace std::chrono_literals;

// What a transaction has become when the test begins with it.
enum class Way { first, logged, direct };

std::string name_of(const testing::TestParamInfo<Way>& info) {
  constexpr const char* kNames[] = {"FirstCommit", "Logged", "Direct"};
  return kNames[static_cast<int>(info.param)];
}

class StoreBatchTest : public OpenStoreFixture, public testing::WithParamInterface<Way> {
 protected:
  static constexpr std::size_t kQuarter = kLogSegmentBytesMin / 4;

  StoreBatchTest() { begin_anew(); }

  void begin_anew(StoreOptions options = {}) {
    options.log_segment_bytes = kLogSegmentBytesMin;
    reopen(options);
    if (GetParam() == Way::first) return;
    must(store_.put("first", "before"));
    must(store_.erase("first"));  // the second commit makes the log
    EXPECT_TRUE(std::filesystem::exists(path_.string() + "-wal"));
  }

  WriteTxn begin() {
    WriteTxn txn = must(store_.write());
    if (GetParam() != Way::direct) return txn;
    txn.put("large", std::string(kQuarter, 'l'));
    EXPECT_TRUE(txn.erase("large"));
    return txn;
  }

  // A transaction that has put b (for 20 s), a (for 10 s) and c.
  WriteTxn putting() {
    WriteTxn txn = begin();
    txn.put("first", "0");
    txn.put("b", "2", 20s);
    txn.put("a", "1", 10s);
    txn.put("c", "3");
    return txn;
  }

  // Whether what the transaction did is in LMDB, and not in the log.
  bool is_applied() const { return must(store_.stats()).pending_bytes == 0; }

  const std::vector<Shown> all_{
      {"a", "1", kStart + 10s}, {"b", "2", kStart + 20s}, {"c", "3"}, {"first", "0"}};
};

INSTANTIATE_TEST_SUITE_P(Ways, StoreBatchTest,
                         testing::Values(Way::first, Way::logged, Way::direct), name_of);

TEST_P(StoreBatchTest, AreCommitted) {
  WriteTxn txn = putting();
  must(txn.commit());
  EXPECT_EQ(is_applied(), GetParam() != Way::logged);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rows_of(store_), all_);
    EXPECT_EQ(count().with_ttl, 2u);
    expect_sound();
    if (i == 0) must(store_.checkpoint());
    if (i == 1) reopen();
  }
}

TEST_P(StoreBatchTest, AreGoneAfterARollback) {
  WriteTxn txn = putting();
  txn.rollback();
  EXPECT_EQ(stored(), 0u);
  EXPECT_EQ(code_of(txn.get("a")), Code::invalid) << "it has ended";
}

TEST_P(StoreBatchTest, AreSeenByEveryCallThatLooks) {
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
    WriteTxn txn = putting();
    EXPECT_TRUE(looks[i](txn)) << "look " << i;
    must(txn.status());
  }
}

TEST_P(StoreBatchTest, AreClearedPurgedAndDroppedLikeOthers) {
  WriteTxn txn = putting();
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

TEST_P(StoreBatchTest, ReplaceWhatWasThereBefore) {
  must(store_.put("longer", "1", 5s));
  must(store_.put("same", "2", 5s));
  must(store_.put("permanent", "3", 5s));
  must(store_.put("timed", "4"));
  must(store_.put("expired", "5", 1s));
  clock_.advance(1s);
  WriteTxn txn = begin();
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

TEST_P(StoreBatchTest, OnesThatAreDueAlreadyAreNotSeen) {
  WriteTxn txn = begin();
  txn.put("first", "0");
  txn.put("second", "1", 0s);
  EXPECT_EQ(value_of(txn, "second"), "(none)");
  txn.put("third", "1", 0s);
  must(txn.commit());
  EXPECT_EQ(count().live, 1u);
}

TEST_P(StoreBatchTest, TheLastPutOfAKeyCountsWhateverItsSize) {
  const std::string large(5000, 'l');
  WriteTxn txn = putting();
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

TEST_P(StoreBatchTest, ACursorThatIsPlacedAgainSeesPutsThatComeAfterIt) {
  WriteTxn txn = putting();
  Cursor cursor = must(txn.cursor());
  EXPECT_TRUE(cursor.first());
  txn.put("a2", "4", 1s);
  txn.put("a1", "5");
  EXPECT_TRUE(cursor.seek("a1"));
  EXPECT_EQ(cursor.key(), "a1");
  EXPECT_TRUE(cursor.next());
  EXPECT_EQ(cursor.key(), "a2");
  EXPECT_EQ(cursor.deadline(), kStart + 1s);
  txn.put("large", std::string(kQuarter, 'l'));  // goes straight into LMDB now
  EXPECT_TRUE(cursor.seek("a2"));
  EXPECT_EQ(cursor.value(), "4");
  EXPECT_TRUE(cursor.last());
  EXPECT_EQ(cursor.key(), "large");
}

TEST_P(StoreBatchTest, OneThatOutgrowsTheLogGoesOnInLmdb) {
  must(store_.put("old", "old", 3s));
  must(store_.put("gone", "old"));
  WriteTxn txn = putting();
  EXPECT_TRUE(txn.erase("gone"));
  EXPECT_TRUE(txn.expire("old", 30s));
  const std::string value(kQuarter / 10, 'v');
  for (int i = 0; i < 100; ++i) {
    txn.put("key" + std::to_string(i), value, 1h);
    EXPECT_EQ(must(txn.count()).stored, 6u + static_cast<std::uint64_t>(i));
    EXPECT_EQ(must(txn.get("a")), "1");
    EXPECT_EQ(must(txn.deadline("old")), kStart + 30s);
    EXPECT_FALSE(must(txn.contains("gone")));
  }
  EXPECT_EQ(rows_of(txn).size(), 105u);
  EXPECT_EQ(stored(), 2u) << "nobody else sees it";
  must(txn.commit());
  EXPECT_TRUE(is_applied());
  EXPECT_EQ(count().live, 105u);
  EXPECT_EQ(deadline("old"), kStart + 30s);
  EXPECT_EQ(value_of(store_, "key99"), value);
  expect_sound();
}

TEST_P(StoreBatchTest, OneThatOutgrowsTheLogIsUndoneAsAWhole) {
  must(store_.put("old", "old", 3s));
  {
    WriteTxn txn = putting();
    EXPECT_TRUE(txn.erase("old"));
    txn.put("large", std::string(4 * kQuarter, 'l'), 1s);
    EXPECT_EQ(must(txn.count()).stored, 5u);
  }
  EXPECT_EQ(count().with_ttl, 1u);
  EXPECT_EQ(value("old"), "old");
  must(store_.put("more", "value"));
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"more", "value"}, {"old", "old", kStart + 3s}}));
  expect_sound();
}

// Segments are used up by turns, and by checkpoints that nobody asked for.
TEST_P(StoreBatchTest, ManySmallOnesFillOneSegmentAfterTheOther) {
  const std::string value(700, 'v');
  for (int i = 0; i < 500; ++i) {
    WriteTxn txn = begin();
    txn.put("a" + std::to_string(i % 50), value, Millis(i + 1'000));
    txn.put("b" + std::to_string(i), std::to_string(i));
    if (i % 7 == 0) txn.erase("b" + std::to_string(i / 2));
    must(txn.commit());
  }
  std::uint64_t erased = 0;
  for (std::uint64_t i = 0; i < 500; i += 7) erased += i == 0 || i / 2 < i ? 1 : 0;
  EXPECT_EQ(count().stored, 550u - erased);
  EXPECT_EQ(count().with_ttl, 50u);
  EXPECT_GE(must(store_.stats()).checkpoints, GetParam() == Way::direct ? 0u : 2u);
  EXPECT_LE(must(store_.stats()).log_bytes, 4096 + 2 * kLogSegmentBytesMin);
  expect_sound();
  reopen();
  EXPECT_EQ(count().stored, 550u - erased);
  expect_sound();
}

TEST_P(StoreBatchTest, OneOfManyMegabytesIsWhole) {
  const std::string value(1500, 'v');
  const int count = 20'000;  // 30 MB
  WriteTxn txn = begin();
  for (int i = 0; i < count; ++i) {
    txn.put(std::to_string(i * 7919L % count), value, Millis(i % 1000 + 1));
  }
  must(txn.commit());
  EXPECT_EQ(this->count().live, static_cast<std::uint64_t>(count));
  EXPECT_EQ(this->count().with_ttl, static_cast<std::uint64_t>(count));
  expect_sound();
}

TEST_P(StoreBatchTest, AStoreThatIsFullSaysSoAndKeepsWhatItHad) {
  begin_anew({.map_bytes = 1 << 20});
  must(store_.put("kept", "1"));
  {
    WriteTxn txn = begin();
    int put = 0;
    for (; txn.status().ok() && put < 10'000; ++put) {
      txn.put("key" + std::to_string(put), std::string(500, 'v'), 10s);
    }
    EXPECT_LT(put, 10'000) << "it is said when it happens, not at the end";
    EXPECT_EQ(code_of(txn.commit()), Code::full);
  }
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"kept", "1"}}));
  must(store_.put("key", "value", 1s));
  expect_sound();
}

}  // namespace store_batch_test
}  // namespace mayfly::internal
