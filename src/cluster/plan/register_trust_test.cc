// SPDX-License-Identifier: Apache-2.0
// Answers of another register, and of an older state of the right one, are refused.

#include "cluster/plan/register_trust.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

TEST(RegisterTrust, WithoutTrustEverythingIsTaken) {
  RegisterTrust trust;
  EXPECT_TRUE(trust.check({5, 10}, trust.floor()));
  EXPECT_TRUE(trust.check({6, 3}, trust.floor()));
}

TEST(RegisterTrust, AnAnswerMayBeOvertaken) {
  RegisterTrust trust;
  trust.trust({5, 10});
  const std::uint64_t asked = trust.floor();
  EXPECT_TRUE(trust.check({5, 12}, trust.floor()));
  EXPECT_TRUE(trust.check({5, 11}, asked)) << "this question was asked before that answer";
  EXPECT_EQ(trust.floor(), 12u);
  EXPECT_EQ(trust.problem(), "");
}

TEST(RegisterTrust, ALowerVersionIsRefusedForGood) {
  RegisterTrust trust;
  trust.trust({5, 10});
  const Status status = trust.check({5, 9}, trust.floor());
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("it has revision 9, but had 10 before"), std::string::npos);
  EXPECT_TRUE(trust.is_final());
  EXPECT_FALSE(trust.check({5, 1000}, trust.floor())) << "of another history";
  trust.trust({5, 1000});
  EXPECT_FALSE(trust.check({5, 1001}, trust.floor()));
}

TEST(RegisterTrust, NoticesCount) {
  RegisterTrust trust;
  trust.trust({5, 10});
  trust.saw(13);
  trust.saw(12);
  EXPECT_EQ(trust.floor(), 13u);
  EXPECT_FALSE(trust.check({5, 12}, trust.floor()));
}

TEST(RegisterTrust, AnotherIdIsRefusedUntilTheRightOneIsBack) {
  RegisterTrust trust;
  trust.trust({5, 10});
  EXPECT_FALSE(trust.check({6, 100}, trust.floor()));
  EXPECT_FALSE(trust.check({6, 0}, 0)) << "also without a version";
  EXPECT_NE(trust.problem(), "");
  EXPECT_FALSE(trust.is_final());
  EXPECT_EQ(trust.floor(), 10u);
  EXPECT_TRUE(trust.check({5, 0}, 0));
  EXPECT_NE(trust.problem(), "") << "an answer without a version does not mend it";
  EXPECT_TRUE(trust.check({5, 10}, trust.floor()));
  EXPECT_EQ(trust.problem(), "");
}

TEST(RegisterTrust, DistrustIsForGood) {
  RegisterTrust trust;
  trust.trust({5, 10});
  trust.distrust("it lies");
  trust.distrust("again");
  EXPECT_EQ(trust.check({5, 11}, trust.floor()).error().message, "it lies");
  EXPECT_FALSE(trust.check({5, 0}, 0));
}

}  // namespace
}  // namespace mayfly
