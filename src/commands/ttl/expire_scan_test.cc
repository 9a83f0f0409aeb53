// SPDX-License-Identifier: Apache-2.0
// EXPIRESCAN and its siblings: entries in the order of their deadlines, page by page.

#include "commands/ttl/expire_scan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "commands/call_fixture.h"
#include "commands/ttl/moment.h"

namespace mayfly {
namespace expire_scan_test {

class ExpireScanTest : public CallFixture {
 protected:
  std::string at(std::int64_t ms) const { return in_ms(Millis(ms)); }

  // The names on all pages in order, and their number in pages().
  std::vector<std::string> scan_all(std::vector<std::string> words, std::size_t cursor_word) {
    std::vector<std::string> names;
    pages_ = 0;
    do {
      std::vector<std::string_view> views(words.begin(), words.end());
      const ReplyValue reply = parse(raw(views));
      words[cursor_word] = reply.items.at(0).text;
      for (const ReplyValue& item : reply.items.at(1).items) names.push_back(item.items[0].text);
      ++pages_;
    } while (words[cursor_word] != "0");
    return names;
  }
  std::size_t pages() const { return pages_; }

 private:
  static ReplyValue parse(const std::string& bytes) {
    ReplyParser parser;
    EXPECT_EQ(parser.parse(bytes), Parsed::request);
    return parser.value();
  }

