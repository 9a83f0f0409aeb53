// SPDX-License-Identifier: Apache-2.0
// EXPIRESCAN ... MEMBERS: keys by the earliest deadline of all that they have.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {
namespace expire_scan_members_test {

class ExpireScanMembersTest : public CallFixture {
 protected:
  struct Row {
    std::string key;
    std::int64_t deadline;
    std::string what;
    bool operator==(const Row&) const = default;
  };

  std::string at(std::int64_t ms) const { return in_ms(Millis(ms)); }

  std::vector<Row> scan(std::string_view from, std::string_view to, std::string_view count) {
    std::vector<Row> rows;
    std::string cursor = "0";
    pages_ = 0;
    do {
      ReplyParser parser;
      EXPECT_EQ(parser.parse(
                    raw({"EXPIRESCAN", cursor, "FROM", from, "TO", to, "COUNT", count, "MEMBERS"})),
                Parsed::request);
      const ReplyValue reply = parser.value();
      cursor = reply.items.at(0).text;
      for (const ReplyValue& item : reply.items.at(1).items) {
        rows.push_back({item.items.at(0).text, item.items.at(1).integer, item.items.at(2).text});
      }
      ++pages_;
    } while (cursor != "0");
    return rows;
  }

  std::size_t pages_ = 0;
};

TEST_F(ExpireScanMembersTest, ListsAKeyByWhateverExpiresFirst) {
  run("SET own v PX 500");
  run("HSETEX hash PX 300 FIELDS 1 token t");
  run("HSET hash name n");
  run("SADDEX both PX 900 MEMBERS 1 m");
  run("PEXPIRE both 700");
  run("ZADD zset 1 a");
  run("ZPEXPIRE zset 600 MEMBERS 1 a");
  run("PEXPIRE zset 800");
  run("SET never v");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO + MEMBERS"),
            "[\"0\", [[\"hash\", (integer) " + at(300) + ", \"members\"], [\"own\", (integer) " +
                at(500) + ", \"key\"], [\"zset\", (integer) " + at(600) +
                ", \"members\"], [\"both\", (integer) " + at(700) + ", \"key\"]]]");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM 0 TO 400ms MEMBERS TYPE hash MATCH h*"),
            "[\"0\", [[\"hash\", (integer) " + at(300) + ", \"members\"]]]");
  EXPECT_EQ(run({"EXPIRESCAN", "0", "FROM", at(301), "TO", at(500), "MEMBERS"}), "[\"0\", []]");
}

TEST_F(ExpireScanMembersTest, ListsAKeyOnceWhenKeyAndMemberExpireTogether) {
  run("HSETEX h PX 300 FIELDS 1 f v");
  run("PEXPIRE h 300");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO + MEMBERS"),
            "[\"0\", [[\"h\", (integer) " + at(300) + ", \"key\"]]]");
}

TEST_F(ExpireScanMembersTest, FindsTheNextMemberWhenTheFirstIsDueAndNotRemovedYet) {
  run("HSETEX h PX 100 FIELDS 1 soon v");
  run("HSETEX h PX 900 FIELDS 1 late v");
  for (int i = 0; i < 1'000; ++i) {
    run({"SADDEX", "s", "PX", std::to_string(100 + i), "MEMBERS", "1", "m" + std::to_string(i)});
  }
  const std::string late = at(900);
  const std::string middle = at(501);
  advance(Millis(500));
  EXPECT_EQ(run("EXPIRESCAN 0 FROM now TO + MEMBERS"), "[\"0\", [[\"s\", (integer) " + middle +
                                                           ", \"members\"], [\"h\", (integer) " +
                                                           late + ", \"members\"]]]");
}

TEST_F(ExpireScanMembersTest, IsExactAfterTheEarliestMemberOfALargeKeyWasErased) {
  for (int i = 0; i < 1'000; ++i) {
    run({"HSETEX", "h", "PX", std::to_string(100 + i), "FIELDS", "1", "f" + std::to_string(i),
         "v"});
  }
  run("SET k v PX 300");
  for (int i = 0; i < 500; ++i) run({"HDEL", "h", "f" + std::to_string(i)});
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO + MEMBERS"), "[\"0\", [[\"k\", (integer) " + at(300) +
                                                         ", \"key\"], [\"h\", (integer) " +
                                                         at(600) + ", \"members\"]]]");
}

TEST_F(ExpireScanMembersTest, EndsAPageAfterManyKeysThatItDoesNotList) {
  constexpr int kKeys = 20'000;
  for (int i = 0; i < kKeys; ++i) {  // own deadlines within the time, members before it
    const std::string key = "h" + std::to_string(i);
    run({"HSETEX", key, "PX", "50", "FIELDS", "1", "f", "v"});
    run({"PEXPIRE", key, std::to_string(1'000 + i)});
  }
  run("SET last v PX 50000");
  const std::vector<Row> rows = scan(at(1'000), "+", "10");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].key, "last");
  EXPECT_GE(pages_, 2u);
  EXPECT_LE(pages_, 4u);
}

// Random keys, members and times against a map of all deadlines.
TEST_F(ExpireScanMembersTest, AgreesWithAMapOfAllDeadlines) {
  struct Key {
    std::optional<std::int64_t> own;
    std::map<std::string, std::int64_t> members;
  };
  Random random(7);
  std::map<std::string, Key> model;
  std::int64_t now = std::stoll(at(0));
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(bound));
  };
  for (int step = 0; step < 6'000; ++step) {
    const std::string name = "h" + std::to_string(below(12));
    const std::string field = "f" + std::to_string(below(300));
    Key& key = model[name];
    const std::int64_t ms = 1 + below(5'000);
    switch (below(8)) {
      case 0:
        run({"PEXPIRE", name, std::to_string(ms)});
        if (!key.members.empty()) key.own = now + ms;
        break;
      case 1:
        run({"PERSIST", name});
        key.own.reset();
        break;
      case 2:
        run({"HDEL", name, field});
        key.members.erase(field);
        break;
      case 3:
        advance(Millis(below(40)));
        now = std::stoll(at(0));
        break;
      default:
        run({"HSETEX", name, "PX", std::to_string(ms), "FIELDS", "1", field, "v"});
        key.members[field] = now + ms;
    }
    std::multimap<std::int64_t, std::string> expected;
    for (auto& [found, content] : model) {
      if (content.own && *content.own <= now) content = {};
      std::erase_if(content.members, [&](const auto& member) { return member.second <= now; });
      if (content.members.empty()) {
        content.own.reset();
        continue;
      }
      std::int64_t first = content.own.value_or(INT64_MAX);
      for (const auto& [ignored, deadline] : content.members) first = std::min(first, deadline);
      expected.emplace(first, found);
    }
    if (step % 50 != 0) continue;
    const std::vector<Row> rows = scan("-", "+", "3");
    std::multimap<std::int64_t, std::string> seen;
    std::int64_t before = 0;
    for (const Row& row : rows) {
      EXPECT_LE(before, row.deadline);
      before = row.deadline;
      seen.emplace(row.deadline, row.key);
      EXPECT_EQ(row.what, model[row.key].own == row.deadline ? "key" : "members");
    }
    ASSERT_EQ(seen.size(), expected.size());
    ASSERT_TRUE(std::ranges::is_permutation(seen, expected));
  }
}

}  // namespace expire_scan_members_test
}  // namespace mayfly
