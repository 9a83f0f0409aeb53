// SPDX-License-Identifier: Apache-2.0
// MemberTable: examples with fields and values of a hash, then random operations with each kind of
// payload, checked against a plain map.

#include "keyspace/members/member_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "keyspace/members/payload_fixture.h"

namespace mayfly {
namespace member_table_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }

std::string name(int i) { return "field " + std::to_string(i); }

class MemberTableTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(hash_.check_invariants(), ""); }

  void fill(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(hash_.put(name(i), std::to_string(i), kNever));
  }

  MemberTable hash_{42, Payload::value};
};

TEST_F(MemberTableTest, FindsValuesUnderTheirFields) {
  fill(0, 5'000);
  EXPECT_EQ(hash_.count(), 5'000u);
  for (int i = 0; i < 5'000; ++i) {
    const std::optional<Member> found = hash_.find(name(i));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->name, name(i));
    ASSERT_EQ(found->value, std::to_string(i));
    ASSERT_EQ(found->deadline, kNever);
  }
  EXPECT_FALSE(hash_.find(name(5'000)));
}

TEST_F(MemberTableTest, ReplacesValueAndDeadline) {
  EXPECT_TRUE(hash_.put("a", "1", at(10)));
  EXPECT_FALSE(hash_.put("a", "2", at(20)));
  EXPECT_EQ(hash_.find("a")->value, "2");
  EXPECT_EQ(hash_.find("a")->deadline, at(20));
  EXPECT_FALSE(hash_.put("a", "3", kNever));
  EXPECT_EQ(hash_.find("a")->deadline, kNever);
}

// Sizes on both sides of what takes a byte more, and of what an allocation can hold.
TEST_F(MemberTableTest, KeepsAnyBytesOfAnySize) {
  const std::size_t sizes[] = {0,   1,   13,     14,     15,      26,  29,  127, 128,
                               129, 130, 16'383, 16'384, 100'000, 160, 120, 16,  0};
  for (const std::size_t field_size : sizes) {
    const std::string field(field_size, '\0');
    for (const std::size_t value_size : sizes) {
      const std::string value(value_size, 'v');
      hash_.put(field, value, kNever);
      ASSERT_EQ(hash_.find(field)->name, field);
      ASSERT_EQ(hash_.find(field)->value, value);
    }
    ASSERT_EQ(hash_.check_invariants(), "");
  }
}

TEST_F(MemberTableTest, FieldIsGoneAfterErase) {
  fill(0, 100);
  EXPECT_TRUE(hash_.erase(name(7)));
  EXPECT_FALSE(hash_.erase(name(7)));
  EXPECT_FALSE(hash_.find(name(7)));
  EXPECT_EQ(hash_.count(), 99u);
}

// Erase takes a view that may be of the very field.
TEST_F(MemberTableTest, ErasesAFieldByItsOwnName) {
  fill(0, 100);
  EXPECT_TRUE(hash_.erase(hash_.find(name(7))->name));
  EXPECT_FALSE(hash_.find(name(7)));
}

TEST_F(MemberTableTest, HasAnIndexOnlyWhileSomeFieldHasADeadline) {
  fill(0, 1'000);
  EXPECT_FALSE(hash_.has_deadlines());
  EXPECT_EQ(hash_.earliest(), kNever);
  EXPECT_FALSE(hash_.set_deadline("not there", at(1)));
  EXPECT_FALSE(hash_.has_deadlines());

  EXPECT_TRUE(hash_.set_deadline(name(999), at(10)));
  EXPECT_EQ(hash_.deadline_count(), 1u);
  EXPECT_EQ(hash_.earliest(), at(10));
  EXPECT_EQ(hash_.find(name(998))->deadline, kNever);
  fill(1'000, 2'000);  // slots that the index has not heard of
  EXPECT_EQ(hash_.find(name(1'999))->deadline, kNever);

  hash_.set_deadline(name(999), kNever);
  EXPECT_FALSE(hash_.has_deadlines());
  hash_.put(name(5), "5", at(20));
  hash_.erase(name(5));
  EXPECT_FALSE(hash_.has_deadlines());
}

// A slot that is used again must not inherit the deadline of the field that had it.
TEST_F(MemberTableTest, NewFieldDoesNotInheritADeadline) {
  hash_.put("other", "", at(10));
  hash_.put("old", "", at(20));
  hash_.erase("old");
  hash_.put("new", "", kNever);
  EXPECT_EQ(hash_.find("new")->deadline, kNever);
  EXPECT_EQ(hash_.deadline_count(), 1u);
}

TEST_F(MemberTableTest, TakesWhatIsDueSoonestFirstUpToTheLimit) {
  for (int i = 0; i < 10'000; ++i) hash_.put(name(i), "v", at(i));
  EXPECT_EQ(hash_.count_due(at(4'999)), 5'000u);

  std::vector<std::string> fields;
  std::vector<Time> deadlines;
  EXPECT_EQ(hash_.take_due(at(-1), 100, fields, &deadlines), 0u);
  EXPECT_EQ(hash_.take_due(at(4'999), 3'000, fields, &deadlines), 3'000u);
  EXPECT_EQ(hash_.count(), 7'000u);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    ASSERT_EQ(fields[i], name(static_cast<int>((deadlines[i] - at(0)).count())));
    ASSERT_LT(deadlines[i], at(3'000 + 2'048)) << "at most a bucket of the index out of order";
    ASSERT_FALSE(hash_.find(fields[i]));
  }
  EXPECT_EQ(hash_.take_due(at(4'999), 3'000, fields, nullptr), 2'000u);
  EXPECT_EQ(hash_.earliest(), at(5'000));
  EXPECT_EQ(hash_.take_due(at(9'999), 100'000, fields, nullptr), 5'000u);
  EXPECT_FALSE(hash_.has_deadlines());
  EXPECT_EQ(hash_.count(), 0u);
}

TEST_F(MemberTableTest, ShowsEachFieldOnceInALoopAndInAScan) {
  fill(0, 3'000);
  for (int i = 0; i < 3'000; i += 3) hash_.erase(name(i));
  std::multiset<std::string> expected;
  for (int i = 0; i < 3'000; ++i) {
    if (i % 3 != 0) expected.insert(name(i));
  }

  std::multiset<std::string> looped;
  hash_.each([&](const Member& field) { return looped.emplace(field.name), true; });
  EXPECT_EQ(looped, expected);
  std::multiset<std::string> scanned;
  std::uint64_t cursor = 0;
  do {
    cursor = hash_.scan(cursor, [&](const Member& field) { scanned.emplace(field.name); });
  } while (cursor != 0);
  EXPECT_EQ(scanned, expected);
}

TEST_F(MemberTableTest, PicksEachFieldAsOftenAsAnyOtherThoughMostAreGone) {
  fill(0, 20'000);
  for (int i = 100; i < 20'000; ++i) hash_.erase(name(i));
  Random random(9);
  std::map<std::string, int> picked;
  for (int i = 0; i < 20'000; ++i) ++picked[std::string(hash_.random(random).name)];
  EXPECT_EQ(picked.size(), 100u);
  for (const auto& [field, times] : picked) {
    EXPECT_GT(times, 130) << field;
    EXPECT_LT(times, 270) << field;
  }
}

TEST_F(MemberTableTest, IsFreedInSlices) {
  MemberTable hash(1, Payload::value);
  for (int i = 0; i < 10'000; ++i) hash.put(name(i), "v", at(i));
  for (std::size_t left = 10'000; left > 0; left -= 1'000) {
    ASSERT_EQ(hash.count(), left);
    ASSERT_EQ(hash.free_some(1'000), left - 1'000);
  }
  EXPECT_EQ(hash.free_some(1'000), 0u);
}

TEST_F(MemberTableTest, CanBeMoved) {
  fill(0, 1'000);
  hash_.set_deadline(name(3), at(3));
  MemberTable other = std::move(hash_);
  EXPECT_EQ(other.check_invariants(), "");
  EXPECT_EQ(other.find(name(3))->deadline, at(3));
  hash_ = std::move(other);
  EXPECT_EQ(hash_.count(), 1'000u);
}

// 13 and 13 bytes: a node of 32, a pointer of 8, and the table's 8; with a deadline 15 more.
TEST_F(MemberTableTest, CountsItsBytes) {
  const std::string value(13, 'v');
  for (int i = 0; i < 50'000; ++i)
    hash_.put("f" + std::to_string(100'000'000'000 + i), value, kNever);
  EXPECT_NEAR(static_cast<double>(hash_.bytes()) / 50'000, 48.2, 0.3);
  for (int i = 0; i < 50'000; ++i)
    hash_.set_deadline("f" + std::to_string(100'000'000'000 + i), at(i));
  EXPECT_NEAR(static_cast<double>(hash_.bytes()) / 50'000, 63.2, 0.3);
}

struct Content {
  std::string value;
  Time deadline;
};
using Model = std::map<std::string, Content>;

void check(const MemberTable& hash, const Model& model, Time now) {
  RC_ASSERT(hash.check_invariants() == "");
  RC_ASSERT(hash.count() == model.size());
  std::size_t deadlines = 0;
  std::size_t due = 0;
  Time earliest = kNever;
  for (const auto& [field, content] : model) {
    if (content.deadline != kNever) ++deadlines;
    if (is_due(content.deadline, now)) ++due;
    earliest = std::min(earliest, content.deadline);
  }
  RC_ASSERT(hash.deadline_count() == deadlines);
  RC_ASSERT(hash.has_deadlines() == (deadlines > 0));
  RC_ASSERT(hash.count_due(now) == due);
  RC_ASSERT(hash.earliest() <= earliest);
  std::size_t seen = 0;
  hash.each([&](const Member& field) {
    const Content& content = model.at(std::string(field.name));
    RC_ASSERT(field.value == content.value);
    RC_ASSERT(field.deadline == content.deadline);
    return ++seen, true;
  });
  RC_ASSERT(seen == model.size());
}

class MemberTableModel : public testing::TestWithParam<Payload> {};

TEST_P(MemberTableModel, AgreesWithAPlainMap) {
  EXPECT_TRUE(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    MemberTable hash(random.next(), GetParam());
    Model model;
    Time now = at(0);
    const auto fields = *rc::gen::element<std::uint64_t>(5, 60, 300);
    const int steps = *rc::gen::inRange(1, 250);
    for (int step = 0; step < steps; ++step) {
      const std::string field = name(static_cast<int>(random.below(fields)));
      const std::string value = any_value(random, GetParam());
      const Time deadline =
          random.below(3) == 0 ? kNever : now + Millis(static_cast<std::int64_t>(random.below(60)));
      const std::uint64_t choice = random.below(12);
      if (choice < 7) {
        RC_ASSERT(hash.put(field, value, deadline) == !model.contains(field));
        model[field] = {value, deadline};
      } else if (choice < 9) {
        RC_ASSERT(hash.erase(field) == (model.erase(field) == 1));
      } else if (choice < 11) {
        RC_ASSERT(hash.set_deadline(field, deadline) == model.contains(field));
        if (model.contains(field)) model[field].deadline = deadline;
      } else {
        now += Millis(static_cast<std::int64_t>(random.below(15)));
        const std::size_t limit = random.below(20);
        std::vector<std::string> taken;
        std::vector<Time> deadlines;
        const std::size_t count = hash.take_due(now, limit, taken, &deadlines);
        RC_ASSERT(count == taken.size() && count == deadlines.size());
        for (std::size_t i = 0; i < taken.size(); ++i) {
          RC_ASSERT(model.at(taken[i]).deadline == deadlines[i]);
          RC_ASSERT(is_due(deadlines[i], now));
          model.erase(taken[i]);
        }
        RC_ASSERT(taken.size() == limit || hash.count_due(now) == 0);
      }
      RC_ASSERT(hash.find(field).has_value() == model.contains(field));
      check(hash, model, now);
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Payloads, MemberTableModel, kAllPayloads, payload_name);

}  // namespace member_table_test
}  // namespace mayfly
