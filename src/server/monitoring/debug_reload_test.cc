// SPDX-License-Identifier: Apache-2.0
// DEBUG RELOAD and LOADAOF.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/persistence/persistence_fixture.h"

namespace mayfly {
namespace debug_reload_test {

class DebugReloadTest : public RestartFixture {
 protected:
  void fill() {
    run("SET k v EX 100");
    run("HSETEX h EX 50 FIELDS 2 a 1 b 2");
    run("HSET h c 3");
    run("SELECT 2");
    run("SET l w");
    run("SELECT 0");
  }
};

TEST_F(DebugReloadTest, NothingIsLostOnTheWayToTheFileAndBack) {
  start(config_with(false));
  fill();
  const std::string digest = run("DEBUG DIGEST");
  EXPECT_EQ(run("DEBUG RELOAD"), "OK");
  EXPECT_EQ(run("DEBUG DIGEST"), digest);
  run("SET k other");
  EXPECT_EQ(run("DEBUG RELOAD NOSAVE"), "OK");
  EXPECT_EQ(run("DEBUG DIGEST"), digest);
  for (int i = 0; i < server().parts().keyspace.count(); ++i) {
    EXPECT_EQ(server().parts().keyspace[i].check_invariants(), "");
  }
}

TEST_F(DebugReloadTest, WhatIsDueIsToldToFollowersAfterwards) {
  start(config_with(false));
  run("HSETEX h PX 1000 FIELDS 1 a 1");
  run("HSET h b 2");
  clock_.advance(Millis(1000));
  fixture_->propagated.clear();
  EXPECT_EQ(run("DEBUG RELOAD"), "OK");
  fixture_->sweep();
  EXPECT_EQ(fixture_->propagated, std::vector<std::string>{"0: HDEL h a"});
}

TEST_F(DebugReloadTest, WhatIsThereTwiceIsAnError) {
  start(config_with(false));
  run("SET k v");
  run("SAVE");
  EXPECT_TRUE(run("DEBUG RELOAD NOSAVE NOFLUSH")
                  .starts_with("(error) ERR Error trying to load the RDB dump: cannot load"));
  run("DEL k");
  run("SET l w");
  EXPECT_EQ(run("DEBUG RELOAD NOFLUSH NOSAVE"), "OK");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  run("SET k changed");
  EXPECT_EQ(run("DEBUG RELOAD NOFLUSH NOSAVE MERGE"), "OK");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  EXPECT_TRUE(run("DEBUG RELOAD SOON").starts_with("(error) ERR DEBUG RELOAD only supports"));
}

TEST_F(DebugReloadTest, WithoutAFileNothingIsLost) {
  start(config_with(false));
  run("SET k v");
  EXPECT_TRUE(run("DEBUG RELOAD NOSAVE").starts_with("(error) ERR "));
  EXPECT_EQ(run("GET k"), "\"v\"");
  disk_.fail_next(FakeDisk::Op::create);
  EXPECT_TRUE(run("DEBUG RELOAD").starts_with("(error) ERR "));
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_TRUE(run("DEBUG LOADAOF").starts_with("(error) ERR there is no append-only file"));
}

// Data in memory is dropped only for a good file.
TEST_F(DebugReloadTest, ABadFileLeavesTheDataAlone) {
  start(config_with(false));
  run("SET k v");
  run("SAVE");
  const std::string path = server().parts().config.dir + "/dump.rdb";
  const std::string good = disk_.bytes(path);
  ASSERT_FALSE(good.empty());
  run("SET k newer");
  std::string damaged = good;
  damaged[damaged.size() - 10] ^= 1;
  for (const std::string& bad :
       {std::string("REDIS0011\xff"), std::string(), std::string("no such thing"),
        "REDIS0099" + good.substr(9), "VALKEY099" + good.substr(9), good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 4), damaged}) {
    disk_.put(path, bad);
    for (const char* const request : {"DEBUG RELOAD NOSAVE", "DEBUG RELOAD NOSAVE NOFLUSH MERGE"}) {
      EXPECT_TRUE(run(request).starts_with("(error) ERR Error trying to load the RDB dump"));
      EXPECT_EQ(run("GET k"), "\"newer\"") << request;
    }
  }
  disk_.put(path, good);
  EXPECT_EQ(run("DEBUG RELOAD NOSAVE"), "OK");
  EXPECT_EQ(run("GET k"), "\"v\"");
}

TEST_F(DebugReloadTest, ABadBaseOfTheLogLeavesTheDataAlone) {
  start(config_with(true));
  run("SET k v");
  run("BGREWRITEAOF");
  turn();
  const Result<AofFiles> files = find_aof(disk_, server().parts().persistence.aof().options());
  ASSERT_TRUE(files && files->manifest && files->manifest->base);
  disk_.put(files->path(server().parts().persistence.aof().options(), *files->manifest->base),
            "REDIS0011\xff");
  EXPECT_TRUE(run("DEBUG LOADAOF").starts_with("(error) ERR cannot load "));
  EXPECT_EQ(run("GET k"), "\"v\"");
}

TEST_F(DebugReloadTest, TheLogSaysWhatIsInMemory) {
  start(config_with(true));
  fill();
  client_->run("HINCRBY h a 1");
  const std::string digest = run("DEBUG DIGEST");
  EXPECT_EQ(run("DEBUG LOADAOF"), "OK");
  EXPECT_EQ(run("DEBUG DIGEST"), digest);
  run("BGREWRITEAOF");
  run("SET later v");
  EXPECT_EQ(run("DEBUG LOADAOF"), "OK");
  EXPECT_EQ(run("GET later"), "\"v\"");
}

TEST_F(DebugReloadTest, AfterAReloadOfSomethingElseTheLogBeginsAnew) {
  start(config_with(true));
  run("SET k v");
  run("SAVE");
  run("SET k w");
  EXPECT_EQ(run("DEBUG RELOAD NOSAVE"), "OK");
  turn();
  EXPECT_EQ(restart(config_with(true)), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
}

}  // namespace debug_reload_test
}  // namespace mayfly
