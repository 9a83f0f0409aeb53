// SPDX-License-Identifier: Apache-2.0
// MembersLoad: makes the same key as single puts would, and finds members that occur twice.

#include "keyspace/members/members_load.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "keyspace/members/member_table.h"

namespace mayfly {
namespace members_load_test {

struct Row {
  std::string field;
  std::string value;
  Time deadline = kNever;

  bool operator==(const Row&) const = default;
};

std::vector<Member> views(const std::vector<Row>& rows) {
  std::vector<Member> fields;
  for (const Row& row : rows) fields.push_back({row.field, row.value, row.deadline});
  return fields;
}

std::vector<Row> rows_of(Database& database, Slot slot) {
  const ExecContext context{.policy = Policy::show};
  std::vector<Row> rows;
  database.members(context, slot).each([&](const Member& field) {
    rows.push_back({std::string(field.name), std::string(field.value), field.deadline});
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

class MembersLoadTest : public testing::Test, protected KeyspaceFixture {
 protected:
  // Adds them in batches of this size.
  bool add(const std::vector<Row>& rows, std::size_t batch = 1'000'000) {
    const std::vector<Member> fields = views(rows);
    std::span<const Member> rest(fields);
    bool is_sound = true;
    while (!rest.empty() && is_sound) {
      const std::size_t count = std::min(batch, rest.size());
      is_sound = load.add(rest.first(count));
      rest = rest.subspan(count);
    }
    return is_sound;
  }

  void TearDown() override { EXPECT_EQ(database.check_invariants(), ""); }

  MembersLoad load;
};

TEST_F(MembersLoadTest, MakesASmallHashPacked) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add(numbered(512)));
  const Slot slot = load.end();
  EXPECT_EQ(form_of(database.node(slot)), ValueForm::packed);
  EXPECT_EQ(encoding_name(database.node(slot)), "listpack");
  EXPECT_EQ(database.find(context, "h"), slot);
}

TEST_F(MembersLoadTest, MakesALargeHashATable) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add(numbered(513)));
  EXPECT_EQ(form_of(database.node(load.end())), ValueForm::table);
}

TEST_F(MembersLoadTest, TurnsASmallHashThatGoesOnIntoATable) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add(numbered(30), 10));
  const Slot slot = load.end();
  EXPECT_EQ(form_of(database.node(slot)), ValueForm::table);
  EXPECT_EQ(database.members(context, slot).size(), 30u);
}

TEST_F(MembersLoadTest, MakesNothingOutOfNoFields) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(load.add({}));
  EXPECT_EQ(load.end(), kNoSlot);
  EXPECT_EQ(database.stored(), 0u);
}

TEST_F(MembersLoadTest, SaysThatALongValueIsBeyondTheLimits) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add({{"f", std::string(65, 'x'), kNever}}));
  const Slot slot = load.end();
  EXPECT_EQ(encoding_name(database.node(slot)), "hashtable");
  EXPECT_EQ(form_of(database.node(slot)), ValueForm::packed);
}

TEST_F(MembersLoadTest, FilesTheEarliestDeadlineOnce) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add({{"a", "", in(50)}, {"b", "", in(20)}, {"c", "", kNever}}));
  const Slot slot = load.end();
  EXPECT_EQ(database.earliest_member_deadline(slot), in(20));
  EXPECT_EQ(database.member_deadline_count(), 1u);
  advance(20);
  EXPECT_EQ(keyspace.sweep(context, 10), 1u);
  EXPECT_EQ(database.members(context, slot).size(), 2u);
}

TEST_F(MembersLoadTest, TakesNoMoreRoomThanItNeedsInTheEnd) {
  load.begin(context, database, ValueType::hash, "h", 10'000'000);
  EXPECT_TRUE(add(numbered(600)));
  EXPECT_EQ(database.check_invariants(), "");
  EXPECT_LT(database.node(load.end()).member_table().bytes(), 600 * 64u);
}

TEST_F(MembersLoadTest, IsSoundBetweenBatches) {
  load.begin(context, database, ValueType::hash, "h");
  EXPECT_TRUE(add(numbered(600, in(30))));
  EXPECT_EQ(database.member_deadline_count(), 1u);
  EXPECT_EQ(database.check_invariants(), "");
  EXPECT_NE(load.end(), kNoSlot);
}

TEST_F(MembersLoadTest, FindsAFieldThatIsThereTwice) {
  for (const std::size_t count : {2u, 8u, 9u, 100u, 2000u}) {
    std::vector<Row> rows = numbered(count);
    rows.back().field = rows.front().field;
    load.begin(context, database, ValueType::hash, "h" + std::to_string(count));
    EXPECT_FALSE(add(rows)) << count;
    load.end();
  }
  load.begin(context, database, ValueType::hash, "batches");
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

RC_GTEST_PROP(MembersLoadModel, MakesWhatPutsWouldHaveMade, ()) {
  KeyspaceFixture fixture(
      {.packed_hash = {.members = *rc::gen::element<std::size_t>(0, 16, 512, 100'000)}});
  Database& database = fixture.database;
  ExecContext& context = fixture.context;
  std::set<std::string> names;
  std::vector<Row> rows = arbitrary_rows(60);
  std::erase_if(rows, [&](const Row& row) { return !names.insert(row.field).second; });

  MembersLoad load;
  load.begin(context, database, ValueType::hash, "loaded");
  const std::vector<Member> fields = views(rows);
  const auto cut = *rc::gen::inRange<std::size_t>(0, fields.size() + 1);
  RC_ASSERT(load.add(std::span(fields).first(cut)));
  RC_ASSERT(load.add(std::span(fields).subspan(cut)));
  const Slot loaded = load.end();
  const Slot put = database.make_members(context, ValueType::hash, "put");
  for (const Row& row : rows)
    database.members(context, put).put(row.field, row.value, row.deadline);

  RC_ASSERT(rows_of(database, loaded) == rows_of(database, put));
  RC_ASSERT(database.check_invariants() == "");
  fixture.advance(*rc::gen::inRange<std::int64_t>(0, 6'000));
  fixture.keyspace.sweep(context, 10'000);
  RC_ASSERT((database.find(context, "loaded") == kNoSlot) ==
            (database.find(context, "put") == kNoSlot));
  if (database.find(context, "put") != kNoSlot)
    RC_ASSERT(rows_of(database, loaded) == rows_of(database, put));
  RC_ASSERT(database.check_invariants() == "");
}

RC_GTEST_PROP(MembersLoadModel, FindsDuplicatesAnywhere, ()) {
  KeyspaceFixture fixture;
  const std::vector<Row> rows = arbitrary_rows(200);
  std::set<std::string> names;
  for (const Row& row : rows) names.insert(row.field);
  MembersLoad load;
  load.begin(fixture.context, fixture.database, ValueType::hash, "h");
  RC_ASSERT(load.add(views(rows)) == (names.size() == rows.size()));
  load.end();
  RC_ASSERT(fixture.database.check_invariants() == "");
}

}  // namespace members_load_test
}  // namespace mayfly
