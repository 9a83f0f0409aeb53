// SPDX-License-Identifier: Apache-2.0
// RefreshLeases: who has a lease, what ends it, and random calls against a list.

#include "keyspace/stale/refresh_leases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mayfly {
namespace {

using std::chrono::seconds;
constexpr Time kStart{Millis(1'000'000)};
constexpr Time kEnd = kStart + seconds(10);

TEST(RefreshLeases, OneCallerHasTheLeaseOfAKey) {
  RefreshLeases leases(1);
  const auto token = leases.take(0, "page", kStart, kEnd);
  ASSERT_TRUE(token);
  EXPECT_FALSE(leases.take(0, "page", kStart, kEnd));
  EXPECT_TRUE(leases.take(0, "other", kStart, kEnd));
  EXPECT_TRUE(leases.take(1, "page", kStart, kEnd));
  EXPECT_TRUE(leases.is_held(0, "page", *token, kStart));
  EXPECT_FALSE(leases.is_held(1, "page", *token, kStart));
  EXPECT_FALSE(leases.is_held(0, "page", *token + 2, kStart));
}

TEST(RefreshLeases, ALeaseEndsAtItsDeadline) {
  RefreshLeases leases(1);
  const auto token = leases.take(0, "page", kStart, kEnd);
  EXPECT_TRUE(leases.is_held(0, "page", *token, kEnd - Millis(1)));
  EXPECT_FALSE(leases.is_held(0, "page", *token, kEnd));
  EXPECT_FALSE(leases.release(0, "page", *token, kEnd));
  const auto next = leases.take(0, "page", kEnd, kEnd + seconds(10));
  ASSERT_TRUE(next);
  EXPECT_NE(*next, *token);
  EXPECT_EQ(leases.size(), 1u);
}

TEST(RefreshLeases, ALeaseThatIsGivenBackCanBeTakenAgain) {
  RefreshLeases leases(1);
  const auto token = leases.take(0, "page", kStart, kEnd);
  EXPECT_FALSE(leases.release(0, "page", *token + 2, kStart));
  EXPECT_TRUE(leases.release(0, "page", *token, kStart));
  EXPECT_FALSE(leases.release(0, "page", *token, kStart));
  EXPECT_TRUE(leases.take(0, "page", kStart, kEnd));
}

TEST(RefreshLeases, ALeaseOfNoTimeIsNotGiven) {
  RefreshLeases leases(1);
  EXPECT_FALSE(leases.take(0, "page", kStart, kStart));
  EXPECT_TRUE(leases.is_empty());
}

TEST(RefreshLeases, AChangeEndsTheLeases) {
  RefreshLeases leases(1);
  const auto page = leases.take(2, "page", kStart, kEnd);
  const auto empty = leases.take(2, "", kStart, kEnd);
  const auto other = leases.take(3, "", kStart, kEnd);
  leases.key_changed(2, "page");
  leases.key_changed(2, "unknown");
  EXPECT_FALSE(leases.is_held(2, "page", *page, kStart));
  EXPECT_TRUE(leases.is_held(2, "", *empty, kStart));
  leases.database_changed(2);
  EXPECT_FALSE(leases.is_held(2, "", *empty, kStart));
  EXPECT_TRUE(leases.is_held(3, "", *other, kStart));
}

TEST(RefreshLeases, WithTooManyTheFirstToEndIsDropped) {
  RefreshLeases leases(1, 2);
  const auto late = leases.take(0, "late", kStart, kEnd + seconds(1));
  const auto soon = leases.take(0, "soon", kStart, kEnd);
  const auto third = leases.take(0, "third", kStart, kEnd);
  EXPECT_TRUE(leases.is_held(0, "late", *late, kStart));
  EXPECT_FALSE(leases.is_held(0, "soon", *soon, kStart));
  EXPECT_TRUE(leases.is_held(0, "third", *third, kStart));
  EXPECT_EQ(leases.check_invariants(), "");
}

// Against a list of all leases that were ever given.
TEST(RefreshLeases, BehavesLikeAList) {
  struct Given {
    int database;
    std::string key;
    RefreshLeases::Token token;
    Time deadline;
    bool is_over = false;
  };
  RefreshLeases leases(7);
  std::vector<Given> list;
  Random random(11);
  Time now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    now += Millis(random.below(50));
    const int database = static_cast<int>(random.below(2));
    const std::string key(1, static_cast<char>('a' + random.below(5)));
    const auto is_held = [&](const Given& given) {
      return !given.is_over && given.database == database && given.key == key &&
             now < given.deadline;
    };
    Given* held = nullptr;
    for (Given& given : list) {
      if (is_held(given)) held = &given;
    }
    const std::uint64_t choice = random.below(20);
    if (choice < 12) {
      const Time deadline = now + Millis(random.below(500));
      const auto token = leases.take(database, key, now, deadline);
      ASSERT_EQ(token.has_value(), held == nullptr && deadline > now);
      if (token) list.push_back({database, key, *token, deadline});
    } else if (choice < 16 && !list.empty()) {
      Given& given = list[random.below(list.size())];
      const bool is_current = &given == held;
      ASSERT_EQ(leases.is_held(database, key, given.token, now), is_current);
      ASSERT_EQ(leases.release(database, key, given.token, now), is_current);
      if (is_current) given.is_over = true;
    } else if (choice < 19) {
      leases.key_changed(database, key);
      if (held != nullptr) held->is_over = true;
    } else {
      leases.database_changed(database);
      for (Given& given : list) given.is_over |= given.database == database;
    }
    ASSERT_EQ(leases.check_invariants(), "");
    std::erase_if(list, [&](const Given& given) {
      return list.size() > 50 && (given.is_over || given.deadline <= now);
    });
  }
}

}  // namespace
}  // namespace mayfly
