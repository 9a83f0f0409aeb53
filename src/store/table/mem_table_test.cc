// SPDX-License-Identifier: Apache-2.0
// MemTable against a list of versions, and its rules one by one.

#include "store/table/mem_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mayfly::internal {
namespace mem_table_test {

constexpr Position kAll = ~Position{0};

Time at(std::int64_t ms) { return Time(Millis(ms)); }

struct Added {
  std::uint32_t family = 0;
  std::string key;
  std::string value;
  Position position = 0;
  OperationKind kind{};
  bool was_there = false;
  bool had_deadline = false;
  Time deadline{};

  bool operator==(const Added&) const = default;
};

Added seen(const Version& version) {
  return {
      version.family, std::string(version.key()), std::string(version.value()), version.position,
      version.kind,   version.was_there,          version.had_deadline,         version.deadline};
}

std::vector<std::string> keys_in(const Runs& runs) {
  std::vector<std::string> keys;
  for (const auto& run : runs) {
    for (const Version* version : *run) keys.emplace_back(version->key());
  }
  return keys;
}

std::vector<std::size_t> sizes_of(const Runs& runs) {
  std::vector<std::size_t> sizes;
  for (const auto& run : runs) sizes.push_back(run->size());
  return sizes;
}

// What was added, in a list. All questions are answered by reading it from the beginning.
class ListModel {
 public:
  void add(const Operation& operation, Position position) {
    const bool is_erase = operation.kind == OperationKind::erase;
    list_.push_back({operation.family, std::string(operation.key), std::string(operation.value),
                     position, operation.kind, operation.was_there, operation.had_deadline,
                     is_erase ? kNever : operation.deadline});
  }

  const std::vector<Added>& list() const { return list_; }
  void clear() { list_.clear(); }

  const Added* find(std::uint32_t family, const std::string& key, Position end) const {
    const Added* found = nullptr;
    for (const Added& added : list_) {
      if (added.family == family && added.key == key && added.position < end) found = &added;
    }
    return found;
  }

  // Replays the operations: what is there, and what has a deadline. An entry that was there at the
  // first operation counts as one of before.
  CountChange count(std::uint32_t family, Position end) const {
    std::map<std::string, std::pair<bool, bool>> before, after;  // is there, has a deadline
    for (const Added& added : list_) {
      if (added.family != family || added.position >= end) continue;
      const bool had_deadline = added.was_there && added.had_deadline;
      before.try_emplace(added.key, added.was_there, had_deadline);
      after[added.key] = {added.kind != OperationKind::erase, added.deadline != kNever};
    }
    CountChange change;
    for (const auto& [key, entry] : after) change = plus(change, entry, 1);
    for (const auto& [key, entry] : before) change = plus(change, entry, -1);
    return change;
  }

  // Whether an entry is there, and whether it has a deadline, if it was not there before all.
  std::pair<bool, bool> state(std::uint32_t family, const std::string& key) const {
    const Added* const added = find(family, key, kAll);
    const bool is_there = added != nullptr && added->kind != OperationKind::erase;
    return {is_there, is_there && added->deadline != kNever};
  }

 private:
  static CountChange plus(CountChange sum, std::pair<bool, bool> entry, int sign) {
    return {sum.entries + sign * entry.first, sum.with_deadline + sign * entry.second};
  }

  std::vector<Added> list_;
};

class MemTableTest : public testing::Test {
 protected:
  ~MemTableTest() override { EXPECT_TRUE(table_.check_invariants()); }

  const Version& put(std::string_view key, Position position, std::string_view value = "",
                     Time deadline = kNever) {
    return table_.add({.family = 1, .deadline = deadline, .key = key, .value = value}, position);
  }

  void put_numbers(int from, int to) {
    for (int i = from; i < to; ++i) put(std::to_string(i), static_cast<Position>(i));
  }

