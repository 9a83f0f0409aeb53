// SPDX-License-Identifier: Apache-2.0
// A backup that was put beside an append-only file causes a warning, and is never overwritten.

#include "server/persistence/aside/files_aside.h"

#include <gtest/gtest.h>

#include <string>

#include "server/monitoring/stats.h"
#include "server/persistence/persistence_fixture.h"

namespace mayfly {
namespace files_aside_test {

constexpr const char* kDump = "./dump.rdb";
constexpr const char* kKept = "./dump.rdb.not-loaded-1";

class FilesAsideTest : public RestartFixture {
 protected:
  FilesAsideTest() { both_.save = {{3600, 1}}; }

  // A dump of one key, of another server.
  std::string backup() {
    FakeDisk other;
    ServerFixture server(plain_, &clock_, &other);
    server.connect().run("SET precious 1");
    server.connect().run("SAVE");
    return other.bytes(kDump);
  }
  void end() { ASSERT_TRUE(persistence().shut_down(persistence().saves_at_end())); }

  const Config plain_ = config_with(false);
  Config both_ = config_with(true);  // and snapshots
};

TEST_F(FilesAsideTest, ARestoredDumpBesideALogIsKept) {
  ASSERT_EQ(start(both_), "");
  run("SET a 1");
  run("DEL a");
  end();
  const std::string precious = backup();
  disk_.put(kDump, precious);
  ASSERT_EQ(start(both_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_TRUE(log_has("'./dump.rdb' is not loaded, as there is an append-only file"));
  end();
  EXPECT_EQ(disk_.bytes(kDump), precious) << "there is nothing new to save";
  ASSERT_EQ(start(both_), "");
  run("SET b 1");
  end();
  EXPECT_EQ(disk_.bytes(kKept), precious);
  EXPECT_NE(disk_.bytes(kDump), precious);
}

TEST_F(FilesAsideTest, ItsOwnDumpIsNoneToKeep) {
  ASSERT_EQ(start(both_), "");
  for (int i = 0; i < 3; ++i) {
    run("SET a " + std::to_string(i));
    end();
    ASSERT_EQ(start(both_), "");
    EXPECT_FALSE(log_has("is not loaded")) << i;
  }
  run("SET a 7");
  run("SAVE");
  ASSERT_EQ(restart(both_), "") << "killed";
  EXPECT_FALSE(log_has("is not loaded"));
  EXPECT_FALSE(disk_.exists(kKept));
}

TEST_F(FilesAsideTest, ADumpThatWasLoadedBeforeTheLogBeganIsNoneToKeep) {
  disk_.put(kDump, backup());
  ASSERT_EQ(start(both_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
  ASSERT_EQ(restart(both_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
  EXPECT_FALSE(log_has("is not loaded"));
}

TEST_F(FilesAsideTest, ALogThatIsNotLoadedIsToldOf) {
  ASSERT_EQ(start(both_), "");
  run("SET a 1");
  ASSERT_EQ(restart(plain_), "");
  EXPECT_TRUE(log_has("There is an append-only file in './appendonlydir', and appendonly is 'no'"));
  EXPECT_TRUE(disk_.exists(kManifest));
}

// The advice to switch it on must not cost the only file that has the data.
TEST_F(FilesAsideTest, ALogThatIsNotLoadedIsKeptWhenAnotherBegins) {
  const Config logged = config_with(true, "always");
  ASSERT_EQ(start(logged), "");
  run("SET a 1");
  ASSERT_EQ(restart(plain_), "");
  EXPECT_EQ(run("GET a"), "(nil)");
  EXPECT_TRUE(log_has("keeps this one in './appendonlydir.not-loaded-N'"));
  EXPECT_EQ(run("CONFIG SET appendonly yes"), "OK");
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_TRUE(persistence().aof().log()->is_in_force());
  EXPECT_TRUE(log_has("is kept in './appendonlydir.not-loaded-1'"));
  run("SET b 1");
  Config kept = logged;
  kept.appenddirname = "appendonlydir.not-loaded-1";
  ASSERT_EQ(restart(kept), "");
  EXPECT_EQ(run("MGET a b"), R"(["1", (nil)])");
  ASSERT_EQ(restart(logged), "");
  EXPECT_EQ(run("MGET a b"), R"([(nil), "1"])");
}

TEST_F(FilesAsideTest, ADamagedLogNamesTheCommandThatHelps) {
  disk_.put(kManifest, "file appendonly.aof.1.incr.aof seq 1 type i\n");
  disk_.put(kFirstIncrement, "garbage");
  const std::string why = start(both_);
  EXPECT_NE(why.find("mayfly aof './appendonlydir'"), why.npos) << why;
  EXPECT_NE(why.find("--fix"), why.npos) << why;
}

}  // namespace files_aside_test
}  // namespace mayfly
