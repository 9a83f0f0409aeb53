// SPDX-License-Identifier: Apache-2.0
// The suite `server`: its plan, what redis-benchmark and the system print, and the programs that
// are started.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "bench/server/measurements.h"
#include "bench/server/server_child.h"
#include "bench/server/server_suite.h"
#include "bench/server/steady_writer.h"

namespace mayfly::bench {
namespace server_test {

std::string refusal(const ServerOptions& options) {
  try {
    make_server_plan(options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(ServerPlanTest, MeasuresEverythingByDefault) {
  const ServerPlan plan = make_server_plan({});
  EXPECT_EQ(plan.parts, server_parts());
  EXPECT_EQ(plan.rounds, 3);
  EXPECT_EQ(plan.requests, 100'000u);
  EXPECT_EQ(plan.idle_sizes.back(), 1'000'000u);
  EXPECT_EQ(plan.growth_keys, 2'000'000u);
  EXPECT_EQ(plan.set_members, 1'000'000u);
  EXPECT_EQ(plan.pair_members, 100'000u);
  EXPECT_TRUE(plan.servers.empty());  // find_servers() adds them
}

TEST(ServerPlanTest, TakesOnlyThePartsThatAreNamed) {
  const ServerPlan plan = make_server_plan({.only = "hlen,ontime"});
  EXPECT_EQ(plan.parts, (std::vector<std::string_view>{"ontime", "hlen"}));
  EXPECT_TRUE(plan.has("hlen"));
  EXPECT_FALSE(plan.has("speed"));
}

TEST(ServerPlanTest, TakesNumbersAsPeopleWriteThem) {
  const ServerPlan plan =
      make_server_plan({.rounds = "7", .requests = "20k", .keys = "3m", .wait = "60"});
  EXPECT_EQ(plan.rounds, 7);
  EXPECT_EQ(plan.growth_keys, 3'000'000u);
  EXPECT_EQ(plan.persist_fields, 3'000'000u);
  EXPECT_EQ(plan.expired_keys, 3'000'000u);
  EXPECT_EQ(plan.patience, Millis(60'000));
  EXPECT_EQ(plan.request_count(1), 20'000u);
  EXPECT_EQ(plan.request_count(32), 200'000u);
}

TEST(ServerPlanTest, FullGrowsToTenMillionAndQuickIsSmall) {
  EXPECT_EQ(make_server_plan({.full = true}).growth_keys, 10'000'000u);
  EXPECT_EQ(make_server_plan({.keys = "4m", .full = true}).growth_keys, 4'000'000u);
  EXPECT_LT(make_server_plan({.quick = true}).stall_members, 100'000u);
  EXPECT_LT(make_server_plan({.quick = true}).set_members, 100'000u);
  EXPECT_EQ(make_server_plan({.requests = "500", .quick = true}).requests, 500u);
}

TEST(ServerPlanTest, TakesPeersWithTheirArguments) {
  const ServerPlan plan =
      make_server_plan({.peers = {"valkey=/opt/valkey-server", "old=/opt/old/mayfly serve"}});
  ASSERT_EQ(plan.servers.size(), 2u);
  EXPECT_EQ(plan.servers[0].name, "valkey");
  EXPECT_EQ(plan.servers[1].words, (std::vector<std::string>{"/opt/old/mayfly", "serve"}));
}

TEST(ServerPlanTest, KnowsTheServersThatHaveSomeCommands) {
  ServerPlan plan =
      make_server_plan({.peers = {"redis=redis-server", "old=/opt/old/mayfly serve"}});
  EXPECT_TRUE(plan.servers_with(&ServerProgram::has_sets).empty());
  plan.servers[0].has_sets = true;
  const std::vector<ServerProgram> some = plan.servers_with(&ServerProgram::has_sets);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].name, "redis");
}

TEST(ServerPlanTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_NE(refusal({.only = "sped"}).find("did you mean 'speed'"), std::string::npos);
  EXPECT_NE(refusal({.rounds = "0"}).find("--rounds"), std::string::npos);
  EXPECT_NE(refusal({.requests = "10"}).find("--requests"), std::string::npos);
  EXPECT_NE(refusal({.keys = "x"}).find("--keys"), std::string::npos);
  EXPECT_NE(refusal({.wait = "-1"}).find("--wait"), std::string::npos);
  EXPECT_NE(refusal({.peers = {"valkey-server"}}).find("NAME=PROGRAM"), std::string::npos);
  EXPECT_NE(refusal({.peers = {"mayfly=x"}}).find("choose another"), std::string::npos);
  EXPECT_NE(refusal({.full = true, .quick = true}).find("--quick and --full"), std::string::npos);
}

TEST(BenchmarkCsvTest, ReadsTheRateBehindALineOfTitles) {
  const Result<double> rate = parse_benchmark_csv(
      "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\"\n"
      "\"HSET hash:many element:__rand_int__ xxx\",\"61349.69\",\"0.412\",\"0.120\",\"0.399\"\n");
  ASSERT_TRUE(rate);
  EXPECT_EQ(*rate, 61349.69);
}

TEST(BenchmarkCsvTest, ReadsTheRateWithoutTitlesOrBehindAWarning) {
  EXPECT_EQ(*parse_benchmark_csv("\"SET\",\"1000.50\"\n"), 1000.5);
  EXPECT_EQ(*parse_benchmark_csv("SET,1000.50\r\n"), 1000.5);
  EXPECT_EQ(*parse_benchmark_csv("WARNING: Could not fetch server CONFIG\n\"SET\",\"7\""), 7);
}

TEST(BenchmarkCsvTest, ARunOfNoTimeHasAnInfiniteRate) {
  EXPECT_TRUE(std::isinf(*parse_benchmark_csv("\"ZUNIONSTORE\",\"inf\"\n")));
  EXPECT_FALSE(parse_benchmark_csv("\"ZUNIONSTORE\",\"nan\"\n"));
}

TEST(BenchmarkCsvTest, WithoutARateThereIsAnError) {
  EXPECT_FALSE(parse_benchmark_csv(""));
  EXPECT_FALSE(parse_benchmark_csv("\"test\",\"rps\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("\"SET\",\"0.00\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("\"SET\",\"1x\"\n"));
  EXPECT_FALSE(parse_benchmark_csv("Could not connect\n"));
}

TEST(CpuTicksTest, AddsUserAndSystemTimeWhateverTheProgramIsCalled) {
  const std::string_view rest = " S 1 2 3 4 5 6 7 8 9 10 120 34 0 0 20 0 1 0";
  EXPECT_EQ(*cpu_ticks("42 (mayfly)" + std::string(rest)), 154);
  EXPECT_EQ(*cpu_ticks("42 (a) b (c)" + std::string(rest)), 154);
  EXPECT_FALSE(cpu_ticks(""));
  EXPECT_FALSE(cpu_ticks("42 (mayfly) S 1 2 3"));
  EXPECT_FALSE(cpu_ticks("42 (mayfly) S 1 2 3 4 5 6 7 8 9 10 x 34 0"));
}

TEST(ChildTest, GivesWhatAProgramPrintedAndSaysIfItFailed) {
  EXPECT_EQ(Child({"sh", "-c", "echo out; echo err >&2"}).wait().output, "out\nerr\n");
  try {
    Child({"sh", "-c", "echo why; exit 3"}).wait();
    ADD_FAILURE() << "it did not fail";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "why");
  }
  EXPECT_THROW(Child({"there-is-no-such-program"}).wait(), Failure);
}

TEST(ChildTest, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    Child child({"tail", "-f", "/dev/null"});
    EXPECT_FALSE(child.has_ended());
    pid = child.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(FindProgramTest, LooksInThePath) {
  EXPECT_NE(find_program("sh"), "");
  EXPECT_EQ(find_program("there-is-no-such-program"), "");
}

TEST(ReplicaFollowsTest, OnceItAcknowledges) {
  EXPECT_FALSE(replica_follows("role:master\r\nconnected_slaves:0\r\n"));
  EXPECT_FALSE(replica_follows("slave0:ip=::1,port=1,state=send_bulk,offset=0,lag=0\r\n"));
  EXPECT_FALSE(replica_follows("slave0:ip=::1,port=1,state=online,offset=0,lag=1\r\n"));
  EXPECT_TRUE(replica_follows("slave0:ip=::1,port=1,state=online,offset=105,lag=1\r\n"));
}

TEST(SplitWordsTest, TakesAnyNumberOfSpaces) {
  EXPECT_EQ(split_words(" SINTER  a b "), (std::vector<std::string>{"SINTER", "a", "b"}));
  EXPECT_TRUE(split_words("").empty());
}

TEST(MemberTypeTest, NamesShapes) {
  EXPECT_EQ(shape_title(kHashType, 100, 500'000), "hashes of 100");
  EXPECT_EQ(shape_title(kSortedSetType, 500'000, 500'000), "one sorted set");
  EXPECT_EQ(key_name(kSortedSetType, 7), "zset:0000007");
}

TEST(MemberTypeTest, GivesScoresOfTheirOwnInNoOrder) {
  std::vector<std::size_t> scores;
  for (std::size_t i = 0; i < 100'000; ++i) scores.push_back(score_of(i));
  EXPECT_FALSE(std::ranges::is_sorted(scores));
  std::ranges::sort(scores);
  EXPECT_TRUE(std::ranges::adjacent_find(scores) == scores.end());
}

// A client at one end of a pair of sockets, and what it sends at the other.
class SentTest : public ::testing::Test {
 protected:
  SentTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_.emplace(Fd(ends[0]));
    server_ = Fd(ends[1]);
  }

  std::string received() {
    std::string text(4096, '\0');
    const ssize_t got = ::recv(server_.get(), text.data(), text.size(), MSG_DONTWAIT);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  std::optional<RespClient> client_;
  Fd server_;
};

class MemberCommandTest : public SentTest {
 protected:
  // What adds these members, without the bytes around the words.
  std::string sent(const MemberType& type, MemberRange members, std::optional<Time> deadline = {}) {
    EXPECT_EQ(::send(server_.get(), ":1\r\n", 4, 0), 4);
    RespPipeline pipeline(*client_);
    add_members(pipeline, type, "key", members, deadline);
    EXPECT_TRUE(pipeline.finish());
    std::string text = received();
    std::string words;
    bool is_word = false;
    for (std::size_t at = text.find("\r\n") + 2; at < text.size(); is_word = !is_word) {
      const std::size_t end = text.find("\r\n", at);
      if (is_word) words += (words.empty() ? "" : " ") + text.substr(at, end - at);
      at = end + 2;
    }
    return words;
  }
};

TEST_F(MemberCommandTest, AddsMembersWithoutADeadline) {
  EXPECT_EQ(sent(kHashType, {3, 4}), "HSET key field:0000003 value:0000003");
  EXPECT_EQ(sent(kSetType, {3, 5}), "SADD key entry:0000003 entry:0000004");
  EXPECT_EQ(sent(kSortedSetType, {1, 2}), "ZADD key 7919 entry:0000001");
}

TEST_F(MemberCommandTest, AddsMembersWithOneDeadline) {
  const Time deadline(Millis(1234));
  EXPECT_EQ(sent(kHashType, {0, 1}, deadline),
            "HSETEX key PXAT 1234 FIELDS 1 field:0000000 value:0000000");
  EXPECT_EQ(sent(kSetType, {0, 2}, deadline),
            "SADDEX key PXAT 1234 MEMBERS 2 entry:0000000 entry:0000001");
  EXPECT_EQ(sent(kSortedSetType, {0, 2}, deadline),
            "ZADDEX key PXAT 1234 MEMBERS 2 0 entry:0000000 7919 entry:0000001");
}

using SteadyWriterTest = SentTest;

TEST_F(SteadyWriterTest, SendsABatchAndThenNoneUntilItIsTimeAgain) {
  SteadyWriter writer(*client_, {.keys = 10, .value_bytes = 3, .batch = 2, .per_second = 1e-3});
  ASSERT_TRUE(writer.send_due());
  EXPECT_EQ(received(),
            "*3\r\n$3\r\nSET\r\n$14\r\nsteady:0000000\r\n$3\r\nxxx\r\n"
            "*3\r\n$3\r\nSET\r\n$14\r\nsteady:0000009\r\n$3\r\nxxx\r\n");
  EXPECT_EQ(writer.written_bytes(), 6u);
  EXPECT_FALSE(writer.send_due());
  EXPECT_EQ(received(), "");
  ASSERT_EQ(::send(server_.get(), "+OK\r\n-ERR full\r\n", 16, 0), 16);
  EXPECT_THROW(writer.take_replies(), Failure);
}

}  // namespace server_test
}  // namespace mayfly::bench
