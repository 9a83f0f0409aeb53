// SPDX-License-Identifier: Apache-2.0
// Files of the operating system, and an append-only file in them.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "persist/aof/aof_fixture.h"
#include "persist/disk/disk.h"

namespace mayfly {
namespace system_disk_test {

class SystemDiskTest : public ::testing::Test {
 protected:
  SystemDiskTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "mayfly-disk-XXXXXX";
    root = ::mkdtemp(pattern.data());
  }
  ~SystemDiskTest() override { std::filesystem::remove_all(root); }

  std::string path(std::string_view name) const { return root + "/" + std::string(name); }

  SystemDisk disk;
  std::string root;
};

TEST_F(SystemDiskTest, WritesAtTheEndAndReadsFromAnywhere) {
  const std::unique_ptr<DiskFile> file = std::move(*disk.create(path("a")));
  ASSERT_TRUE(file->write("hello "));
  ASSERT_TRUE(file->write("world"));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(file->size(), 11u);
  EXPECT_EQ(*read_file(disk, path("a")), "hello world");
  const std::unique_ptr<ByteSource> source = std::move(*disk.open(path("a"), 6));
  EXPECT_EQ(source->size(), 5u);
  char room[16];
  EXPECT_EQ(*source->read(room), 5u);
  EXPECT_EQ(*source->read(room), 0u);
}

TEST_F(SystemDiskTest, GoesOnWhereAFileWasCut) {
  const std::unique_ptr<DiskFile> file = std::move(*disk.create(path("a")));
  ASSERT_TRUE(file->write("hello"));
  ASSERT_TRUE(file->truncate(2));
  ASSERT_TRUE(file->write("y"));
  EXPECT_EQ(file->size(), 3u);
  EXPECT_EQ(*read_file(disk, path("a")), "hey");
}

TEST_F(SystemDiskTest, AppendGoesOnAndCreateBeginsAnew) {
  ASSERT_TRUE((*disk.append(path("a")))->write("1"));
  const std::unique_ptr<DiskFile> again = std::move(*disk.append(path("a")));
  EXPECT_EQ(again->size(), 1u);
  ASSERT_TRUE(again->write("2"));
  EXPECT_EQ(*read_file(disk, path("a")), "12");
  ASSERT_TRUE(disk.create(path("a")));
  EXPECT_EQ(*read_file(disk, path("a")), "");
}

unsigned mode_of(const std::string& path) {
  return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

TEST_F(SystemDiskTest, NeverWritesThroughALink) {
  ASSERT_TRUE((*disk.append(path("victim")))->write("precious"));
  for (const char* const name : {"link", "chain"}) {
    std::filesystem::create_symlink(path(name == std::string("link") ? "victim" : "link"),
                                    path(name));
    const auto refused = disk.append(path(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().message.find("symbolic link"), std::string::npos);
  }
  for (const char* const name : {"chain", "link"}) {
    ASSERT_TRUE((*disk.create(path(name)))->write("new"));
    EXPECT_EQ(*read_file(disk, path(name)), "new");
    EXPECT_FALSE(std::filesystem::is_symlink(path(name)));
  }
  std::filesystem::create_symlink(path("nowhere"), path("dangling"));
  ASSERT_TRUE(disk.create(path("dangling")));
  EXPECT_FALSE(disk.exists(path("nowhere")));
  std::filesystem::create_hard_link(path("victim"), path("hard"));
  ASSERT_TRUE((*disk.create(path("hard")))->write("new"));
  EXPECT_EQ(*read_file(disk, path("victim")), "precious");
  EXPECT_EQ(disk.list(root)->size(), 5u);  // nothing is left behind
}

TEST_F(SystemDiskTest, FilesAreForTheirOwner) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(disk.create(path("new")));
  ASSERT_TRUE(disk.append(path("log")));
  ASSERT_TRUE(disk.make_directory(path("d")));
  const auto lock = disk.lock(path("d"), "me");
  ASSERT_TRUE(lock);
  EXPECT_EQ(mode_of(path("new")), 0600u);
  EXPECT_EQ(mode_of(path("log")), 0600u);
  EXPECT_EQ(mode_of(path("d")), 0700u);
  EXPECT_EQ(mode_of(path("d/mayfly.lock")), 0600u);
  // What an administrator has changed stays.
  std::filesystem::permissions(path("log"), std::filesystem::perms(0640));
  ASSERT_TRUE(disk.append(path("log")));
  EXPECT_EQ(mode_of(path("log")), 0640u);
  ASSERT_TRUE(disk.rename(path("new"), path("log")));
  EXPECT_EQ(mode_of(path("log")), 0640u);
  ::umask(before);
}

TEST_F(SystemDiskTest, RenamesRemovesAndLists) {
  ASSERT_TRUE(disk.make_directory(path("d")));
  ASSERT_TRUE(disk.make_directory(path("d")));
  ASSERT_TRUE((*disk.create(path("d/a")))->write("a"));
  ASSERT_TRUE((*disk.create(path("d/b")))->write("b"));
  ASSERT_TRUE(disk.rename(path("d/a"), path("d/b")));
  ASSERT_TRUE(disk.sync_directory(path("d")));
  EXPECT_EQ(*read_file(disk, path("d/b")), "a");
  EXPECT_EQ(*disk.list(path("d")), (std::vector<std::string>{"b"}));
  EXPECT_TRUE(disk.exists(path("d/b")));
  ASSERT_TRUE(disk.remove(path("d/b")));
  ASSERT_TRUE(disk.remove(path("d/b")));
  EXPECT_FALSE(disk.exists(path("d/b")));
}

TEST_F(SystemDiskTest, ErrorsSayWhatWasTriedAndWhy) {
  const auto missing = disk.open(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().message, "cannot open " + path("none") + ": No such file or directory");
  EXPECT_FALSE(disk.open(root));
  EXPECT_FALSE(disk.create(path("none/a")));
  EXPECT_FALSE(disk.rename(path("none"), path("a")));
  EXPECT_FALSE(disk.sync_directory(path("none")));
  EXPECT_FALSE(disk.list(path("none")));
  ASSERT_TRUE(disk.create(path("file")));
  EXPECT_FALSE(disk.make_directory(path("file")));
}

TEST_F(SystemDiskTest, NoRoomHasACodeOfItsOwn) {
  const Result<std::unique_ptr<DiskFile>> file = disk.append("/dev/full");
  ASSERT_TRUE(file);
  const Status status = (*file)->write("x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::full);
}

TEST_F(SystemDiskTest, AnAppendOnlyFileIsWrittenRewrittenAndLoaded) {
  const AofOptions options = {
      .directory = path("appendonlydir"), .sync = AofSync::everysec, .rdb_preamble = false};
  for (int i = 0; i < 3; ++i) {
    Aof aof(disk, options);
    ASSERT_TRUE(aof.open());
    aof.append(i, command({"SET", "k", "v"}));
    ASSERT_TRUE(aof.flush(at(0)));
  }
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  ASSERT_TRUE((*disk.create(*base))->write(command({"SET", "k", "base"})));
  aof.append(4, command({"SET", "k", "w"}));
  ASSERT_TRUE(aof.finish_rewrite());
  ASSERT_TRUE(aof.sync_now());
  EXPECT_EQ(load_aof(disk, options).lines,
            (std::vector<std::string>{"0: SET k base", "4: SET k w"}));
  std::vector<std::string> names = *disk.list(options.directory);
  std::ranges::sort(names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof",
                                      "appendonly.aof.manifest"}));
}

}  // namespace system_disk_test
}  // namespace mayfly
