// SPDX-License-Identifier: Apache-2.0
// Column families: made, found, dropped and made anew, in and out of transactions, with and without
// TTLs, and what becomes of handles to those that are gone.

#include <gtest/gtest.h>

#include <functional>

#include "mayfly/family.h"
#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_family_test {

using namespace std::chrono_literals;

using Names = std::vector<std::string>;

class StoreFamilyTest : public OpenStoreFixture {};

TEST_F(StoreFamilyTest, EachIsAKeySpaceOfItsOwn) {
  const Family users = must(store_.create_family("users"));
  const Family carts = must(store_.create_family("carts"));
  must(store_.put("key", "default"));
  must(store_.put("key", "user", {}, users));
  must(store_.put("key", "cart", 10s, carts));

  EXPECT_EQ(value("key"), "default");
  EXPECT_EQ(value("key", users), "user");
  EXPECT_EQ(value("key", carts), "cart");
  EXPECT_TRUE(must(store_.erase("key", users)));
  EXPECT_EQ(value("key"), "default");
  must(store_.clear());
  EXPECT_EQ(value("key", carts), "cart");
}

TEST_F(StoreFamilyTest, AreListedInByteOrderWithoutTheDefaultOne) {
  for (const char* name : {"b", "a", "Z", "\xc3\xa9", "a-1"}) must(store_.create_family(name));

  EXPECT_EQ(must(store_.families()), (Names{"Z", "a", "a-1", "b", "\xc3\xa9"}));
  EXPECT_EQ(must(store_.read()).families(), (Names{"Z", "a", "a-1", "b", "\xc3\xa9"}));
  EXPECT_EQ(must(store_.read()).all_families().size(), 6u);
  EXPECT_EQ(must(store_.read()).all_families().front(), Family());
}

TEST_F(StoreFamilyTest, AreFoundByNameAndAfterReopening) {
  const Family made = must(store_.create_family("users"));
  must(store_.put("key", "value", 10s, made));
  EXPECT_EQ(must(store_.family("users")), made);
  EXPECT_EQ(must(store_.open_family("users")), made);
  EXPECT_EQ(code_of(store_.family("carts")), Code::not_found);
  reopen();

  EXPECT_EQ(must(store_.families()), Names{"users"});
  EXPECT_EQ(value("key", must(store_.family("users"))), "value");
  EXPECT_EQ(value("key", made), "value") << "a Family is good as long as the file has it";
  clock_.advance(10s);
  EXPECT_EQ(value("key", made), "(none)");
}

TEST_F(StoreFamilyTest, OpenMakesOneThatIsNotThere) {
  const Family made = must(store_.open_family("users"));
  EXPECT_EQ(must(store_.open_family("users")), made);
  EXPECT_EQ(must(store_.families()), Names{"users"});
}

TEST_F(StoreFamilyTest, TheDefaultOneIsFoundByItsNameAndCannotBeDroppedOrMade) {
  EXPECT_EQ(must(store_.family("default")), Family());
  EXPECT_EQ(must(store_.open_family("default")), Family());
  EXPECT_EQ(code_of(store_.create_family("default")), Code::invalid);
  EXPECT_EQ(code_of(store_.drop_family("default")), Code::invalid);
  must(store_.put("key", "value"));
}

TEST_F(StoreFamilyTest, ANameThatExistsOrIsBadIsRefused) {
  must(store_.create_family("users"));
  EXPECT_EQ(code_of(store_.create_family("users")), Code::invalid);
  EXPECT_EQ(code_of(store_.create_family("")), Code::invalid);
  EXPECT_EQ(code_of(store_.create_family(std::string(kFamilyNameMax + 1, 'n'))), Code::invalid);
  EXPECT_EQ(code_of(store_.open_family("")), Code::invalid);
  must(store_.create_family(std::string(kFamilyNameMax, 'n')));
  must(store_.create_family("n"));
  EXPECT_EQ(must(store_.families()).size(), 3u);
}

