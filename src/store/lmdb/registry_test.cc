// SPDX-License-Identifier: Apache-2.0
// The environments of the process: one for each file, however many handles and names lead to it,
// and closed with the last handle.

#include <gtest/gtest.h>

#include "store/api/store_fixture.h"
#include "store/lmdb/environment.h"

namespace mayfly::internal {
namespace registry_test {

class RegistryTest : public testing::Test {
 protected:
  Environment* acquire(std::string_view name, const StoreOptions& options = {}) const {
    return must(acquire_environment((folder_ / name).string(), options));
  }

  const TemporaryFolder folder_;
};

TEST_F(RegistryTest, OneFileIsOneEnvironmentWhateverItIsCalled) {
  Environment* const first = acquire("store");
  std::filesystem::create_symlink(folder_ / "store", folder_ / "link");
  std::filesystem::create_hard_link(folder_ / "store", folder_ / "twin");

  EXPECT_EQ(acquire("store"), first);
  EXPECT_EQ(acquire("link"), first);
  EXPECT_EQ(acquire("twin"), first);
  EXPECT_EQ(acquire("./store", {.read_only = true}), first);
  for (int i = 0; i < 5; ++i) must(release_environment(first, Time{}));
}

TEST_F(RegistryTest, TwoFilesAreTwoEnvironments) {
  Environment* const first = acquire("first");
  Environment* const second = acquire("second");
  EXPECT_NE(first, second);
  must(release_environment(first, Time{}));
  EXPECT_EQ(acquire("second"), second);
  must(release_environment(second, Time{}));
  must(release_environment(second, Time{}));
}

TEST_F(RegistryTest, TheLastHandleClosesIt) {
  Environment* const first = acquire("store");
  EXPECT_EQ(acquire("store"), first);
  must(release_environment(first, Time{}));
  must(first->sync());  // it is open still
  must(release_environment(first, Time{}));
  must(release_environment(acquire("store"), Time{}));
}

TEST_F(RegistryTest, WhatCannotBeOpenedLeavesNothingBehind) {
  const std::string path = (folder_ / "none" / "store").string();
  EXPECT_EQ(code_of(acquire_environment(path, {})), Code::not_found);
  EXPECT_EQ(code_of(acquire_environment((folder_ / "store").string(), {.create = false})),
            Code::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace registry_test
}  // namespace mayfly::internal
