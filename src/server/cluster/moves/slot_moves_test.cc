// SPDX-License-Identifier: Apache-2.0
// Slots move between two shards of two nodes each, in one process: what is written meanwhile, what
// breaks at every step, and what the register does not answer.

#include "server/cluster/moves/slot_moves.h"

#include <tuple>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/expiry/expiry_log.h"

namespace mayfly {
namespace slot_moves_test {

using namespace std::chrono_literals;

FakeWeather slow_question() {
  FakeWeather weather;
  weather.there = Millis(20);
  return weather;
}

// Node 0 leads shard a, which has slot 3300 of the key "b"; node 1 leads shard b. 2 and 3 follow.
class SlotMovesTest : public ClusterNodesFixture {
 protected:
  static constexpr const char* kMove = "CLUSTER MIGRATESLOTS SLOTSRANGE 3000 4000 NODE ";

  void start_shards(const Config& with = config()) {
    start(4, with);
    ask(0, "CLUSTER ADDSLOTSRANGE 0 8000");
    ask(1, "CLUSTER ADDSLOTSRANGE 8001 16383");
    run(100ms);
    ask(2, "CLUSTER REPLICATE " + id(0));
    ask(3, "CLUSTER REPLICATE " + id(1));
    run(3s);
    ASSERT_EQ(record("a").insync.size(), 1u);
    ASSERT_EQ(record("b").insync.size(), 1u);
  }

  // What it says to a client of its own; "" if it lets it wait.
  std::string reply_of(int node, const std::string& line) {
    TestClient client(servers_->server(node), "127.0.0.1:9000");
    return client.run(line);
  }

  // The only node that answers for the key; -1: none does.
  int owner(const std::string& key = "b") {
    int found = -1;
    for (int i = 0; i < servers_->size(); ++i) {
      if (servers_->is_stopped(i)) continue;
      const std::string reply = reply_of(i, "GET " + key);
      if (reply.empty() || reply.starts_with("(error)")) continue;
      EXPECT_EQ(found, -1) << "two nodes answer: " << found << " and " << i;
      found = i;
    }
    return found;
  }

  std::string state_of_job() {
    for (const RegisterEntry& entry : records_.read().entries) {
      if (!entry.key.starts_with("moves/")) continue;
      const MoveRecord job = *parse_move_record(*entry.value);
      return job.state == MoveState::done ? "done" : is_active(job.state) ? "active" : job.error;
    }
    return "none";
  }

  // Until the target has all of it: the source cannot commit before its weather ends.
  void hold_ready() {
    const auto is_ready = [this] {
      const SlotImport* const import = parts(1).cluster.moves().incoming();
      return import != nullptr && import->is_ready();
    };
    EXPECT_EQ(ask(0, kMove + id(1)), "OK");
    for (int i = 0; i < 100 && !is_ready(); ++i) {
      reg(0).weather = [this] {
        FakeWeather is;
        is.is_lost = parts(0).cluster.moves().is_paused();
        return is;
      };
      run(kStep);
    }
    ASSERT_TRUE(is_ready());
  }

  void revive() {
    for (int i = 0; i < servers_->size(); ++i) {
      servers_->set_stopped(i, false);
      servers_->set_reachable(i, true);
      reg(i).weather = nullptr;
    }
    records_.is_down = false;
  }

