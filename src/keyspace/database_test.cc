// SPDX-License-Identifier: Apache-2.0
// Keys and their deadlines, by example.

#include "keyspace/database.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "keyspace/eviction.h"
#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace database_test {

using Events = std::vector<std::string>;

class DatabaseTest : public testing::Test, protected KeyspaceFixture {
 protected:
  void TearDown() override { EXPECT_EQ(database.check_invariants(), ""); }
};

TEST_F(DatabaseTest, FindsWhatWasPutAndNothingElse) {
  const Slot slot = database.put_string(context, "key", "value");
  EXPECT_EQ(database.find(context, "key"), slot);
  EXPECT_EQ(database.string(slot), "value");
  EXPECT_EQ(database.find(context, "kex"), kNoSlot);
  EXPECT_EQ(database.size(context), 1u);
}

TEST_F(DatabaseTest, KeepsTheSlotWhenAValueIsReplaced) {
  const Slot slot = database.put_string(context, "key", "short");
  EXPECT_EQ(database.put_string(context, "key", std::string(1000, 'x')), slot);
  EXPECT_EQ(database.string(slot), std::string(1000, 'x'));
  EXPECT_EQ(database.put_string(context, "key", ""), slot);
  EXPECT_EQ(database.string(slot), "");
}

TEST_F(DatabaseTest, SweptMembersOfASmallHashGiveTheirMemoryBack) {
  std::vector<std::string> fields;
  for (int i = 0; i < 20; ++i)
    fields.push_back("a field of some length, number " + std::to_string(i));
  const Slot slot = make_hash("key", fields, in(10));
  database.members(context, slot).put("stays", "v");
  const std::size_t before = node_bytes(&database.node(slot));
  advance(10);
  EXPECT_EQ(keyspace.sweep(context, 100), 20u);
  EXPECT_LT(node_bytes(&database.node(slot)), before / 4);
}

TEST_F(DatabaseTest, AStringOverAHashWithDeadlinesLeavesNothingInTheIndex) {
  make_hash("key", {"a", "b"}, in(10));
  EXPECT_EQ(database.member_deadline_count(), 1u);
  database.put_string(context, "key", "v");
  EXPECT_EQ(database.member_deadline_count(), 0u);
  advance(20);
  EXPECT_EQ(keyspace.sweep(context, 100), 0u);
  EXPECT_NE(database.find(context, "key"), kNoSlot);
}

TEST_F(DatabaseTest, AKeyIsGoneAtItsDeadlineAndNotBefore) {
  database.set_deadline(database.put_string(context, "key", "v"), in(10));
  advance(9);
  EXPECT_NE(database.find(context, "key"), kNoSlot);
  advance(1);
  EXPECT_EQ(database.size(context), 0u);
  EXPECT_EQ(database.stored(), 1u);
  EXPECT_EQ(database.find(context, "key"), kNoSlot);
  EXPECT_EQ(database.stored(), 0u);
  EXPECT_EQ(recorder.take(), Events{"expired key on access"});
}

TEST_F(DatabaseTest, PeekRemovesNothing) {
  database.set_deadline(database.put_string(context, "key", "v"), in(10));
  advance(10);
  EXPECT_EQ(database.peek(context, "key"), kNoSlot);
  EXPECT_EQ(database.stored(), 1u);
  EXPECT_EQ(recorder.take(), Events{});
}

TEST_F(DatabaseTest, AHiddenKeyStaysAndAShownOneIsThere) {
  database.set_deadline(database.put_string(context, "key", "v"), in(10));
  advance(10);
  context.policy = Policy::hide;
  EXPECT_EQ(database.find(context, "key"), kNoSlot);
  EXPECT_EQ(database.size(context), 0u);
  context.policy = Policy::show;
  EXPECT_NE(database.find(context, "key"), kNoSlot);
  EXPECT_EQ(database.size(context), 1u);
}

