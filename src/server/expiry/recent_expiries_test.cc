// SPDX-License-Identifier: Apache-2.0
// The ring of recent expiries, and the server that feeds it.

#include "server/expiry/recent_expiries.h"

#include <gtest/gtest.h>

#include "server/expiry/expiry_log_fixture.h"

namespace mayfly {
namespace recent_expiries_test {

using namespace std::chrono_literals;

constexpr Time kBegin{1'000'000ms};

ExpiringEntry entry(std::string_view key) {
  return {.type = ValueType::string,
          .key = key,
          .deadline = kBegin,
          .at = kBegin + 3ms,
          .by = FoundBy::sweep};
}

std::string keys(const std::vector<RecentExpiry>& read) {
  std::string text;
  for (const RecentExpiry& one : read) text += fmt::format("{}:{} ", one.sequence, one.key);
  return text;
}

TEST(RecentExpiriesTest, ReadsWhatCameSinceANumber) {
  RecentExpiries recent;
  for (const char* key : {"a", "b", "c"}) recent.add(2, entry(key));
  EXPECT_EQ(keys(recent.read_since(0, 100, kBegin)), "1:a 2:b 3:c ");
  EXPECT_EQ(keys(recent.read_since(2, 100, kBegin)), "3:c ");
  EXPECT_EQ(keys(recent.read_since(3, 100, kBegin)), "");
  EXPECT_EQ(keys(recent.read_since(99, 100, kBegin)), "");
  EXPECT_EQ(keys(recent.read_since(0, 2, kBegin)), "2:b 3:c ") << "the last ones";
  EXPECT_EQ(keys(recent.read_since(0, 0, kBegin)), "");
  EXPECT_EQ(recent.read_since(0, 1, kBegin)[0].database, 2);
  EXPECT_EQ(recent.last_sequence(), 3u);
}

TEST(RecentExpiriesTest, KeepsTheLastOnesAndTheStartOfLongNames) {
  RecentExpiries recent;
  const std::string name(1'000, 'x');
  for (int i = 0; i < 2'000; ++i) {
    ExpiringEntry one = entry(name);
    if (i % 2 == 0) one.member = name;
    recent.add(0, one);
  }
  const std::vector<RecentExpiry> read = recent.read_since(0, 10'000, kBegin);
  ASSERT_EQ(read.size(), RecentExpiries::kKept);
  EXPECT_EQ(read.back().sequence, 2'000u);
  EXPECT_EQ(read.front().sequence, 2'001 - RecentExpiries::kKept);
  EXPECT_EQ(read.front().key.size(), RecentExpiries::kTextMost);
  EXPECT_EQ(read.front().member->size(), RecentExpiries::kTextMost) << read.front().sequence;
  EXPECT_FALSE(read.back().member);
}

TEST(RecentExpiriesTest, IsWatchedForSomeSecondsAfterARead) {
  RecentExpiries recent;
  EXPECT_FALSE(recent.is_watched(kBegin));
  recent.read_since(0, 1, kBegin);
  EXPECT_TRUE(recent.is_watched(kBegin + RecentExpiries::kWatchTime - 1ms));
  EXPECT_FALSE(recent.is_watched(kBegin + RecentExpiries::kWatchTime));
  recent.add(0, entry("a"));
  recent.clear();
  EXPECT_EQ(keys(recent.read_since(0, 10, kBegin)), "");
  recent.add(0, entry("b"));
  EXPECT_EQ(keys(recent.read_since(0, 10, kBegin)), "2:b ");
}

// Without a log: the feed works alone, and nobody observes when nobody looks.
TEST(RecentExpiriesTest, AServerFeedsItWhileSomebodyLooks) {
  ServerFixture server;
  ExpiryLog& log = server.server().parts().expiry_log;
  Keyspace& keyspace = server.server().parts().keyspace;
  TestClient& client = server.connect();
  EXPECT_EQ(keyspace.observer(), nullptr);
  EXPECT_TRUE(log.read_recent(0, 10).empty());
  client.run("HSETEX h PX 5 FIELDS 1 f v");
  client.run("SET k v PX 5");
  server.advance(5ms);
  server.sweep();
  std::vector<RecentExpiry> read = log.read_recent(0, 10);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].key, "k");
  EXPECT_EQ(read[1].key, "h");
  EXPECT_EQ(read[1].member, "f");
  EXPECT_EQ(read[1].type, ValueType::hash);
  EXPECT_EQ(read[1].by, FoundBy::sweep);
  EXPECT_EQ(read[1].deadline, read[1].at);
  EXPECT_TRUE(log_of(server.server()).empty());

  server.advance(RecentExpiries::kWatchTime);
  server.sweep();
  EXPECT_EQ(keyspace.observer(), nullptr);
}

}  // namespace recent_expiries_test
}  // namespace mayfly
