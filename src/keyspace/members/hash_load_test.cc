// SPDX-License-Identifier: Apache-2.0
// HashLoad: makes of many fields what puts would have made of them, and finds those that are there
// twice.

#include "keyspace/members/hash_load.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "keyspace/members/table_hash.h"

namespace mayfly {
namespace {

struct Row {
  std::string field;
  std::string value;
  Time deadline = kNever;

  bool operator==(const Row&) const = default;
};

std::vector<HashField> views(const std::vector<Row>& rows) {
  std::vector<HashField> fields;
  for (const Row& row : rows) fields.push_back({row.field, row.value, row.deadline});
  return fields;
}

std::vector<Row> rows_of(Database& database, Slot slot) {
  std::vector<Row> rows;
  database.hash(slot).each([&](const HashField& field) {
    rows.push_back({std::string(field.field), std::string(field.value), field.deadline});
    return true;
  });
  std::ranges::sort(rows, {}, &Row::field);
  return rows;
}

std::vector<Row> numbered(std::size_t count, Time deadline = kNever) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back({"field " + std::to_string(i), "value", deadline});
  }
  return rows;
}

class HashLoadTest : public testing::Test, protected KeyspaceFixture {
 protected:
  // Adds them in batches of this size.
  bool add(const std::vector<Row>& rows, std::size_t batch = 1'000'000) {
    const std::vector<HashField> fields = views(rows);
    std::span<const HashField> rest(fields);
    bool is_sound = true;
    while (!rest.empty() && is_sound) {
      const std::size_t count = std::min(batch, rest.size());
      is_sound = load.add(rest.first(count));
      rest = rest.subspan(count);
    }
    return is_sound;
  }

  void TearDown() override { EXPECT_EQ(database.check_invariants(), ""); }

  HashLoad load;
};

TEST_F(HashLoadTest, MakesASmallHashPacked) {
  load.begin(database, "h");
  EXPECT_TRUE(add(numbered(512)));
  const Slot slot = load.end();
  EXPECT_EQ(database.kind(slot), Kind::packed_hash);
  EXPECT_EQ(database.hash(slot).encoding(), "listpack");
  EXPECT_EQ(database.find("h"), slot);
}

TEST_F(HashLoadTest, MakesALargeHashATable) {
  load.begin(database, "h");
  EXPECT_TRUE(add(numbered(513)));
  EXPECT_EQ(database.kind(load.end()), Kind::table_hash);
}

TEST_F(HashLoadTest, TurnsASmallHashThatGoesOnIntoATable) {
  load.begin(database, "h");
  EXPECT_TRUE(add(numbered(30), 10));
  const Slot slot = load.end();
  EXPECT_EQ(database.kind(slot), Kind::table_hash);
  EXPECT_EQ(database.hash(slot).size(), 30u);
}

TEST_F(HashLoadTest, MakesNothingOutOfNoFields) {
  load.begin(database, "h");
  EXPECT_TRUE(load.add({}));
  EXPECT_EQ(load.end(), kNoSlot);
  EXPECT_EQ(database.stored(), 0u);
}

TEST_F(HashLoadTest, SaysThatALongValueIsBeyondTheLimits) {
  load.begin(database, "h");
  EXPECT_TRUE(add({{"f", std::string(65, 'x'), kNever}}));
  const Slot slot = load.end();
  EXPECT_EQ(database.hash(slot).encoding(), "hashtable");
  EXPECT_EQ(database.kind(slot), Kind::packed_hash);
}

TEST_F(HashLoadTest, FilesTheEarliestDeadlineOnce) {
  load.begin(database, "h");
  EXPECT_TRUE(add({{"a", "", in(50)}, {"b", "", in(20)}, {"c", "", kNever}}));
  const Slot slot = load.end();
  EXPECT_EQ(database.earliest_field(slot), in(20));
  EXPECT_EQ(database.member_deadline_count(), 1u);
  advance(20);
  EXPECT_EQ(keyspace.sweep(10), 1u);
  EXPECT_EQ(database.hash(slot).size(), 2u);
}