TEST_F(DatabaseTest, AHashOfWhichAllFieldsAreDueIsNotThere) {
  make_hash("hash", {"a", "b"}, in(10));
  advance(10);
  EXPECT_EQ(database.size(context), 0u);
  EXPECT_EQ(database.find(context, "hash"), kNoSlot);
  EXPECT_EQ(recorder.take(), Events{"hexpired hash on access del"});
  EXPECT_EQ(keyspace.stats().expired_members, 2u);
}

TEST_F(DatabaseTest, AHashWithOneFieldLeftIsThere) {
  const Slot slot = make_hash("hash", {"a", "b"}, in(10));
  database.members(context, slot).put("c", "v");
  advance(10);
  EXPECT_EQ(database.size(context), 1u);
  EXPECT_EQ(database.find(context, "hash"), slot);
  EXPECT_EQ(database.members(context, slot).size(), 1u);
  EXPECT_EQ(database.members(context, slot).stored(), 3u);
}

TEST_F(DatabaseTest, TheSweepTakesKeysAndFieldsThatAreDue) {
  database.set_deadline(database.put_string(context, "soon", "v"), in(10));
  database.set_deadline(database.put_string(context, "late", "v"), in(100));
  const Slot slot = make_hash("hash", {"a", "b"}, in(10));
  database.members(context, slot).put("c", "v");
  advance(10);
  EXPECT_EQ(keyspace.sweep(context, 100), 3u);
  EXPECT_EQ(keyspace.sweep(context, 100), 0u);
  EXPECT_EQ(recorder.take(), (Events{"expired soon swept", "hexpired hash swept a b"}));
  EXPECT_EQ(keyspace.next_deadline(), in(90));
  EXPECT_EQ(keyspace.stats().late_by_sweep.count(), 3u);
}

TEST_F(DatabaseTest, TheSweepKeepsToItsLimitAndGoesOn) {
  for (int i = 0; i < 10; ++i) {
    database.set_deadline(database.put_string(context, "k" + std::to_string(i), "v"), in(10));
  }
  advance(10);
  EXPECT_EQ(keyspace.sweep(context, 4), 4u);
  EXPECT_EQ(database.stored(), 6u);
  EXPECT_EQ(keyspace.sweep(context, 100), 6u);
}

TEST_F(DatabaseTest, TheSweepOfOthersSparesKeysWithTheirMembers) {
  const auto is_spared = [](std::string_view key) { return key.starts_with("spared"); };
  for (const std::string name : {"a", "b", "spared"}) {
    database.set_deadline(database.put_string(context, name, "v"), in(10));
    const Slot slot = make_hash(name + "hash", {"x", "y"}, in(10));
    database.members(context, slot).put("z", "v");
  }
  advance(10);
  EXPECT_EQ(keyspace.sweep_others(context, 1, Time::min(), is_spared), 1u);
  std::size_t swept = 1;
  while (const std::size_t more = keyspace.sweep_others(context, 1, Time::min(), is_spared)) {
    swept += more;
  }
  EXPECT_EQ(swept, 6u);
  EXPECT_EQ(database.stored(), 4u);
  EXPECT_EQ(keyspace.sweep_others(context, 100, in(1), is_spared), 0u) << "nothing since then";
  EXPECT_EQ(keyspace.sweep(context, 100), 3u);
  EXPECT_EQ(database.check_invariants(), "");
}

TEST_F(DatabaseTest, AnEmptiedHashGoesWithItsKeyDeadline) {
  const Slot slot = make_hash("hash", {"a"}, in(10));
  database.set_deadline(slot, in(50));
  advance(10);
  keyspace.sweep(context, 10);
  EXPECT_EQ(recorder.take(), Events{"hexpired hash swept a del"});
  EXPECT_EQ(database.deadline_count(), 0u);
}

TEST_F(DatabaseTest, RenameCarriesAllDeadlines) {
  const Slot slot = make_hash("a", {"f"}, in(10));
  database.set_deadline(slot, in(20));
  database.rename(slot, "another, longer name");
  EXPECT_EQ(database.find(context, "a"), kNoSlot);
  EXPECT_EQ(database.find(context, "another, longer name"), slot);
  EXPECT_EQ(database.deadline(slot), in(20));
  EXPECT_EQ(database.earliest_member_deadline(slot), in(10));
}

