// SPDX-License-Identifier: Apache-2.0
// Cursors: order and direction, prefixes, snapshots, what has expired, and keys too long for the
// tables. Also what goes by deadline: expiring() and next_deadline().

#include "mayfly/cursor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace cursor_test {

using namespace std::chrono_literals;

using Keys = std::vector<std::string>;

class CursorTest : public OpenStoreFixture {
 protected:
  void put_all(const Keys& keys, Expiry expires = {}) {
    for (const std::string& key : keys) must(store_.put(key, "v" + key.substr(0, 20), expires));
  }

  // All keys, forward and backward.
  static Keys forward(Cursor& cursor) {
    Keys keys;
    for (bool on = cursor.first(); on; on = cursor.next()) keys.emplace_back(cursor.key());
    EXPECT_TRUE(cursor.status().ok());
    return keys;
  }
  static Keys backward(Cursor& cursor) {
    Keys keys;
    for (bool on = cursor.last(); on; on = cursor.prev()) keys.emplace_back(cursor.key());
    EXPECT_TRUE(cursor.status().ok());
    std::ranges::reverse(keys);
    return keys;
  }
  // Where a seek ends; "(none)" if nowhere.
  static std::string seek(Cursor& cursor, std::string_view key) {
    return cursor.seek(key) ? std::string(cursor.key()) : "(none)";
  }
  static std::string seek_before(Cursor& cursor, std::string_view key) {
    return cursor.seek_before(key) ? std::string(cursor.key()) : "(none)";
  }
};

TEST_F(CursorTest, WalksInByteOrderEitherWay) {
  put_all({"b", "a", "\xff", "ab", "B", std::string("a\0", 2)});
  const Keys sorted = {"B", "a", std::string("a\0", 2), "ab", "b", "\xff"};
  Cursor cursor = must(store_.cursor());

  EXPECT_EQ(forward(cursor), sorted);
  EXPECT_EQ(backward(cursor), sorted);
}

TEST_F(CursorTest, ShowsKeyValueAndDeadline) {
  must(store_.put("a", "1", 10s));
  must(store_.put("b", "2"));
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"a", "1", kStart + 10s}, {"b", "2", kNever}}));
}

TEST_F(CursorTest, OfAnEmptyFamilyIsNowhere) {
  Cursor cursor = must(store_.cursor());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(cursor.first());
  EXPECT_FALSE(cursor.last());
  EXPECT_FALSE(cursor.next());
  EXPECT_FALSE(cursor.prev());
  EXPECT_FALSE(cursor.seek("a"));
  EXPECT_FALSE(cursor.seek_before("a"));
  EXPECT_TRUE(cursor.status().ok());
}

TEST_F(CursorTest, ThatIsNowhereDoesNotMove) {
  put_all({"a", "b"});
  Cursor cursor = must(store_.cursor());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(cursor.next());
  EXPECT_FALSE(cursor.prev());
  EXPECT_FALSE(cursor.valid());
}

TEST_F(CursorTest, PastAnEndItStaysInvalidUntilPlacedAnew) {
  put_all({"a", "b"});
  Cursor cursor = must(store_.cursor());
  ASSERT_TRUE(cursor.last());
  EXPECT_FALSE(cursor.next());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(cursor.prev());
  EXPECT_FALSE(cursor.next());
  ASSERT_TRUE(cursor.first());
  EXPECT_FALSE(cursor.prev());
  EXPECT_FALSE(cursor.next());
  EXPECT_FALSE(cursor.seek("c"));
  EXPECT_FALSE(cursor.prev());
  EXPECT_FALSE(cursor.seek_before("A"));
  EXPECT_FALSE(cursor.next());
  EXPECT_EQ(seek(cursor, "b"), "b");
}

TEST_F(CursorTest, SeeksTheLeastNotLessAndTheGreatestNotGreater) {
  put_all({"b", "d", "dd", "f"});
  Cursor cursor = must(store_.cursor());

  EXPECT_EQ(seek(cursor, ""), "b");
  EXPECT_EQ(seek(cursor, "b"), "b");
  EXPECT_EQ(seek(cursor, "c"), "d");
  EXPECT_EQ(seek(cursor, "da"), "dd");
  EXPECT_EQ(seek(cursor, "g"), "(none)");
  EXPECT_EQ(seek_before(cursor, "a"), "(none)");
  EXPECT_EQ(seek_before(cursor, "b"), "b");
  EXPECT_EQ(seek_before(cursor, "c"), "b");
  EXPECT_EQ(seek_before(cursor, "dz"), "dd");
  EXPECT_EQ(seek_before(cursor, "z"), "f");
  EXPECT_EQ(seek_before(cursor, ""), "(none)");
}

