// SPDX-License-Identifier: Apache-2.0
// What is forecast, against what expires then.

#include "keyspace/forecast/expiry_forecast.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "keyspace/forecast/chunk_sample.h"
#include "keyspace/keyspace_fixture.h"
#include "keyspace/value.h"

namespace mayfly {
namespace expiry_forecast_test {

// What the memory of these structures is at present.
double bytes_of(const MemberTable& table) {
  std::set<std::size_t> chunks;
  std::set<std::size_t> with_deadlines;
  for (Slot slot = 0; slot < table.slot_extent(); ++slot) {
    if (!table.is_used(slot)) continue;
    chunks.insert(slot / kChunkSlots);
    if (table.deadline_at(slot) != kNever) with_deadlines.insert(slot / kChunkSlots);
  }
  std::size_t nodes = 0;
  table.each([&](const Member& member) {
    nodes += MemberTable::member_bytes(member.name.size(), member.value.size(), table.payload());
    return true;
  });
  return static_cast<double>(nodes + table.table_bytes() + table.order_bytes()) +
         static_cast<double>(chunks.size()) * kSlabChunkBytes +
         static_cast<double>(with_deadlines.size()) * kIndexChunkBytes +
         static_cast<double>(table.deadline_count()) * kIndexBucketBytes;
}

double bytes_of(const KeyNode& node) {
  if (is_plain_string(node)) return static_cast<double>(plain_string_bytes(node));
  const double outside = form_of(node) == ValueForm::table ? bytes_of(node.member_table()) : 0;
  return static_cast<double>(node_bytes(&node)) + outside;
}

double bytes_of(const Database& database) {
  double bytes = static_cast<double>(database.table_bytes());
  std::set<std::size_t> chunks;
  std::set<std::size_t> with_deadlines;
  std::set<std::size_t> with_members;
  database.each([&](Slot slot) {
    chunks.insert(slot / kChunkSlots);
    if (database.deadline(slot) != kNever) with_deadlines.insert(slot / kChunkSlots);
    if (database.has_member_deadlines(slot)) with_members.insert(slot / kChunkSlots);
    bytes += bytes_of(database.node(slot));
    return true;
  });
  const std::size_t indexed = database.deadline_count() + database.member_deadline_count();
  return bytes + static_cast<double>(chunks.size()) * kSlabChunkBytes +
         static_cast<double>(with_deadlines.size() + with_members.size()) * kIndexChunkBytes +
         static_cast<double>(indexed) * kIndexBucketBytes;
}

class ExpiryForecastTest : public testing::Test, protected KeyspaceFixture {
 protected:
  ForecastPoint point(std::int64_t ms) {
    const Time moments[] = {in(ms)};
    return forecast(keyspace, context.now, moments).front();
  }

  // Compares what is forecast for moments with what is freed until then. What a sample cannot tell
  // is a small part of all.
  void expect_within(double tolerance, std::initializer_list<std::int64_t> ms) {
    std::vector<Time> moments;
    for (const std::int64_t each : ms) moments.push_back(in(each));
    const std::vector<ForecastPoint> points = forecast(keyspace, context.now, moments);
    const double before = bytes_of(database);
    const std::size_t volatile_before = database.deadline_count() + database.volatile_members();
    std::size_t sums_before = 0;
    for (const ForecastPoint& point : points) {
      const Time until[] = {point.until};
      const std::size_t sums = database.sums_freed_until(until).front();
      context.now = point.until - Millis(1);
      while (keyspace.sweep(context, 1000) > 0) {
      }
      while (keyspace.lazy_free().free_some(1000) > 0) {
      }
      sums_before += sums;
      const double freed = before - bytes_of(database) + static_cast<double>(sums_before);
      EXPECT_NEAR(static_cast<double>(point.bytes), freed, tolerance * freed + 0.005 * before)
          << "until " << point.until.time_since_epoch().count();
      EXPECT_EQ(point.entries(),
                volatile_before - database.deadline_count() - database.volatile_members());
    }
    EXPECT_EQ(database.check_invariants(), "");
  }

