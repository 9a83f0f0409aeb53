// SPDX-License-Identifier: Apache-2.0
// HRANDFIELD in all its forms: what it may return, and that chance is fair.

#include <map>
#include <set>

#include "commands/hash/hash_fixture.h"

namespace mayfly {
namespace hash_random_test {

class HashRandomTest : public HashFixture {
 protected:
  void make(int count) {
    for (int i = 0; i < count; ++i) {
      run({"HSET", "h", "f" + std::to_string(i), "v" + std::to_string(i)});
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Hashes, HashRandomTest, kBothForms, form_name);

TEST_P(HashRandomTest, OneFieldIsABulk) {
  run("HSET h a 1");
  EXPECT_EQ(run("HRANDFIELD h"), "\"a\"");
  EXPECT_EQ(events(), "");
}

TEST_P(HashRandomTest, APositiveCountReturnsDifferentFields) {
  make(100);
  for (const int count : {1, 10, 32, 33, 50, 99, 100, 1000}) {
    const std::vector<std::string> fields = bulks("HRANDFIELD h " + std::to_string(count));
    EXPECT_EQ(fields.size(), static_cast<std::size_t>(std::min(count, 100)));
    EXPECT_EQ(std::set(fields.begin(), fields.end()).size(), fields.size());
  }
  EXPECT_EQ(run("HRANDFIELD h 0"), "[]");
  EXPECT_EQ(run("HRANDFIELD h 0 WITHVALUES"), "[]");
}

TEST_P(HashRandomTest, ANegativeCountReturnsExactlySoMany) {
  make(3);
  EXPECT_EQ(bulks("HRANDFIELD h -20").size(), 20u);
  EXPECT_EQ(bulks("HRANDFIELD h -1").size(), 1u);
  EXPECT_EQ(bulks("HRANDFIELD h -20 WITHVALUES").size(), 40u);
}

TEST_P(HashRandomTest, ValuesFollowTheirFields) {
  make(20);
  for (const std::string_view line :
       {"HRANDFIELD h 3 withvalues", "HRANDFIELD h 15 WITHVALUES", "HRANDFIELD h -7 WITHVALUES"}) {
    const std::vector<std::string> words = bulks(line);
    ASSERT_EQ(words.size() % 2, 0u);
    for (std::size_t i = 0; i < words.size(); i += 2) {
      EXPECT_EQ(words[i].substr(1), words[i + 1].substr(1)) << line;
    }
  }
}

TEST_P(HashRandomTest, PairsAreArraysInResp3) {
  run("HSET h a 1");
  EXPECT_EQ(run("HRANDFIELD h 1 WITHVALUES"), R"(["a", "1"])");
  set_protocol(3);
  EXPECT_EQ(run("HRANDFIELD h 1 WITHVALUES"), R"([["a", "1"]])");
  EXPECT_EQ(run("HRANDFIELD h -2 WITHVALUES"), R"([["a", "1"], ["a", "1"]])");
  EXPECT_EQ(run("HRANDFIELD h 1"), R"(["a"])");
}

TEST_P(HashRandomTest, RefusesCountsInOrder) {
  put_string("s");
  EXPECT_EQ(run("HRANDFIELD s x"), kNoInteger);
  EXPECT_EQ(run("HRANDFIELD s 1 NONSENSE"), kSyntax);
  EXPECT_EQ(run("HRANDFIELD s 1 WITHVALUES more"), kSyntax);
  EXPECT_EQ(run("HRANDFIELD s -9223372036854775808"),
            "(error) ERR value is out of range, value must between -9223372036854775807 and "
            "9223372036854775807");
  EXPECT_EQ(run("HRANDFIELD s 9223372036854775807 WITHVALUES"),
            "(error) ERR value is out of range");
  EXPECT_EQ(run("HRANDFIELD s -9223372036854775807 WITHVALUES"),
            "(error) ERR value is out of range");
  EXPECT_EQ(run("HRANDFIELD s 1"), kWrongType);
}

TEST_P(HashRandomTest, RefusesAReplyThatWouldTakeAllMemory) {
  run("HSET h a 1");
  EXPECT_EQ(run("HRANDFIELD h -9223372036854775807"), "(error) ERR value is out of range");
  EXPECT_EQ(run("HRANDFIELD h 9223372036854775807"), "[\"a\"]");
}

TEST_P(HashRandomTest, NeverReturnsWhatIsDueHoweverMuchOfItThereIs) {
  for (int i = 0; i < 400; ++i) {
    run({"HSETEX", "h", "PX", "100", "FIELDS", "1", "due" + std::to_string(i), "v"});
  }
  make(8);
  advance(Millis(100));
  const auto are_alive = [](const std::vector<std::string>& fields) {
    return std::ranges::all_of(fields, [](const std::string& field) { return field[0] == 'f'; });
  };
  EXPECT_TRUE(are_alive(bulks("HRANDFIELD h")));
  EXPECT_TRUE(are_alive(bulks("HRANDFIELD h -50")));
  for (const std::string_view line : {"HRANDFIELD h 2", "HRANDFIELD h 5", "HRANDFIELD h 500"}) {
    const std::vector<std::string> fields = bulks(line);
    EXPECT_TRUE(are_alive(fields)) << line;
    EXPECT_EQ(fields.size(), line == "HRANDFIELD h 2" ? 2u : line == "HRANDFIELD h 5" ? 5u : 8u);
  }
  EXPECT_EQ(expired_fields(), 0u);
}

// Each form chooses among twelve fields, of which four are due. A field that chance should choose
// 500 times on average is chosen within 5 standard deviations of it.
TEST_P(HashRandomTest, ChoosesEvenly) {
  for (int i = 0; i < 4; ++i) run({"HSETEX", "h", "PX", "9", "FIELDS", "1", std::to_string(i), ""});
  make(8);
  advance(Millis(9));
  for (const auto& [line, each, runs] :
       {std::tuple("HRANDFIELD h", 1, 4000), std::tuple("HRANDFIELD h 1", 1, 4000),
        std::tuple("HRANDFIELD h 4", 4, 1000), std::tuple("HRANDFIELD h -8", 8, 500)}) {
    std::map<std::string, int> counts;
    for (int i = 0; i < runs; ++i) {
      for (const std::string& field : bulks(line)) ++counts[field];
    }
    EXPECT_EQ(counts.size(), 8u) << line;
    for (const auto& [field, count] : counts) {
      EXPECT_NEAR(count, each * runs / 8, 110) << line << " " << field;
    }
  }
}

}  // namespace hash_random_test
}  // namespace mayfly