TEST_F(CursorTest, TurnsAroundAnywhere) {
  put_all({"a", "b", "c", "d"});
  Cursor cursor = must(store_.cursor());
  ASSERT_TRUE(cursor.seek("b"));
  const auto step = [&cursor](bool forward) {
    return (forward ? cursor.next() : cursor.prev()) ? std::string(cursor.key()) : "(none)";
  };

  EXPECT_EQ(step(true), "c");
  EXPECT_EQ(step(false), "b");
  EXPECT_EQ(step(false), "a");
  EXPECT_EQ(step(true), "b");
  EXPECT_EQ(step(true), "c");
  EXPECT_EQ(step(true), "d");
  EXPECT_EQ(step(false), "c");
}

TEST_F(CursorTest, TurnsAroundBeyondTheLastDeadlineOnEitherSide) {
  must(store_.put("a", "1"));
  must(store_.put("b", "2", 10s));
  must(store_.put("c", "3", 20s));
  must(store_.put("d", "4"));
  auto txn = must(store_.read());
  Cursor cursor = must(txn.cursor());
  ASSERT_TRUE(cursor.seek("c"));
  ASSERT_TRUE(cursor.next());
  ASSERT_TRUE(cursor.prev());
  EXPECT_EQ(cursor.deadline(), kStart + 20s);
  ASSERT_TRUE(cursor.prev());
  EXPECT_EQ(cursor.deadline(), kStart + 10s);
  ASSERT_TRUE(cursor.prev());
  EXPECT_EQ(cursor.deadline(), kNever);
  ASSERT_TRUE(cursor.next());
  EXPECT_EQ(cursor.deadline(), kStart + 10s);
  EXPECT_EQ(cursor.key(), "b");
}

TEST_F(CursorTest, WithAPrefixThereAreNoOtherKeys) {
  put_all({"a", "session", "session:", "session:1", "session:2", "session;", "t"});
  Cursor cursor = must(store_.cursor({.prefix = "session:"}));

  EXPECT_EQ(forward(cursor), (Keys{"session:", "session:1", "session:2"}));
  EXPECT_EQ(backward(cursor), (Keys{"session:", "session:1", "session:2"}));
  EXPECT_EQ(seek(cursor, "a"), "session:");
  EXPECT_EQ(seek(cursor, "session:11"), "session:2");
  EXPECT_EQ(seek(cursor, "session:3"), "(none)");
  EXPECT_EQ(seek(cursor, "z"), "(none)");
  EXPECT_EQ(seek_before(cursor, "z"), "session:2");
  EXPECT_EQ(seek_before(cursor, "session:11"), "session:1");
  EXPECT_EQ(seek_before(cursor, "a"), "(none)");
}

TEST_F(CursorTest, APrefixMayEndInTheGreatestByteOrConsistOfIt) {
  put_all({"a\xff", "a\xff\xff",
           "a\xff"
           "b",
           "b", "\xff", "\xff\xff", "\xff\xff\xff"});
  Cursor some = must(store_.cursor({.prefix = "a\xff"}));
  EXPECT_EQ(backward(some), (Keys{"a\xff",
                                  "a\xff"
                                  "b",
                                  "a\xff\xff"}));
  Cursor last = must(store_.cursor({.prefix = "\xff\xff"}));
  EXPECT_EQ(backward(last), (Keys{"\xff\xff", "\xff\xff\xff"}));
  EXPECT_EQ(forward(last), (Keys{"\xff\xff", "\xff\xff\xff"}));
  Cursor none = must(store_.cursor({.prefix = "\xff\xff\xff\xff"}));
  EXPECT_EQ(backward(none), Keys());
}

TEST_F(CursorTest, AWholeKeyIsAPrefixOfItself) {
  put_all({"a", "ab", "b"});
  Cursor cursor = must(store_.cursor({.prefix = "ab"}));
  EXPECT_EQ(forward(cursor), Keys{"ab"});
  Cursor other = must(store_.cursor({.prefix = "abc"}));
  EXPECT_EQ(forward(other), Keys());
  EXPECT_FALSE(other.last());
}

// --- Snapshots -----------------------------------------------------------------------------------

