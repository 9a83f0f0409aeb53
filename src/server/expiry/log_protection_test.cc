// SPDX-License-Identifier: Apache-2.0
// Which requests may name the expiry log.

#include "server/expiry/log_protection.h"

#include <gtest/gtest.h>

#include "server/expiry/expiry_log_fixture.h"

namespace mayfly {
namespace log_protection_test {

class LogProtectionTest : public testing::Test, protected ServerFixture {
 protected:
  LogProtectionTest() : ServerFixture(logging_config()) {
    client.run("SET a v");
    client.run("EXPIRE a -1");
    client.run("SET other v");
  }
  bool is_refused(const std::string& line) {
    return client.run(line) == std::string("(error) ") + kLogProtectedReply;
  }
  TestClient& client = connect();
};

TEST_F(LogProtectionTest, WhatWritesItIsRefused) {
  for (const char* line : {"XADD __expired__ * a b",
                           "XDEL __expired__ 1-1",
                           "XTRIM __expired__ MAXLEN 0",
                           "XSETID __expired__ 9-9",
                           "DEL __expired__",
                           "DEL other __expired__",
                           "UNLINK __expired__ other",
                           "EXPIRE __expired__ 10",
                           "PEXPIREAT __expired__ 10",
                           "PERSIST __expired__",
                           "SET __expired__ v",
                           "MSET x 1 __expired__ 2",
                           "GETDEL __expired__",
                           "GETEX __expired__ EX 5",
                           "APPEND __expired__ x",
                           "RENAME __expired__ y",
                           "RENAME other __expired__",
                           "RENAMENX other __expired__",
                           "COPY other __expired__",
                           "COPY other __expired__ DB 3",
                           "MOVE __expired__ 2",
                           "RESTORE __expired__ 0 x REPLACE",
                           "SORT x STORE __expired__",
                           "HSET __expired__ f v",
                           "LPUSH __expired__ x",
                           "SADD __expired__ x",
                           "SUNIONSTORE __expired__ x y",
                           "ZADD __expired__ 1 x",
                           "ZRANGESTORE __expired__ x 0 -1",
                           "BITOP NOT __expired__ other",
                           "PFMERGE __expired__ x",
                           "GEORADIUS x 1 1 1 m STORE __expired__",
                           "LMOVE x __expired__ LEFT LEFT",
                           "MSETEX 1 __expired__ v EX 5",
                           "BLMOVE x __expired__ LEFT LEFT 0"}) {
    EXPECT_TRUE(is_refused(line)) << line;
  }
  EXPECT_EQ(log_of(server()).size(), 1u);
  EXPECT_EQ(client.run("EXISTS other"), "(integer) 1") << "a refused command does nothing";
}

TEST_F(LogProtectionTest, WhatReadsItOrItsGroupsIsAllowed) {
  client.run("XGROUP CREATE __expired__ g 0");
  for (const char* line : {"XLEN __expired__",
                           "XRANGE __expired__ - +",
                           "XREVRANGE __expired__ + -",
                           "XREAD STREAMS __expired__ 0",
                           "XREADGROUP GROUP g me STREAMS __expired__ >",
                           "XPENDING __expired__ g",
                           "XACK __expired__ g 1-1",
                           "XCLAIM __expired__ g you 0 1-1",
                           "XAUTOCLAIM __expired__ g you 0 0",
                           "XINFO STREAM __expired__",
                           "TYPE __expired__",
                           "XGROUP CREATECONSUMER __expired__ g it",
                           "XGROUP DELCONSUMER __expired__ g it",
                           "XGROUP SETID __expired__ g 0",
                           "XGROUP DESTROY __expired__ g",
                           "DUMP __expired__",
                           "OBJECT ENCODING __expired__",
                           "TOUCH __expired__",
                           "COPY __expired__ copied",
                           "SET key __expired__",
                           "SADD set __expired__",
                           "EVAL return(1) 1 __expired__"}) {
    EXPECT_EQ(client.run(line).find("error"), std::string::npos) << line;
  }
  EXPECT_EQ(client.run("GET __expired__"),
            "(error) WRONGTYPE Operation against a key holding the wrong kind of value");
}

TEST_F(LogProtectionTest, TransactionsAndScriptsAreNoWayAround) {
  client.run("MULTI");
  EXPECT_EQ(client.run("SET x 1"), "QUEUED");
  EXPECT_TRUE(is_refused("DEL __expired__")) << "when it is queued";
  EXPECT_EQ(client.run("XLEN __expired__"), "QUEUED");
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(client.run("EXISTS x"), "(integer) 0");
  const std::string refused =
      client.run({"EVAL", "return redis.call('DEL', KEYS[1])", "1", "__expired__"});
  EXPECT_NE(refused.find("is the expiry log"), std::string::npos) << refused;
  EXPECT_EQ(client.run({"EVAL", "return redis.call('XLEN', KEYS[1])", "1", "__expired__"}),
            "(integer) 1");
}

// A key of another type, which came before the log, may be changed; so EXEC finds out.
TEST_F(LogProtectionTest, ATransactionMaySelectADatabaseWithAnotherKeyOfThatName) {
  client.run("CONFIG SET expiry-log no");
  client.run("SELECT 3");
  client.run("SET __expired__ v");
  client.run("SELECT 0");
  server().parts().config.expiry_log = true;  // as if the key had come with the data
  client.run("MULTI");
  EXPECT_EQ(client.run("DEL __expired__"), "QUEUED");
  client.run("SELECT 3");
  EXPECT_EQ(client.run("DEL __expired__"), "QUEUED");
  EXPECT_EQ(client.run("EXEC"),
            std::string("[(error) ") + kLogProtectedReply + ", OK, (integer) 1]");
}

TEST_F(LogProtectionTest, AGroupCanBeMadeBeforeTheFirstEntry) {
  client.run("SELECT 5");
  EXPECT_EQ(client.run("XGROUP CREATE __expired__ g 0 MKSTREAM"), "OK");
  client.run("SET a v");
  client.run("EXPIRE a -1");
  EXPECT_NE(client.run("XREADGROUP GROUP g me STREAMS __expired__ >").find("\"key\", \"a\""),
            std::string::npos);
}

TEST_F(LogProtectionTest, WithoutTheLogItIsAnOrdinaryKey) {
  client.run("CONFIG SET expiry-log no");
  EXPECT_EQ(client.run("XADD __expired__ 1-1 a b").find("ERR The ID"), 8u);
  EXPECT_EQ(client.run("SET __expired__ v"), "OK");
}

}  // namespace log_protection_test
}  // namespace mayfly
