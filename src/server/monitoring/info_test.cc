// SPDX-License-Identifier: Apache-2.0
// INFO: which sections are shown, and that their numbers are true.

#include "server/monitoring/info.h"

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace info_test {

class InfoTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  // The text of INFO, with real line ends.
  std::string info(std::string_view sections = "") {
    const std::string request = "INFO " + std::string(sections) + "\r\n";
    const std::string bytes = client_.send(request);
    return bytes.substr(bytes.find("\r\n") + 2);
  }

  // The value of a line, or "(none)".
  std::string value(std::string_view section, const std::string& name) {
    const std::string text = info(section);
    const std::size_t at = text.find("\n" + name + ":");
    if (at == std::string::npos) return "(none)";
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find('\r', begin) - begin);
  }

  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(InfoTest, ShowsTheSectionsAskedFor) {
  EXPECT_TRUE(info("keyspace").starts_with("# Keyspace\r\n"));
  EXPECT_FALSE(has(info("keyspace"), "# Server"));
  EXPECT_TRUE(has(info(), "# Server\r\n"));
  EXPECT_TRUE(has(info(), "\r\n\r\n# Clients\r\n"));
  EXPECT_FALSE(has(info(), "# Commandstats"));
  EXPECT_FALSE(has(info("default"), "# Commandstats"));
  EXPECT_TRUE(has(info("ALL"), "# Commandstats"));
  EXPECT_TRUE(has(info("everything"), "# Latencystats"));
  EXPECT_TRUE(has(info("server cpu"), "# CPU"));
  EXPECT_EQ(info("nosuch"), "\r\n");
}