TEST_F(StoreFamilyTest, TablesOfOursAreNeitherListedNorOpened) {
  must(store_.put("key", "value", 10s));
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "value", 10s, users));

  EXPECT_EQ(must(store_.families()), Names{"users"});
  for (const char* name : {"t1", "t2", "t3", "t4", "mayfly", "__snkv_ttl__", "0"}) {
    EXPECT_EQ(code_of(store_.family(name)), Code::not_found) << name;
    EXPECT_EQ(code_of(store_.drop_family(name)), Code::not_found) << name;
  }
  const Family same = must(store_.create_family("t1"));
  EXPECT_EQ(stored(same), 0u) << "the name of a family is not the name of a table";
  must(store_.put("key", "other", {}, same));
  must(store_.clear(same));
  EXPECT_EQ(value("key"), "value");
}

TEST_F(StoreFamilyTest, WhatIsWrongInATransactionIsToldAndSpoilsNothing) {
  auto txn = must(store_.write());
  const Family users = must(txn.create_family("users"));
  EXPECT_EQ(code_of(txn.create_family("users")), Code::invalid);
  EXPECT_EQ(code_of(txn.create_family("")), Code::invalid);
  EXPECT_EQ(code_of(txn.drop_family("none")), Code::not_found);
  EXPECT_EQ(code_of(txn.drop_family("default")), Code::invalid);
  txn.put("key", "value", 10s, users);
  must(txn.commit());
  EXPECT_EQ(value("key", users), "value");
}

// --- Dropping ------------------------------------------------------------------------------------

TEST_F(StoreFamilyTest, ADroppedOneIsNotFoundByAnyCall) {
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "value", 10s, users));
  must(store_.drop_family("users"));

  EXPECT_EQ(code_of(store_.drop_family("users")), Code::not_found);
  EXPECT_EQ(code_of(store_.family("users")), Code::not_found);
  EXPECT_EQ(code_of(store_.get("key", users)), Code::not_found);
  EXPECT_EQ(code_of(store_.contains("key", users)), Code::not_found);
  EXPECT_EQ(code_of(store_.deadline("key", users)), Code::not_found);
  EXPECT_EQ(code_of(store_.put("key", "value", {}, users)), Code::not_found);
  EXPECT_EQ(code_of(store_.erase("key", users)), Code::not_found);
  EXPECT_EQ(code_of(store_.expire("key", 1s, When::always, users)), Code::not_found);
  EXPECT_EQ(code_of(store_.clear(users)), Code::not_found);
  EXPECT_EQ(code_of(store_.count(users)), Code::not_found);
  EXPECT_EQ(code_of(store_.cursor({}, users)), Code::not_found);
  EXPECT_EQ(code_of(store_.expiring(kStart, kNever, 1, users)), Code::not_found);
  EXPECT_EQ(code_of(store_.next_deadline(users)), Code::not_found);
  EXPECT_EQ(code_of(store_.default_ttl(users)), Code::not_found);
  EXPECT_EQ(code_of(store_.set_default_ttl(1s, users)), Code::not_found);
  EXPECT_EQ(code_of(store_.purge_expired({}, users).status), Code::not_found);
  must(store_.put("key", "the rest works on"));
  expect_sound();
}

TEST_F(StoreFamilyTest, ALaterOneOfTheSameNameIsAnother) {
  const Family first = must(store_.create_family("users"));
  must(store_.put("key", "old", 10s, first));
  must(store_.set_default_ttl(60s, first));
  must(store_.drop_family("users"));
  const Family second = must(store_.create_family("users"));

  EXPECT_NE(first, second);
  EXPECT_EQ(stored(second), 0u);
  EXPECT_EQ(must(store_.next_deadline(second)), kNever);
  EXPECT_EQ(must(store_.default_ttl(second)), std::nullopt);
  EXPECT_EQ(code_of(store_.get("key", first)), Code::not_found);
  must(store_.put("key", "new", {}, second));
  EXPECT_EQ(code_of(store_.get("key", first)), Code::not_found);
  clock_.advance(1h);
  EXPECT_EQ(must(store_.purge_expired_all()).removed, 0u);
  EXPECT_EQ(value("key", second), "new");
}

