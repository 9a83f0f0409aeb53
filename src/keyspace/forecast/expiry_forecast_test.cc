// SPDX-License-Identifier: Apache-2.0
// What is forecast, against what expires then.

#include "keyspace/forecast/expiry_forecast.h"

#include <gtest/gtest.h>

#include <string>

#include "keyspace/keyspace_fixture.h"
#include "keyspace/value.h"

namespace mayfly {
namespace expiry_forecast_test {

class ExpiryForecastTest : public testing::Test, protected KeyspaceFixture {
 protected:
  // All that keys have allocated.
  std::size_t allocated() const {
    std::size_t bytes = 0;
    database.each([&](Slot slot) {
      bytes += allocated_bytes(database.node(slot));
      return true;
    });
    return bytes;
  }

  ForecastPoint point(std::int64_t ms) {
    const Time moments[] = {in(ms)};
    return forecast(keyspace, context.now, moments).front();
  }

  // Compares what is forecast for a moment with what is freed until then, places in tables and
  // indexes apart. Sizes are those of jemalloc, and tests have other allocators.
  void expect_within(double tolerance, std::int64_t ms, std::size_t entries) {
    const ForecastPoint forecast = point(ms);
    const std::size_t before = allocated();
    const std::size_t keys = database.stored();
    context.now = forecast.until - Millis(1);
    EXPECT_EQ(forecast.entries(), entries);
    while (keyspace.sweep(context, 1000) > 0) {
    }
    const std::size_t places = (keys - database.stored()) * kKeyPlaceBytes;
    const auto freed = static_cast<double>(before - allocated() + places);
    EXPECT_NEAR(static_cast<double>(forecast.bytes), freed, tolerance * freed);
  }
};

TEST_F(ExpiryForecastTest, KnowsTheBytesOfStrings) {
  for (int i = 0; i < 2'000; ++i) {
    const std::string key = "key:" + std::to_string(i);
    const Slot slot =
        database.put_string(context, key, std::string(static_cast<std::size_t>(i) % 700, 'x'));
    database.set_deadline(slot, in(1 + i * 10));
  }
  expect_within(0.15, 8'000, point(8'000).entries());
  EXPECT_EQ(point(100'000).entries(), database.stored());
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

TEST_F(ExpiryForecastTest, KnowsThatASmallHashGoesWithItsLastField) {
  for (int i = 0; i < 500; ++i) {
    const Slot slot = make_hash("hash:" + std::to_string(i), {});
    MembersRef hash = database.members(context, slot);
    for (int j = 0; j < 10; ++j) {
      hash.put("field" + std::to_string(j), std::string(30, 'x'), in(1'000 + i * 20 + j * 1'000));
    }
  }
  expect_within(0.15, 12'000, point(12'000).entries());
  expect_within(0.15, 30'000, point(30'000).entries());
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