TEST_F(InfoTest, SaysWhoItIs) {
  EXPECT_EQ(value("server", "server_name"), "mayfly");
  EXPECT_EQ(value("server", "redis_mode"), "standalone");
  EXPECT_EQ(value("server", "run_id"), fixture_.server().parts().run_id);
  fixture_.advance(std::chrono::seconds(90'000));
  EXPECT_EQ(value("server", "uptime_in_seconds"), "90000");
  EXPECT_EQ(value("server", "uptime_in_days"), "1");
}

TEST_F(InfoTest, CountsKeysThatAreAlive) {
  run("SET a 1");
  run("SET b 1 PX 1000");
  run("HSET h f v");
  run("HPEXPIRE h 500 FIELDS 1 f");
  const std::string line = value("keyspace", "db0");
  EXPECT_TRUE(line.starts_with("keys=3,expires=1,avg_ttl=")) << line;
  EXPECT_TRUE(line.ends_with(",keys_with_volatile_items=1")) << line;

  fixture_.advance(Millis(1000));
  EXPECT_TRUE(value("keyspace", "db0").starts_with("keys=1,"));
  EXPECT_EQ(value("expiry", "expiry_backlog_keys"), "2");
  EXPECT_EQ(value("keyspace", "db1"), "(none)");
}

TEST_F(InfoTest, TellsHowLateThingsExpired) {
  run("SET lazy 1 PX 10");
  fixture_.advance(Millis(15));
  run("GET lazy");
  EXPECT_EQ(value("expiry", "expiry_lateness_lazy_count"), "1");
  EXPECT_EQ(value("expiry", "expiry_lateness_lazy_p50_ms"), "5");
  EXPECT_EQ(value("expiry", "expiry_lateness_lazy_max_ms"), "5");

  run("SET active 1 PX 10");
  EXPECT_EQ(value("expiry", "expiry_next_deadline_ms"), "10");
  fixture_.advance(Millis(13));
  fixture_.sweep();
  EXPECT_EQ(value("expiry", "expiry_lateness_active_p99_ms"), "3");
  EXPECT_EQ(value("expiry", "expiry_next_deadline_ms"), "-1");
  EXPECT_EQ(value("stats", "expired_keys"), "2");
}

TEST_F(InfoTest, CountsWhatIsGoingToExpireSoon) {
  run("SET a 1 PX 1000");
  run("SET b 1 PX 1001");
  run("SET c 1 EX 3600");
  run("SET d 1");
  run("HSET h f 1 g 2 k 3");
  run("HPEXPIRE h 500 FIELDS 2 f g");
  EXPECT_EQ(value("expiry", "expiry_keys_due_within_1s"), "1");
  EXPECT_EQ(value("expiry", "expiry_keys_due_within_10s"), "2");
  EXPECT_EQ(value("expiry", "expiry_keys_due_within_10m"), "2");
  EXPECT_EQ(value("expiry", "expiry_keys_due_within_1h"), "3");
  EXPECT_EQ(value("expiry", "expiry_keys_with_members_due_within_1s"), "1");

  fixture_.advance(Millis(1000));  // what is due already is not going to be
  EXPECT_EQ(value("expiry", "expiry_keys_due_within_1s"), "1");
  EXPECT_EQ(value("expiry", "expiry_keys_with_members_due_within_1h"), "0");
}

TEST_F(InfoTest, CountsHitsMissesAndErrors) {
  run("SET k v");
  run("GET k");
  run("GET nosuch");
  run("HGET k f");
  EXPECT_EQ(value("stats", "keyspace_misses"), "1");
  EXPECT_EQ(value("stats", "total_error_replies"), "1");
  EXPECT_EQ(value("errorstats", "errorstat_WRONGTYPE"), "count=1");
  EXPECT_TRUE(value("commandstats", "cmdstat_get").starts_with("calls=2,usec="));
  EXPECT_TRUE(value("commandstats", "cmdstat_hget").ends_with("rejected_calls=0,failed_calls=1"));
  EXPECT_TRUE(value("latencystats", "latency_percentiles_usec_get").starts_with("p50="));
}

TEST_F(InfoTest, NeverTellsThePassword) {
  run("CONFIG SET requirepass open-sesame");
  EXPECT_FALSE(has(info("everything"), "open-sesame"));
}

TEST_F(InfoTest, TellsMemoryAsTheAllocatorHasIt) {
  const std::uint64_t before = std::stoull(value("memory", "used_memory"));
  EXPECT_GT(before, 0u);
  run("DEBUG POPULATE 1000 key 1000");
  EXPECT_GT(std::stoull(value("memory", "used_memory")), before + 1'000'000);
  EXPECT_GE(std::stoull(value("memory", "used_memory_peak")),
            std::stoull(value("memory", "used_memory")) / 2);
}

TEST_F(InfoTest, BytesForPeople) {
  EXPECT_EQ(human_bytes(1023), "1023B");
  EXPECT_EQ(human_bytes(1536), "1.50K");
  EXPECT_EQ(human_bytes(std::uint64_t{5} << 30), "5.00G");
}

TEST_F(InfoTest, HasWhatDashboardsRead) {
  run("SET k v");
  EXPECT_GT(std::stoll(value("cpu", "used_active_time_main_thread")), 0);
  EXPECT_GE(std::stoll(value("memory", "mem_clients_normal")),
            static_cast<std::int64_t>(sizeof(Client)));
  EXPECT_EQ(value("memory", "mem_clients_slaves"), "0");
  const std::int64_t used = std::stoll(value("memory", "used_memory"));
  EXPECT_LT(std::stoll(value("memory", "used_memory_overhead")), used);
  EXPECT_LE(std::stoll(value("memory", "used_memory_dataset")), used + (1 << 20));
  EXPECT_EQ(value("stats", "tracking_total_items"), "0");
  EXPECT_LE(std::stoll(value("memory", "used_memory_startup")), used);
  run("CONFIG SET availability-zone zone-a");
  EXPECT_EQ(value("server", "availability_zone"), "zone-a");
}

TEST_F(InfoTest, HasTheLinesOfValkey) {
  run("AUTH no-user wrong");
  fixture_.advance(Millis(1000));
  run("DEBUG POPULATE 100");
  run("FLUSHALL");
  fixture_.sweep();
  for (const char* const name :
       {"total_net_repl_input_bytes", "total_net_repl_output_bytes", "instantaneous_input_kbps",
        "instantaneous_output_kbps", "instantaneous_input_repl_kbps",
        "instantaneous_output_repl_kbps", "total_reads_processed", "total_writes_processed",
        "eventloop_cycles", "eventloop_duration_sum", "eventloop_duration_cmd_sum",
        "instantaneous_eventloop_cycles_per_sec", "instantaneous_eventloop_duration_usec",
        "acl_access_denied_cmd", "acl_access_denied_key", "acl_access_denied_channel"}) {
    EXPECT_NE(value("stats", name), "(none)") << name;
  }
  EXPECT_EQ(value("stats", "acl_access_denied_auth"), "1");
  EXPECT_GE(std::stoll(value("memory", "lazyfreed_objects")), 100);
  EXPECT_TRUE(value("server", "valkey_version").starts_with("9."));
  EXPECT_NE(value("server", "gcc_version"), "(none)");
  EXPECT_EQ(value("server", "lru_clock"), std::to_string((1'700'000'000 + 1) & 0xFFFFFF));
  EXPECT_EQ(value("server", "shutdown_in_milliseconds"), "(none)");
}

TEST_F(InfoTest, OwnErrorsAreCountedHoweverManyCodesScriptsMakeUp) {
  for (int i = 0; i < 200; ++i) {
    client_.run({"EVAL", "return redis.error_reply('MADEUP" + std::to_string(i) + " x')", "0"});
  }
  EXPECT_GT(std::stoll(value("errorstats", "errorstat_ERRORSTATS_OVERFLOW").substr(6)), 50);
  run("SET k v");
  run("HGET k f");
  run("EVALSHA 0000000000000000000000000000000000000000 0");
  EXPECT_EQ(value("errorstats", "errorstat_WRONGTYPE"), "count=1");
  EXPECT_EQ(value("errorstats", "errorstat_NOSCRIPT"), "count=1");
}

}  // namespace info_test
}  // namespace mayfly
