// SPDX-License-Identifier: Apache-2.0
// HSCAN, SSCAN and ZSCAN: what they visit, their options, and the order of checks.

#include <set>

#include "commands/members/members_fixture.h"

namespace mayfly {
namespace member_scan_test {

class MemberScanTest : public MembersFixture {
 protected:
  // The option that leaves payloads out; a set has none.
  static std::string names_only() {
    if (type() == ValueType::set) return "";
    return type() == ValueType::hash ? " NOVALUES" : " NOSCORES";
  }
};
INSTANTIATE_TEST_SUITE_P(Members, MemberScanTest, kMemberCases, case_name);

TEST_P(MemberScanTest, ReturnsEachMemberOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("f" + std::to_string(i));
  seed(names);
  std::multiset<std::string> seen;
  std::string cursor = "0";
  do {
    std::vector<std::string> page = bulks("%SCAN k " + cursor + " COUNT 20" + names_only());
    cursor = page.front();
    seen.insert(page.begin() + 1, page.end());
  } while (cursor != "0");
  EXPECT_EQ(seen.size(), names.size());
  EXPECT_EQ(std::set(seen.begin(), seen.end()), std::set(names.begin(), names.end()));
}

TEST_P(MemberScanTest, TakesOptions) {
  seed({"a", "b", "ab"});
  const bool is_hash = type() == ValueType::hash;
  const bool is_set = type() == ValueType::set;
  EXPECT_EQ(sorted("%SCAN k 0"), is_set    ? "0 a ab b"
                                 : is_hash ? "0 a ab b v1 v2 v3"
                                           : "0 1 2 3 a ab b");
  EXPECT_EQ(sorted("%SCAN k 0 match a*"), is_set    ? "0 a ab"
                                          : is_hash ? "0 a ab v1 v3"
                                                    : "0 1 3 a ab");
  EXPECT_EQ(sorted("%SCAN k 0" + names_only() + " MATCH a* COUNT 100"), "0 a ab");
  EXPECT_EQ(run("%SCAN k 0 MATCH none"), "[\"0\", []]");
}

TEST_P(MemberScanTest, ChecksCursorThenKeyThenOptions) {
  EXPECT_EQ(run("%SCAN none x NONSENSE"), "(error) ERR invalid cursor");
  EXPECT_EQ(run("%SCAN none 0 NONSENSE"), "[\"0\", []]");
  EXPECT_EQ(events(), "m:keymiss:none");
  put_string("s");
  EXPECT_EQ(run("%SCAN s 0 NONSENSE"), kWrongType);
  seed({"a"});
  EXPECT_EQ(run("%SCAN k 0 NONSENSE"), kSyntax);
  EXPECT_EQ(run("%SCAN k 0 COUNT"), kSyntax);
  EXPECT_EQ(run("%SCAN k 0 COUNT 0"), kSyntax);
  EXPECT_EQ(run("%SCAN k 0 COUNT x"), kNoInteger);
  EXPECT_EQ(run("%SCAN k 0 TYPE string"), kSyntax);
  EXPECT_EQ(run("%SCAN k"), arity_error(text("~scan")));
}

TEST_P(MemberScanTest, TakesOnlyTheOptionOfItsType) {
  seed({"a"});
  if (type() != ValueType::hash) {
    EXPECT_EQ(run("%SCAN k 0 novalues"), "(error) ERR NOVALUES option can only be used in HSCAN");
  }
  if (type() != ValueType::zset) {
    EXPECT_EQ(run("%SCAN k 0 noscores"), "(error) ERR NOSCORES option can only be used in ZSCAN");
  }
}

TEST_P(MemberScanTest, ScoresAreBulksAsZscoreWritesThem) {
  if (type() != ValueType::zset) return;
  for (const int protocol : {2, 3}) {
    set_protocol(protocol);
    for (const auto& [score, expected] :
         {std::pair(1.0, "1"), std::pair(-0.0, "0"), std::pair(0.1, "0.1"),
          std::pair(1e20, "1e+20"), std::pair(1.5e30, "1.5e+30"), std::pair(HUGE_VAL, "inf"),
          std::pair(-HUGE_VAL, "-inf")}) {
      seed({"a"});
      members_of("k").put("a", ScoreBytes(score).view());
      EXPECT_EQ(run("ZSCAN k 0"), std::string("[\"0\", [\"a\", \"") + expected + "\"]]");
    }
  }
}

TEST_P(MemberScanTest, HidesWhatIsDueAndKeepsIt) {
  seed_partly_due();
  EXPECT_EQ(sorted("%SCAN k 0" + names_only()), "0 a b z");
  context().policy = Policy::hide;
  EXPECT_EQ(sorted("%SCAN k 0" + names_only()), "0 a b z");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(members_of("k").stored(), 5u);
  context().policy = Policy::show;
  EXPECT_EQ(sorted("%SCAN k 0" + names_only()), "0 a b x y z");
}

}  // namespace member_scan_test
}  // namespace mayfly
