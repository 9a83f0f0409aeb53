// SPDX-License-Identifier: Apache-2.0
// Do files get their content, and failures their reason?

#include "tools/files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace mayfly {
namespace files_test {

class FilesTest : public testing::Test {
 protected:
  FilesTest() : directory_(std::filesystem::path(testing::TempDir()) / unique_name()) {
    std::filesystem::remove_all(directory_);
  }
  ~FilesTest() override { std::filesystem::remove_all(directory_); }

  static std::string unique_name() {
    return std::string("mayfly_files_") +
           testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::filesystem::path directory_;
};

TEST_F(FilesTest, MakesDirectoriesAllTheWayDownAndOnceMore) {
  EXPECT_TRUE(make_directory(directory_ / "a" / "b"));
  EXPECT_TRUE(make_directory(directory_ / "a" / "b"));
  EXPECT_TRUE(std::filesystem::is_directory(directory_ / "a" / "b"));
}

TEST_F(FilesTest, ReplacesWhatWasThere) {
  ASSERT_TRUE(make_directory(directory_));
  EXPECT_TRUE(write_file(directory_ / "x", "a long text"));
  EXPECT_TRUE(write_file(directory_ / "x", "short"));
  EXPECT_EQ(content(directory_ / "x"), "short");
}

TEST_F(FilesTest, ChecksWithoutTouchingTheContent) {
  ASSERT_TRUE(make_directory(directory_));
  ASSERT_TRUE(write_file(directory_ / "x", "kept"));
  EXPECT_TRUE(check_writable(directory_ / "x"));
  EXPECT_EQ(content(directory_ / "x"), "kept");
}

TEST_F(FilesTest, SaysWhichFileAndWhy) {
  const Status status = write_file(directory_ / "absent" / "x", "text");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::io);
  EXPECT_NE(status.error().message.find((directory_ / "absent" / "x").string()), std::string::npos);
  EXPECT_NE(status.error().message.find("No such file or directory"), std::string::npos);
}

TEST_F(FilesTest, TakesNoFileForADirectory) {
  ASSERT_TRUE(make_directory(directory_));
  ASSERT_TRUE(write_file(directory_ / "x", "text"));
  EXPECT_FALSE(make_directory(directory_ / "x"));
  EXPECT_FALSE(make_directory(directory_ / "x" / "y"));
}

}  // namespace files_test
}  // namespace mayfly