// Lesson A9: in SNKV a drop moved pages under the feet of the others.
TEST_F(StoreFamilyTest, DroppingOneLeavesTheOthersAlone) {
  std::vector<Family> families;
  for (int i = 0; i < 10; ++i) {
    families.push_back(must(store_.create_family("family" + std::to_string(i))));
    for (int k = 0; k < 50; ++k) {
      must(
          store_.put("key" + std::to_string(k), std::to_string(i), Millis(k + 1), families.back()));
    }
  }
  must(store_.put("key", "default", 10s));
  for (int i = 0; i < 10; i += 2) must(store_.drop_family("family" + std::to_string(i)));

  clock_.advance(10ms);
  for (int i = 1; i < 10; i += 2) {
    const Family family = families[static_cast<std::size_t>(i)];
    EXPECT_EQ(value("key20", family), std::to_string(i));
    EXPECT_EQ(count(family).live, 40u);
    must(store_.put("more", "value", 5s, family));
  }
  EXPECT_EQ(deadline("key"), kStart + 10s);
  EXPECT_EQ(must(store_.purge_expired_all()).removed, 50u);
  expect_sound();
}

TEST_F(StoreFamilyTest, ARolledBackDropIsUndone) {
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "value", 10s, users));
  auto txn = must(store_.write());
  must(txn.drop_family("users"));
  EXPECT_EQ(code_of(txn.get("key", users)), Code::not_found);
  EXPECT_TRUE(txn.families().empty());
  const Family again = must(txn.create_family("users"));
  txn.put("key", "other", {}, again);
  txn.rollback();

  EXPECT_EQ(must(store_.families()), Names{"users"});
  EXPECT_EQ(value("key", users), "value");
  EXPECT_EQ(deadline("key", users), kStart + 10s);
  EXPECT_EQ(code_of(store_.get("key", again)), Code::not_found);
  expect_sound();
}

TEST_F(StoreFamilyTest, AReaderKeepsWhatItsSnapshotHas) {
  const Family users = must(store_.create_family("users"));
  for (int i = 0; i < 300; ++i) {
    must(store_.put("key" + std::to_string(i), "old", 10s, users));
  }
  auto reader = must(store_.read());
  auto cursor = must(store_.cursor({}, users));
  ASSERT_TRUE(cursor.first());
  must(store_.drop_family("users"));
  const Family carts = must(store_.create_family("carts"));
  for (int i = 0; i < 300; ++i) must(store_.put("key" + std::to_string(i), "new", 5s, carts));

  EXPECT_EQ(value_of(reader, "key7", users), "old");
  EXPECT_EQ(must(reader.deadline("key7", users)), kStart + 10s);
  EXPECT_EQ(must(reader.count(users)).with_ttl, 300u);
  EXPECT_EQ(reader.families(), Names{"users"});
  EXPECT_EQ(code_of(reader.get("key7", carts)), Code::not_found);
  for (const Shown& row : rows_of(cursor)) EXPECT_EQ(row.value, "old");
  EXPECT_EQ(value("key7", carts), "new");
}

// --- Creation that is rolled back ----------------------------------------------------------------

// Lesson A10.
TEST_F(StoreFamilyTest, OneWhoseCreationWasRolledBackIsNotFound) {
  auto txn = must(store_.write());
  const Family users = must(txn.create_family("users"));
  txn.put("key", "value", 10s, users);
  EXPECT_EQ(value_of(txn, "key", users), "value");
  EXPECT_EQ(txn.families(), Names{"users"});
  txn.rollback();

  EXPECT_TRUE(must(store_.families()).empty());
  EXPECT_EQ(code_of(store_.get("key", users)), Code::not_found);
  EXPECT_EQ(code_of(store_.put("key", "value", {}, users)), Code::not_found);
  const Family made = must(store_.create_family("users"));
  EXPECT_EQ(stored(made), 0u);
  must(store_.put("key", "value", 10s, made));
  EXPECT_EQ(deadline("key", made), kStart + 10s);
  expect_sound();
}

