// SPDX-License-Identifier: Apache-2.0
// The stored forms of keys and deadlines: the order of bytes is the order that is meant, and no two
// keys have the same form.

#include "store/rows/stored_key.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>

namespace mayfly::internal {
namespace stored_key_test {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeed = 42;

std::string stored(std::string_view key, std::uint64_t seed = kSeed) {
  return std::string(StoredKey(key, seed).bytes());
}

TEST(StoredKeyTest, AShortKeyIsStoredAsItIs) {
  for (std::size_t length = 1; length <= kShortKeyMax; ++length) {
    const std::string key(length, 'k');
    const StoredKey form(key, kSeed);
    EXPECT_EQ(form.bytes(), key);
    EXPECT_FALSE(form.long_form());
    EXPECT_FALSE(is_long(form.bytes()));
    EXPECT_EQ(form.bytes().data(), key.data()) << "without a copy";
  }
}

TEST(StoredKeyTest, ALongKeyIsItsBeginningAndAHash) {
  for (const std::size_t length : {503u, 504u, 511u, 512u, 5'000u, 65'536u}) {
    const std::string key(length, 'k');
    const StoredKey form(key, kSeed);
    EXPECT_EQ(form.bytes().size(), kStoredKeyMax);
    EXPECT_EQ(form.bytes().substr(0, kLongPrefixBytes), key.substr(0, kLongPrefixBytes));
    EXPECT_TRUE(form.long_form());
    EXPECT_TRUE(is_long(form.bytes()));
    EXPECT_EQ(form.key(), key);
  }
}

TEST(StoredKeyTest, NoTwoKeysHaveTheSameForm) {
  std::set<std::string> forms;
  const std::string longest(3'000, 'k');
  for (std::size_t length = 480; length <= longest.size(); ++length) {
    EXPECT_TRUE(forms.insert(stored(std::string_view(longest).substr(0, length))).second);
  }
  for (std::size_t at = 487; at < 503; ++at) {
    std::string key(503, 'k');
    key[at] = 'x';
    EXPECT_TRUE(forms.insert(stored(key)).second) << at;
  }
}

TEST(StoredKeyTest, TheHashDependsOnTheSeedOfTheFile) {
  const std::string key(600, 'k');
  EXPECT_NE(stored(key, 1), stored(key, 2));
  EXPECT_EQ(stored(key, 1), stored(key, 1));
}

TEST(StoredKeyTest, ALongValueHasTheKeyInFront) {
  const std::string key(600, 'k');
  const std::string value = "value";
  std::string bytes(long_value_bytes(key.size(), value.size()), '\0');
  char* const place = begin_long_value(bytes.data(), key);
  value.copy(place, value.size());
  EXPECT_EQ(place + value.size(), bytes.data() + bytes.size());

  const LongValueResult split = split_long_value(bytes);
  ASSERT_TRUE(split.ok);
  EXPECT_EQ(split.parts.key, key);
  EXPECT_EQ(split.parts.value, value);
}

TEST(StoredKeyTest, WhatIsNoLongValueIsRefused) {
  const std::string key(600, 'k');
  std::string bytes(long_value_bytes(key.size(), 0), '\0');
  begin_long_value(bytes.data(), key);
  ASSERT_TRUE(split_long_value(bytes).ok);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(split_long_value(std::string_view(bytes).substr(0, length)).ok) << length;
  }
  for (const unsigned first : {1u, 0x7fu, 0x80u, 0xffu}) {
    std::string damaged = bytes;
    damaged[0] = static_cast<char>(first);
    EXPECT_FALSE(split_long_value(damaged).ok);
  }
  std::string as_short = bytes;
  as_short[2] = 0;
  as_short[3] = 100;
  EXPECT_FALSE(split_long_value(as_short).ok) << "a key of 100 bytes is no long one";
}

TEST(StoredKeyTest, TheOrderOfBytesIsTheOrderOfTime) {
  const bool holds = rc::check([] {
    const auto any = [] {
      const auto near = Millis(1'800'000'000'000 + *rc::gen::inRange(-1'000, 1'000));
      const auto far = Millis(*rc::gen::nonNegative<std::int64_t>());
      return Time(*rc::gen::arbitrary<bool>() ? near : far);
    };
    const Time a = any();
    const Time b = any();
    RC_ASSERT((encode_deadline(a).view() < encode_deadline(b).view()) == (a < b));
    RC_ASSERT(decode_deadline(encode_deadline(a).view()) == a);
  });
  EXPECT_TRUE(holds);
}

TEST(StoredKeyTest, WhatIsBefore1970CountsAs1970) {
  EXPECT_EQ(decode_deadline(encode_deadline(Time(-1ms)).view()), Time(0ms));
  EXPECT_EQ(decode_deadline(encode_deadline(Time::min()).view()), Time(0ms));
  EXPECT_EQ(decode_deadline(encode_deadline(kNever - 1ms).view()), kNever - 1ms);
}

TEST(StoredKeyTest, AnExpiryKeyIsTheDeadlineAndTheStoredKey) {
  const std::string longest(65'536, 'k');
  for (const std::size_t length : {1u, 502u, 503u, 65'536u}) {
    const StoredKey key(std::string_view(longest).substr(0, length), kSeed);
    const ExpiryKey row(Time(258ms), key.bytes());
    EXPECT_EQ(row.bytes().substr(0, 8), std::string_view("\0\0\0\0\0\0\1\2", 8));
    EXPECT_EQ(row.bytes().substr(8), key.bytes());
    EXPECT_LE(row.bytes().size(), 511u);
  }
}

}  // namespace stored_key_test
}  // namespace mayfly::internal
