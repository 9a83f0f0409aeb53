// SPDX-License-Identifier: Apache-2.0
// MemTable with one thread that adds and others that read.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "store/table/mem_table.h"

namespace mayfly::internal {
namespace mem_table_thread_test {

// Operation i has position i. Key i % kKeys of family i % kFamilies gets the value i and a
// deadline. So all that a reader finds before a published end is known.
constexpr Position kOperations = 12'000;
constexpr Position kKeys = 3000;
constexpr Position kFamilies = 6;

std::uint32_t family_of(Position i) { return static_cast<std::uint32_t>(i % kFamilies) + 1; }

std::string key_of(Position i) { return "key" + std::to_string(i % kKeys); }

Time deadline_of(Position i) { return Time(Millis(i * 7919 % 1000)); }

class MemTableThreadTest : public testing::Test {
 protected:
  void add_all() {
    for (Position i = 0; i < kOperations; ++i) {
      const std::string key = key_of(i);
      const std::string value = std::to_string(i);
      const bool was_there = i >= kKeys;
      table_.add({.family = family_of(i),
                  .was_there = was_there,
                  .had_deadline = was_there,
                  .deadline = deadline_of(i),
                  .key = key,
                  .value = value},
                 i);
      tail_.store(i + 1, std::memory_order_release);
    }
  }

  // Calls `read` with what is published, again and again, until it was called with all.
  template <class Read>
  void read_all(Read read) {
    for (Position end = 0; end < kOperations && !HasFailure();) {
      end = tail_.load(std::memory_order_acquire);
      read(end);
    }
  }

  void find(Position end, Position& step) {
    const Position i = (step += 7919) % kKeys;
    const Version* const version = table_.find(family_of(i), key_of(i), end);
    ASSERT_EQ(version == nullptr, i >= end);
    if (version == nullptr) return;
    const Position newest = i + (end - 1 - i) / kKeys * kKeys;
    ASSERT_EQ(version->position, newest);
    ASSERT_EQ(version->value(), std::to_string(newest));
  }

  void count(Position end) {
    const Position keys = std::min(end, kKeys);
    for (Position family = 0; family < kFamilies; ++family) {
      const CountChange change = table_.count(family_of(family), end);
      const auto expected = static_cast<std::int64_t>((keys + kFamilies - 1 - family) / kFamilies);
      ASSERT_EQ(change.entries, expected);
      ASSERT_EQ(change.with_deadline, expected);
    }
  }

  // All that was published is there, in order.
  template <class Key>
  void order(const Runs& runs, std::size_t least, Key key) {
    std::size_t size = 0;
    for (const auto& run : runs) {
      ASSERT_TRUE(std::ranges::is_sorted(
          *run, [&](const Version* a, const Version* b) { return key(*a) < key(*b); }));
      size += run->size();
    }
    ASSERT_GE(size, least);
  }

  MemTable table_{1};
  std::atomic<Position> tail_{0};
};

TEST_F(MemTableThreadTest, ReadersSeeAllThatIsPublished) {
  static_assert(kKeys % kFamilies == 0);
  const auto by_key = [](const Version& v) { return std::tuple(v.family, v.key()); };
  const auto by_deadline = [](const Version& v) {
    return std::tuple(v.family, v.deadline, v.key());
  };
  std::vector<std::thread> readers;
  for (Position start = 0; start < 2; ++start) {
    readers.emplace_back(
        [this, step = start]() mutable { read_all([&](Position end) { find(end, step); }); });
    readers.emplace_back([&] {
      read_all([&](Position end) { order(table_.by_key(), std::min(end, kKeys), by_key); });
    });
  }
  readers.emplace_back([this] { read_all([this](Position end) { count(end); }); });
  readers.emplace_back(
      [&] { read_all([&](Position end) { order(table_.by_deadline(), end, by_deadline); }); });
  readers.emplace_back([this] {
    read_all([this](Position end) {
      std::size_t seen = 0;
      table_.each([&](const Version& version) { ASSERT_EQ(version.position, seen++); });
      ASSERT_GE(seen, end);
      ASSERT_GE(table_.versions(), end);
      ASSERT_GE(table_.keys(), std::min(end, kKeys));
      ASSERT_GE(table_.memory_bytes(), end * sizeof(Version));
    });
  });
  add_all();
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(table_.check_invariants());
}

}  // namespace mem_table_thread_test
}  // namespace mayfly::internal
