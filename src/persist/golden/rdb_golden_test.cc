// SPDX-License-Identifier: Apache-2.0
// Files that real servers wrote, loaded and compared with what those servers said was in them.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "persist/golden/golden_json.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_golden_test {

Time time_in(const GoldenJson& number) {
  return number.number() == -1 ? kNever : at(number.number());
}

void expect_set(Database& database, Slot slot, const GoldenJson& entry) {
  const ExecContext context{.now = at(1'000'000)};
  MembersRef set = database.members(context, slot);
  EXPECT_EQ(set.stored(), entry["value"].items.size());
  for (const GoldenJson& name : entry["value"].items) {
    const std::optional<Member> member = set.find(name.text);
    ASSERT_TRUE(member) << name.text;
    EXPECT_EQ(member->deadline, kNever);
  }
}

void expect_zset(Database& database, Slot slot, const GoldenJson& entry) {
  const ExecContext context{.now = at(1'000'000)};
  MembersRef zset = database.members(context, slot);
  EXPECT_EQ(zset.stored(), entry["value"].items.size());
  for (const GoldenJson& pair : entry["value"].items) {
    const std::optional<Member> member = zset.find(pair.items.at(0).text);
    ASSERT_TRUE(member) << pair.items.at(0).text;
    EXPECT_EQ(member->score(), std::strtod(pair.items.at(1).text.c_str(), nullptr));
    EXPECT_EQ(member->deadline, kNever);
  }
}

void expect_hash(Database& database, Slot slot, const GoldenJson& entry) {
  const ExecContext context{.now = at(1'000'000)};
  MembersRef hash = database.members(context, slot);
  EXPECT_EQ(hash.stored(), entry["value"].members.size());
  for (const auto& [name, value] : entry["value"].members) {
    const std::optional<Member> field = hash.find(name);
    ASSERT_TRUE(field) << name;
    EXPECT_EQ(field->value, value.text) << name;
    const bool is_volatile = entry.has("field_deadline_ms") && entry["field_deadline_ms"].has(name);
    EXPECT_EQ(field->deadline, is_volatile ? time_in(entry["field_deadline_ms"][name]) : kNever);
  }
}

void expect_list(Database& database, Slot slot, const GoldenJson& entry) {
  const std::vector<GoldenJson>& elements = entry["value"].items;
  EXPECT_EQ(database.list(slot).size(), elements.size());
  std::size_t index = 0;
  database.list(slot).each(0, SIZE_MAX, true, [&](const ListpackValue& value) {
    char scratch[24];
    EXPECT_EQ(value.as_text(scratch), elements.at(index).text) << index;
    ++index;
    return true;
  });
}

// "1-1 f v" for [id, [field, value ...]].
std::string entry_line(const GoldenJson& entry) {
  std::string line = entry.items.at(0).text;
  for (const GoldenJson& word : entry.items.at(1).items) line += " " + word.text;
  return line;
}

// The lines of stream_lines() that the JSON stands for.
void add_group(std::vector<std::string>& lines, const GoldenJson& group) {
  lines.push_back("group " + group["name"].text + " last " + group["last_id"].text + " read " +
                  (group["entries_read"].number() < 0 ? "?" : group["entries_read"].text));
  for (const GoldenJson& consumer : group["consumers"].items) {
    const bool is_never = consumer["active_ms"].number() < 0;
    lines.push_back("consumer " + consumer["name"].text + " seen " + consumer["seen_ms"].text +
                    " active " + (is_never ? "never" : consumer["active_ms"].text));
  }
  for (const GoldenJson& pending : group["pending"].items) {
    lines.push_back("pending " + pending["id"].text + " for " + pending["consumer"].text +
                    " since " + pending["delivered_ms"].text + " times " +
                    pending["deliveries"].text);
  }
}

void expect_stream(Database& database, Slot slot, const GoldenJson& entry) {
  std::vector<std::string> lines;
  for (const GoldenJson& one : entry["value"].items) lines.push_back(entry_line(one));
  lines.push_back("last " + entry["last_id"].text + " deleted " + entry["max_deleted_id"].text +
                  " added " + entry["entries_added"].text);
  for (const GoldenJson& group : entry["groups"].items) add_group(lines, group);
  EXPECT_EQ(stream_lines(database.stream(slot)), lines);
}

void expect_key(Keyspace& keyspace, const std::string& label, const GoldenJson& entry) {
  SCOPED_TRACE(label);
  const auto number = static_cast<int>(entry["db"].number());
  Database& database = keyspace[number];
  const std::string key = number == 0 ? label : label.substr(label.find(':') + 1);
  const Slot slot = database.peek({.now = at(1'000'000)}, key);
  ASSERT_NE(slot, kNoSlot);
  EXPECT_EQ(database.deadline(slot), time_in(entry["deadline_ms"]));
  ASSERT_EQ(type_name(database.type(slot)), entry["type"].text);
  switch (database.type(slot)) {
    case ValueType::hash:
      return expect_hash(database, slot, entry);
    case ValueType::set:
      return expect_set(database, slot, entry);
    case ValueType::zset:
      return expect_zset(database, slot, entry);
    case ValueType::list:
      return expect_list(database, slot, entry);
    case ValueType::stream:
      return expect_stream(database, slot, entry);
    case ValueType::string:
      EXPECT_EQ(database.string(slot), entry["value"].text);
  }
}

class RdbGolden : public testing::TestWithParam<const char*> {};

TEST_P(RdbGolden, HoldsWhatItsServerSaid) {
  const std::string name = GetParam();
  const std::string bytes = read_golden(name + ".rdb");
  const std::string text = read_golden(name + ".json");
  const GoldenJson golden = GoldenJsonReader(text).value();
  ASSERT_FALSE(golden.members.empty());

  KeyspaceFixture fixture;
  StringSource source(bytes);
  RdbLoader loader(source, fixture.keyspace, {.now = fixture.context.now});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(3);
  ASSERT_TRUE(ended) << ended.error().message;

  std::map<std::string, std::uint64_t> functions;
  for (const auto& [label, entry] : golden.members) {
    if (entry["type"].text == "function") {
      ++functions["function"];
    } else {
      expect_key(fixture.keyspace, label, entry);
    }
  }
  EXPECT_EQ(loader.report().skipped, functions) << "nothing else is left out";
  EXPECT_EQ(loader.report().keys + functions.size(), golden.members.size());
  EXPECT_EQ(loader.report().bytes, bytes.size());
  EXPECT_EQ(fixture.keyspace[0].check_invariants(), "");
}

INSTANTIATE_TEST_SUITE_P(Files, RdbGolden,
                         testing::Values("redis70", "redis70_types", "redis74", "valkey9",
                                         "valkey9_types"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace rdb_golden_test
}  // namespace mayfly
