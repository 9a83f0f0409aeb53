// SPDX-License-Identifier: Apache-2.0
// TTLSTATS: a histogram that always equals what a model of all deadlines says.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "mayfly/random.h"
#include "mayfly/ttl_histogram.h"
#include "resp/reply_parser.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace ttl_stats_test {

const ReplyValue& field(const ReplyValue& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].text == name) return map.items[i + 1];
  }
  ADD_FAILURE() << "no field " << name;
  return map;
}

std::int64_t number(const ReplyValue& map, std::string_view name) {
  return field(map, name).integer;
}

class TtlStatsTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  ReplyValue ask(std::string_view line) {
    ReplyParser parser;
    EXPECT_EQ(parser.parse(client_.send(std::string(line) + "\r\n")), Parsed::request);
    return parser.value();
  }

  // Entries of a bucket of the histogram.
  static const ReplyValue& bucket(const ReplyValue& stats, std::string_view name) {
    for (const ReplyValue& item : field(stats, "histogram").items) {
      if (field(item, "within").text == name) return item;
    }
    ADD_FAILURE() << "no bucket " << name;
    return stats;
  }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(TtlStatsTest, CountsKeysAndMembersByTheTimeThatIsLeft) {
  run("SET a v PX 500");
  run("SET b v EX 5");
  run("SET c v EX 50");
  run("HSETEX h EX 300 FIELDS 2 x 1 y 2");
  run("SADDEX s EX 3000 MEMBERS 1 m");
  run("ZADD z 1 one");
  run("ZEXPIRE z 80000 MEMBERS 1 one");
  run("SET d v EX 200000");
  run("SET e v EX 2000000");
  run("SET never v");
  const ReplyValue stats = ask("TTLSTATS");
  EXPECT_EQ(number(stats, "entries"), 9);
  EXPECT_EQ(number(stats, "keys"), 5);
  EXPECT_EQ(number(stats, "members"), 4);
  EXPECT_EQ(number(stats, "overdue"), 0);
  EXPECT_EQ(number(bucket(stats, "1s"), "keys"), 1);
  EXPECT_EQ(number(bucket(stats, "10s"), "keys"), 1);
  EXPECT_EQ(number(bucket(stats, "1m"), "keys"), 1);
  EXPECT_EQ(number(bucket(stats, "10m"), "members"), 2);
  EXPECT_EQ(number(bucket(stats, "1h"), "members"), 1);
  EXPECT_EQ(number(bucket(stats, "1d"), "members"), 1);
  EXPECT_EQ(number(bucket(stats, "1w"), "entries"), 1);
  EXPECT_EQ(number(bucket(stats, "later"), "entries"), 1);
  EXPECT_EQ(number(bucket(stats, "later"), "until"), -1);
}

TEST_F(TtlStatsTest, ForecastsInTheOrderOfItsMoments) {
  run("SET a 0123456789 EX 10");
  run("SET b v EX 100");
  const ReplyValue stats = ask("TTLSTATS FORECAST 1h 30s 1s");
  const std::vector<ReplyValue>& points = field(stats, "forecast").items;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(number(points[0], "entries"), 2);
  EXPECT_EQ(number(points[1], "entries"), 1);
  EXPECT_EQ(number(points[2], "entries"), 0);
  EXPECT_GT(number(points[0], "bytes"), number(points[1], "bytes"));
  EXPECT_EQ(number(points[1], "memory"), number(stats, "memory") - number(points[1], "bytes"));
  EXPECT_EQ(number(points[2], "bytes"), 0);
}

TEST_F(TtlStatsTest, BytesAreThoseOfTheEntries) {
  run("HSETEX session:42 EX 1800 FIELDS 2 user alice token 7f3a");
  run("HEXPIRE session:42 60 FIELDS 1 token");
  run("SADDEX online EX 60 MEMBERS 2 ann bob");
  run("ZADDEX board EX 3600 MEMBERS 2 90 ann 80 bob");
  std::int64_t usage = 0;
  for (const char* key : {"session:42", "online", "board"}) {
    usage += ask("MEMORY USAGE " + std::string(key)).integer;
  }
  const ReplyValue stats = ask("TTLSTATS");
  EXPECT_EQ(number(stats, "entries"), 6);
  EXPECT_GE(number(stats, "bytes"), 6 * 3);
  EXPECT_LE(number(stats, "bytes"), usage);
  std::int64_t sum = 0;
  for (const ReplyValue& found : field(stats, "histogram").items) {
    if (number(found, "entries") == 0) {
      EXPECT_EQ(number(found, "bytes"), 0);
    }
    sum += number(found, "bytes");
  }
  EXPECT_EQ(sum, number(stats, "bytes"));
  run("FLUSHALL");
  EXPECT_EQ(number(ask("TTLSTATS"), "bytes"), 0);
}

