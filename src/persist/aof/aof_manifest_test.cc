// SPDX-License-Identifier: Apache-2.0
// The manifest of the append-only file: its text, and what is found on a disk.

#include "persist/aof/aof_manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "persist/disk/fake_disk.h"

namespace mayfly {
namespace aof_manifest_test {

constexpr std::string_view kText =
    "file appendonly.aof.2.base.rdb seq 2 type b\n"
    "file appendonly.aof.1.incr.aof seq 1 type h\n"
    "file appendonly.aof.2.incr.aof seq 2 type i\n"
    "file appendonly.aof.3.incr.aof seq 3 type i\n";

std::string error_of(std::string_view text) {
  const Result<AofManifest> manifest = parse_manifest(text);
  return manifest ? std::string("none") : manifest.error().message;
}

TEST(AofManifest, ReadsWhatRedisWrites) {
  const Result<AofManifest> manifest = parse_manifest(kText);
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->base, (AofPart{"appendonly.aof.2.base.rdb", 2, 'b'}));
  ASSERT_EQ(manifest->history.size(), 1u);
  EXPECT_EQ(manifest->increments.back(), (AofPart{"appendonly.aof.3.incr.aof", 3, 'i'}));
  EXPECT_EQ(format_manifest(*manifest), kText);
}

TEST(AofManifest, SkipsCommentsAndWordsItDoesNotKnow) {
  const Result<AofManifest> manifest = parse_manifest(
      "# by hand\nfile a seq 1 type b\r\nfile \"b c\\x01\" seq 1 type i startoffset 17\n");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->base->name, "a");
  EXPECT_EQ(manifest->increments.front().name, "b c\x01");
}

TEST(AofManifest, RefusesWhatItCannotTrust) {
  EXPECT_EQ(error_of(""), "the manifest names no file");
  EXPECT_EQ(error_of("# nothing\n"), "the manifest names no file");
  EXPECT_EQ(error_of("file a seq 1 type b\nfile b seq 2 type b\n"),
            "line 2 of the manifest: there is a second base");
  EXPECT_EQ(error_of("file a seq 2 type i\nfile b seq 2 type i\n"),
            "line 2 of the manifest: increment 2 comes after 2");
  EXPECT_EQ(error_of("file ../a seq 1 type b\n"),
            "line 1 of the manifest: \"../a\" is not the name of a file");
  EXPECT_EQ(error_of("file a seq 0 type b\n"),
            "line 1 of the manifest: \"0\" is not a sequence number");
  EXPECT_EQ(error_of("file a seq 1 type x\n"),
            "line 1 of the manifest: \"x\" is not a type of file");
  EXPECT_EQ(error_of("file a seq 1\n"), "line 1 of the manifest: it has no type");
  EXPECT_EQ(error_of("file a seq 1 type\n"), "line 1 of the manifest: a word has no value");
  EXPECT_EQ(error_of("file \"a seq 1 type b\n"),
            "line 1 of the manifest: its quotes are not balanced");
  EXPECT_EQ(error_of("file a seq 1 type b\n\n"), "line 2 of the manifest: it names no file");
}

TEST(AofManifest, NumbersGoOnFromTheGreatest) {
  const AofManifest manifest = *parse_manifest(kText);
  EXPECT_EQ(manifest.next_base("x.aof", true).name, "x.aof.3.base.rdb");
  EXPECT_EQ(manifest.next_base("x.aof", false).name, "x.aof.3.base.aof");
  EXPECT_EQ(manifest.next_increment("x.aof"), (AofPart{"x.aof.4.incr.aof", 4, 'i'}));
  EXPECT_EQ(AofManifest{}.next_increment("x.aof"), (AofPart{"x.aof.1.incr.aof", 1, 'i'}));
}

TEST(AofManifest, AnyNameIsReadBackAsItWasWritten) {
  EXPECT_TRUE(rc::check([] {
    auto name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    std::ranges::replace(name, '/', ' ');
    RC_PRE(name != "." && name != "..");
    AofManifest manifest;
    manifest.base = AofPart{name, 1, 'b'};
    const Result<AofManifest> again = parse_manifest(format_manifest(manifest));
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == manifest);
  }));
}

TEST(AofManifest, DamageIsAnErrorOrAnotherManifestButNeverACrash) {
  EXPECT_TRUE(rc::check([] {
    std::string text(kText);
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      text[at] = *rc::gen::arbitrary<char>();
    }
    const Result<AofManifest> manifest = parse_manifest(text);
    if (manifest) RC_ASSERT(*parse_manifest(format_manifest(*manifest)) == *manifest);
  }));
}

class FindAof : public ::testing::Test {
 protected:
  AofFiles find() {
    Result<AofFiles> files = find_aof(disk, options);
    EXPECT_TRUE(files);
    return files ? *files : AofFiles{};
  }

  FakeDisk disk;
  AofOptions options = {.directory = "data/aof"};
};

TEST_F(FindAof, NothingIsNoLog) { EXPECT_FALSE(find().manifest); }

TEST_F(FindAof, AFileOfAnOldRedisIsTheBase) {
  disk.put("data/appendonly.aof", "");
  const AofFiles files = find();
  EXPECT_TRUE(files.is_old);
  EXPECT_EQ(files.path(options, *files.manifest->base), "data/appendonly.aof");
}

TEST_F(FindAof, AnOldFileThatWasNotMovedYetIsFoundWhereItIs) {
  disk.put("data/appendonly.aof", "");
  disk.put("data/aof/appendonly.aof.manifest", "file appendonly.aof seq 1 type b\n");
  EXPECT_TRUE(find().is_old);
  disk.put("data/aof/appendonly.aof", "");
  EXPECT_FALSE(find().is_old);
}

TEST_F(FindAof, AnOldFileBesideANewLogIsLeftAlone) {
  disk.put("data/appendonly.aof", "");
  disk.put("data/aof/appendonly.aof.manifest", std::string(kText));
  const AofFiles files = find();
  EXPECT_FALSE(files.is_old);
  EXPECT_EQ(files.path(options, *files.manifest->base), "data/aof/appendonly.aof.2.base.rdb");
}

TEST_F(FindAof, AManifestThatCannotBeReadIsAnErrorWithItsPath) {
  disk.put("data/aof/appendonly.aof.manifest", "");
  const Result<AofFiles> files = find_aof(disk, options);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().message, "data/aof/appendonly.aof.manifest: the manifest names no file");
}

TEST(ParentDirectory, IsWhatComesBeforeTheLastSlash) {
  EXPECT_EQ(parent_directory("a/b/c"), "a/b");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("a"), ".");
}

}  // namespace aof_manifest_test
}  // namespace mayfly