  // The node that owns it, when all is well again.
  void expect_value(const std::string& value) {
    for (int i = 0; i < 24 && (i < 2 || owner() == -1 || state_of_job() == "active"); ++i) {
      run(500ms);
    }
    const int node = owner();
    ASSERT_NE(node, -1) << state_of_job();
    EXPECT_EQ(reply_of(node, "GET b"), value) << state_of_job();
    EXPECT_EQ(parts(0).keyspace[SlotStaging::kDatabase].stored(), 0u);
    EXPECT_EQ(parts(1).keyspace[SlotStaging::kDatabase].stored(), 0u);
    const SlotSet all = record("a").slots | record("b").slots;
    EXPECT_EQ(all, SlotSet({{0, 16383}}));
    EXPECT_FALSE(record("a").slots.overlaps(record("b").slots));
  }
};

TEST_F(SlotMovesTest, KeysGoWithTheirMembersAndDeadlines) {
  start_shards();
  ask(0, "SET b 1 PX 100000");
  ask(0, "HSET {b}h f 1 g 2");
  ask(0, "HPEXPIRE {b}h 50000 FIELDS 1 f");
  ask(0, "RPUSH {b}l x y");
  ask(0, "ZADD {b}z 1 one");
  ask(0, "XADD {b}x 1-1 f v");
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  run(1s);
  EXPECT_EQ(state_of_job(), "done");
  EXPECT_EQ(ask(0, "GET b"), moved(3300, 1));
  EXPECT_EQ(ask(1, "GET b"), "\"1\"");
  EXPECT_EQ(ask(1, "HGETALL {b}h"), "[\"f\", \"1\", \"g\", \"2\"]");
  EXPECT_EQ(ask(1, "LRANGE {b}l 0 -1"), "[\"x\", \"y\"]");
  EXPECT_EQ(ask(1, "XLEN {b}x"), "(integer) 1");
  run(50s);
  EXPECT_EQ(ask(1, "HGETALL {b}h"), "[\"g\", \"2\"]");
  run(50s);
  EXPECT_EQ(ask(1, "GET b"), "(nil)");
  EXPECT_EQ(parts(0).keyspace[0].stored(), 0u) << "what has gone is removed";
  EXPECT_EQ(parts(2).keyspace[0].stored(), 0u);
  EXPECT_EQ(servers_->digest(1), servers_->digest(3));
}

TEST_F(SlotMovesTest, NoWriteIsLostWhileSlotsMove) {
  start_shards();
  ask(0, "SET b 0");
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  int written = 0;
  for (int i = 0; i < 200; ++i) {
    for (const int node : {0, 1}) {
      const std::string reply = ask(node, "INCR b");
      if (reply.starts_with("(integer)")) {
        EXPECT_EQ(reply, "(integer) " + std::to_string(++written));
      }
    }
    run(kStep);
  }
  EXPECT_EQ(state_of_job(), "done");
  EXPECT_EQ(owner(), 1);
  EXPECT_EQ(ask(1, "GET b"), "\"" + std::to_string(written) + "\"");
  EXPECT_GE(written, 200);
}

TEST_F(SlotMovesTest, SlotsStayPausedUntilTheOutcomeOfTheCommitIsKnown) {
  start_shards();
  ask(0, "SET b 1");
  // What is asked while they are paused is done, and nobody hears of it.
  const auto weather = [&] {
    FakeWeather is;
    is.is_answer_lost = parts(0).cluster.moves().is_paused();
    return is;
  };
  for (int i = 0; i < servers_->size(); ++i) reg(i).weather = weather;
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  run(1500ms);
  ASSERT_FALSE(record("a").slots.contains(3300)) << "it has happened";
  EXPECT_EQ(reply_of(0, "GET b"), "") << "it waits";
  EXPECT_EQ(reply_of(0, "SET {b}2 1"), "");
  EXPECT_EQ(reply_of(0, "GET {7}"), "(nil)") << "another slot, which node 0 has";
  revive();
  run(6s);
  EXPECT_EQ(owner(), 1);
  EXPECT_EQ(reply_of(1, "GET b"), "\"1\"");
  EXPECT_EQ(state_of_job(), "done");
}

TEST_F(SlotMovesTest, ATargetThatIsReadyKeepsTheKeysUntilTheSourceCannotCommit) {
  start_shards();
  ask(0, "SET b 1");
  // The source is cut off when it is about to commit: neither the register nor the target hears it.
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  for (int i = 0; i < 100 && !(parts(1).cluster.moves().incoming() != nullptr &&
                               parts(1).cluster.moves().incoming()->is_ready());
       ++i) {
    reg(0).weather = [] { return slow_question(); };
    run(kStep);
  }
  ASSERT_TRUE(parts(1).cluster.moves().incoming()->is_ready());
  servers_->set_stopped(0, true);
  servers_->cut(0);
  run(6s);
  EXPECT_EQ(parts(1).keyspace[SlotStaging::kDatabase].stored(), 0u);
  revive();
  expect_value("\"1\"");
}

TEST_F(SlotMovesTest, FlushingTheTargetLeavesWhatIsOnItsWay) {
  start_shards();
  ask(0, "SET b 1");
  ask(1, "SET a 1");
  hold_ready();
  EXPECT_EQ(ask(1, "FLUSHALL"), "OK");
  EXPECT_EQ(reply_of(1, "GET a"), "(nil)");
  reg(0).weather = nullptr;
  expect_value("\"1\"");
  EXPECT_EQ(owner(), 1);
  EXPECT_EQ(servers_->digest(1), servers_->digest(3));
}

TEST_F(SlotMovesTest, ATransactionAboutAllKeysWaitsForTheMove) {
  start_shards();
  ask(0, "SET b 1");
  TestClient client(servers_->server(0), "127.0.0.1:9001");
  EXPECT_EQ(client.run("MULTI"), "OK");
  EXPECT_EQ(client.run("SET {7} 1"), "QUEUED");
  EXPECT_EQ(client.run("FLUSHALL"), "QUEUED");
  hold_ready();
  ASSERT_TRUE(parts(0).cluster.moves().is_paused());
  EXPECT_EQ(client.run("EXEC"), "") << "else the moved keys would live on";
  const std::string script = "return redis.pcall('FLUSHALL').err";
  EXPECT_EQ(servers_->run(0, {"EVAL", script, "1", "{7}"}).substr(0, 10), "\"TRYAGAIN ");
  reg(0).weather = nullptr;
  run(1s);
  EXPECT_EQ(client.resume(), "*2\r\n+OK\r\n+OK\r\n");
  expect_value("\"1\"");
}

TEST_F(SlotMovesTest, WhatIsDueInOtherSlotsGoesWhileSomeArePaused) {
  start_shards();
  ask(0, "SET b 1 PX 1000");
  ask(0, "SET {7} 1 PX 900");
  ask(0, "HSETEX {7}h PX 900 FIELDS 1 f v");
  ask(0, "SET {7}later 1 PX 100000");
  hold_ready();
  ASSERT_TRUE(parts(0).cluster.moves().is_paused());
  ASSERT_EQ(parts(0).keyspace[0].stored(), 4u) << "due before the pause";
  const Database& database = parts(0).keyspace[0];
  run(database.deadline(database.stored_slot("b")) - parts(0).clock.now() + 50ms);
  ASSERT_TRUE(parts(0).cluster.moves().is_paused());
  EXPECT_EQ(parts(0).keyspace[0].stored_slot("{7}"), kNoSlot);
  EXPECT_EQ(parts(0).keyspace[0].stored_slot("{7}h"), kNoSlot);
  EXPECT_NE(parts(0).keyspace[0].stored_slot("b"), kNoSlot) << "it is the target's by now";
  EXPECT_EQ(servers_->digest(0), servers_->digest(2));
  reg(0).weather = nullptr;
  run(2s);
  EXPECT_EQ(owner(), 1);
  EXPECT_EQ(parts(0).keyspace[0].stored(), 1u);
  EXPECT_EQ(parts(1).keyspace[0].stored_slot("b"), kNoSlot);
}

TEST_F(SlotMovesTest, AReplicaOfTheTargetSendsReadersToItsPrimaryUntilTheKeysAreMerged) {
  start_shards();
  ask(0, "SET b 1");
  hold_ready();
  servers_->set_stopped(1, true);  // so that it merges nothing
  reg(0).weather = nullptr;
  for (int i = 0; i < 100 && !record("b").slots.contains(3300); ++i) run(kStep);
  ASSERT_TRUE(record("b").slots.contains(3300));
  run(50ms);
  TestClient reader(servers_->server(3), "127.0.0.1:9001");
  EXPECT_EQ(reader.run("READONLY"), "OK");
  EXPECT_EQ(reader.run("GET b"), moved(3300, 1));
  EXPECT_EQ(reply_of(3, "DBSIZE"), "") << "it waits";
  EXPECT_EQ(reply_of(3, "CLUSTER COUNTKEYSINSLOT 3300"), "(integer) 1");
  EXPECT_EQ(reply_of(3, "CLUSTER GETKEYSINSLOT 3300 10"), "[\"b\"]");
  servers_->set_stopped(1, false);
  run(1s);
  EXPECT_EQ(reader.run("GET b"), "\"1\"");
  EXPECT_EQ(reply_of(3, "DBSIZE"), "(integer) 1");
}

TEST_F(SlotMovesTest, ATargetWaitsForAChildOfTheSource) {
  Config with = config();
  with.repl_timeout = 5;
  start_shards(with);
  ask(0, "SET b 1");
  (*servers_)[0].holds_children = true;
  ask(0, "BGSAVE");
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  run(30s);
  EXPECT_EQ(state_of_job(), "active");
  EXPECT_EQ(parts(0).cluster.view().moves().begin()->second.record.attempts, 0);
  (*servers_)[0].holds_children = false;
  expect_value("\"1\"");
  EXPECT_EQ(owner(), 1);
}

// Each server has a log of expiries, also without the slot of its name.
TEST_F(SlotMovesTest, TheSlotOfTheLogOfExpiriesMoves) {
  Config with = config();
  with.expiry_log = true;
  start_shards(with);
  ask(0, "SET b 1 PX 20");
  ask(1, "SET foo 1 PX 20");
  run(2s);
  for (const int node : {0, 1}) {
    ASSERT_NE(parts(node).keyspace[0].stored_slot(kExpiryLogKey), kNoSlot) << node;
  }
  EXPECT_EQ(ask(0, "CLUSTER MIGRATESLOTS SLOTSRANGE 3000 6000 NODE " + id(1)), "OK");
  run(10s);
  EXPECT_EQ(state_of_job(), "done");
  EXPECT_TRUE(record("b").slots.contains(hash_slot(kExpiryLogKey)));
  for (const int node : {0, 1}) {
    EXPECT_NE(parts(node).keyspace[0].stored_slot(kExpiryLogKey), kNoSlot) << node;
  }
}

TEST_F(SlotMovesTest, AMoveRecordsSinceWhenItIsRefused) {
  start_shards();
  ask(0, "SET b 1");
  TestClient other(servers_->server(1), "127.0.0.1:9000");  // another move to the same shard
  const auto now = parts(1).clock.now().time_since_epoch().count();
  EXPECT_EQ(other.run("CLUSTER IMPORT BEGIN j a 1 1 " + std::to_string(now) + " 1 7000"), "BEGUN");
  ASSERT_NE(parts(1).cluster.moves().incoming(), nullptr);
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  const auto job = [this] { return parts(0).cluster.view().moves().begin()->second.record; };
  const Time begin = parts(0).clock.now();
  run(3s);
  const Time since = job().busy_since;
  EXPECT_GE(since, begin);
  EXPECT_LT(since, begin + 2s);
  run(20s);
  EXPECT_EQ(job().busy_since, since) << "the first refusal, not the last";
  EXPECT_EQ(job().attempts, 0);
  other.end();
  expect_value("\"1\"");
  EXPECT_EQ(owner(), 1);
}

TEST_F(SlotMovesTest, AJobThatIsCancelledDoesNotHappen) {
  start_shards();
  ask(0, "SET b 1");
  (*servers_)[0].holds_children = true;
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  run(200ms);
  ASSERT_EQ(parts(0).cluster.moves().outgoing()->state(), MoveState::snapshot);
  EXPECT_EQ(ask(0, "CLUSTER CANCELSLOTMIGRATIONS"), "OK");
  (*servers_)[0].holds_children = false;
  expect_value("\"1\"");
  EXPECT_EQ(owner(), 0);
  EXPECT_EQ(state_of_job(), "cancelled by a command");
}

TEST_F(SlotMovesTest, ATargetThatCannotBeReachedIsTriedThreeTimes) {
  start_shards();
  ask(0, "SET b 1");
  servers_->set_reachable(1, false);
  EXPECT_EQ(ask(0, kMove + id(1)), "OK");
  run(10s);
  EXPECT_EQ(state_of_job(), "cannot connect: connection refused");
  EXPECT_EQ(owner(), 0);
}

// The connection is refused before the record of the beginning is answered.
TEST_F(SlotMovesTest, AnAttemptThatEndsAtOnceIsCounted) {
  start_shards();
  ask(0, "SET b 1");
  ask(1, "CONFIG SET maxmemory 1");
  reg(0).weather = [] {
    FakeWeather is;
    is.there = Millis(400);
    return is;
  };
  (void)servers_->run(0, kMove + id(1));
  run(20s);
  EXPECT_EQ(state_of_job(),
            "the target: ERR this shard has no room: it uses more than 'maxmemory'");
  EXPECT_EQ(parts(0).cluster.moves().stats().failed, 1u);
  EXPECT_EQ(owner(), 0);
}

TEST_F(SlotMovesTest, AMessageFromAnotherTimeIsRefused) {
  start_shards();
  const std::string begin = "CLUSTER IMPORT BEGIN j a 1 1 ";
  for (const std::string now : {"0", "-9223372036854775808", "9223372036854775807"}) {
    EXPECT_NE(ask(1, begin + now + " 1 3000-4000").find("the clocks of both primaries differ by"),
              std::string::npos)
        << now;
  }
}

// ---- What breaks, at every step ----

struct MoveBreak {
  const char* name;
  int node;  // 0: the source, 1: the target, 3: a replica of the target
  bool is_stopped;
};

// And the step, of 10 ms, at which it breaks.
class SlotMovesBreakTest : public SlotMovesTest,
                           public testing::WithParamInterface<std::tuple<MoveBreak, int>> {};

// A write that was answered and is safe is there afterwards, at one owner.
TEST_P(SlotMovesBreakTest, LosesNothing) {
  const auto& [how, steps] = GetParam();
  start_shards();
  for (const int node : {0, 1}) reg(node).weather = slow_question;
  ask(0, "SET b 2");
  ASSERT_EQ(ask(0, "WAIT 1 1000"), "(integer) 1");
  (void)servers_->run(0, kMove + id(1));
  for (int i = 0; i < steps; ++i) run(kStep);
  servers_->cut(how.node);
  if (how.is_stopped) servers_->set_stopped(how.node, true);
  run(5s);
  (void)owner();  // never two
  revive();
  expect_value("\"2\"");
}

INSTANTIATE_TEST_SUITE_P(
    Each, SlotMovesBreakTest,
    testing::Combine(testing::Values(MoveBreak{"SourceStops", 0, true},
                                     MoveBreak{"TargetStops", 1, true},
                                     MoveBreak{"ReplicaOfTheTargetStops", 3, true},
                                     MoveBreak{"ConnectionsEnd", 0, false}),
                     testing::Range(0, 12)),
    [](const auto& each) {
      return std::string(std::get<0>(each.param).name) + std::to_string(std::get<1>(each.param));
    });

}  // namespace slot_moves_test
}  // namespace mayfly
