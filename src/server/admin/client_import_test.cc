// SPDX-License-Identifier: Apache-2.0
// Import mode: nothing expires by itself, the source of the import sees what is due, and replicas
// stay as the primary is. And what goes to replicas when commands meet what is due.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace client_import_test {

using Lines = std::vector<std::string>;

class ImportTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }
  std::size_t stored() { return fixture_.server().parts().keyspace[0].stored(); }
  Lines propagated() { return std::exchange(fixture_.propagated, {}); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
  TestClient& source_ = fixture_.connect();
};

TEST_F(ImportTest, AClientIsASourceOnlyInImportMode) {
  EXPECT_EQ(run("CLIENT IMPORT-SOURCE ON"), "(error) ERR Server is not in import mode");
  EXPECT_EQ(run("CLIENT IMPORT-SOURCE OFF"), "OK");
  EXPECT_EQ(run("CONFIG SET import-mode yes"), "OK");
  EXPECT_EQ(run("CLIENT IMPORT-SOURCE ON"), "OK");
  EXPECT_NE(run("CLIENT INFO").find(" flags=I "), std::string::npos);
  EXPECT_EQ(run("CLIENT IMPORT-SOURCE maybe"), "(error) ERR syntax error");
  run("RESET");
  EXPECT_NE(run("CLIENT INFO").find(" flags=N "), std::string::npos);
}

TEST_F(ImportTest, NothingExpiresByItself) {
  run("CONFIG SET import-mode yes");
  run("SET a 1 PX 10");
  run("HSETEX h PX 10 FIELDS 1 f v");
  fixture_.advance(Millis(20));
  fixture_.sweep();
  EXPECT_EQ(run("GET a"), "(nil)");
  EXPECT_EQ(run("TTL a"), "(integer) -2");
  EXPECT_EQ(run("HGET h f"), "(nil)");
  EXPECT_EQ(run("KEYS *"), "[]");
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");  // they are there, and nobody removes them
  EXPECT_EQ(stored(), 2u);
  run("CONFIG SET import-mode no");
  fixture_.sweep();
  EXPECT_EQ(stored(), 0u);
}

TEST_F(ImportTest, TheSourceSeesWhatIsDue) {
  run("CONFIG SET import-mode yes");
  source_.run("CLIENT IMPORT-SOURCE ON");
  source_.run("SET a 1 PX 10");
  fixture_.advance(Millis(20));
  EXPECT_EQ(source_.run("TTL a"), "(integer) 0");
  EXPECT_EQ(source_.run("INCR a"), "(integer) 2");
  EXPECT_EQ(source_.run("RANDOMKEY"), "\"a\"");
  EXPECT_EQ(source_.run("SCAN 0"), "[\"0\", [\"a\"]]");
  EXPECT_EQ(source_.run("KEYS *"), "[\"a\"]");
  EXPECT_EQ(run("GET a"), "(nil)");
  EXPECT_EQ(source_.run("GET a"), "\"2\"");
  source_.run("CLIENT IMPORT-SOURCE OFF");
  EXPECT_EQ(source_.run("GET a"), "(nil)");
}

TEST_F(ImportTest, DeadlinesInThePastAreGivenAsTheyAre) {
  run("CONFIG SET import-mode yes");
  run("SET a 1");
  EXPECT_EQ(run("EXPIREAT a -1"), "(integer) 1");
  EXPECT_EQ(run("SET b 1 PXAT 5"), "OK");
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");
  EXPECT_EQ(run("EXISTS a b"), "(integer) 0");
  EXPECT_EQ(propagated().back(), "0: SET b 1 PXAT 5");
}

// A replica has the old value, and would add to it.
TEST_F(ImportTest, AWriteToWhatIsDueRemovesItFirst) {
  run("CONFIG SET import-mode yes");
  run("SET a 5 PX 10");
  fixture_.advance(Millis(20));
  propagated();
  EXPECT_EQ(run("INCR a"), "(integer) 1");
  EXPECT_EQ(propagated(), (Lines{"0: MULTI", "0: UNLINK a", "0: INCR a", "0: EXEC"}));
}

TEST_F(ImportTest, NothingIsEvicted) {
  run("SET a 1");
  run("CONFIG SET maxmemory-policy allkeys-lru");
  run("CONFIG SET import-mode yes");
  run("CONFIG SET maxmemory 1");
  EXPECT_EQ(run("GET a"), "\"1\"");
  EXPECT_TRUE(run("SET b 1").starts_with("(error) OOM"));
  EXPECT_EQ(run("DEL a"), "(integer) 1");
}

// ---- What is due, to replicas ----

TEST_F(ImportTest, RemovalsOfOneScanTravelOneByOne) {
  run("DEBUG SET-ACTIVE-EXPIRE 0");
  run("SET a 1 PX 1");
  run("SET b 1 PX 1");
  fixture_.advance(Millis(2));
  propagated();
  run("SCAN 0");
  Lines lines = propagated();
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (Lines{"0: UNLINK a", "0: UNLINK b"}));
}

TEST_F(ImportTest, RemovalsOfOneRandomkeyTravelOneByOne) {
  run("DEBUG SET-ACTIVE-EXPIRE 0");
  run("CONFIG SET lazyfree-lazy-expire no");
  run("SET a 1 PX 1");
  run("SET b 1 PX 1");
  fixture_.advance(Millis(2));
  propagated();
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
  Lines lines = propagated();
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (Lines{"0: DEL a", "0: DEL b"}));
}

TEST_F(ImportTest, RemovalsOfOneMgetTravelTogether) {
  run("DEBUG SET-ACTIVE-EXPIRE 0");
  run("SET a 1 PX 1");
  run("SET b 1 PX 1");
  fixture_.advance(Millis(2));
  propagated();
  run("MGET a b");
  EXPECT_EQ(propagated(), (Lines{"0: MULTI", "0: UNLINK a", "0: UNLINK b", "0: EXEC"}));
}

TEST_F(ImportTest, ATimeInThePastTravelsAsTheSettingSays) {
  run("SET a 1");
  propagated();
  EXPECT_EQ(run("GETEX a PXAT 1"), "\"1\"");
  EXPECT_EQ(propagated(), Lines{"0: UNLINK a"});
  run("CONFIG SET lazyfree-lazy-expire no");
  run("MSET a 1 b 1 c 1");
  propagated();
  run("GETEX a EXAT 1");
  run("EXPIRE b -1");
  run("SET c 1 PXAT 1");
  EXPECT_EQ(propagated(), (Lines{"0: DEL a", "0: DEL b", "0: DEL c"}));
}

TEST_F(ImportTest, ASetThatSpopEmptiesTravelsAsTheSettingSays) {
  run("SADD a 1 2");
  run("SADD b 1 2");
  propagated();
  run("SPOP a 2");
  run("CONFIG SET lazyfree-lazy-server-del no");
  run("SPOP b 2");
  EXPECT_EQ(propagated(), (Lines{"0: UNLINK a", "0: DEL b"}));
}

}  // namespace client_import_test
}  // namespace mayfly
