// SPDX-License-Identifier: Apache-2.0
// A directory that is there as long as its owner is.

#include "tools/scratch_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace mayfly {
namespace scratch_directory_test {

namespace fs = std::filesystem;

TEST(ScratchDirectory, IsEmptyAndGoneWithItsOwnerAndAllThatIsInIt) {
  fs::path path;
  {
    const auto scratch = ScratchDirectory::make(fs::path(testing::TempDir()));
    ASSERT_TRUE(scratch);
    path = scratch->path();
    EXPECT_TRUE(fs::is_empty(path));
    fs::create_directory(path / "below");
    std::ofstream(path / "below" / "file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchDirectory, BelongsToWhomItWasMovedTo) {
  auto first = ScratchDirectory::make(fs::path(testing::TempDir()));
  ASSERT_TRUE(first);
  const ScratchDirectory second = std::move(*first);
  EXPECT_TRUE(fs::exists(second.path()));
}

TEST(ScratchDirectory, CannotBeMadeInAFile) {
  const auto scratch = ScratchDirectory::make(fs::path(testing::TempDir()));
  ASSERT_TRUE(scratch);
  std::ofstream(scratch->path() / "file") << "text";
  const auto below = ScratchDirectory::make(scratch->path() / "file");
  ASSERT_FALSE(below);
  EXPECT_NE(below.error().message.find("file"), std::string::npos);
}

}  // namespace scratch_directory_test
}  // namespace mayfly
