// SPDX-License-Identifier: Apache-2.0
// Results of the part `persist` made up by hand: how ratios are taken, how bars are judged, and
// what is said of them. And the clients that measure, against a server of a few lines.

#include "bench/server/bench_server_persist.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "bench/report/bench_example.h"
#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_report.h"
#include "bench/server/bench_server_sync.h"
#include "bench/server/bench_server_writer.h"

namespace mayfly {
namespace {

ChildRow::Run run_of(double p999_us) {
  return {.seconds = 2.5, .before = {800, 10, 20, 30, 40}, .during = {1000, 11, 21, p999_us, 99}};
}

PersistResults example_persist() {
  PersistResults results;
  results.saves = {
      {.fields_each = 1000,
       .our_bytes = 200e6,
       .redis_bytes = 100e6,
       .seconds = {{2, 2, 2}, {1, 1, 1}}},  // as many bytes a second
      {.fields_each = 100, .our_bytes = 200e6, .redis_bytes = 100e6, .seconds = {{2.1}, {1}}}};
  results.loads = {{.fields_each = 100, .seconds = {{4, 9, 4}, {4, 9, 3}}},
                   {.fields_each = 1000, .seconds = {{4.1}, {4}}}};
  results.children = {{.work = "BGSAVE",
                       .ours = {run_of(200), run_of(50), run_of(900)},
                       .redis = {run_of(100), run_of(100), run_of(100)}},  // 2, 0.5 and 9 times
                      {.work = "BGREWRITEAOF", .ours = {run_of(201)}, .redis = {run_of(100)}}};
  results.aof = {
      {.command = "SET",
       .other = "SET",
       .with = {{800'000}, {600'000}},
       .without = {{1'000'000}, {800'000}}},
      {.command = "HSETEX", .other = "HSET", .with = {{399'000}, {}}, .without = {{500'000}, {}}}};
  results.syncs = {{.server = "Mayfly",
                    .is_done = true,
                    .seconds = 7,
                    .before_bytes = 300e6,
                    .peak_bytes = 350e6,
                    .written_bytes = 70e6,
                    .bound_bytes = 50e6},
                   {.server = "redis-server", .before_bytes = 300e6, .peak_bytes = 900e6}};
  return results;
}

ServerBenchPlan plan_of(const ServerBenchWords& words = {}) {
  ServerBenchPlan plan = *make_server_plan(words);
  plan.has_redis = true;
  return plan;
}

// The verdicts on the claims that have `words` in them: y holds, n does not, - is not judged.
std::string verdicts(const ServerBenchPlan& plan, const PersistResults& results,
                     std::string_view words) {
  std::vector<Bar> bars;
  judge_persist(plan, results, bars);
  std::string found;
  for (const Bar& bar : bars) {
    if (bar.claim.find(words) == std::string::npos) continue;
    found += !bar.is_judged ? '-' : bar.holds ? 'y' : 'n';
  }
  return found;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(PersistResultsTest, RatiosAreMediansOfRatiosWithinARepeat) {
  EXPECT_EQ(*ratio({10, 400, 30}, {10, 100, 10}), 3);
  EXPECT_EQ(*ratio({10, 400}, {0, 100}), 4);  // what took no time is left out
  EXPECT_FALSE(ratio({10}, {}));
  EXPECT_FALSE(middle({}));
}

TEST(PersistResultsTest, SavingIsComparedByBytesLoadingByFieldsAndWaitingByP999) {
  const PersistResults results = example_persist();
  EXPECT_EQ(*save_ratio(results.saves[0]), 1.0);
  EXPECT_EQ(*load_ratio(results.loads[0]), 1.0);
  EXPECT_EQ(*child_ratio(results.children[0]), 2.0);
  EXPECT_FALSE(save_ratio({.our_bytes = 1, .seconds = {{1}, {}}}));
  EXPECT_FALSE(save_ratio({.our_bytes = 1, .redis_bytes = 0, .seconds = {{1}, {1}}}));
}

TEST(PersistBarsTest, AreReachedByWhatIsEqualToThem) {
  EXPECT_EQ(verdicts(plan_of(), example_persist(), "SAVE of"), "yn");
  EXPECT_EQ(verdicts(plan_of(), example_persist(), "loading"), "yn");
  EXPECT_EQ(verdicts(plan_of(), example_persist(), "p99.9 of GET during"), "yn");
  EXPECT_EQ(verdicts(plan_of(), example_persist(), "append-only"), "yn");
  EXPECT_EQ(verdicts(plan_of(), example_persist(), "replica gets"), "y");
}

TEST(PersistBarsTest, AReplicaMustArriveAndThePrimaryStayWithinItsBound) {
  PersistResults results = example_persist();
  results.syncs[0].peak_bytes += 1;
  EXPECT_EQ(verdicts(plan_of(), results, "replica gets"), "n");
  results.syncs[0].peak_bytes -= 1;
  results.syncs[0].is_done = false;
  EXPECT_EQ(verdicts(plan_of(), results, "does not get there"), "n");
}

TEST(PersistBarsTest, AtOtherSizesNothingIsJudged) {
  EXPECT_EQ(verdicts(plan_of({.quick = true}), example_persist(), ""), "---------");
  EXPECT_EQ(verdicts(plan_of({.keys = "1m"}), example_persist(), "SAVE of"), "--");
  EXPECT_EQ(verdicts(plan_of({.keys = "6m"}), example_persist(), "SAVE of"), "yn");
}

TEST(PersistBarsTest, WithoutRedisServerOnlyWhatNeedsNoPeerIsJudged) {
  PersistResults results = example_persist();
  for (SaveRow& row : results.saves) row.seconds.redis.clear();
  for (LoadRow& row : results.loads) row.seconds.redis.clear();
  for (ChildRow& row : results.children) row.redis.clear();
  for (AofRow& row : results.aof) row.with.redis.clear();
  EXPECT_EQ(verdicts(plan_of(), results, ""), "yny");
}

TEST(PersistReportTest, TellsPeopleAndProgramsEverything) {
  ServerResults results;
  results.persist = example_persist();
  const std::string text =
      render_server_report(plan_of(), results, example::machine(), Colours(false));
  for (const std::string_view part :
       {"SAVE of 5 M fields", "95.4", "K fields/s", "Mayfly, BGSAVE", "redis-server, before",
        "BGSAVE of Mayfly took 2.50 s", "2.00x that of redis-server", "HSETEX (HSET there)",
        "0.80x", "0.75x", "47.7", "does not follow", "MISSED"}) {
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  }
  const std::string json = server_to_json(plan_of(), results, example::machine());
  for (const std::string_view part :
       {"\"persist\"", "\"mayfly_bytes\": 200000000", "\"rdbcompression\": true",
        "\"work\": \"BGREWRITEAOF\"", "\"redis_ratio\": 0.75", "\"peak_bytes\": 350000000"}) {
    EXPECT_TRUE(has(json, part)) << part << "\n" << json;
  }
}

TEST(PersistReportTest, ShowsTheRepeatWhoseP999IsInTheMiddle) {
  ServerResults results;
  results.persist = example_persist();
  const std::string text = render_server_persist(plan_of(), results, Colours(false));
  EXPECT_TRUE(has(text, " 200 ")) << text;
  EXPECT_FALSE(has(text, " 900 ") || has(text, " 50.0 ")) << text;
}

TEST(ReplicaFollowsTest, OnceItAcknowledges) {
  EXPECT_FALSE(replica_follows("role:master\r\nconnected_slaves:0\r\n"));
  EXPECT_FALSE(replica_follows("slave0:ip=::1,port=1,state=send_bulk,offset=0,lag=0\r\n"));
  EXPECT_FALSE(replica_follows("slave0:ip=::1,port=1,state=online,offset=0,lag=1\r\n"));
  EXPECT_TRUE(replica_follows("slave0:ip=::1,port=1,state=online,offset=105,lag=1\r\n"));
}

// A writer at one end of a pair of sockets, and what it sends at the other.
class SteadyWriterTest : public ::testing::Test {
 protected:
  SteadyWriterTest() {
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

TEST_F(SteadyWriterTest, SendsABatchAndThenNoneUntilItIsTimeAgain) {
  SteadyWriter writer(*client_, {.keys = 10, .value_bytes = 3, .batch = 2, .per_second = 1e-3});
  ASSERT_TRUE(*writer.send_due());
  EXPECT_EQ(received(),
            "*3\r\n$3\r\nSET\r\n$14\r\nsteady:0000000\r\n$3\r\nxxx\r\n"
            "*3\r\n$3\r\nSET\r\n$14\r\nsteady:0000009\r\n$3\r\nxxx\r\n");
  EXPECT_EQ(writer.written_bytes(), 6u);
  EXPECT_FALSE(*writer.send_due());
  EXPECT_EQ(received(), "");
  ASSERT_EQ(::send(server_.get(), "+OK\r\n-ERR full\r\n", 16, 0), 16);
  const Status status = writer.take_replies();
  ASSERT_FALSE(status);
  EXPECT_TRUE(has(status.error().message, "full"));
}

}  // namespace
}  // namespace mayfly
