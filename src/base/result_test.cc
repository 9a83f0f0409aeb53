// SPDX-License-Identifier: Apache-2.0
// Result: a value or an error, and a clear end for a program that takes a value that is not there.

#include "mayfly/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mayfly {
namespace result_test {

Result<std::string> failed() { return Error{Code::not_found, "no such thing"}; }

TEST(Result, HasTheValueItWasMadeOf) {
  Result<std::string> result(std::string("value"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, "value");
  EXPECT_EQ(result->size(), 5);
}

TEST(Result, HasTheErrorItWasMadeOf) {
  const Result<std::string> result = failed();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(result.error().message, "no such thing");
}

TEST(Result, MovesTheValueOutOfATemporary) {
  EXPECT_EQ(*(*Result<std::unique_ptr<int>>(std::make_unique<int>(7))), 7);
}

TEST(ResultDeathTest, AbortsWithTheMessageWhenTheValueOfAFailedOneIsTaken) {
  Result<std::string> result = failed();
  const Result<std::string>& constant = result;
  EXPECT_DEATH((void)*result, "failed Result was taken: no such thing");
  EXPECT_DEATH((void)*constant, "no such thing");
  EXPECT_DEATH((void)result->size(), "no such thing");
  EXPECT_DEATH((void)constant->size(), "no such thing");
  EXPECT_DEATH((void)*failed(), "no such thing");
}

}  // namespace result_test
}  // namespace mayfly