// A handle whose creation was undone may have the slot and the number of one that is made later.
TEST_F(StoreFamilyTest, OneWhoseCreationWasRolledBackIsNotTakenForALaterOne) {
  auto txn = must(store_.write());
  const Family undone = must(txn.create_family("undone"));
  txn.rollback();
  const Family made = must(store_.create_family("made"));
  must(store_.put("key", "value", {}, made));

  EXPECT_NE(undone, made);
  EXPECT_EQ(code_of(store_.get("key", undone)), Code::not_found);
}

// Lesson A3: SNKV kept the numbers of pages that the rollback had taken away.
TEST_F(StoreFamilyTest, TheFirstTtlOfAFamilyMayBeRolledBack) {
  const Family users = must(store_.create_family("users"));
  for (const Family family : {Family(), users}) {
    auto txn = must(store_.write());
    txn.put("key", "undone", 10s, family);
    txn.rollback();
    EXPECT_EQ(stored(family), 0u);
  }
  const Family one = must(store_.create_family("one"));
  const Family two = must(store_.create_family("two"));
  for (const Family family : {Family(), users, one, two}) {
    must(store_.put("key", "value", 10s, family));
    EXPECT_EQ(deadline("key", family), kStart + 10s);
    EXPECT_EQ(stored(family), 1u);
  }
  expect_sound();
  reopen();
  clock_.advance(10s);
  for (const Family family : {Family(), users, one, two}) {
    EXPECT_EQ(rows_of(must(store_.read()), family), std::vector<Shown>());
    EXPECT_EQ(value("key", family), "(none)");
  }
  expect_sound();
}

TEST_F(StoreFamilyTest, TheFirstTtlThroughOneHandleIsKnownToOneThatRolledItsOwnBack) {
  Store other = open();
  auto txn = must(store_.write());
  txn.put("key", "undone", 10s);
  txn.rollback();
  const Family made = must(other.create_family("made"));
  must(other.put("key", "value", 10s, made));
  must(other.put("key", "value", 10s));

  EXPECT_EQ(deadline("key"), kStart + 10s);
  EXPECT_EQ(deadline("key", made), kStart + 10s);
  must(store_.put("second", "value", 5s));
  EXPECT_EQ(must(other.next_deadline()), kStart + 5s);
  expect_sound();
}

// --- Independence --------------------------------------------------------------------------------

TEST_F(StoreFamilyTest, TheTtlOfOneDoesNotTouchAnother) {
  const Family plain = must(store_.create_family("plain"));
  const Family timed = must(store_.create_family("timed"));
  must(store_.put("key", "value", {}, plain));
  must(store_.put("key", "value", 10s, timed));
  must(store_.set_default_ttl(5s, timed));
  must(store_.put("other", "value", {}, plain));
  clock_.advance(10s);

  EXPECT_EQ(count(plain).live, 2u);
  EXPECT_EQ(count(plain).with_ttl, 0u);
  EXPECT_EQ(must(store_.next_deadline(plain)), kNever);
  EXPECT_EQ(count(timed).expired, 1u);
  EXPECT_EQ(must(store_.purge_expired({}, plain)).removed, 0u);
  EXPECT_EQ(must(store_.purge_expired({}, timed)).removed, 1u);
  EXPECT_EQ(value("key", plain), "value");
}

