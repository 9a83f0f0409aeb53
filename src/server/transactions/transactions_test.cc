// SPDX-License-Identifier: Apache-2.0
// MULTI, EXEC and WATCH.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/loading.h"

namespace mayfly {
namespace transactions_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class TransactionTest : public testing::Test, protected ServerFixture {
 protected:
  TestClient& client = connect();
  TestClient& other = connect();
};

TEST_F(TransactionTest, RunsWhatWasQueuedAtOnce) {
  EXPECT_EQ(client.run("MULTI"), "OK");
  EXPECT_EQ(client.run("SET k 1"), "QUEUED");
  EXPECT_EQ(client.run("INCR k"), "QUEUED");
  EXPECT_EQ(other.run("GET k"), "(nil)");
  EXPECT_EQ(client.run("EXEC"), "[OK, (integer) 2]");
  EXPECT_EQ(client.run("EXEC"), "(error) ERR EXEC without MULTI");
}

TEST_F(TransactionTest, AnErrorOfOneCommandLeavesTheOthers) {
  client.run("SET s v");
  client.run("MULTI");
  client.run("HSET s f v");
  client.run("SET t 1");
  EXPECT_EQ(client.run("EXEC"),
            "[(error) WRONGTYPE Operation against a key holding the wrong kind of value, OK]");
}

TEST_F(TransactionTest, IsRefusedAfterACommandThatCouldNotBeQueued) {
  client.run("MULTI");
  EXPECT_EQ(client.run("NOSUCH"),
            "(error) ERR unknown command 'NOSUCH', with args beginning with: ");
  client.run("SET k 1");
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(client.run("GET k"), "(nil)");
}

TEST_F(TransactionTest, WrongNumbersOfArgumentsBreakItToo) {
  client.run("MULTI");
  EXPECT_EQ(client.run("GET"), "(error) ERR wrong number of arguments for 'get' command");
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of previous errors.");
}

TEST_F(TransactionTest, DiscardForgetsAll) {
  client.run("MULTI");
  client.run("SET k 1");
  EXPECT_EQ(client.run("DISCARD"), "OK");
  EXPECT_EQ(client.run("GET k"), "(nil)");
  EXPECT_EQ(client.run("DISCARD"), "(error) ERR DISCARD without MULTI");
}

TEST_F(TransactionTest, CannotBeNestedAndCannotWatch) {
  client.run("MULTI");
  EXPECT_EQ(client.run("MULTI"), "(error) ERR Command 'multi' not allowed inside a transaction");
  EXPECT_EQ(client.run("WATCH k"), "(error) ERR Command 'watch' not allowed inside a transaction");
  EXPECT_EQ(client.run("CLIENT REPLY ON"),
            "(error) ERR Command 'client|reply' not allowed inside a transaction");
  EXPECT_TRUE(client.run("EXEC").starts_with("(error) EXECABORT"));
}

TEST_F(TransactionTest, DoesNothingIfAWatchedKeyWasChanged) {
  client.run("WATCH k");
  other.run("SET k other");
  client.run("MULTI");
  client.run("SET k mine");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
  EXPECT_EQ(client.run("GET k"), "\"other\"");
}

TEST_F(TransactionTest, IsNotBrokenByTheRemovalOfAKeyThatHadExpiredBefore) {
  other.run("DEBUG SET-ACTIVE-EXPIRE 0");
  other.run("SET k v PX 10");
  advance(Millis(10));
  client.run("WATCH k");
  EXPECT_EQ(other.run("EXISTS k"), "(integer) 0");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
  client.run("WATCH k");
  other.run("SET k v PX 10");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
  client.run("WATCH k");
  advance(Millis(10));
  other.run("EXISTS k");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
}

// It took a minute when each key was compared with all others.
TEST_F(TransactionTest, CanWatchManyKeysAgainAndAgain) {
  std::vector<std::string> words = {"WATCH"};
  for (int i = 0; i < 50'000; ++i) words.push_back("key " + std::to_string(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.run(words), "OK");
  EXPECT_NE(client.run("CLIENT INFO").find(" watch=50000 "), std::string::npos);
  EXPECT_EQ(client.run("UNWATCH"), "OK");
  EXPECT_NE(client.run("CLIENT INFO").find(" watch=0 "), std::string::npos);
}

TEST_F(TransactionTest, IsNotBrokenByAnotherKeyOrAnotherDatabase) {
  client.run("WATCH k");
  other.run("SET j v");
  other.run("SELECT 1");
  other.run("SET k v");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
}

TEST_F(TransactionTest, UnwatchAndExecForgetWhatWasWatched) {
  client.run("WATCH k");
  other.run("SET k 1");
  client.run("UNWATCH");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
  other.run("SET k 2");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
}

TEST_F(TransactionTest, IsBrokenWhenAWatchedKeyExpires) {
  client.run("SET k v PX 100");
  client.run("WATCH k");
  advance(100ms);
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
}

TEST_F(TransactionTest, IsBrokenWhenTheSweepTakesAFieldOfAWatchedHash) {
  client.run("HSETEX h PX 100 FIELDS 1 f v");
  client.run("HSET h g v");
  client.run("WATCH h");
  advance(100ms);
  sweep();
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
}

TEST_F(TransactionTest, IsNotBrokenByAKeyThatWasDeadWhenItWasWatched) {
  client.run("SET k v PX 100");
  client.run("DEBUG SET-ACTIVE-EXPIRE 0");
  advance(200ms);
  client.run("WATCH k");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
}

TEST_F(TransactionTest, FlushallBreaksWatchesOfKeysThatWereThere) {
  client.run("SET k v");
  client.run("WATCH k");
  other.run("FLUSHALL");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
  client.run("WATCH nothing");
  other.run("FLUSHALL");
  client.run("MULTI");
  EXPECT_EQ(client.run("EXEC"), "[]");
}

TEST_F(TransactionTest, TimeStandsStillInIt) {
  client.run("SET k v PX 100");
  client.run("MULTI");
  client.run("PTTL k");
  client.run("PTTL k");
  advance(99ms);
  EXPECT_EQ(client.run("EXEC"), "[(integer) 1, (integer) 1]");
}

TEST_F(TransactionTest, IsPropagatedAsAWholeAndOnlyWithWhatChanged) {
  propagated.clear();
  client.run("MULTI");
  client.run("SET a 1");
  client.run("GET a");
  client.run("SET b 2");
  client.run("EXEC");
  EXPECT_EQ(propagated, (Lines{"0: MULTI", "0: SET a 1", "0: SET b 2", "0: EXEC"}));
}

TEST_F(TransactionTest, ResetLeavesIt) {
  client.run("MULTI");
  EXPECT_EQ(client.run("RESET"), "RESET");
  EXPECT_EQ(client.run("EXEC"), "(error) ERR EXEC without MULTI");
}

// Loads for as long as the test likes.
class EndlessTask final : public LoadTask {
 public:
  Result<bool> step(std::size_t) override { return false; }
  std::uint64_t offset() const override { return 0; }
  std::uint64_t total() const override { return 0; }
};

TEST_F(TransactionTest, ExecIsRefusedWhileLoadingIfWhatIsQueuedWouldBe) {
  client.run("SET k 1");
  client.run("MULTI");
  client.run("GET k");
  other.run("MULTI");
  other.run("ECHO hello");
  server().parts().loading.begin(std::make_unique<EndlessTask>(), wall().now(),
                                 [](const Status&) {});
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of: LOADING Mayfly is loading the "
            "dataset in memory");
  EXPECT_EQ(client.run("EXEC"), "(error) ERR EXEC without MULTI");
  EXPECT_EQ(other.run("EXEC"), "[\"hello\"]");
  server().parts().loading.abandon();
}

// As in Valkey: a queue without end must not take memory without end.
TEST_F(TransactionTest, NothingIsQueuedWhenMemoryIsFull) {
  client.run("MULTI");
  server().parts().config.maxmemory = 1;
  EXPECT_TRUE(client.run("GET k").starts_with("(error) OOM"));
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of previous errors.");
  client.run("MULTI");
  EXPECT_EQ(client.run("DISCARD"), "OK");
}

TEST_F(TransactionTest, ExecIsRefusedByAReplicaOutOfTouch) {
  client.run("MULTI");
  client.run("GET k");
  other.run("REPLICAOF 127.0.0.1 1");
  server().parts().config.replica_serve_stale_data = false;
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of: MASTERDOWN Link with MASTER is "
            "down and replica-serve-stale-data is set to 'no'.");
}

TEST_F(TransactionTest, ExecIsRefusedByAReplicaOrWithoutReplicasIfItWrites) {
  client.run("MULTI");
  client.run("SET k 1");
  other.run("CONFIG SET min-replicas-to-write 1");
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of: NOREPLICAS Not enough good "
            "replicas to write.");
  other.run("CONFIG SET min-replicas-to-write 0");
  client.run("MULTI");
  client.run("SET k 1");
  other.run("REPLICAOF 127.0.0.1 1");
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of: READONLY You can't write against "
            "a read only replica.");
}

TEST_F(TransactionTest, ExecIsRefusedWithoutMemoryIfItTakesSome) {
  client.run("MULTI");
  client.run("SET k 1");
  other.run("MULTI");
  other.run("DEL k");
  server().parts().config.maxmemory = 1;
  EXPECT_EQ(client.run("EXEC"),
            "(error) EXECABORT Transaction discarded because of: OOM command not allowed when "
            "used memory > 'maxmemory'.");
  EXPECT_EQ(other.run("EXEC"), "[(integer) 0]");
}

}  // namespace transactions_test
}  // namespace mayfly