TEST_F(HashLoadTest, TakesNoMoreRoomThanItNeedsInTheEnd) {
  load.begin(database, "h", 10'000'000);
  EXPECT_TRUE(add(numbered(600)));
  EXPECT_EQ(database.check_invariants(), "");
  EXPECT_LT(database.node(load.end()).table_hash().bytes(), 600 * 64u);
}

TEST_F(HashLoadTest, IsSoundBetweenBatches) {
  load.begin(database, "h");
  EXPECT_TRUE(add(numbered(600, in(30))));
  EXPECT_EQ(database.member_deadline_count(), 1u);
  EXPECT_EQ(database.check_invariants(), "");
  EXPECT_NE(load.end(), kNoSlot);
}

TEST_F(HashLoadTest, FindsAFieldThatIsThereTwice) {
  for (const std::size_t count : {2u, 8u, 9u, 100u, 2000u}) {
    std::vector<Row> rows = numbered(count);
    rows.back().field = rows.front().field;
    load.begin(database, "h" + std::to_string(count));
    EXPECT_FALSE(add(rows)) << count;
    load.end();
  }
  load.begin(database, "batches");
  std::vector<Row> rows = numbered(30);
  rows.back().field = rows.front().field;
  EXPECT_FALSE(add(rows, 10));
  load.end();
}

std::vector<Row> arbitrary_rows(std::size_t most) {
  const auto count = *rc::gen::inRange<std::size_t>(1, most);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    Row row{"f" + std::to_string(*rc::gen::inRange(0, 2'000)), "v", kNever};
    row.value.append(*rc::gen::inRange<std::size_t>(0, 90), 'v');
    if (*rc::gen::inRange(0, 3) == 0) {
      row.deadline = at(1'000'000 + *rc::gen::element<std::int64_t>(5, 70, 5'000, 9'000'000'000));
    }
    rows.push_back(row);
  }
  return rows;
}

RC_GTEST_PROP(HashLoadModel, MakesWhatPutsWouldHaveMade, ()) {
  KeyspaceFixture fixture(
      {.packed_entries_max = *rc::gen::element<std::size_t>(0, 16, 512, 100'000)});
  Database& database = fixture.database;
  std::set<std::string> names;
  std::vector<Row> rows = arbitrary_rows(60);
  std::erase_if(rows, [&](const Row& row) { return !names.insert(row.field).second; });

  HashLoad load;
  load.begin(database, "loaded");
  const std::vector<HashField> fields = views(rows);
  const auto cut = *rc::gen::inRange<std::size_t>(0, fields.size() + 1);
  RC_ASSERT(load.add(std::span(fields).first(cut)));
  RC_ASSERT(load.add(std::span(fields).subspan(cut)));
  const Slot loaded = load.end();
  const Slot put = database.make_hash("put");
  for (const Row& row : rows) database.hash(put).put(row.field, row.value, row.deadline);

  RC_ASSERT(rows_of(database, loaded) == rows_of(database, put));
  RC_ASSERT(database.check_invariants() == "");
  fixture.advance(*rc::gen::inRange<std::int64_t>(0, 6'000));
  fixture.keyspace.sweep(10'000);
  RC_ASSERT((database.find("loaded") == kNoSlot) == (database.find("put") == kNoSlot));
  if (database.find("put") != kNoSlot)
    RC_ASSERT(rows_of(database, loaded) == rows_of(database, put));
  RC_ASSERT(database.check_invariants() == "");
}

RC_GTEST_PROP(HashLoadModel, FindsTwinsWhereverTheyAre, ()) {
  KeyspaceFixture fixture;
  const std::vector<Row> rows = arbitrary_rows(200);
  std::set<std::string> names;
  for (const Row& row : rows) names.insert(row.field);
  HashLoad load;
  load.begin(fixture.database, "h");
  RC_ASSERT(load.add(views(rows)) == (names.size() == rows.size()));
  load.end();
  RC_ASSERT(fixture.database.check_invariants() == "");
}

}  // namespace
}  // namespace mayfly
