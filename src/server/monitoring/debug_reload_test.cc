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
