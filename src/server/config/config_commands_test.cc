// SPDX-License-Identifier: Apache-2.0
// CONFIG through a client.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/stats.h"
#include "server/persistence/persistence.h"

namespace mayfly {
namespace config_commands_test {

class ConfigCommandsTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(ConfigCommandsTest, GetsByNamesAndPatternsOnceEach) {
  EXPECT_EQ(run("CONFIG GET maxmemory"), R"(["maxmemory", "0"])");
  EXPECT_EQ(run("CONFIG GET MAXMEMORY maxmemory-p* maxmemory-policy"),
            R"(["MAXMEMORY", "0", "maxmemory-policy", "noeviction"])");
  EXPECT_EQ(run("CONFIG GET nosuch"), "[]");
  EXPECT_EQ(run("CONFIG GET hash-max-*-value"),
            R"(["hash-max-listpack-value", "64", "hash-max-ziplist-value", "64"])");
  run("HELLO 3");
  EXPECT_EQ(run("CONFIG GET port"), R"({"port": "6379"})");
}

TEST_F(ConfigCommandsTest, AnswersForDirectivesThatHaveNoEffect) {
  EXPECT_EQ(run("CONFIG GET cluster-enabled"), R"(["cluster-enabled", "no"])");
  EXPECT_EQ(run("CONFIG SET appendfsync always"), "OK");
  EXPECT_EQ(run("CONFIG GET appendfsync"), R"(["appendfsync", "always"])");
}

TEST_F(ConfigCommandsTest, WarnsOfWhatHasNoEffectAndRefusesWhatWouldChangeSafety) {
  EXPECT_EQ(run("CONFIG SET activedefrag yes timeout 5 LFU-decay-time 2"), "OK");
  EXPECT_EQ(fixture_.lines.back(),
            "CONFIG SET: Settings without effect here: activedefrag, lfu-decay-time");
  EXPECT_EQ(run("CONFIG SET tls-port 6380"),
            "(error) ERR CONFIG SET failed (possibly related to argument 'tls-port') - this server "
            "has no TLS and would send plain text (leave it out, and put a tunnel in front of the "
            "server)");
  EXPECT_EQ(run("CONFIG SET propagation-error-behavior panic"),
            "(error) ERR CONFIG SET failed (possibly related to argument "
            "'propagation-error-behavior') - it has no effect in Mayfly, and the server would be "
            "less safe than with it in Valkey");
  EXPECT_EQ(run("CONFIG GET tls-port"), R"(["tls-port", "0"])");
  EXPECT_EQ(run("CONFIG SET tls-port 0"), "OK") << "as it is";
}

TEST_F(ConfigCommandsTest, AFolderOfAnotherServerIsRefusedAsDir) {
  fixture_.server().parts().config.enable_protected_configs = "yes";
  const std::string other = std::filesystem::temp_directory_path().string();
  fixture_.fake_disk().lock_elsewhere(other, "process 9, port 7000");
  EXPECT_TRUE(fixture_.server().parts().persistence.directory().take());
  const std::string reply = client_.run({"CONFIG", "SET", "dir", other});
  EXPECT_NE(reply.find("in use by process 9, port 7000"), std::string::npos) << reply;
  EXPECT_EQ(fixture_.server().parts().config.dir, ".");
  EXPECT_TRUE(fixture_.fake_disk().is_locked("."));

  fixture_.fake_disk().lock_elsewhere(other, std::nullopt);
  fixture_.holds_children = true;
  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  EXPECT_EQ(client_.run({"CONFIG", "SET", "dir", other}), "OK");
  fixture_.server().before_sleep();
  EXPECT_TRUE(fixture_.fake_disk().is_locked(other));
  EXPECT_TRUE(fixture_.fake_disk().is_locked(".")) << "while a child writes there";
  fixture_.holds_children = false;
  fixture_.server().before_sleep();
  fixture_.server().before_sleep();
  EXPECT_FALSE(fixture_.fake_disk().is_locked("."));
}

TEST_F(ConfigCommandsTest, SetsSeveralAndPutsThemIntoEffect) {
  EXPECT_EQ(run("CONFIG SET hash-max-listpack-entries 2 timeout 5"), "OK");
  EXPECT_EQ(fixture_.server().parts().config.timeout, 5);
  run("HSET h a 1 b 2 c 3");
  EXPECT_EQ(run("OBJECT ENCODING h"), R"("hashtable")");
}

TEST_F(ConfigCommandsTest, SetsAllOrNone) {
  EXPECT_EQ(run("CONFIG SET timeout 5 hz abc"),
            "(error) ERR CONFIG SET failed (possibly related to argument 'hz') - argument couldn't "
            "be parsed into an integer");
  EXPECT_EQ(run("CONFIG SET timeout 5 nosuch 1"),
            "(error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'");
  EXPECT_EQ(run("CONFIG SET timeout 5 TIMEOUT 6"),
            "(error) ERR CONFIG SET failed (possibly related to argument 'TIMEOUT') - duplicate "
            "parameter");
  EXPECT_EQ(run("CONFIG SET timeout 5 hz"),
            "(error) ERR wrong number of arguments for 'config|set' command");
  EXPECT_EQ(fixture_.server().parts().config.timeout, 0);
}

TEST_F(ConfigCommandsTest, RefusesWhatIsFixedOrProtected) {
  EXPECT_EQ(run("CONFIG SET databases 3"),
            "(error) ERR CONFIG SET failed (possibly related to argument 'databases') - can't set "
            "immutable config");
  EXPECT_EQ(run("CONFIG SET dir /"),
            "(error) ERR CONFIG SET failed (possibly related to argument 'dir') - can't set "
            "protected config");
  fixture_.server().parts().config.enable_protected_configs = "local";
  EXPECT_EQ(run("CONFIG SET dir /"), "OK");
}

TEST_F(ConfigCommandsTest, ResetstatCountsAnew) {
  run("SET k v PX 1");
  fixture_.advance(Millis(1));
  run("GET k");
  EXPECT_EQ(fixture_.server().parts().keyspace.stats().expired_keys, 1u);
  EXPECT_EQ(run("CONFIG RESETSTAT"), "OK");
  EXPECT_EQ(fixture_.server().parts().keyspace.stats().expired_keys, 0u);
  EXPECT_EQ(fixture_.server().parts().stats.misses, 0u);
  EXPECT_EQ(fixture_.server().parts().stats.commands, 1u);  // itself
}

TEST_F(ConfigCommandsTest, WhatIsForTestsIsShownByItsNameOnly) {
  EXPECT_EQ(run("CONFIG GET key-load-delay"), R"(["key-load-delay", "0"])");
  EXPECT_EQ(run("CONFIG GET *load-delay"), "[]");
  EXPECT_EQ(run("CONFIG GET *").find("dynamic-hz"), std::string::npos);
}

TEST_F(ConfigCommandsTest, RewriteNeedsAFile) {
  EXPECT_EQ(run("CONFIG REWRITE"), "(error) ERR The server is running without a config file");
}

TEST_F(ConfigCommandsTest, RewriteWritesTheFile) {
  std::string directory = testing::TempDir() + "mayfly-config-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string file = directory + "/a.conf";
  std::ofstream(file) << "hz 10\n";
  fixture_.server().parts().config.file = file;
  run("CONFIG SET hz 50");
  EXPECT_EQ(run("CONFIG REWRITE"), "OK");
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}).substr(0, 6), "hz 50\n");
  std::filesystem::remove_all(directory);
}

TEST_F(ConfigCommandsTest, HelpIsLines) {
  EXPECT_TRUE(run("CONFIG HELP").starts_with("[CONFIG <subcommand> [<arg> [value] [opt] ...]."));
  EXPECT_TRUE(run("CONFIG HELP").ends_with("HELP,     Prints this help.]"));
}

}  // namespace config_commands_test
}  // namespace mayfly
