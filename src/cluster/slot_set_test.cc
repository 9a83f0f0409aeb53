// SPDX-License-Identifier: Apache-2.0
// Slots of keys, and sets of slots.

#include "cluster/slot_set.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace mayfly {
namespace {

// Bit by bit, as the definition of the CRC has it.
unsigned plain_crc(std::string_view bytes) {
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    crc &= 0xFFFF;
  }
  return crc;
}

TEST(HashSlot, IsThatOfRedisCluster) {
  EXPECT_EQ(hash_slot("123456789"), 0x31C3 % kHashSlots);  // the check value of CRC-16/XMODEM
  EXPECT_EQ(hash_slot("foo"), 12182);
  EXPECT_EQ(hash_slot(""), 0);
}

TEST(HashSlot, IsThatOfTheTag) {
  EXPECT_EQ(hash_slot("{user1000}.following"), hash_slot("user1000"));
  EXPECT_EQ(hash_tag("foo{}{bar}"), "foo{}{bar}");
  EXPECT_EQ(hash_tag("foo{{bar}}zap"), "{bar");
  EXPECT_EQ(hash_tag("foo{bar}{zap}"), "bar");
  EXPECT_EQ(hash_tag("foo{bar"), "foo{bar");
}

TEST(HashSlot, FindsATagWhereverItIs) {
  for (std::size_t length = 0; length < 40; ++length) {
    for (const char filler : {'z', '|', '\xfb', '\0', '}'}) {
      const std::string plain(length, filler);
      EXPECT_EQ(hash_tag(plain), plain);
      for (std::size_t open = 0; open + 2 < length; ++open) {
        std::string key = plain;
        key[open] = '{';
        key[open + 1] = 't';
        key[open + 2] = '}';
        EXPECT_EQ(hash_tag(key), "t") << length << ' ' << open;
        EXPECT_EQ(hash_slot(key), hash_slot("t")) << length << ' ' << open;
      }
    }
  }
}

TEST(HashSlot, SixteenBytesAtATimeIsTheSameAsOneBit) {
  rc::check("", [](const std::string& key) {
    const std::string_view tag = hash_tag(key);
    RC_ASSERT(hash_slot(key) == plain_crc(tag) % kHashSlots);
  });
  for (std::size_t length = 0; length < 70; ++length) {  // what is left of each step
    std::string key;
    for (std::size_t i = 0; i < length; ++i) key += static_cast<char>(i * 37 + length);
    EXPECT_EQ(hash_slot(key), plain_crc(hash_tag(key)) % kHashSlots) << length;
  }
}

TEST(SlotSet, DoesWhatASetOfNumbersDoes) {
  rc::check("", [] {
    const auto slots = *rc::gen::container<std::set<int>>(rc::gen::inRange(0, kHashSlots));
    const auto others = *rc::gen::container<std::set<int>>(rc::gen::inRange(0, kHashSlots));
    SlotSet set;
    SlotSet other;
    for (const int slot : slots) set.add(static_cast<HashSlot>(slot));
    for (const int slot : others) other.add(static_cast<HashSlot>(slot));
    RC_ASSERT(set.count() == slots.size());
    RC_ASSERT(*parse_slots(set.text()) == set);
    RC_ASSERT(SlotSet(set.ranges()) == set);
    for (const int number : others) {
      const auto slot = static_cast<HashSlot>(number);
      RC_ASSERT((set | other).contains(slot));
      RC_ASSERT((set & other).contains(slot) == slots.contains(number));
      RC_ASSERT(!(set - other).contains(slot));
    }
    RC_ASSERT(set.overlaps(other) == !(set & other).empty());
    RC_ASSERT((set | other).contains(other));
  });
}

TEST(SlotSet, TextHasTheFewestRanges) {
  EXPECT_EQ(SlotSet::all().text(), "0-16383");
  EXPECT_EQ(SlotSet({{5, 6}, {7, 9}, {11, 11}}).text(), "5-9 11");
  EXPECT_EQ(SlotSet().text(), "");
}

TEST(SlotSet, WrongTextIsRefused) {
  for (const std::string_view text : {"a", "1-", "-1", "2-1", "16384", "1  2", "1,2", "0-70000"}) {
    EXPECT_FALSE(parse_slots(text)) << text;
  }
}

}  // namespace
}  // namespace mayfly