TEST_F(CursorTest, OfTheStoreWalksOverOneMoment) {
  for (int i = 0; i < 1'000; ++i) must(store_.put("key" + std::to_string(i), "old"));
  Cursor cursor = must(store_.cursor());
  ASSERT_TRUE(cursor.first());
  for (int i = 0; i < 1'000; ++i) {
    must(store_.put("key" + std::to_string(i), "new"));
    must(store_.put("more" + std::to_string(i), "new"));
  }
  const std::vector<Shown> rows = rows_of(cursor);
  EXPECT_EQ(rows.size(), 1'000u);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const Shown& row) { return row.value == "old"; }));
}

TEST_F(CursorTest, OfAWriteTransactionSeesItsWrites) {
  put_all({"a", "b"});
  auto txn = must(store_.write());
  txn.put("c", "new", 10s);
  txn.erase("a");
  EXPECT_EQ(rows_of(txn), (std::vector<Shown>{{"b", "vb"}, {"c", "new", kStart + 10s}}));
  txn.rollback();
  EXPECT_EQ(rows_of(store_).size(), 2u);
}

TEST_F(CursorTest, OfAWriteTransactionMaySeekAgainAfterAWrite) {
  for (int i = 0; i < 500; ++i) must(store_.put("key" + std::to_string(i), "v", 10s));
  auto txn = must(store_.write());
  std::string at;
  std::size_t met = 0;
  {
    Cursor cursor = must(txn.cursor());
    for (bool on = cursor.first(); on; on = cursor.seek(at)) {
      at = cursor.key();
      EXPECT_TRUE(txn.erase(at));
      ++met;
    }
  }
  EXPECT_EQ(met, 500u);
  must(txn.commit());
  EXPECT_EQ(stored(), 0u);
}

TEST_F(CursorTest, OfAWriteTransactionKnowsADeadlineThatCameAfterIt) {
  put_all({"a"});
  auto txn = must(store_.write());
  {
    Cursor cursor = must(txn.cursor());
    EXPECT_TRUE(cursor.first());
    txn.put("b", "first with a deadline", 10s);
    txn.put("c", "due", -1s);
    ASSERT_TRUE(cursor.seek("b"));
    EXPECT_EQ(cursor.deadline(), kStart + 10s);
    EXPECT_FALSE(cursor.next()) << "the next one is due";
    ASSERT_TRUE(cursor.last());
    EXPECT_EQ(cursor.key(), "b");
    EXPECT_FALSE(cursor.seek("c"));
    EXPECT_EQ(seek_before(cursor, "c"), "b");
  }
  must(txn.commit());
}

TEST_F(CursorTest, OfAFamilyThatItsTransactionDropsShowsNothingMore) {
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "old", {}, users));
  auto txn = must(store_.write());
  {
    Cursor cursor = must(txn.cursor({}, users));
    EXPECT_TRUE(cursor.first());
    must(txn.drop_family("users"));
    const Family carts = must(txn.create_family("carts"));
    txn.put("key", "of another family", {}, carts);
    EXPECT_FALSE(cursor.first());
    EXPECT_FALSE(cursor.last());
    EXPECT_FALSE(cursor.seek("key"));
  }
  must(txn.commit());
}

TEST_F(CursorTest, MayBeMovedAndAssigned) {
  put_all({"a", "b"});
  Cursor cursor = must(store_.cursor());
  ASSERT_TRUE(cursor.first());
  Cursor moved = std::move(cursor);
  EXPECT_EQ(moved.key(), "a");
  EXPECT_TRUE(moved.next());
  EXPECT_EQ(moved.key(), "b");
  moved = must(store_.cursor());
  EXPECT_FALSE(moved.valid());
  EXPECT_EQ(forward(moved), (Keys{"a", "b"}));
}

// --- Expired entries -----------------------------------------------------------------------------

TEST_F(CursorTest, NeverShowsWhatHasExpired) {
  put_all({"a", "c", "e"}, 10s);
  put_all({"b", "d"});
  must(store_.put("f", "live", 20s));
  clock_.advance(10s);
  auto txn = must(store_.read());
  Cursor cursor = must(txn.cursor());

  EXPECT_EQ(forward(cursor), (Keys{"b", "d", "f"}));
  EXPECT_EQ(backward(cursor), (Keys{"b", "d", "f"}));
  EXPECT_EQ(seek(cursor, "a"), "b");
  EXPECT_EQ(seek(cursor, "e"), "f");
  EXPECT_EQ(seek_before(cursor, "e"), "d");
  EXPECT_EQ(seek_before(cursor, "a"), "(none)");
  ASSERT_TRUE(cursor.seek("d"));
  EXPECT_TRUE(cursor.prev());
  EXPECT_EQ(cursor.key(), "b");
  Cursor prefix = must(txn.cursor({.prefix = "a"}));
  EXPECT_EQ(forward(prefix), Keys());
  EXPECT_EQ(backward(prefix), Keys());
}

