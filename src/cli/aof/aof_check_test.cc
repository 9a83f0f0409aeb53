// SPDX-License-Identifier: Apache-2.0
// Whole, cut and damaged logs: the damage found, and the log after the cut.

#include "cli/aof/aof_check.h"

#include <gtest/gtest.h>

#include <string>

#include "persist/aof/aof_fixture.h"

namespace mayfly {
namespace aof_check_test {

class AofCheckTest : public ::testing::Test, protected AofFixture {
 protected:
  AofCheckTest() {
    disk.put(manifest_path(options),
             "file appendonly.aof.1.base.aof seq 1 type b\n"
             "file appendonly.aof.1.incr.aof seq 1 type i\n");
    disk.put(base, command({"SET", "a", "1"}));
    disk.put(last, good);
  }

  AofCheckReport check() { return *AofCheck(disk, options).run(); }

  // Cuts, and returns the name of the file with the removed end.
  std::string fix() {
    AofCheck one(disk, options);
    const AofCheckReport report = *one.run();
    return report.damage && report.damage->can_be_cut ? *one.cut(*report.damage) : "";
  }

  const std::string base = path("appendonly.aof.1.base.aof");
  const std::string last = path("appendonly.aof.1.incr.aof");
  const std::string good = "#TS:17\r\n" + command({"MULTI"}) + command({"SET", "b", "2"}) +
                           command({"EXEC"}) + command({"SET", "c", "3"});
};

TEST_F(AofCheckTest, AWholeLogHasNoDamage) {
  const AofCheckReport report = check();
  EXPECT_FALSE(report.damage);
  ASSERT_EQ(report.files.size(), 2u);
  EXPECT_EQ(report.files[0].commands, 1u);
  EXPECT_EQ(report.files[1].commands, 4u);
  EXPECT_EQ(fix(), "");
}

TEST_F(AofCheckTest, EachEndThatIsNotWholeIsFoundAndCut) {
  struct Tail {
    std::string bytes;
    const char* what;
    bool is_harmless;
  };
  const Tail tails[] = {
      {"*3\r\n$3\r\nSE", "a command that is not whole", true},
      {command({"MULTI"}) + command({"SET", "d", "4"}), "a transaction that is not whole", true},
      {std::string(4096, '\0'), "zeros up to the end, as a power cut leaves them", true},
      {"*3\r\n$3\r\nSET\r\n$1\r\nd" + std::string(512, '\0'), "zeros up to the end", true},
      {"garbage" + command({"SET", "d", "4"}), "a command must begin with '*'", false},
      {command({"EXEC"}), "EXEC without MULTI", false},
      {std::string(10, '\0') + command({"SET", "d", "4"}), "a command must begin with '*'", false},
  };
  for (const Tail& tail : tails) {
    SCOPED_TRACE(tail.what);
    disk.put(last, good + tail.bytes);
    const auto damage = check().damage;
    ASSERT_TRUE(damage);
    EXPECT_EQ(damage->at, good.size());
    EXPECT_EQ(damage->bytes, tail.bytes.size());
    EXPECT_NE(damage->what.find(tail.what), std::string::npos) << damage->what;
    EXPECT_EQ(damage->is_harmless, tail.is_harmless);
    const std::string kept = fix();
    ASSERT_NE(kept, "");
    EXPECT_EQ(disk.bytes(last), good);
    EXPECT_EQ(disk.bytes(kept), tail.bytes);
    EXPECT_FALSE(check().damage);
    EXPECT_EQ(load().error, "");
  }
}

TEST_F(AofCheckTest, AServerCutsOffWhatIsHarmlessAndNothingElse) {
  disk.put(last, good + std::string(100, '\0'));
  EXPECT_EQ(load().error, "");
  EXPECT_EQ(disk.bytes(last), good);
  disk.put(last, good + std::string(100, '\0') + "x");
  EXPECT_NE(load().error, "");
}

TEST_F(AofCheckTest, DamageThatIsNotAtTheEndIsNotCut) {
  disk.put(base, command({"SET", "a", "1"}) + "*3\r\n");
  ASSERT_TRUE(check().damage);
  EXPECT_FALSE(check().damage->can_be_cut);
  EXPECT_EQ(fix(), "");
}

TEST_F(AofCheckTest, TheFolderOfAServerThatRunsIsNotTouched) {
  disk.put(last, good + "x");
  disk.lock_elsewhere(options.directory, "a server");
  AofCheck one(disk, options);
  const auto cut = one.cut(*one.run()->damage);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::busy);
  EXPECT_EQ(disk.bytes(last), good + "x");
}

TEST_F(AofCheckTest, TheManifestIsFoundInItsFolder) {
  EXPECT_EQ(find_aof_options(disk, options.directory)->name, options.name);
  EXPECT_EQ(find_aof_options(disk, manifest_path(options))->directory, options.directory);
  EXPECT_EQ(find_aof_options(disk, "data").error().code, Code::not_found);
}

}  // namespace aof_check_test
}  // namespace mayfly