TEST_F(TtlStatsTest, LooksAtOneKey) {
  run("HSETEX h EX 5 FIELDS 2 a 1 b 2");
  run("HSET h c 3");
  run("SET other v EX 5");
  const ReplyValue stats = ask("TTLSTATS KEY h FORECAST 10s");
  EXPECT_EQ(number(stats, "members"), 2);
  EXPECT_EQ(number(stats, "keys"), 0);
  EXPECT_EQ(number(bucket(stats, "10s"), "members"), 2);
  EXPECT_EQ(number(field(stats, "forecast").items.at(0), "entries"), 2);
  EXPECT_EQ(run("TTLSTATS KEY missing"), "(nil)");
}

TEST_F(TtlStatsTest, RefusesWrongWords) {
  EXPECT_EQ(run("TTLSTATS x"), "(error) ERR syntax error");
  EXPECT_EQ(run("TTLSTATS KEY"), "(error) ERR syntax error");
  EXPECT_EQ(run("TTLSTATS FORECAST"), "(error) ERR syntax error");
  EXPECT_TRUE(run("TTLSTATS FORECAST x").starts_with("(error) ERR 'x' is no moment"));
}

// Random commands on few keys. The model knows the deadline of each entry: the key, or the key and
// a member.
class TtlStatsModelTest : public TtlStatsTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  using Name = std::pair<std::string, std::string>;  // the member is empty: the key itself

  void step() {
    const std::string digit = std::to_string(random_.below(6));
    const std::string member = "m" + std::to_string(random_.below(300));
    const std::int64_t ms = 1 + static_cast<std::int64_t>(random_.below(90'000));
    const Time deadline = fixture_.wall().now() + Millis(ms);
    const std::string px = std::to_string(ms);
    switch (random_.below(12)) {
      case 0:
        run("SET s" + digit + " value PX " + px);
        model_[{"s" + digit, ""}] = deadline;
        break;
      case 1:
        run("APPEND s" + digit + " more");
        break;
      case 2:
      case 3:
        run("HSETEX h" + digit + " PX " + px + " FIELDS 1 " + member + " value");
        model_[{"h" + digit, member}] = deadline;
        break;
      case 4:
        run("HSET h" + digit + " " + member + " longer-value");
        model_.erase({"h" + digit, member});
        break;
      case 5:
        run("HDEL h" + digit + " " + member);
        model_.erase({"h" + digit, member});
        break;
      case 6:
        run("SADDEX t" + digit + " PX " + px + " MEMBERS 1 " + member);
        model_[{"t" + digit, member}] = deadline;
        break;
      case 7:
        run("ZADD z" + digit + " 1 " + member);
        run("ZPEXPIRE z" + digit + " " + px + " MEMBERS 1 " + member);
        model_[{"z" + digit, member}] = deadline;
        break;
      case 8:
        if (random_.below(20) != 0) break;
        run("DEL h" + digit);
        erase_key("h" + digit);
        break;
      case 9:
        if (random_.below(20) != 0) break;
        run("PERSIST s" + digit);
        model_.erase({"s" + digit, ""});
        break;
      case 10:
        fixture_.advance(Millis(static_cast<std::int64_t>(random_.below(200))));
        break;
      default:
        if (random_.below(100) == 0) {
          run("FLUSHALL");
          model_.clear();
        }
        break;
    }
    std::erase_if(model_,
                  [&](const auto& entry) { return is_due(entry.second, fixture_.wall().now()); });
  }

  void erase_key(const std::string& key) {
    std::erase_if(model_, [&](const auto& entry) { return entry.first.first == key; });
  }

  void check() {
    const ReplyValue stats = ask("TTLSTATS");
    std::int64_t sum = 0;
    Time from = fixture_.wall().now() + Millis(1);
    for (const ReplyValue& item : field(stats, "histogram").items) {
      const std::int64_t until = number(item, "until");
      const Time to = until < 0 ? kNever : Time(Millis(until));
      std::int64_t expected = 0;
      for (const auto& [name, deadline] : model_) {
        expected += deadline >= from && deadline < to ? 1 : 0;
      }
      ASSERT_EQ(number(item, "entries"), expected) << field(item, "within").text;
      sum += number(item, "entries");
      from = to;
    }
    ASSERT_EQ(sum, static_cast<std::int64_t>(model_.size()));
    ASSERT_EQ(number(stats, "entries"), sum);
  }

  Random random_{GetParam()};
  std::map<Name, Time> model_;
};

TEST_P(TtlStatsModelTest, EqualsTheModelAfterEveryStep) {
  for (int i = 0; i < 4'000; ++i) {
    step();
    ASSERT_NO_FATAL_FAILURE(check()) << "step " << i;
  }
  Keyspace& keyspace = fixture_.server().parts().keyspace;
  EXPECT_EQ(keyspace[0].check_invariants(), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, TtlStatsModelTest, testing::Range<std::uint64_t>(1, 5));

}  // namespace ttl_stats_test
}  // namespace mayfly
