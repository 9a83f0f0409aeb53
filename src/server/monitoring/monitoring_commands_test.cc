// SPDX-License-Identifier: Apache-2.0
// SLOWLOG, LATENCY and MEMORY, and what they keep.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/command_log.h"
#include "server/monitoring/latency.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"

namespace mayfly {
namespace monitoring_commands_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

class MonitoringTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }
  CommandLog& slowlog() { return fixture_.server().parts().command_logs[LogKind::slow]; }
  void log_slow(Words words, std::int64_t micros, Time at, std::string_view address,
                std::string_view name, std::int64_t most) {
    Config config;
    config.slowlog_log_slower_than = 0;
    config.slowlog_max_len = most;
    fixture_.server().parts().command_logs.record(config, {.words = words,
                                                           .micros = micros,
                                                           .reply_bytes = 0,
                                                           .at = at,
                                                           .client_address = address,
                                                           .client_name = name});
  }
  Latency& latency() { return fixture_.server().parts().latency; }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(MonitoringTest, SlowlogKeepsTheNewestFirst) {
  run("CONFIG SET slowlog-log-slower-than -1");
  const std::vector<std::string_view> words = {"GET", "k"};
  for (int i = 0; i < 12; ++i) log_slow(words, i, at(5000), "127.0.0.1:1", "me", 11);
  EXPECT_EQ(run("SLOWLOG LEN"), "(integer) 11");
  EXPECT_EQ(run("SLOWLOG GET 1"),
            R"([[(integer) 11, (integer) 5, (integer) 11, ["GET", "k"], "127.0.0.1:1", "me"]])");
  EXPECT_TRUE(client_.send("SLOWLOG GET\r\n").starts_with("*10\r\n"));
  EXPECT_TRUE(client_.send("SLOWLOG GET -1\r\n").starts_with("*11\r\n"));
  EXPECT_EQ(run("SLOWLOG GET -2"), "(error) ERR count should be greater than or equal to -1");
  EXPECT_EQ(run("SLOWLOG RESET"), "OK");
  EXPECT_EQ(run("SLOWLOG GET"), "[]");
}

TEST_F(MonitoringTest, SlowlogCutsLongCommands) {
  const std::string large(200, 'x');
  std::vector<std::string_view> words(40, "w");
  words[1] = large;
  log_slow(words, 1, at(0), "", "", 10);
  const CommandLog::Entry& entry = slowlog().entries().front();
  ASSERT_EQ(entry.words.size(), 32u);
  EXPECT_EQ(entry.words[1], std::string(128, 'x') + "... (72 more bytes)");
  EXPECT_EQ(entry.words[31], "... (9 more arguments)");
}

