// SPDX-License-Identifier: Apache-2.0
// The table of tracked keys against a map of sets.

#include "server/tracking/tracked_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace mayfly {
namespace {

using Readers = std::set<std::uint64_t>;

Readers readers_of(const std::optional<TrackedKey>& key) {
  return key ? Readers(key->readers().begin(), key->readers().end()) : Readers{};
}

class TrackedKeysTest : public ::testing::Test {
 protected:
  void check() {
    ASSERT_EQ(keys.check_invariants(), "");
    ASSERT_EQ(keys.keys(), model.size());
    std::size_t items = 0;
    for (const auto& [key, readers] : model) items += readers.size();
    ASSERT_EQ(keys.items(), items);
  }

  void take(const std::string& key) {
    const Readers expected = model.contains(key) ? model[key] : Readers{};
    ASSERT_EQ(readers_of(keys.take(key)), expected);
    model.erase(key);
  }

  Readers gone;
  TrackedKeys keys{7, [this](std::uint64_t id) { return gone.contains(id); }};
  std::map<std::string, Readers> model;
};

TEST_F(TrackedKeysTest, RandomOperationsDoAsTheModel) {
  Random random(42);
  for (int step = 0; step < 20'000; ++step) {
    const std::string key(random.below(40), static_cast<char>('a' + random.below(20)));
    const std::uint64_t roll = random.below(1000);
    if (roll < 700) {
      const std::uint64_t id = random.below(50);  // too few for a search for clients that are gone
      keys.add(key, id);
      model[key].insert(id);
    } else if (roll < 990) {
      take(key);
    } else if (roll < 998) {
      if (model.empty()) continue;
      const std::optional<TrackedKey> any = keys.take_any();
      ASSERT_TRUE(model.contains(std::string(any->key())));
      ASSERT_EQ(readers_of(any), model[std::string(any->key())]);
      model.erase(std::string(any->key()));
    } else {
      keys.clear();
      model.clear();
    }
    if (roll % 2 == 0) keys.free_some(3);
    if (step % 100 == 0) check();
  }
  check();
}

TEST_F(TrackedKeysTest, ManyReadersInAnyOrder) {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t id = random.below(3000) << random.below(30);
    keys.add("key", id);
    keys.add("", id);
    model["key"].insert(id);
    model[""].insert(id);
  }
  check();
  take("key");
  take("");
  check();
}

TEST_F(TrackedKeysTest, AKeyThatIsOnlyReadDoesNotCollectClientsThatAreGone) {
  keys.add("key", 0);
  for (std::uint64_t id = 1; id < 100'000; ++id) {
    keys.add("key", id);
    if (id > 10) gone.insert(id - 10);
  }
  EXPECT_LT(keys.items(), 200u);
  EXPECT_EQ(keys.check_invariants(), "");
  const Readers left = readers_of(keys.take("key"));
  EXPECT_TRUE(left.contains(0));
  for (std::uint64_t id = 99'990; id < 100'000; ++id) EXPECT_TRUE(left.contains(id));
  EXPECT_EQ(keys.items(), 0u);
}

TEST_F(TrackedKeysTest, AnyKeyIsTakenAboutAsOftenAsAnyOther) {
  std::map<std::string, int> first;
  for (int round = 0; round < 2000; ++round) {
    for (const std::string key : {"a", "b", "c", "d"}) keys.add(key, 1);
    ++first[std::string(keys.take_any()->key())];
    keys.clear();
    keys.free_some(100);
  }
  EXPECT_EQ(first.size(), 4u);
  for (const auto& [key, times] : first) EXPECT_NEAR(times, 500, 150) << key;
}

TEST_F(TrackedKeysTest, WhatIsClearedIsFreedInSteps) {
  for (int i = 0; i < 1000; ++i) keys.add(std::to_string(i), 1);
  keys.clear();
  EXPECT_EQ(keys.keys(), 0u);
  keys.add("new", 1);
  EXPECT_TRUE(keys.free_some(400));
  EXPECT_TRUE(keys.free_some(600));
  EXPECT_FALSE(keys.free_some(10));
  EXPECT_EQ(readers_of(keys.take("new")), Readers{1});
}

}  // namespace
}  // namespace mayfly