// Lesson D2: SNKV made a transaction for each.
TEST_F(CursorTest, WhatItMetExpiredIsRemovedByTheNextCommit) {
  // Few enough to be removed by one commit, though each is met twice.
  for (int i = 0; i < 30; ++i) must(store_.put("key" + std::to_string(i), "v", 10s));
  must(store_.put("live", "v", 20s));
  clock_.advance(10s);
  const StoreStats before = must(store_.stats());
  {
    Cursor cursor = must(store_.cursor());
    EXPECT_EQ(forward(cursor), Keys{"live"});
    EXPECT_EQ(backward(cursor), Keys{"live"});
  }
  EXPECT_EQ(must(store_.stats()).commits, before.commits) << "a read commits nothing";
  EXPECT_EQ(must(store_.stats()).logged_bytes, before.logged_bytes);
  EXPECT_EQ(count().expired, 30u);
  must(store_.put("live", "w", 20s));
  EXPECT_EQ(count().stored, 1u);
  EXPECT_EQ(must(store_.stats()).expired_lazily, 30u) << "lesson D15";
  expect_sound();
}

// A commit removes a few; what it did not get to, the next one does.
TEST_F(CursorTest, CommitsRemoveManyExpiredEntriesInTheEnd) {
  {
    auto txn = must(store_.write());
    for (int i = 0; i < 6'000; ++i) txn.put("key" + std::to_string(i), "v", 10s);
    must(txn.commit());
  }
  clock_.advance(10s);
  std::uint64_t left = 6'000;
  while (left > 0) {
    EXPECT_EQ(rows_of(store_).size(), left == 6'000 ? 0u : 1u);
    must(store_.put("live", "v"));
    ASSERT_LT(count().expired, left);
    EXPECT_GE(count().expired + 64, left) << "the commit is not kept waiting for long";
    left = count().expired;
    EXPECT_EQ(must(store_.stats()).expired_lazily, 6'000 - left);
  }
  expect_sound();
}

TEST_F(CursorTest, OnlyWhatItMetIsRemoved) {
  put_all({"a", "b", "y", "z"}, 10s);
  put_all({"m"});
  clock_.advance(10s);
  {
    Cursor cursor = must(store_.cursor());
    EXPECT_TRUE(cursor.first());
  }
  EXPECT_EQ(count().expired, 4u);
  must(store_.put("m", "vm"));
  EXPECT_EQ(count().expired, 2u);
  clock_.set(kStart);
  EXPECT_EQ(value("y"), "vy");
  EXPECT_EQ(value("a"), "(none)");
}

TEST_F(CursorTest, WithAWriterAboutNothingIsRemoved) {
  put_all({"a", "b"}, 10s);
  clock_.advance(10s);
  Store other = open();
  auto writer = must(other.write());
  EXPECT_TRUE(rows_of(store_).empty());
  EXPECT_EQ(count().expired, 2u);
  EXPECT_EQ(must(store_.stats()).errors, 0u);
  writer.rollback();
  EXPECT_EQ(count().expired, 2u) << "a rollback removes nothing";
  must(other.put("c", "vc"));
  EXPECT_EQ(count().expired, 0u) << "what any handle of the process met";
}

TEST_F(CursorTest, WhatWasPutAnewInTheMeantimeIsNotRemoved) {
  put_all({"plain", "timed", "sooner", "gone", "kept"}, 10s);
  clock_.advance(10s);
  {
    Cursor cursor = must(store_.cursor());
    EXPECT_FALSE(cursor.first());
    must(store_.put("plain", "new"));
    must(store_.put("timed", "new", 1h));
    must(store_.put("sooner", "due", kStart + 5s));
    must(store_.erase("gone"));
    clock_.set(kStart + 1s);
    EXPECT_TRUE(must(store_.contains("kept"))) << "the clock went back";
    clock_.set(kStart + 10s);
  }
  EXPECT_EQ(rows_of(must(store_.read())),
            (std::vector<Shown>{{"plain", "new"}, {"timed", "new", kStart + 10s + 1h}}));
  EXPECT_EQ(value("plain"), "new");
  expect_sound();
}

TEST_F(CursorTest, AnEvictionAsksTheClockAnewBeforeItRemoves) {
  put_all({"a"}, 10s);
  clock_.advance(10s);
  {
    Cursor cursor = must(store_.cursor());
    EXPECT_FALSE(cursor.first());
    clock_.set(kStart);  // a wall clock may go back
  }
  EXPECT_EQ(value("a"), "va");
}

TEST_F(CursorTest, OfAFamilyThatIsDroppedMeanwhileRemovesNothingElsewhere) {
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "old", 10s, users));
  clock_.advance(10s);
  Family again;
  {
    Cursor cursor = must(store_.cursor({}, users));
    EXPECT_FALSE(cursor.first());
    must(store_.drop_family("users"));
    again = must(store_.create_family("users"));
    must(store_.put("key", "due too", 0ms, again));
  }
  EXPECT_EQ(count(again).stored, 1u);
  expect_sound();
}

TEST_F(CursorTest, InsideATransactionNothingIsRemoved) {
  put_all({"a", "b"}, 10s);
  clock_.advance(10s);
  const std::uint64_t before = transaction_of(store_);
  EXPECT_TRUE(rows_of(must(store_.read())).empty());
  EXPECT_EQ(transaction_of(store_), before);
  auto txn = must(store_.write());
  EXPECT_TRUE(rows_of(txn).empty());
  EXPECT_EQ(stored_in(txn), 2u);
  must(txn.commit());
  EXPECT_EQ(count().expired, 2u);
}

TEST_F(CursorTest, AWalkThatMetNothingExpiredWritesNothing) {
  put_all({"a", "b"}, 10s);
  const std::uint64_t before = transaction_of(store_);
  EXPECT_EQ(rows_of(store_).size(), 2u);
  EXPECT_EQ(transaction_of(store_), before);
}

// --- By deadline ---------------------------------------------------------------------------------

TEST_F(CursorTest, ExpiringTellsWhatIsDueBetweenTwoMoments) {
  for (const int s : {5, 1, 3, 2, 4})
    must(store_.put("k" + std::to_string(s), "v", Millis(s * 1s)));
  put_all({"permanent"});
  const auto between = [this](Time from, Time to, std::size_t limit = SIZE_MAX) {
    std::string keys;
    for (const Expiring& one : must(store_.expiring(from, to, limit))) {
      keys += one.key + "@" + std::to_string((one.deadline - kStart) / 1s) + " ";
    }
    return keys;
  };

  EXPECT_EQ(between(kStart, kNever), "k1@1 k2@2 k3@3 k4@4 k5@5 ");
  EXPECT_EQ(between(kStart + 2s, kStart + 4s), "k2@2 k3@3 ") << "the end is not in it";
  EXPECT_EQ(between(kStart, kNever, 2), "k1@1 k2@2 ");
  EXPECT_EQ(between(kStart, kNever, 0), "");
  EXPECT_EQ(between(kStart + 4s, kStart + 2s), "");
  EXPECT_EQ(between(Time::min(), Time::max(), 1), "k1@1 ");
  clock_.advance(2s);
  EXPECT_EQ(between(kStart, kNever), "k3@3 k4@4 k5@5 ") << "what has expired is left out";
  EXPECT_EQ(count().stored, 6u) << "and not removed";
}

TEST_F(CursorTest, ExpiringGivesLongKeysWhole) {
  const std::string key(3'000, 'k');
  must(store_.put(key, "v", 10s));
  const auto all = must(store_.expiring(kStart, kNever));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].key, key);
}

