// SPDX-License-Identifier: Apache-2.0
// GatheredPuts against a map, and its bounds.

#include "store/txn/gathered_puts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/txn/txn.h"

namespace mayfly::internal {
namespace gathered_puts_test {

struct Seen {
  const FamilyView* view;
  std::string key;
  std::string value;
  Time deadline;

  bool operator==(const Seen&) const = default;
};

std::vector<Seen> all_of(GatheredPuts& puts) {
  std::vector<Seen> seen;
  const Status visited = puts.visit([&](const GatheredPut& put) -> Status {
    seen.push_back({put.view, std::string(put.key), std::string(put.value), put.deadline});
    return Done{};
  });
  EXPECT_TRUE(visited.ok());
  return seen;
}

class GatheredPutsTest : public testing::Test {
 protected:
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    for (const Seen& seen : all_of(puts_)) keys.push_back(seen.key);
    return keys;
  }

  FamilyView views_[3];
  GatheredPuts puts_;
};

TEST_F(GatheredPutsTest, ShowsKeysInTheirOrderAndTheLastPutOfEach) {
  puts_.add({views_, "b", "1"});
  puts_.add({views_, "a", "2", Time(Millis(5))});
  puts_.add({views_, "b", "3", Time(Millis(7))});
  puts_.add({views_, "b", "4"});
  EXPECT_EQ(all_of(puts_),
            (std::vector<Seen>{{views_, "a", "2", Time(Millis(5))}, {views_, "b", "4", kNever}}));
  EXPECT_TRUE(puts_.check_invariants());
}

TEST_F(GatheredPutsTest, BytesAreComparedWithoutSigns) {
  for (const char* key : {"\xff", "\x7f", "\x80", "a", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa"}) {
    puts_.add({views_, key, ""});
  }
  puts_.add({views_, std::string_view("a\0", 2), ""});
  EXPECT_EQ(keys(),
            (std::vector<std::string>{
                "a", {"a\0", 2}, "aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "\x7f", "\x80", "\xff"}));
}

TEST_F(GatheredPutsTest, KeepsCopies) {
  std::string key = "key";
  std::string value = "value";
  puts_.add({views_, key, value});
  key = value = "xxx";
  EXPECT_EQ(all_of(puts_), (std::vector<Seen>{{views_, "key", "value", kNever}}));
}

TEST_F(GatheredPutsTest, StopsAtTheFirstFailure) {
  for (const char* key : {"c", "a", "b"}) puts_.add({views_, key, ""});
  std::string visited;
  const Status status = puts_.visit([&](const GatheredPut& put) -> Status {
    visited += put.key;
    if (put.key == "b") return Error{Code::full, "no room"};
    return Done{};
  });
  EXPECT_EQ(status.error().code, Code::full);
  EXPECT_EQ(visited, "ab");
}

TEST_F(GatheredPutsTest, TakesNothingLargeAndNotMoreThanItsShareOfMemory) {
  EXPECT_TRUE(puts_.takes("key", std::string(2000, 'v')));
  EXPECT_FALSE(puts_.takes("key", std::string(2048, 'v')));
  const std::string value(1000, 'v');
  std::size_t count = 0;
  for (; puts_.takes(std::to_string(count), value); ++count) {
    puts_.add({views_, std::to_string(count), value});
  }
  EXPECT_GT(count * 1000, GatheredPuts::kBytesMax / 2);
  EXPECT_LT(count * 1000, GatheredPuts::kBytesMax);
  EXPECT_TRUE(puts_.check_invariants());
  puts_.clear();
  EXPECT_TRUE(puts_.empty());
  EXPECT_TRUE(puts_.takes("key", value));
  EXPECT_TRUE(puts_.check_invariants());
}

TEST_F(GatheredPutsTest, AgreesWithAMap) {
  std::mt19937_64 random(20'261'115);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int round = 0; round < 300; ++round) {
    std::map<std::pair<const FamilyView*, std::string>, std::pair<std::string, Time>> model;
    const std::string head(below(3) * below(12), 'h');
    for (std::uint64_t i = below(200); i > 0; --i) {
      std::string key = head;
      for (std::uint64_t length = below(12) + 1; length > 0; --length) {
        key += static_cast<char>(below(2) == 0 ? 'a' : below(256));
      }
      FamilyView* const view = &views_[below(3)];
      const std::string value(below(30), static_cast<char>(below(256)));
      const Time deadline = below(2) == 0 ? kNever : Time(Millis(below(9)));
      puts_.add({view, key, value, deadline});
      model[{view, key}] = {value, deadline};
    }
    std::vector<Seen> expected;
    for (const auto& [name, entry] : model) {
      expected.push_back({name.first, name.second, entry.first, entry.second});
    }
    ASSERT_EQ(all_of(puts_), expected) << "round " << round;
    ASSERT_TRUE(puts_.check_invariants()) << "round " << round;
    puts_.clear();
  }
}

}  // namespace gathered_puts_test
}  // namespace mayfly::internal