TEST_F(StoreFamilyTest, EachHasItsOwnDefaultTtlInTheFile) {
  const Family hour = must(store_.create_family("hour"));
  const Family minute = must(store_.create_family("minute"));
  must(store_.set_default_ttl(1h, hour));
  must(store_.set_default_ttl(1min, minute));
  reopen();
  for (const Family family : {Family(), hour, minute}) must(store_.put("key", "v", {}, family));

  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(deadline("key", hour), kStart + 1h);
  EXPECT_EQ(deadline("key", minute), kStart + 1min);
  EXPECT_EQ(must(store_.default_ttl(hour)), Millis(1h));
}

TEST_F(StoreFamilyTest, ADefaultTtlOfNothingOrLessIsRefusedOrExpiresAtOnce) {
  for (const Millis ttl : {0ms, -1ms}) {
    const Status set = store_.set_default_ttl(ttl);
    if (!set.ok()) {
      EXPECT_EQ(code_of(set), Code::invalid);
      EXPECT_EQ(must(store_.default_ttl()), std::nullopt);
      continue;
    }
    must(store_.put("key", "value"));
    EXPECT_EQ(value("key"), "(none)");
  }
}

TEST_F(StoreFamilyTest, TransactionsSpanFamilies) {
  const Family users = must(store_.create_family("users"));
  auto txn = must(store_.write());
  txn.put("key", "1", 10s);
  txn.put("key", "2", 20s, users);
  must(txn.set_default_ttl(5s, users));
  txn.put("default", "3", {}, users);
  must(txn.commit());

  EXPECT_EQ(deadline("key"), kStart + 10s);
  EXPECT_EQ(deadline("key", users), kStart + 20s);
  EXPECT_EQ(deadline("default", users), kStart + 5s);
}

TEST_F(StoreFamilyTest, AStoreHoldsTwoHundredAndFiftySixWithTheDefaultOne) {
  auto txn = must(store_.write());
  for (std::size_t i = 1; i < kFamiliesMax; ++i) {
    const Family family = must(txn.create_family("family" + std::to_string(i)));
    txn.put("key", std::to_string(i), 10s, family);
  }
  EXPECT_EQ(code_of(txn.create_family("one too many")), Code::full);
  must(txn.commit());
  EXPECT_EQ(code_of(store_.create_family("one too many")), Code::full);
  EXPECT_EQ(must(store_.families()).size(), kFamiliesMax - 1);

  must(store_.drop_family("family7"));
  const Family last = must(store_.create_family("the last"));
  must(store_.put("key", "value", 5s, last));
  EXPECT_EQ(code_of(store_.create_family("one too many")), Code::full);
  reopen();
  EXPECT_EQ(value("key", must(store_.family("family255"))), "255");
  EXPECT_EQ(deadline("key", last), kStart + 5s);
  clock_.advance(10s);
  EXPECT_EQ(must(store_.purge_expired_all()).removed, kFamiliesMax - 1);
  expect_sound();
}

TEST_F(StoreFamilyTest, MakingAndDroppingForeverTakesNoMoreAndMoreTables) {
  reopen({.durability = Durability::off});  // pages are reused at once, not after the next sync
  for (int i = 0; i < 700; ++i) {
    auto txn = must(store_.write());
    const Family family = must(txn.create_family("family"));
    txn.put("key", "value", 10s, family);
    must(txn.commit());
    must(store_.drop_family("family"));
  }
  EXPECT_TRUE(must(store_.families()).empty());
  EXPECT_LT(must(store_.stats()).pages, 200u);
  expect_sound();
}

TEST_F(StoreFamilyTest, OneMadeThroughAnotherHandleIsFoundAtOnce) {
  Store other = open();
  const Family users = must(other.create_family("users"));
  must(other.put("key", "value", 10s, users));

  EXPECT_EQ(must(store_.family("users")), users);
  EXPECT_EQ(value("key", users), "value");
  must(store_.drop_family("users"));
  EXPECT_EQ(code_of(other.put("key", "value", {}, users)), Code::not_found);
}

}  // namespace store_family_test
}  // namespace mayfly::internal