TEST_F(CursorTest, NextDeadlineIsTheEarliestOfExpiredOnesToo) {
  EXPECT_EQ(must(store_.next_deadline()), kNever);
  put_all({"permanent"});
  EXPECT_EQ(must(store_.next_deadline()), kNever);
  must(store_.put("b", "v", 20s));
  must(store_.put("a", "v", 10s));
  EXPECT_EQ(must(store_.next_deadline()), kStart + 10s);
  clock_.advance(10s);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 10s);
  must(store_.purge_expired().status);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 20s);
}

// --- Long keys -----------------------------------------------------------------------------------

// Lengths around the border between the two stored forms (502 bytes as they are, 487 of the longer
// ones in their own bytes), in every order of what follows.
Keys border_keys() {
  const std::string base(487, 'k');
  Keys keys = {"a",
               "z",
               base.substr(0, 486),
               base,
               std::string(486, 'k') + "a",
               std::string(486, 'k') + "z"};
  for (const char tail : {'\0', 'a', 'k', 'z', '\xff'}) {
    for (const std::size_t length : {1u, 2u, 14u, 15u, 16u, 17u, 18u, 100u, 5'000u}) {
      keys.push_back(base + std::string(length, tail));
      keys.push_back(base + std::string(length, tail) + "m");
      keys.push_back(base + "m" + std::string(length, tail));
    }
  }
  keys.push_back(std::string(kStoreKeyMax, 'k'));
  keys.push_back(std::string(kStoreKeyMax - 1, 'k'));
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

TEST_F(CursorTest, LongKeysAreInByteOrderAmongShortOnes) {
  const Keys keys = border_keys();
  auto txn = must(store_.write());
  for (const std::string& key : keys) txn.put(key, std::to_string(key.size()));
  must(txn.commit());
  Cursor cursor = must(store_.cursor());

  EXPECT_TRUE(forward(cursor) == keys);
  EXPECT_TRUE(backward(cursor) == keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(cursor.seek(keys[i]));
    EXPECT_TRUE(cursor.key() == keys[i]) << i;
    EXPECT_EQ(cursor.value(), std::to_string(keys[i].size()));
    EXPECT_EQ(cursor.next(), i + 1 < keys.size());
    if (cursor.valid()) {
      EXPECT_TRUE(cursor.key() == keys[i + 1]) << i;
    }
    ASSERT_TRUE(cursor.seek_before(keys[i]));
    EXPECT_EQ(cursor.prev(), i > 0);
    if (cursor.valid()) {
      EXPECT_TRUE(cursor.key() == keys[i - 1]) << i;
    }
  }
}

TEST_F(CursorTest, SeeksBetweenLongKeysFindTheirNeighbours) {
  const Keys keys = border_keys();
  Keys stored;
  for (std::size_t i = 0; i < keys.size(); i += 2) {
    must(store_.put(keys[i], "v", 10s));
    stored.push_back(keys[i]);
  }
  Cursor cursor = must(store_.cursor());
  for (const std::string& key : keys) {
    const auto above = std::ranges::lower_bound(stored, key);
    EXPECT_EQ(cursor.seek(key), above != stored.end());
    if (cursor.valid()) {
      EXPECT_TRUE(cursor.key() == *above);
    }
    const auto below = std::ranges::upper_bound(stored, key);
    EXPECT_EQ(cursor.seek_before(key), below != stored.begin());
    if (cursor.valid()) {
      EXPECT_TRUE(cursor.key() == *(below - 1));
    }
  }
}

TEST_F(CursorTest, LongPrefixesFindLongKeys) {
  const Keys keys = border_keys();
  for (const std::string& key : keys) must(store_.put(key, "v"));
  for (const std::size_t length : {1u, 486u, 487u, 488u, 500u, 502u, 503u, 504u, 600u, 5'487u}) {
    for (const char tail : {'k', 'z', '\0'}) {
      const std::string prefix = std::string(std::min<std::size_t>(length, 487), 'k') +
                                 std::string(length > 487 ? length - 487 : 0, tail);
      Keys expected;
      for (const std::string& key : keys) {
        if (key.starts_with(prefix)) expected.push_back(key);
      }
      Cursor cursor = must(store_.cursor({.prefix = prefix}));
      EXPECT_TRUE(forward(cursor) == expected) << length << tail;
      EXPECT_TRUE(backward(cursor) == expected) << length << tail;
    }
  }
}

TEST_F(CursorTest, ExpiredLongKeysAreSkippedAndRemoved) {
  const Keys keys = border_keys();
  Keys live;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    must(store_.put(keys[i], "v", i % 3 == 0 ? Expiry(20s) : Expiry(10s)));
    if (i % 3 == 0) live.push_back(keys[i]);
  }
  clock_.advance(10s);
  {
    Cursor cursor = must(store_.cursor());
    EXPECT_TRUE(forward(cursor) == live);
    EXPECT_TRUE(backward(cursor) == live);
  }
  while (count().stored > live.size()) {
    const std::uint64_t before = count().stored;
    must(store_.put(live.front(), "v", 10s));
    ASSERT_LT(count().stored, before);
    EXPECT_EQ(rows_of(store_).size(), live.size());
  }
  EXPECT_EQ(count().stored, live.size());
  expect_sound();
}

}  // namespace cursor_test
}  // namespace mayfly::internal