TEST_F(DatabaseTest, MoveCarriesAllDeadlinesToTheOtherDatabase) {
  keyspace.options().packed_hash.members = 2;
  const Slot slot = make_hash("a", {"f", "g", "h"}, in(10));
  database.set_deadline(slot, in(20));
  Database& other = keyspace[1];
  const Slot moved = database.move(slot, other, "b");
  EXPECT_EQ(database.stored(), 0u);
  EXPECT_EQ(other.deadline(moved), in(20));
  EXPECT_EQ(other.earliest_member_deadline(moved), in(10));
  EXPECT_EQ(other.members(context, moved).size(), 3u);
  EXPECT_EQ(other.check_invariants(), "");
}

TEST_F(DatabaseTest, ACopyLeavesOutFieldsThatAreDue) {
  const Slot slot = make_hash("a", {"gone"}, in(10));
  database.members(context, slot).put("here", "v", in(100));
  advance(10);
  const Slot copied = database.copy(context, slot, database, "b");
  EXPECT_EQ(database.members(context, copied).stored(), 1u);
  EXPECT_EQ(database.members(context, copied).find("here")->deadline, in(90));
}

TEST_F(DatabaseTest, ClearedKeysAreFreedInSlices) {
  for (int i = 0; i < 1000; ++i) database.put_string(context, "k" + std::to_string(i), "v");
  database.clear();
  EXPECT_EQ(database.size(context), 0u);
  EXPECT_EQ(keyspace.lazy_free().pending(), 1000u);
  EXPECT_EQ(keyspace.lazy_free().free_some(400), 400u);
  EXPECT_EQ(keyspace.lazy_free().pending(), 600u);
  while (keyspace.lazy_free().free_some(400) > 0) {
  }
  EXPECT_TRUE(keyspace.lazy_free().is_empty());
}

TEST_F(DatabaseTest, ALargeHashIsFreedInSlices) {
  keyspace.options().packed_hash.members = 4;
  std::vector<std::string> fields;
  for (int i = 0; i < 500; ++i) fields.push_back("f" + std::to_string(i));
  database.erase(make_hash("hash", fields));
  EXPECT_EQ(database.stored(), 0u);
  EXPECT_EQ(keyspace.lazy_free().pending(), 500u);
  EXPECT_EQ(keyspace.lazy_free().free_some(100), 100u);
}

TEST_F(DatabaseTest, RandomFindsTheOnlyOneAliveAndEndsWhenThereIsNone) {
  for (int i = 0; i < 500; ++i) {
    database.set_deadline(database.put_string(context, "k" + std::to_string(i), "v"), in(10));
  }
  const Slot alive = database.put_string(context, "alive", "v");
  advance(10);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(database.random(context, keyspace.random()), alive);
  database.erase(alive);
  EXPECT_EQ(database.random(context, keyspace.random()), kNoSlot);
}

TEST_F(DatabaseTest, ResizedStringsGetZeros) {
  const Slot slot = database.put_string(context, "k", "ab");
  database.resize_string(slot, 5)[4] = 'x';
  EXPECT_EQ(database.string(slot), std::string_view("ab\0\0x", 5));
}

// A hostile file may say so.
TEST_F(DatabaseTest, ADeadlineMayBeAsLongAgoAsCanBe) {
  context.policy = Policy::show;
  database.set_deadline(database.put_string(context, "key", "value"), Time::min());
  make_hash("hash", {"a"}, Time::min());
  context.policy = Policy::reclaim;
  while (keyspace.sweep(context, 10) > 0) {
  }
  EXPECT_EQ(database.stored(), 0u);
  EXPECT_EQ(keyspace.stats().late_by_sweep.count(), 2u);
}

TEST_F(DatabaseTest, AHashIsPackedHoweverHighTheLimitIsSet) {
  keyspace.options().packed_hash.text_bytes = INT64_MAX;
  const Slot slot = make_hash("hash", {});
  MembersRef hash = database.members(context, slot);
  for (int i = 0; i < 10; ++i) hash.put(std::to_string(i), std::string(2000, 'x'), kNever);
  EXPECT_EQ(form_of(database.node(slot)), ValueForm::packed);
}

