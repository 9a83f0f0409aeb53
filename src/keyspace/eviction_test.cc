// SPDX-License-Identifier: Apache-2.0
// Who goes when memory is full.

#include "keyspace/eviction.h"

#include <gtest/gtest.h>

#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace eviction_test {

using Events = std::vector<std::string>;

class EvictionTest : public testing::Test, protected KeyspaceFixture {
 protected:
  static constexpr int kSamples = 64;  // of a few keys: all of them, as good as surely

  static std::string payload_of(ValueType type) {
    if (type == ValueType::zset) return std::string(ScoreBytes(1).view());
    return type == ValueType::hash ? "v" : "";
  }
};

TEST_F(EvictionTest, LruTakesTheOneIdleForLongest) {
  database.put_string(context, "old", "v");
  advance(5000);
  database.put_string(context, "new", "v");
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_lru, kSamples));
  EXPECT_EQ(recorder.take(), Events{"evicted old"});
}

TEST_F(EvictionTest, AUseMakesAKeyYoung) {
  database.put_string(context, "a", "v");
  advance(5000);
  database.put_string(context, "b", "v");
  advance(5000);
  database.touch(context, database.find(context, "a"));
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_lru, kSamples));
  EXPECT_EQ(recorder.take(), Events{"evicted b"});
}

TEST_F(EvictionTest, NoTouchLeavesAKeyOld) {
  const Slot slot = database.put_string(context, "a", "v");
  advance(5000);
  context.records_use = false;
  database.touch(context, slot);
  EXPECT_EQ(idle_seconds(database.node(slot).access, context.now), 5u);
}

TEST_F(EvictionTest, LfuTakesTheOneUsedLeast) {
  keyspace.options().uses_lfu = true;
  database.put_string(context, "rare", "v");
  database.put_string(context, "often", "v");
  for (int i = 0; i < 200; ++i) database.touch(context, database.find(context, "often"));
  EXPECT_GT(lfu_frequency(database.node(database.find(context, "often")).access, context.now), 8u);
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_lfu, kSamples));
  EXPECT_EQ(recorder.take(), Events{"evicted rare"});
}

TEST_F(EvictionTest, FrequencyDecaysByTheMinute) {
  const std::uint32_t access = access_of_frequency(10, context.now);
  EXPECT_EQ(lfu_frequency(access, in(3 * 60'000)), 7u);
  EXPECT_EQ(lfu_frequency(access, in(60 * 60'000)), 0u);
}

TEST_F(EvictionTest, VolatilePoliciesLeaveKeysWithoutDeadlinesAlone) {
  for (int i = 0; i < 100; ++i) database.put_string(context, "k" + std::to_string(i), "v");
  database.set_deadline(database.put_string(context, "volatile", "v"), in(1000));
  for (const Eviction policy :
       {Eviction::volatile_lru, Eviction::volatile_lfu, Eviction::volatile_random}) {
    database.set_deadline(database.put_string(context, "volatile", "v"), in(1000));
    EXPECT_TRUE(evict_one(context, keyspace, policy, 5));
    EXPECT_EQ(recorder.take(), Events{"evicted volatile"});
    EXPECT_FALSE(evict_one(context, keyspace, policy, 5));
  }
}

// Deadlines of members make no key volatile: it would lose members that are to stay.
TEST_F(EvictionTest, VolatilePoliciesLookAtDeadlinesOfKeysOnly) {
  for (const ValueType type : {ValueType::hash, ValueType::set, ValueType::zset}) {
    const Slot soon = database.make_members(context, type, "soon");
    database.members(context, soon).put("a", payload_of(type), in(1));
    const Slot late = database.make_members(context, type, "late");
    database.members(context, late).put("a", payload_of(type));
    for (const Eviction policy : {Eviction::volatile_lru, Eviction::volatile_lfu,
                                  Eviction::volatile_random, Eviction::volatile_ttl}) {
      EXPECT_FALSE(evict_one(context, keyspace, policy, kSamples));
      database.set_deadline(database.find(context, "late"), in(1000));
      EXPECT_TRUE(evict_one(context, keyspace, policy, kSamples));
      EXPECT_EQ(recorder.take(), Events{"evicted late"});
      database.members(context, database.make_members(context, type, "late"))
          .put("a", payload_of(type));
    }
    EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_random, kSamples));
    EXPECT_TRUE(evict_one(context, keyspace, Eviction::allkeys_random, kSamples));
    recorder.take();
  }
}

TEST_F(EvictionTest, VolatileTtlTakesTheNearestDeadlineOfAllDatabases) {
  for (int i = 0; i < 1000; ++i) {
    database.set_deadline(database.put_string(context, "k" + std::to_string(i), "v"), in(5000 + i));
  }
  keyspace[3].set_deadline(keyspace[3].put_string(context, "first", "v"), in(4000));
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::volatile_ttl, 1));
  EXPECT_TRUE(evict_one(context, keyspace, Eviction::volatile_ttl, 1));
  EXPECT_EQ(recorder.take(), (Events{"evicted first", "evicted k0"}));
}

TEST_F(EvictionTest, NoevictionTakesNothing) {
  database.put_string(context, "k", "v");
  EXPECT_FALSE(evict_one(context, keyspace, Eviction::none, 5));
}

TEST_F(EvictionTest, NamesAreReadAsTheyAreWritten) {
  for (const Eviction policy : {Eviction::none, Eviction::volatile_ttl, Eviction::allkeys_lfu}) {
    EXPECT_EQ(parse_eviction(name_of(policy)), policy);
  }
  EXPECT_EQ(parse_eviction("lru"), std::nullopt);
}

}  // namespace eviction_test
}  // namespace mayfly
