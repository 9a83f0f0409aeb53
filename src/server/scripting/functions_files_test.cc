// SPDX-License-Identifier: Apache-2.0
// Libraries of functions and effects of scripts in snapshots, in the append-only file, and on
// replicas.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/persistence/persistence_fixture.h"
#include "server/replication/cluster_fixture.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace functions_files_test {

std::string library(const std::string& name, const std::string& text) {
  return "#!lua name=" + name + "\nredis.register_function('f_" + name + "', function() return '" +
         text + "' end)";
}

std::string names_of(Server& server) {
  std::string text;
  for (const auto& [name, unused] : server.parts().scripting.functions().libraries()) {
    text += name + " ";
  }
  return text;
}

class FunctionFilesTest : public RestartFixture {
 protected:
  std::string load(const std::string& code, const std::string& option = "") {
    std::vector<std::string> words = {"FUNCTION", "LOAD"};
    if (!option.empty()) words.push_back(option);
    words.push_back(code);
    const std::string reply = client_->run(words);
    turn();
    return reply;
  }
  void rewrite(bool has_preamble) {
    Config config = config_with(true, "always");
    config.aof_use_rdb_preamble = has_preamble;
    ASSERT_EQ(start(config), "");
    load(library("a", "one"));
    load(library("b", "two"));
    fixture_->holds_children = true;
    EXPECT_NE(run("BGREWRITEAOF").find("started"), std::string::npos);
    load(library("c", "three"));
    fixture_->holds_children = false;
    fixture_->sweep();
    load(library("d", "four"));
    run("FUNCTION DELETE b");
    ASSERT_EQ(restart_after_power_cut(config), "");
    EXPECT_EQ(names_of(server()), "a c d ");
    EXPECT_EQ(run("FCALL f_a 0"), "\"one\"");
    EXPECT_EQ(run("FCALL f_d 0"), "\"four\"");
  }
};

TEST_F(FunctionFilesTest, ASnapshotHasThem) {
  ASSERT_EQ(start(config_with(false)), "");
  load(library("a", "one"));
  load(library("b", "two"));
  run("SET k v");
  EXPECT_EQ(run("SAVE"), "OK");
  load(library("c", "lost"));
  ASSERT_EQ(restart(config_with(false)), "");
  EXPECT_EQ(names_of(server()), "a b ");
  EXPECT_EQ(run("FCALL f_a 0"), "\"one\"");
  EXPECT_EQ(run("FCALL f_b 0"), "\"two\"");
  EXPECT_EQ(run("GET k"), "\"v\"");
  run("FUNCTION FLUSH");
  EXPECT_EQ(run("SAVE"), "OK");
  ASSERT_EQ(restart(config_with(false)), "");
  EXPECT_EQ(names_of(server()), "");
}

TEST_F(FunctionFilesTest, TheAppendOnlyFileHasThem) {
  ASSERT_EQ(start(config_with(true, "always")), "");
  load(library("a", "one"));
  load(library("b", "two"));
  load(library("b", "three"), "REPLACE");
  load(library("c", "four"));
  run("FUNCTION DELETE c");
  ASSERT_EQ(restart_after_power_cut(config_with(true, "always")), "");
  EXPECT_EQ(names_of(server()), "a b ");
  EXPECT_EQ(run("FCALL f_b 0"), "\"three\"");
}

TEST_F(FunctionFilesTest, ARewriteKeepsThem) { rewrite(true); }

TEST_F(FunctionFilesTest, ARewriteWithoutPreambleKeepsThem) { rewrite(false); }

TEST_F(FunctionFilesTest, AScriptIsInTheFileAsAWholeOrNotAtAll) {
  const Config config = config_with(true, "always");
  ASSERT_EQ(start(config), "");
  client_->run({"EVAL", "for i = 1, 3 do redis.call('SET', 'k' .. i, 'one') end", "0"});
  turn();
  const std::string first = disk_.bytes(kFirstIncrement);
  client_->run({"EVAL", "for i = 1, 3 do redis.call('SET', 'k' .. i, 'two') end", "0"});
  turn();
  const std::string both = disk_.bytes(kFirstIncrement);
  ASSERT_GT(both.size(), first.size() + 100);
  for (std::size_t size = first.size(); size <= both.size(); ++size) {
    fixture_.reset();
    disk_.put(kFirstIncrement, both.substr(0, size));
    ASSERT_EQ(start(config), "");
    EXPECT_EQ(run("MGET k1 k2 k3"),
              size < both.size() ? R"(["one", "one", "one"])" : R"(["two", "two", "two"])")
        << size;
  }
}

TEST_F(FunctionFilesTest, AReloadKeepsThem) {
  ASSERT_EQ(start(config_with(false)), "");
  load(library("a", "one"));
  EXPECT_EQ(run("DEBUG RELOAD"), "OK");
  EXPECT_EQ(run("FCALL f_a 0"), "\"one\"");
}

// ---- Replicas ----

class FunctionReplicaTest : public testing::Test {
 protected:
  std::string load(int number, const std::string& code) {
    return cluster.run(number, {"FUNCTION", "LOAD", code});
  }
  std::string names(int number) { return names_of(cluster.server(number)); }

  ClusterFixture cluster{2};
};

TEST_F(FunctionReplicaTest, AFullSyncReplacesAll) {
  load(0, library("a", "one"));
  load(1, library("a", "other"));
  load(1, library("b", "two"));
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(names(1), "a ");
  EXPECT_EQ(cluster.run(1, "FCALL_RO f_a 0"),
            "(error) READONLY You can't write against a read only replica.");
  cluster.server(1).parts().config.replica_read_only = false;
  EXPECT_EQ(cluster.run(1, "FCALL f_a 0"), "\"one\"");
}

TEST_F(FunctionReplicaTest, AFullSyncFromOneWithoutAnyLeavesNone) {
  load(1, library("b", "two"));
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(names(1), "");
}

TEST_F(FunctionReplicaTest, TheStreamHasChanges) {
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  load(0, library("a", "one"));
  load(0, library("b", "two"));
  cluster.run(0, "FUNCTION DELETE a");
  const std::string code =
      "#!lua name=w\nredis.register_function('w', function(keys, args)\n"
      "  for i = 1, 5 do redis.call('SET', keys[1] .. i, args[1], 'PX', 5000) end end)";
  load(0, code);
  cluster.run(0, "FCALL w 1 k v");
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(names(1), "b w ");
  EXPECT_EQ(cluster.run(1, "DBSIZE"), "(integer) 5");
  EXPECT_EQ(cluster.digest(0), cluster.digest(1));
  EXPECT_TRUE(load(1, library("c", "x")).starts_with("(error) READONLY "));
  cluster.run(0, "FUNCTION FLUSH");
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(names(1), "");
}

TEST_F(FunctionReplicaTest, ARestoreOnTheStream) {
  load(0, library("a", "one"));
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  std::string payload = cluster.client(0).send("*2\r\n$8\r\nFUNCTION\r\n$4\r\nDUMP\r\n");
  payload = payload.substr(payload.find("\r\n") + 2);
  payload.resize(payload.size() - 2);
  cluster.run(0, "FUNCTION FLUSH");
  EXPECT_EQ(cluster.run(0, {"FUNCTION", "RESTORE", payload}), "OK");
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(names(1), "a ");
}

}  // namespace functions_files_test
}  // namespace mayfly