  void put_strings(bool in_order) {
    Random random(3);
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "key:" + std::to_string(i);
      const Slot slot = database.put_string(context, key, std::string(random.below(60), 'x'));
      const auto ms = in_order ? i / 2 : static_cast<std::int64_t>(random.below(10'000));
      database.set_deadline(slot, in(1 + ms));
    }
  }

  // Members with deadlines within ten seconds; if `lasting`, half of them have none.
  void put_members(ValueType type, int keys, int members, bool lasting = false) {
    Random random(4);
    for (int i = 0; i < keys; ++i) {
      const Slot slot = database.make_members(context, type, "members:" + std::to_string(i));
      MembersRef ref = database.members(context, slot);
      for (int j = 0; j < members; ++j) {
        const bool lasts = lasting && random.below(2) == 0;
        const Time deadline =
            lasts ? kNever : in(1 + static_cast<std::int64_t>(random.below(10'000)));
        ref.put("member" + std::to_string(j), value_for(type, random), deadline);
      }
    }
  }

  static std::string value_for(ValueType type, Random& random) {
    if (type == ValueType::set) return "";
    if (type == ValueType::hash) return std::string(random.below(30), 'x');
    const auto score = static_cast<double>(random.below(1000));
    return std::string(reinterpret_cast<const char*>(&score), sizeof(score));
  }
};

TEST_F(ExpiryForecastTest, KnowsTheBytesOfStrings) {
  put_strings(false);
  expect_within(0.05, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsThatPlacesAreFreedInOrder) {
  put_strings(true);
  expect_within(0.05, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, FollowsAStringThatGrows) {
  const Slot slot = database.put_string(context, "key", "short");
  database.set_deadline(slot, in(1'000));
  const std::uint64_t before = point(2'000).bytes;
  database.set_string(slot, std::string(100'000, 'x'));
  EXPECT_GT(point(2'000).bytes, before + 90'000);
  database.set_string(slot, "short");
  EXPECT_EQ(point(2'000).bytes, before);
}

TEST_F(ExpiryForecastTest, KnowsThatASmallHashFreesMemoryInSteps) {
  put_members(ValueType::hash, 2'000, 10);
  expect_within(0.1, {3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsWhatSmallKeysWithLastingMembersFree) {
  put_members(ValueType::hash, 2'000, 10, true);
  expect_within(0.1, {5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsThePlacesOfLargeHashes) {
  put_members(ValueType::hash, 20, 5'000);
  expect_within(0.05, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsThePlacesOfAVeryLargeHash) {
  put_members(ValueType::hash, 1, 40'000);
  expect_within(0.05, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsThePlacesOfLargeHashesWithLastingFields) {
  put_members(ValueType::hash, 20, 5'000, true);
  expect_within(0.05, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsThePlacesOfLargeSortedSets) {
  put_members(ValueType::zset, 20, 5'000);
  expect_within(0.08, {1'000, 3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsAMixture) {
  put_strings(false);
  put_members(ValueType::hash, 1'000, 10);
  put_members(ValueType::set, 10, 2'000);
  expect_within(0.05, {3'000, 5'000, 9'000, 12'000});
}

TEST_F(ExpiryForecastTest, KnowsOneKey) {
  put_members(ValueType::hash, 1, 2'000);
  const Time moments[] = {in(5'000), in(20'000)};
  const Slot slot = database.stored_slot("members:0");
  const double before = bytes_of(database.node(slot));
  const auto points = forecast(database, slot, context.now, moments);
  context.now = points[0].until - Millis(1);
  while (keyspace.sweep(context, 1000) > 0) {
  }
  const double freed = before - bytes_of(database.node(slot));
  EXPECT_NEAR(static_cast<double>(points[0].bytes), freed, 0.05 * freed);
  EXPECT_NEAR(static_cast<double>(points[1].bytes), before, 0.05 * before);
  EXPECT_EQ(points[1].members, 2'000u);
}

TEST_F(ExpiryForecastTest, LeavesOutWhatIsDue) {
  make_hash("hash", {"a", "b"}, in(10));
  database.set_deadline(database.put_string(context, "key", "v"), in(10));
  advance(20);
  EXPECT_EQ(point(1'000).entries(), 0u);
  const Overdue due = overdue(keyspace, context.now);
  EXPECT_EQ(due.keys, 1u);
  EXPECT_EQ(due.members, 2u);
  EXPECT_EQ(due.oldest, context.now - Millis(10));
}

TEST_F(ExpiryForecastTest, DoesNotCountMembersThatAreFreedLater) {
  std::vector<std::string> fields;
  for (int i = 0; i < 5'000; ++i) fields.push_back("field" + std::to_string(i));
  const Slot slot = make_hash("hash", fields, in(1'000));
  make_hash("other", {"a"}, in(1'000));
  EXPECT_EQ(point(2'000).members, 5'001u);
  database.erase(slot);
  EXPECT_EQ(point(2'000).members, 1u);
  EXPECT_EQ(database.volatile_members(), 1u);
  while (keyspace.lazy_free().free_some(100) > 0) {
    ASSERT_EQ(point(2'000).members, 1u);
  }
  EXPECT_EQ(database.check_invariants(), "");
}

}  // namespace expiry_forecast_test
}  // namespace mayfly
