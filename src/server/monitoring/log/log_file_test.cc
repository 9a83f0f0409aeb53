// SPDX-License-Identifier: Apache-2.0
// The log file: its mode, and the file after a rotation.

#include "server/monitoring/log/log_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace mayfly {
namespace log_file_test {

namespace fs = std::filesystem;

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() {
    std::string pattern = fs::temp_directory_path() / "mayfly-log-XXXXXX";
    root = ::mkdtemp(pattern.data());
  }
  ~LogFileTest() override { fs::remove_all(root); }

  std::string path(const std::string& name) const { return root + "/" + name; }
  static bool write(const std::string& file, TextFile kind, const char* text) {
    std::FILE* const out = open_text_file(file, kind);
    if (out == nullptr) return false;
    std::fputs(text, out);
    return std::fclose(out) == 0;
  }
  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static unsigned mode(const std::string& file) {
    return static_cast<unsigned>(fs::status(file).permissions());
  }

  std::string root;
};

TEST_F(LogFileTest, NewFilesAreNotForEverybody) {
  const mode_t before = ::umask(077);
  EXPECT_TRUE(write(path("log"), TextFile::log, "a"));
  EXPECT_TRUE(write(path("log"), TextFile::log, "b"));
  ::umask(0);
  EXPECT_TRUE(write(path("pid"), TextFile::pid, "1234"));
  EXPECT_TRUE(write(path("pid"), TextFile::pid, "5"));
  ::umask(before);
  EXPECT_EQ(read(path("log")), "ab");
  EXPECT_EQ(mode(path("log")), 0640u);
  EXPECT_EQ(read(path("pid")), "5");
  EXPECT_EQ(mode(path("pid")), 0600u);
  fs::permissions(path("log"), fs::perms(0644));
  EXPECT_TRUE(write(path("log"), TextFile::log, "c"));
  EXPECT_EQ(mode(path("log")), 0644u);
  fs::create_symlink(path("elsewhere"), path("link"));
  EXPECT_TRUE(write(path("link"), TextFile::log, "a"));
  EXPECT_EQ(mode(path("elsewhere")), 0640u);
  fs::permissions(path("elsewhere"), fs::perms(0600));
  EXPECT_TRUE(write(path("link"), TextFile::log, "b"));
  EXPECT_EQ(mode(path("elsewhere")), 0600u);
}

TEST_F(LogFileTest, LinksOfOthersAreNotFollowed) {
  fs::create_symlink("/dev/null", path("own"));
  EXPECT_TRUE(write(path("own"), TextFile::log, "a"));
  EXPECT_TRUE(write("/dev/stderr", TextFile::log, ""));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of somebody else";
  std::ofstream(path("victim")) << "precious";
  fs::create_symlink(path("victim"), path("link"));
  ASSERT_EQ(::lchown(path("link").c_str(), 65'534, 65'534), 0);
  EXPECT_FALSE(write(path("link"), TextFile::log, "a"));
  EXPECT_FALSE(write(path("link"), TextFile::pid, "1"));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(read(path("victim")), "precious");
}

}  // namespace log_file_test
}  // namespace mayfly