// A name can be as long as a request: 128 copies of it would be kept.
TEST_F(MonitoringTest, SlowlogCutsLongNames) {
  const std::vector<std::string_view> words = {"GET", "k"};
  log_slow(words, 1, at(0), "", std::string(100'000, 'n'), 10);
  EXPECT_EQ(slowlog().entries().front().client_name,
            std::string(128, 'n') + "... (99872 more bytes)");
}

TEST_F(MonitoringTest, SlowlogKeepsNoPasswords) {
  const std::vector<std::string_view> requests[] = {
      {"AUTH", "sesame"},
      {"AUTH", "ann", "sesame"},
      {"HELLO", "3", "AUTH", "ann", "sesame", "SETNAME", "me"},
      {"CONFIG", "SET", "hz", "10", "requirepass", "sesame"},
      {"config", "set", "masterauth", "sesame", "hz", "10"},
      {"ACL", "SETUSER", "ann", "on", ">sesame"},
  };
  for (const auto& words : requests) {
    log_slow(words, 1, at(0), "", "", 10);
    for (const std::string& word : slowlog().entries().front().words) {
      EXPECT_EQ(word.find("sesame"), std::string::npos) << words[0];
    }
  }
  EXPECT_EQ(slowlog().entries()[2].words[3], "10");
  EXPECT_EQ(slowlog().entries()[3].words[6], "me");
}

TEST_F(MonitoringTest, SlowlogWithoutRoomKeepsNothing) {
  const std::vector<std::string_view> words = {"PING"};
  log_slow(words, 1, at(0), "", "", 0);
  EXPECT_TRUE(slowlog().entries().empty());
}

TEST_F(MonitoringTest, CommandlogKeepsLargeRequestsAndReplies) {
  run("CONFIG SET commandlog-request-larger-than 100 commandlog-reply-larger-than 100");
  run("CONFIG SET slowlog-log-slower-than -1");
  run("COMMANDLOG RESET large-request");
  run("COMMANDLOG RESET large-reply");
  const std::string large(100, 'x');
  run("SET k " + large);
  run("GET k");
  run("GET nothing");
  EXPECT_EQ(run("COMMANDLOG LEN large-request"), "(integer) 1");
  EXPECT_EQ(run("COMMANDLOG LEN large-reply"), "(integer) 1");
  EXPECT_EQ(run("COMMANDLOG LEN slow"), "(integer) 0");
  const std::string request = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\n" + large + "\r\n";
  const std::string entry = ", (integer) 1700000000, (integer) ";
  EXPECT_NE(run("COMMANDLOG GET -1 LARGE-REQUEST")
                .find(entry + std::to_string(request.size()) + ", [\"SET\", \"k\", "),
            std::string::npos);
  const std::string reply = "$100\r\n" + large + "\r\n";
  EXPECT_NE(run("COMMANDLOG GET -1 large-reply")
                .find(entry + std::to_string(reply.size()) + ", [\"GET\", \"k\"], "),
            std::string::npos);
}

TEST_F(MonitoringTest, CommandlogSlowIsTheSlowlog) {
  run("CONFIG SET commandlog-execution-slower-than -1");
  const std::vector<std::string_view> words = {"PING"};
  log_slow(words, 5, at(5000), "127.0.0.1:1", "me", 10);
  EXPECT_EQ(run("COMMANDLOG GET -1 slow"), run("SLOWLOG GET"));
  EXPECT_EQ(run("COMMANDLOG GET 0 slow"), "[]");
  EXPECT_EQ(run("COMMANDLOG RESET slow"), "OK");
  EXPECT_EQ(run("SLOWLOG LEN"), "(integer) 0");
}

TEST_F(MonitoringTest, CommandlogIsCutWhenItsLengthIs) {
  run("CONFIG SET commandlog-request-larger-than 0");
  for (int i = 0; i < 10; ++i) run("PING");
  run("CONFIG SET commandlog-large-request-max-len 3");
  EXPECT_EQ(run("COMMANDLOG LEN large-request"), "(integer) 3");
  run("CONFIG SET commandlog-large-request-max-len 0");
  run("COMMANDLOG RESET large-request");
  run("PING");
  EXPECT_EQ(run("COMMANDLOG LEN large-request"), "(integer) 0");
}

TEST_F(MonitoringTest, CommandlogRefusesWhatIsNotRight) {
  constexpr const char* kType =
      "(error) ERR type should be one of the following: slow, large-request, large-reply";
  EXPECT_EQ(run("COMMANDLOG GET 1 foo"), kType);
  EXPECT_EQ(run("COMMANDLOG LEN foo"), kType);
  EXPECT_EQ(run("COMMANDLOG RESET foo"), kType);
  EXPECT_EQ(run("COMMANDLOG GET -2 slow"),
            "(error) ERR count should be greater than or equal to -1");
  EXPECT_EQ(run("COMMANDLOG GET"),
            "(error) ERR wrong number of arguments for 'commandlog|get' command");
  EXPECT_TRUE(run("COMMANDLOG HELP").starts_with("[COMMANDLOG <subcommand>"));
}

TEST_F(MonitoringTest, LatencyKeepsTheLongestOfEachSecond) {
  latency().add("command", 5, 10, at(1000));
  EXPECT_EQ(run("LATENCY LATEST"), "[]");
  latency().add("command", 15, 10, at(1000));
  latency().add("command", 12, 10, at(1900));
  latency().add("command", 11, 10, at(2000));
  latency().add("command", 99, 0, at(3000));  // monitoring is off
  // The event, when, the latest, the longest, the sum and the count: as Valkey 9 has them.
  EXPECT_EQ(run("LATENCY LATEST"),
            R"([["command", (integer) 2, (integer) 11, (integer) 15, (integer) 38, (integer) 3]])");
  EXPECT_EQ(run("LATENCY HISTORY command"),
            "[[(integer) 1, (integer) 15], [(integer) 2, (integer) 11]]");
  EXPECT_EQ(run("LATENCY HISTORY nosuch"), "[]");
}

TEST_F(MonitoringTest, LatencyKeepsABoundedNumberOfSamples) {
  for (int i = 0; i < 200; ++i) latency().add("command", i + 1, 1, at(i * 1000));
  const auto& samples = latency().events().at("command").samples;
  EXPECT_EQ(samples.size(), Latency::kSamples);
  EXPECT_EQ(samples.back().at_seconds, 199);
}

TEST_F(MonitoringTest, LatencyCanBeForgotten) {
  latency().add("a", 1, 1, at(0));
  latency().add("b", 1, 1, at(0));
  EXPECT_EQ(run("LATENCY RESET a nosuch"), "(integer) 1");
  EXPECT_EQ(run("LATENCY RESET"), "(integer) 1");
  EXPECT_EQ(run("LATENCY LATEST"), "[]");
}

TEST_F(MonitoringTest, LatencyIsToldToPeople) {
  EXPECT_NE(run("LATENCY DOCTOR").find("monitoring is off"), std::string::npos);
  run("CONFIG SET latency-monitor-threshold 10");
  EXPECT_NE(run("LATENCY DOCTOR").find("Nothing has taken 10 ms"), std::string::npos);
  latency().add("command", 20, 10, fixture_.wall().now());
  EXPECT_NE(run("LATENCY DOCTOR").find("SLOWLOG GET"), std::string::npos);
  EXPECT_NE(run("LATENCY GRAPH command").find("high 20 ms, low 20 ms"), std::string::npos);
  EXPECT_EQ(run("LATENCY GRAPH nosuch"), "(error) ERR No samples available for event 'nosuch'");
}

TEST_F(MonitoringTest, HistogramCountsCallsInPowersOfTwo) {
  run("SET k v");
  const auto& commands = fixture_.server().parts().commands;
  CommandStats& stats = fixture_.server().parts().stats.by_command[commands.find("set")];
  stats = {};
  stats.calls = 3;
  stats.micros_log2[0] = 1;
  stats.micros_log2[4] = 2;
  run("HELLO 3");
  EXPECT_EQ(run("LATENCY HISTOGRAM set nosuch"),
            R"({"set": {"calls": (integer) 3, "histogram_usec": {(integer) 1: (integer) 1, )"
            R"((integer) 16: (integer) 3}}})");
  run("CONFIG GET port");
  EXPECT_NE(run("LATENCY HISTOGRAM config").find(R"("config|get")"), std::string::npos);
}

TEST_F(MonitoringTest, UsageGrowsWithTheValue) {
  EXPECT_EQ(run("MEMORY USAGE nosuch"), "(nil)");
  run("SET small x");
  run("SET large " + std::string(10'000, 'x'));
  run("HSET hash f v");
  const auto usage = [&](const std::string& words) {
    return std::stoi(run("MEMORY USAGE " + words).substr(sizeof("(integer)")));
  };
  EXPECT_GT(usage("small"), 16);
  EXPECT_LT(usage("small"), 100);
  EXPECT_GT(usage("large"), 10'000);
  const int packed = usage("hash SAMPLES 5");
  run("CONFIG SET hash-max-listpack-entries 1");
  run("HSET hash g " + std::string(100, 'v'));
  EXPECT_GT(usage("hash"), packed + 100);
}

TEST_F(MonitoringTest, UsageChecksItsWords) {
  run("SET k v");
  EXPECT_EQ(run("MEMORY USAGE k FOO 1"), "(error) ERR syntax error");
  EXPECT_EQ(run("MEMORY USAGE k SAMPLES"), "(error) ERR syntax error");
  EXPECT_EQ(run("MEMORY USAGE k SAMPLES x"), "(error) ERR value is not an integer or out of range");
}

TEST_F(MonitoringTest, MemoryIsToldToProgramsAndPeople) {
  run("SET k v");
  run("HELLO 3");
  const std::string stats = run("MEMORY STATS");
  EXPECT_NE(stats.find(R"("keys.count": (integer) 1)"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("db.0": {"overhead.hashtable.main": (integer))"), std::string::npos);
  EXPECT_TRUE(run("MEMORY DOCTOR").starts_with("(verbatim)"));
  EXPECT_TRUE(run("MEMORY MALLOC-STATS").starts_with("(verbatim)"));
  EXPECT_EQ(run("MEMORY PURGE"), "OK");
}

TEST_F(MonitoringTest, UsedMemoryFollowsAllocations) {
  const std::size_t before = used_memory();
  std::vector<char> block(1 << 20);
  EXPECT_GE(used_memory(), before + block.size());
  EXPECT_FALSE(memory_numbers().allocator.empty());
  EXPECT_GT(memory_numbers().rss, 0u);
}

}  // namespace monitoring_commands_test
}  // namespace mayfly