  std::size_t pages_ = 0;
};

TEST_F(ExpireScanTest, ReturnsKeysInOrderOfTime) {
  run("SET late v EX 100");
  run("SET soon v PX 500");
  run("SET never v");
  run("HSET hash f v");
  run("EXPIRE hash 10");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM now TO 1h"),
            "[\"0\", [[\"soon\", (integer) " + at(500) + "], [\"hash\", (integer) " + at(10'000) +
                "], [\"late\", (integer) " + at(100'000) + "]]]");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM 1s TO 1m MATCH h*"),
            "[\"0\", [[\"hash\", (integer) " + at(10'000) + "]]]");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO + TYPE string MATCH l*"),
            "[\"0\", [[\"late\", (integer) " + at(100'000) + "]]]");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM 1h TO 2h"), "[\"0\", []]");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM 2h TO 1h"), "[\"0\", []]");
}

TEST_F(ExpireScanTest, IncludesFromAndNotTo) {
  run("SET k v PX 1000");
  EXPECT_EQ(run({"EXPIRESCAN", "0", "FROM", at(1000), "TO", at(1001)}),
            "[\"0\", [[\"k\", (integer) " + at(1000) + "]]]");
  EXPECT_EQ(run({"EXPIRESCAN", "0", "FROM", at(1), "TO", at(1000)}), "[\"0\", []]");
}

TEST_F(ExpireScanTest, LeavesOutWhatIsDue) {
  run("SET k v PX 1000");
  run("SET other v PX 2000");
  advance(Millis(1000));
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO +"), "[\"0\", [[\"other\", (integer) " + at(1000) + "]]]");
}

TEST_F(ExpireScanTest, PagesHaveEachKeyOnce) {
  for (int i = 0; i < 3'000; ++i) {
    run({"SET", "k" + std::to_string(i), "v", "PX", std::to_string(1 + i * 37 % 1'000)});
  }
  const std::vector<std::string> names =
      scan_all({"EXPIRESCAN", "0", "FROM", "-", "TO", "+", "COUNT", "100"}, 1);
  EXPECT_EQ(names.size(), 3'000u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3'000u);
  EXPECT_GT(pages(), 20u);
  EXPECT_LE(pages(), 31u);
}

TEST_F(ExpireScanTest, CutsVeryManyWithTheSameDeadline) {
  constexpr std::size_t kMany = 35'000;
  for (std::size_t i = 0; i < kMany; ++i) {
    run({"SET", "k" + std::to_string(i), "v", "PX", "1000"});
  }
  run("SET last v PX 1001");
  std::vector<std::string> names =
      scan_all({"EXPIRESCAN", "0", "FROM", "-", "TO", "+", "COUNT", "1"}, 1);
  EXPECT_EQ(names.back(), "last");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), kMany + 1);
  EXPECT_EQ(names.size(), kMany + 1);
  EXPECT_GE(pages(), 4u);
}

TEST_F(ExpireScanTest, KeysThatGoMeanwhileHideNoOther) {
  for (int i = 0; i < 100; ++i) {
    run({"SET", "k" + std::to_string(i), "v", "PX", std::to_string(1 + i)});
  }
  const std::string first = run("EXPIRESCAN 0 FROM - TO + COUNT 50");
  const std::string cursor = first.substr(2, first.find('"', 2) - 2);
  run("DEL k50");
  run("DEL k3");
  EXPECT_TRUE(run({"EXPIRESCAN", cursor, "FROM", "-", "TO", "+", "COUNT", "1"}).find("\"k51\"") !=
              std::string::npos);
}

TEST_F(ExpireScanTest, ReturnsMembersOfEachType) {
  run("HSETEX h PX 900 FIELDS 2 b 1 a 2");
  run("HSETEX h PX 300 FIELDS 1 c 3");
  run("HSET h never 4");
  run("SADDEX s PX 700 MEMBERS 1 m");
  run("ZADD z 1 one 2 two");
  run("ZPEXPIRE z 800 MEMBERS 1 two");
  EXPECT_EQ(run("HEXPIRESCAN h 0 FROM - TO +"), "[\"0\", [[\"c\", (integer) " + at(300) +
                                                    "], [\"b\", (integer) " + at(900) +
                                                    "], [\"a\", (integer) " + at(900) + "]]]");
  EXPECT_EQ(run("SEXPIRESCAN s 0 FROM now TO 1s"), "[\"0\", [[\"m\", (integer) " + at(700) + "]]]");
  EXPECT_EQ(run("ZEXPIRESCAN z 0 FROM now TO 1s MATCH t*"),
            "[\"0\", [[\"two\", (integer) " + at(800) + "]]]");
  EXPECT_EQ(run("HEXPIRESCAN none 0 FROM - TO +"), "[\"0\", []]");
  EXPECT_TRUE(run("SEXPIRESCAN h 0 FROM - TO +").starts_with("(error) WRONGTYPE"));
  run("SADD ints 1 2 3");
  EXPECT_EQ(run("SEXPIRESCAN ints 0 FROM - TO +"), "[\"0\", []]");
}

TEST_F(ExpireScanTest, PagesALargeHash) {
  for (int i = 0; i < 2'000; ++i) {
    run({"HSETEX", "h", "PX", std::to_string(1 + i * 7 % 500), "FIELDS", "1",
         "f" + std::to_string(i), "v"});
  }
  const std::vector<std::string> names =
      scan_all({"HEXPIRESCAN", "h", "0", "FROM", "-", "TO", "+", "COUNT", "100"}, 2);
  EXPECT_EQ(names.size(), 2'000u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 2'000u);
  EXPECT_GT(pages(), 10u);
}

TEST_F(ExpireScanTest, RefusesWrongWords) {
  EXPECT_EQ(run("EXPIRESCAN x FROM - TO +"), "(error) ERR invalid cursor");
  EXPECT_EQ(run("EXPIRESCAN 999999999999999999999999999999 FROM - TO +"),
            "(error) ERR invalid cursor");
  EXPECT_TRUE(run("EXPIRESCAN 0 FROM soon TO +").starts_with("(error) ERR 'soon' is no moment"));
  EXPECT_EQ(run("EXPIRESCAN 0 TO - FROM +"), "(error) ERR syntax error");
  EXPECT_EQ(run("EXPIRESCAN 0 FROM - TO + COUNT 0"), "(error) ERR syntax error");
  EXPECT_EQ(run("HEXPIRESCAN h 0 FROM - TO + NOVALUES"),
            "(error) ERR NOVALUES option can only be used in HSCAN");
}

TEST(MomentTest, ReadsEveryForm) {
  const Time now(Millis(1'800'000'000'000));
  EXPECT_EQ(moment_of("now", now), now);
  EXPECT_EQ(moment_of("500ms", now), now + Millis(500));
  EXPECT_EQ(moment_of("90s", now), now + Millis(90'000));
  EXPECT_EQ(moment_of("10m", now), now + Millis(600'000));
  EXPECT_EQ(moment_of("2h", now), now + Millis(7'200'000));
  EXPECT_EQ(moment_of("1d", now), now + Millis(86'400'000));
  EXPECT_EQ(moment_of("1w", now), now + Millis(604'800'000));
  EXPECT_EQ(moment_of("60", now), now + Millis(60'000));
  EXPECT_EQ(moment_of("1800000000", now), now);
  EXPECT_EQ(moment_of("1800000000000", now), now);
  EXPECT_EQ(moment_of("-", now), Time::min());
  EXPECT_EQ(moment_of("+", now), kNever);
  for (const std::string_view wrong :
       {"", "s", "-5", "-5s", "5x", "1.5h", "99999999999999999999", "9223372036854775807w"}) {
    EXPECT_EQ(moment_of(wrong, now), std::nullopt) << wrong;
  }
}

}  // namespace expire_scan_test
}  // namespace mayfly
