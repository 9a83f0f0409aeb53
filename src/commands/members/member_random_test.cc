// SPDX-License-Identifier: Apache-2.0
// HRANDFIELD, SRANDMEMBER and ZRANDMEMBER in all their forms: what they may return, and that chance
// is fair.

#include <map>
#include <set>

#include "commands/members/members_fixture.h"

namespace mayfly {
namespace member_random_test {

class MemberRandomTest : public MembersFixture {
 protected:
  static std::string random() {
    if (type() == ValueType::hash) return "HRANDFIELD";
    return type() == ValueType::set ? "SRANDMEMBER" : "ZRANDMEMBER";
  }
  static bool has_option() { return type() != ValueType::set; }
  static std::string with() { return type() == ValueType::hash ? " WITHVALUES" : " WITHSCORES"; }

  // Members f1 and so on, with v1 and so on as values, or 1 and so on as scores.
  void make(int count) {
    std::vector<std::string> names;
    for (int i = 1; i <= count; ++i) names.push_back("f" + std::to_string(i));
    seed(names);
  }
};
INSTANTIATE_TEST_SUITE_P(Members, MemberRandomTest, kMemberCases, case_name);

TEST_P(MemberRandomTest, OneMemberIsABulk) {
  seed({"a"});
  EXPECT_EQ(run(random() + " k"), "\"a\"");
  EXPECT_EQ(events(), "");
}

TEST_P(MemberRandomTest, FindsNothingUnderAMissingKey) {
  EXPECT_EQ(run(random() + " k"), "(nil)");
  EXPECT_EQ(events(), "m:keymiss:k");
  EXPECT_EQ(run(random() + " k 3"), "[]");
  EXPECT_EQ(run(random() + " k -3"), "[]");
  if (has_option()) {
    EXPECT_EQ(run(random() + " k -3" + with()), "[]");
  }
}

TEST_P(MemberRandomTest, APositiveCountReturnsDifferentMembers) {
  make(100);
  for (const int count : {1, 10, 32, 33, 50, 99, 100, 1000}) {
    const std::vector<std::string> names = bulks(random() + " k " + std::to_string(count));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(std::min(count, 100)));
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  }
  EXPECT_EQ(run(random() + " k 0"), "[]");
  if (has_option()) {
    EXPECT_EQ(run(random() + " k 0" + with()), "[]");
  }
}

TEST_P(MemberRandomTest, ANegativeCountReturnsExactlySoMany) {
  make(3);
  EXPECT_EQ(bulks(random() + " k -20").size(), 20u);
  EXPECT_EQ(bulks(random() + " k -1").size(), 1u);
  if (has_option()) {
    EXPECT_EQ(bulks(random() + " k -20" + with()).size(), 40u);
  }
}

TEST_P(MemberRandomTest, PayloadsFollowTheirMembers) {
  if (!has_option()) return;
  make(20);
  for (const std::string count : {" k 3", " k 15", " k -7"}) {
    const std::vector<std::string> words = bulks(random() + count + with());
    ASSERT_EQ(words.size() % 2, 0u);
    for (std::size_t i = 0; i < words.size(); i += 2) {
      const std::string payload = type() == ValueType::hash ? words[i + 1].substr(1) : words[i + 1];
      EXPECT_EQ(words[i].substr(1), payload) << count;
    }
  }
}

TEST_P(MemberRandomTest, PairsAreArraysInResp3) {
  seed({"a"});
  const bool is_hash = type() == ValueType::hash;
  const std::string flat = is_hash ? R"("a", "v1")" : R"("a", "1")";
  const std::string pair = is_hash ? R"(["a", "v1"])" : "[\"a\", (double) 1]";
  if (has_option()) {
    EXPECT_EQ(run(random() + " k 1" + with()), "[" + flat + "]");
  }
  set_protocol(3);
  if (has_option()) {
    EXPECT_EQ(run(random() + " k 1" + with()), "[" + pair + "]");
    EXPECT_EQ(run(random() + " k -2" + with()), "[" + pair + ", " + pair + "]");
  }
  EXPECT_EQ(raw({random(), "k", "1"}), "*1\r\n$1\r\na\r\n");  // an array, also of a set
  EXPECT_EQ(raw({random(), "k", "-1"}), "*1\r\n$1\r\na\r\n");
  EXPECT_EQ(raw({random(), "none"}), "_\r\n");
  EXPECT_EQ(raw({random(), "none", "1"}), "*0\r\n");
}

TEST_P(MemberRandomTest, RefusesCountsInOrder) {
  put_string("s");
  const std::string name = random();
  EXPECT_EQ(run(name + " s x"), kNoInteger);
  EXPECT_EQ(run(name + " s x NONSENSE"), has_option() ? kNoInteger : kSyntax);
  EXPECT_EQ(run(name + " s 1 NONSENSE"), kSyntax);
  EXPECT_EQ(run(name + " s 1" + with() + " more"), kSyntax);
  EXPECT_EQ(run(name + " s -9223372036854775808"),
            "(error) ERR value is out of range, value must between -9223372036854775807 and "
            "9223372036854775807");
  if (has_option()) {
    EXPECT_EQ(run(name + " s 9223372036854775807" + with()), "(error) ERR value is out of range");
    EXPECT_EQ(run(name + " s -9223372036854775807" + with()), "(error) ERR value is out of range");
  }
  EXPECT_EQ(run(name + " s 1"), kWrongType);
  EXPECT_EQ(run(name + " s"), kWrongType);
}

TEST_P(MemberRandomTest, TakesOnlyTheOptionOfItsType) {
  seed({"a"});
  const std::string other = type() == ValueType::hash ? " WITHSCORES" : " WITHVALUES";
  EXPECT_EQ(run(random() + " k 1" + other), kSyntax);
  if (!has_option()) {
    EXPECT_EQ(run(random() + " k 1 WITHSCORES"), kSyntax);
  }
}

TEST_P(MemberRandomTest, RefusesAReplyThatWouldTakeAllMemory) {
  seed({"a"});
  const std::string refused =
      "(error) ERR the reply would be larger than 1 GiB (ask for fewer members at a time)";
  for (const std::string count : {"-9223372036854775807", "-999999999", "-178956971"}) {
    EXPECT_EQ(run(random() + " k " + count), refused) << count;
  }
  EXPECT_EQ(run(random() + " k 9223372036854775807"), "[\"a\"]");
}

TEST_P(MemberRandomTest, NeverReturnsWhatIsDueHoweverMuchOfItThereIs) {
  std::vector<std::string> due;
  for (int i = 0; i < 400; ++i) due.push_back("due" + std::to_string(i));
  seed(due, Millis(100));
  make(8);
  advance(Millis(100));
  const auto are_alive = [](const std::vector<std::string>& names) {
    return std::ranges::all_of(names, [](const std::string& name) { return name[0] == 'f'; });
  };
  EXPECT_TRUE(are_alive(bulks(random() + " k")));
  EXPECT_TRUE(are_alive(bulks(random() + " k -50")));
  for (const auto& [count, expected] :
       {std::pair(" k 2", 2u), std::pair(" k 5", 5u), std::pair(" k 500", 8u)}) {
    const std::vector<std::string> names = bulks(random() + count);
    EXPECT_TRUE(are_alive(names)) << count;
    EXPECT_EQ(names.size(), expected);
  }
  EXPECT_EQ(expired_members(), 0u);
}

TEST_P(MemberRandomTest, OnlyThePrimarysCommandsChooseAmongWhatIsDue) {
  seed({"x", "y"}, Millis(100));
  seed({"a"});
  advance(Millis(100));
  context().policy = Policy::hide;
  EXPECT_EQ(sorted(random() + " k 9"), "a");
  context().policy = Policy::show;
  EXPECT_EQ(sorted(random() + " k 9"), "a x y");
}

// Each form chooses among twelve members, of which four are due. A member that chance should choose
// 500 times on average is chosen within 5 standard deviations of it.
TEST_P(MemberRandomTest, ChoosesEvenly) {
  seed({"0", "1", "2", "3"}, Millis(9));
  make(8);
  advance(Millis(9));
  for (const auto& [count, each, runs] :
       {std::tuple(" k", 1, 4000), std::tuple(" k 1", 1, 4000), std::tuple(" k 4", 4, 1000),
        std::tuple(" k -8", 8, 500)}) {
    std::map<std::string, int> counts;
    for (int i = 0; i < runs; ++i) {
      for (const std::string& name : bulks(random() + count)) ++counts[name];
    }
    EXPECT_EQ(counts.size(), 8u) << count;
    for (const auto& [name, times] : counts) {
      EXPECT_NEAR(times, each * runs / 8, 110) << count << " " << name;
    }
  }
}

}  // namespace member_random_test
}  // namespace mayfly