  MemTable table_{20'261'116};
};

TEST_F(MemTableTest, AnEmptyTableKnowsNothingAndHasTakenNoMemory) {
  EXPECT_TRUE(table_.empty());
  EXPECT_EQ(table_.memory_bytes(), 0U);
  EXPECT_EQ(table_.find(1, "", kAll), nullptr);
  EXPECT_EQ(table_.count(1, kAll).entries, 0);
  EXPECT_TRUE(table_.by_key().empty());
  EXPECT_TRUE(table_.by_deadline().empty());
}

TEST_F(MemTableTest, FindShowsTheNewestVersionBeforeTheEnd) {
  put("a", 10, "1");
  put("a", 20, "2");
  put("a", 20, "3");
  put("a", 30, "4");
  EXPECT_EQ(table_.find(1, "a", 10), nullptr);
  EXPECT_EQ(table_.find(1, "a", 11)->value(), "1");
  EXPECT_EQ(table_.find(1, "a", 20)->value(), "1");
  EXPECT_EQ(table_.find(1, "a", 21)->value(), "3");  // of one position, the last
  EXPECT_EQ(table_.find(1, "a", kAll)->value(), "4");
  EXPECT_EQ(table_.find(2, "a", kAll), nullptr);
  EXPECT_EQ(table_.find(1, "", kAll), nullptr);
  EXPECT_EQ(table_.versions(), 4U);
  EXPECT_EQ(table_.keys(), 1U);
}

TEST_F(MemTableTest, KeepsCopiesAndAllFields) {
  std::string key("k\0y", 3);
  std::string value("v\0", 2);
  const Operation operation{.family = 7,
                            .kind = OperationKind::deadline,
                            .was_there = true,
                            .had_deadline = true,
                            .deadline = at(-5),
                            .key = key,
                            .value = value};
  const Version& version = table_.add(operation, 77);
  key = value = "xxx";
  EXPECT_EQ(seen(version),
            (Added{7, {"k\0y", 3}, {"v\0", 2}, 77, OperationKind::deadline, true, true, at(-5)}));
}

TEST_F(MemTableTest, CountsAreThoseBeforeTheEnd) {
  const auto counts = [this](Position end) {
    const CountChange change = table_.count(1, end);
    return std::pair(change.entries, change.with_deadline);
  };
  const auto add = [this](OperationKind kind, bool was_there, bool had_deadline, Time deadline,
                          Position position) {
    table_.add({1, kind, was_there, had_deadline, deadline, "key", ""}, position);
  };
  put("new", 1, "", at(5));
  add(OperationKind::put, true, true, kNever, 2);
  add(OperationKind::deadline, true, false, at(5), 3);
  add(OperationKind::erase, true, true, kNever, 4);
  add(OperationKind::erase, false, true, kNever, 5);
  add(OperationKind::erase, false, false, at(5), 6);
  table_.add({.family = 2, .key = "other", .value = ""}, 7);
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(counts(1), Counts(0, 0));
  EXPECT_EQ(counts(2), Counts(1, 1));
  EXPECT_EQ(counts(3), Counts(1, 0));
  EXPECT_EQ(counts(4), Counts(1, 1));
  EXPECT_EQ(counts(5), Counts(0, 0));
  EXPECT_EQ(counts(kAll), Counts(0, 0));
  EXPECT_EQ(table_.count(2, kAll).entries, 1);
  EXPECT_EQ(table_.by_deadline().front()->size(), 2U);  // an erasure has no deadline
}

TEST_F(MemTableTest, KeysAreInTheOrderOfBytesWithoutSigns) {
  const std::vector<std::string> sorted = {"",
                                           "\x01",
                                           "a",
                                           {"a\0", 2},
                                           {"a\0\0\0\0\0\0\0\0", 9},
                                           "aaaaaaaaaaaaaaa",
                                           "aaaaaaaaaaaaaaaa",
                                           "b",
                                           "\x7f",
                                           "\x80",
                                           "\xff"};
  for (auto key = sorted.rbegin(); key != sorted.rend(); ++key) put(*key, 0);
  EXPECT_EQ(keys_in(table_.by_key()), sorted);
}

TEST_F(MemTableTest, KeysWithALongCommonBeginningAreSorted) {
  const std::string head(40, 'h');
  for (const char* key : {"b", "", "a", "aa"}) put(head + key, 0);
  EXPECT_EQ(keys_in(table_.by_key()),
            (std::vector<std::string>{head, head + "a", head + "aa", head + "b"}));
}

TEST_F(MemTableTest, AKeyIsInOneRunWithItsOldestVersion) {
  put("b", 1, "old");
  put("a", 2);
  put("b", 3, "new");
  EXPECT_EQ(keys_in(table_.by_key()), (std::vector<std::string>{"a", "b"}));
  put("b", 4, "newer");
  const Runs runs = table_.by_key();
  ASSERT_EQ(sizes_of(runs), std::vector<std::size_t>{2});
  EXPECT_EQ((*runs[0])[1]->value(), "old");
}

TEST_F(MemTableTest, DeadlinesComeByFamilyDeadlineAndKey) {
  const auto put_in = [this](std::uint32_t family, std::string_view key, Time deadline) {
    table_.add({.family = family, .deadline = deadline, .key = key, .value = ""}, 0);
  };
  put_in(2, "a", at(1));
  put_in(1, "c", at(5));
  put_in(1, "b", at(5));
  put_in(1, "b", at(9));
  put_in(1, "z", at(-3));
  put_in(1, "never", kNever);
  put_in(1, "zz", Time::min());
  EXPECT_EQ(keys_in(table_.by_deadline()),
            (std::vector<std::string>{"zz", "z", "b", "c", "b", "a"}));
}

TEST_F(MemTableTest, ARunIsMergedFromAQuarterOfTheNextOn) {
  put_numbers(0, 100);
  const Runs old = table_.by_key();
  put_numbers(100, 124);
  EXPECT_EQ(sizes_of(table_.by_key()), (std::vector<std::size_t>{100, 24}));
  EXPECT_EQ(table_.by_key(), table_.by_key());  // nothing is made anew
  put_numbers(124, 129);
  EXPECT_EQ(sizes_of(table_.by_key()), (std::vector<std::size_t>{100, 24, 5}));
  put_numbers(129, 130);
  EXPECT_EQ(sizes_of(table_.by_key()), (std::vector<std::size_t>{100, 24, 5, 1}));
  put_numbers(130, 132);  // 2 and 1, 3 and 5, 8 and 24, 32 and 100
  EXPECT_EQ(sizes_of(table_.by_key()), (std::vector<std::size_t>{132}));
  EXPECT_EQ(old.front()->size(), 100U);  // who has a run keeps it
  EXPECT_TRUE(table_.check_invariants());
}

TEST_F(MemTableTest, AChunkThatIsReservedButEmptyHidesNothing) {
  put_numbers(0, 2);
  table_.reserve(100, 10'000);
  EXPECT_EQ(keys_in(table_.by_key()).size(), 2U);
  EXPECT_TRUE(table_.check_invariants());
  put_numbers(2, 50);
  EXPECT_TRUE(table_.check_invariants());
  EXPECT_EQ(keys_in(table_.by_key()).size(), 50U);
}

TEST_F(MemTableTest, NothingIsAllocatedAfterReserve) {
  for (const std::size_t operations : {1U, 9U, 1000U}) {
    MemTable table(1);
    const std::string value(100, 'v');
    for (std::size_t round = 0; round < 20; ++round) {
      table.reserve(operations, operations * (6 + value.size()));
      const std::size_t memory = table.memory_bytes();
      for (std::size_t i = 0; i < operations; ++i) {
        const std::string key = std::to_string(100'000 + round * operations + i);
        table.add({.family = static_cast<std::uint32_t>(round * 256 + i % 256),
                   .key = key,
                   .value = value},
                  round);
      }
      EXPECT_EQ(table.memory_bytes(), memory);
    }
    EXPECT_TRUE(table.check_invariants());
  }
}

TEST_F(MemTableTest, ExpectedEntriesFitWithoutGrowing) {
  MemTable small(1), large(1, 1000);
  const std::size_t slots = large.memory_bytes();
  EXPECT_GE(slots, 2 * 1000 * sizeof(void*));
  for (int i = 0; i < 1000; ++i) {
    small.add({.family = 1, .key = std::to_string(i), .value = ""}, 0);
    large.add({.family = 1, .key = std::to_string(i), .value = ""}, 0);
  }
  // The small one has grown its slots several times, and keeps the old ones.
  EXPECT_GT(small.memory_bytes(), large.memory_bytes());
  EXPECT_TRUE(large.check_invariants());
}

TEST_F(MemTableTest, FewVersionsTakeLittleMemory) {
  put_numbers(0, 8);
  EXPECT_EQ(table_.memory_bytes(), 1024U);  // no slots yet
  put_numbers(8, 9);
  EXPECT_GT(table_.memory_bytes(), 1024U);
}

TEST_F(MemTableTest, ClearKeepsALittleMemory) {
  put_numbers(0, 100);
  table_.clear();
  const std::size_t small = table_.memory_bytes();
  EXPECT_GT(small, 0U);
  EXPECT_TRUE(table_.empty());
  EXPECT_EQ(table_.keys(), 0U);
  EXPECT_EQ(table_.find(1, "5", kAll), nullptr);
  EXPECT_EQ(table_.count(1, kAll).entries, 0);
  EXPECT_TRUE(table_.by_key().empty());
  EXPECT_TRUE(table_.check_invariants());

  put_numbers(0, 10);
  EXPECT_EQ(table_.memory_bytes(), small);  // used again
  put_numbers(10, 50'000);
  put("large", 50'000, std::string(3 << 20, 'v'), at(1));
  EXPECT_EQ(table_.by_deadline().front()->size(), 1U);
  EXPECT_TRUE(table_.check_invariants());
  table_.clear();
  EXPECT_GT(table_.memory_bytes(), 0U);
  EXPECT_LE(table_.memory_bytes(), 68U << 10);
  EXPECT_TRUE(table_.by_deadline().empty());
}

TEST_F(MemTableTest, LargeValuesWasteAtMostAsMuchAsTheyTake) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string value(i % 2 == 0 ? 10 : i << 16, 'v');
    put(std::to_string(i), i, value);
    bytes += value.size();
  }
  EXPECT_LE(table_.memory_bytes(), 2 * bytes + (1 << 20));
}

TEST_F(MemTableTest, CheckInvariantsSeesDamage) {
  put_numbers(0, 30);
  auto& version = const_cast<Version&>(put("5", 30, "value", at(3)));
  put("6", 31, "", at(2));
  const auto sees = [this](auto& field, auto wrong) {
    const auto right = std::exchange(field, wrong);
    EXPECT_FALSE(table_.check_invariants());
    field = right;
    EXPECT_TRUE(table_.check_invariants());
  };
  sees(version.older, nullptr);
  sees(version.older_in_family, nullptr);
  sees(version.position, Position{28});
  sees(version.hash, version.hash + 1);
  sees(version.entries, 7);
  sees(version.with_deadline, 7);
  sees(version.deadline, kNever);
  sees(version.family, 2U);
  table_.by_deadline();
  sees(version.deadline, at(1));  // out of order
  table_.by_key();
  sees(*const_cast<char*>(version.older->key().data()), 'x');
}

// Random operations in rounds of one transaction each, with questions in between.
class MemTableModelTest : public MemTableTest {
 protected:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  void transaction() {
    std::vector<std::tuple<std::uint32_t, std::string, std::string>> texts(below(12) + 1);
    std::size_t bytes = 0;
    for (auto& [family, key, value] : texts) {
      family = static_cast<std::uint32_t>(below(families_) * 1000);
      key = std::string(below(2) * 9, 'h') + std::to_string(below(keys_));
      value.assign(below(50) == 0 ? below(5000) : below(30), static_cast<char>(below(256)));
      bytes += key.size() + value.size();
    }
    const bool is_reserved = below(2) == 0;
    if (is_reserved) table_.reserve(texts.size(), bytes);
    const std::size_t memory = table_.memory_bytes();
    for (const auto& [family, key, value] : texts) add(family, key, value);
    EXPECT_TRUE(!is_reserved || table_.memory_bytes() == memory);
    position_ += 8 * (below(20) + 1);
  }

  void add(std::uint32_t family, const std::string& key, const std::string& value) {
    Operation operation{.family = family, .key = key, .value = ""};
    std::tie(operation.was_there, operation.had_deadline) = model_.state(family, key);
    if (model_.find(family, key, kAll) == nullptr) {  // LMDB may have it
      operation.was_there = below(2) == 0;
      operation.had_deadline = operation.was_there && below(2) == 0;
    }
    const std::uint64_t kind = below(6);
    operation.kind = kind == 0 ? OperationKind::erase : OperationKind::put;
    if (kind == 1 && operation.was_there) operation.kind = OperationKind::deadline;
    if (operation.kind == OperationKind::put) operation.value = value;
    if (below(2) == 0) operation.deadline = at(static_cast<std::int64_t>(below(40)) - 5);
    const Version& version = table_.add(operation, position_);
    model_.add(operation, position_);
    EXPECT_EQ(seen(version), model_.list().back());
  }

  void compare_finds_and_counts() {
    for (int i = 0; i < 20; ++i) {
      const auto family = static_cast<std::uint32_t>(below(families_ + 1) * 1000);
      const std::string key = std::string(below(2) * 9, 'h') + std::to_string(below(keys_));
      const Position end = below(4) == 0 ? kAll : below(position_ + 2);
      const Version* const version = table_.find(family, key, end);
      const Added* const added = model_.find(family, key, end);
      ASSERT_EQ(version == nullptr, added == nullptr);
      ASSERT_TRUE(added == nullptr || seen(*version) == *added);
      const CountChange count = table_.count(family, end);
      const CountChange expected = model_.count(family, end);
      ASSERT_EQ(count.entries, expected.entries);
      ASSERT_EQ(count.with_deadline, expected.with_deadline);
    }
  }

  void compare_orders() {
    std::vector<Added> roots, dying;
    std::map<std::pair<std::uint32_t, std::string>, bool> known;
    for (const Added& added : model_.list()) {
      if (known.try_emplace({added.family, added.key}).second) roots.push_back(added);
      if (added.deadline != kNever) dying.push_back(added);
    }
    const auto key_of = [](const Added& a) { return std::tuple(a.family, Time{}, a.key); };
    const auto deadline_of = [](const Added& a) { return std::tuple(a.family, a.deadline, a.key); };
    if (below(2) == 0) compare_order(table_.by_key(), roots, key_of);
    if (below(2) == 0) compare_order(table_.by_deadline(), dying, deadline_of);
  }

  // Each run is sorted; all together are what was expected, equal ones in the order of arrival.
  template <class By>
  void compare_order(const Runs& runs, const std::vector<Added>& all, By by) {
    std::vector<Added> expected = all;
    std::vector<Added> shown;
    for (const auto& run : runs) {
      const auto begin = static_cast<std::ptrdiff_t>(shown.size());
      for (const Version* version : *run) shown.push_back(seen(*version));
      ASSERT_TRUE(std::is_sorted(shown.begin() + begin, shown.end(),
                                 [&](const Added& a, const Added& b) { return by(a) < by(b); }));
    }
    std::ranges::stable_sort(shown, {}, by);
    std::ranges::stable_sort(expected, {}, by);
    ASSERT_EQ(shown, expected);
  }

  void compare_all_versions() {
    std::vector<Added> all;
    table_.each([&](const Version& version) { all.push_back(seen(version)); });
    ASSERT_EQ(all, model_.list());
    ASSERT_EQ(table_.versions(), all.size());
  }

  std::mt19937_64 random_{20'261'116};
  ListModel model_;
  Position position_ = 0;
  std::uint64_t families_ = 1;
  std::uint64_t keys_ = 1;
};

TEST_F(MemTableModelTest, AgreesWithAList) {
  for (int round = 0; round < 60; ++round) {
    families_ = below(2) == 0 ? 2 : below(40) + 1;
    keys_ = below(2) == 0 ? 5 : below(500) + 1;
    for (std::uint64_t i = below(3) == 0 ? below(3) : below(60); i > 0; --i) {
      transaction();
      if (below(4) == 0) compare_orders();
      if (below(4) == 0) compare_finds_and_counts();
      if (HasFatalFailure()) return;
    }
    ASSERT_NO_FATAL_FAILURE(compare_orders());
    ASSERT_NO_FATAL_FAILURE(compare_all_versions());
    ASSERT_TRUE(table_.check_invariants());
    table_.clear();
    model_.clear();
    position_ = 0;
    ASSERT_TRUE(table_.check_invariants());
  }
}

}  // namespace mem_table_test
}  // namespace mayfly::internal