class HashSlotTest : public KeyspaceFixture, public testing::Test {
 protected:
  HashSlotTest() : KeyspaceFixture(options()) {}

  // The first letter of a key says which slot it belongs to.
  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.hash_slot_of = [](std::string_view key) {
      return static_cast<std::uint16_t>(static_cast<unsigned char>(key[0]));
    };
    options.staging = 1;
    return options;
  }

  Slot put(std::string_view key, Time deadline = kNever) {
    const Slot slot = database.put_string(context, key, "value");
    database.set_deadline(slot, deadline);
    return slot;
  }
  std::size_t count(char letter, int number = 0) {
    EXPECT_EQ(keyspace[number].check_invariants(), "");
    return keyspace[number].stored_in_hash_slot(static_cast<std::uint16_t>(letter));
  }
};

TEST_F(HashSlotTest, CountsKeysThatComeAndGo) {
  put("a1");
  put("a2");
  put("b1");
  EXPECT_EQ(count('a'), 2u);
  EXPECT_EQ(count('b'), 1u);
  database.erase(database.find(context, "a1"));
  EXPECT_EQ(count('a'), 1u);
  database.rename(database.find(context, "a2"), "b1");
  EXPECT_EQ(count('a'), 0u);
  EXPECT_EQ(count('b'), 1u);
}

TEST_F(HashSlotTest, CountsEachDatabase) {
  put("a1");
  put("a2");
  database.move(database.find(context, "a1"), keyspace[1], "a1");
  EXPECT_EQ(count('a'), 1u);
  EXPECT_EQ(count('a', 1), 1u);
  put("a3");
  keyspace.swap(0, 1);
  EXPECT_EQ(count('a'), 1u);
  EXPECT_EQ(count('a', 1), 2u);
  keyspace[1].clear();
  EXPECT_EQ(count('a', 1), 0u);
}

TEST_F(HashSlotTest, ListsSomeKeysThatAreAlive) {
  for (const std::string_view key : {"a1", "b1", "a2", "b2", "a3"}) put(key);
  put("a4", in(10));
  advance(10);
  EXPECT_EQ(database.keys_in_hash_slot(context, 'a', 10),
            (std::vector<std::string_view>{"a1", "a2", "a3"}));
  EXPECT_EQ(database.keys_in_hash_slot(context, 'a', 2).size(), 2u);
  EXPECT_EQ(database.keys_in_hash_slot(context, 'a', 0).size(), 0u);
  EXPECT_EQ(database.keys_in_hash_slot(context, 'c', 10).size(), 0u);
}

TEST_F(HashSlotTest, StagedKeysAreNotSwept) {
  put("a1", in(10));
  put("a2", in(100'000));
  database.move(database.find(context, "a1"), keyspace[1], "a1");
  advance(200'000);
  EXPECT_EQ(keyspace.sweep(context, 10), 1u);
  EXPECT_EQ(keyspace.sweep(context, 10), 0u);
  EXPECT_EQ(count('a', 1), 1u);
}

TEST_F(HashSlotTest, StagedKeysAreNotEvicted) {
  put("a1");
  put("a2");
  database.move(database.find(context, "a1"), keyspace[1], "a1");
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_random, 5));
  EXPECT_FALSE(evict_one(context, keyspace, Eviction::allkeys_random, 5));
  EXPECT_EQ(count('a', 1), 1u);
}

// A node has 32 bits for each. What is longer was cut off in silence.
TEST(KeyNodeTest, RefusesWhatItCannotHold) {
  constexpr std::size_t kTooLong = kNodeBytesMax + 1;
  EXPECT_THROW(make_node(Encoding::string, "key", kTooLong), std::length_error);
  EXPECT_THROW(make_node(Encoding::string, {"key", kTooLong}, 1), std::length_error);
  KeyNode* const node = make_node(Encoding::string, "key", 5);
  EXPECT_THROW(resize_value(node, kTooLong), std::length_error);
  EXPECT_EQ(node->value_size, 5u);
  free_node(node);
}

}  // namespace database_test
}  // namespace mayfly
