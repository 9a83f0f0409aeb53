// SPDX-License-Identifier: Apache-2.0
// Directives: every kind of value, right and wrong, and what CONFIG GET shows of it.

#include "server/config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "server/config/config_table.h"
#include "server/config/config_values.h"

namespace mayfly {
namespace config_test {

class ConfigTest : public testing::Test {
 protected:
  // Empty if it was taken, else why not.
  std::string set(std::string_view name, std::vector<std::string> values, bool at_start = true) {
    const Status status = set_directive(config_, name, values, at_start);
    return status ? std::string() : status.error().message;
  }

  std::string show(std::string_view name) const {
    return directive_text(config_, name).value_or("(none)");
  }

  Config config_;
};

TEST_F(ConfigTest, EveryNameIsKnownOnceAndShowsItsDefault) {
  const std::vector<std::string_view> names = directive_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string_view name : names) EXPECT_NE(show(name), "(none)") << name;
}

// CONFIG REWRITE and CONFIG SET rely on it.
TEST_F(ConfigTest, WhatIsShownCanBeSet) {
  for (const std::string_view name : directive_names()) {
    const std::string before = show(name);
    EXPECT_EQ(set(name, {before}), "") << name;
    EXPECT_EQ(show(name), before) << name;
  }
}

TEST_F(ConfigTest, NumbersHaveBounds) {
  EXPECT_EQ(set("port", {"7000"}), "");
  EXPECT_EQ(config_.port, 7000);
  EXPECT_EQ(set("port", {"65536"}), "argument must be between 0 and 65535 inclusive");
  EXPECT_EQ(set("port", {"-1"}), "argument must be between 0 and 65535 inclusive");
  EXPECT_EQ(set("port", {"7k"}), "argument couldn't be parsed into an integer");
  EXPECT_EQ(set("port", {""}), "argument couldn't be parsed into an integer");
  EXPECT_EQ(set("port", {"1", "2"}), "wrong number of arguments");
  EXPECT_EQ(set("port", {}), "wrong number of arguments");
  EXPECT_EQ(config_.port, 7000);
}

TEST_F(ConfigTest, SignalsHaveFlags) {
  EXPECT_EQ(show("shutdown-on-sigterm"), "default");
  EXPECT_EQ(set("shutdown-on-sigterm", {"force", "NOSAVE now"}, false), "");
  EXPECT_EQ(show("shutdown-on-sigterm"), "nosave now force");
  for (const std::string_view wrong : {"", "save nosave", "later"}) {
    EXPECT_TRUE(set("shutdown-on-sigint", {std::string(wrong)}).starts_with("argument(s) must be"));
  }
  EXPECT_EQ(set("shutdown-on-sigterm", {"default"}), "");
  EXPECT_EQ(show("shutdown-on-sigterm"), "default");
}

TEST_F(ConfigTest, PercentilesAreNumbersUpToAHundred) {
  EXPECT_EQ(show("latency-tracking-info-percentiles"), "50 99 99.9");
  EXPECT_EQ(set("latency-tracking-info-percentiles", {"0.0 50.0 100.0"}), "");
  EXPECT_EQ(show("latency-tracking-info-percentiles"), "0 50 100");
  EXPECT_NE(set("latency-tracking-info-percentiles", {"50 a"}), "");
  EXPECT_NE(set("latency-tracking-info-percentiles", {"50 101"}), "");
  EXPECT_EQ(show("latency-tracking-info-percentiles"), "0 50 100");
}

TEST_F(ConfigTest, SomeMemoryMayBeNegativeOrHuge) {
  EXPECT_EQ(set("slot-migration-max-failover-repl-bytes", {"-1"}), "");
  EXPECT_EQ(show("slot-migration-max-failover-repl-bytes"), "-1");
  EXPECT_NE(set("slot-migration-max-failover-repl-bytes", {"-2"}), "");
  EXPECT_EQ(set("maxmemory", {"9223372036854775808"}), "");
  EXPECT_EQ(show("maxmemory"), "9223372036854775808");
  EXPECT_EQ(set("maxmemory-clients", {"101%"}), "percentage argument must be less or equal to 100");
  EXPECT_EQ(set("maxmemory-clients", {"9223372036854775807"}), "");
  for (const char* const wrong : {"9223372036854775808", "18446744073709551615", "-1", "x"}) {
    EXPECT_EQ(set("maxmemory-clients", {wrong}), "argument must be a memory or percent value");
  }
}

TEST_F(ConfigTest, MemoryHasUnits) {
  const std::pair<std::string, std::uint64_t> rows[] = {
      {"0", 0},           {"123", 123},          {"5b", 5},
      {"1k", 1000},       {"1kb", 1024},         {"2M", 2'000'000},
      {"2mb", 2'097'152}, {"1g", 1'000'000'000}, {"1Gb", 1'073'741'824}};
  for (const auto& [text, bytes] : rows) {
    EXPECT_EQ(set("maxmemory", {text}), "");
    EXPECT_EQ(config_.maxmemory, bytes) << text;
    EXPECT_EQ(show("maxmemory"), std::to_string(bytes));
  }
}

TEST_F(ConfigTest, MemoryThatIsNoneIsRefused) {
  for (const char* const text : {"", "mb", "1 mb", "1tb", "-1", "1.5gb", "99999999999gb", "10%"}) {
    EXPECT_EQ(set("maxmemory", {text}), "argument must be a memory value") << text;
  }
  EXPECT_EQ(set("proto-max-bulk-len", {"1k"}),
            "argument must be between 1048576 and 4294967295 inclusive");
}

// What is longer than a node's value could be would be cut off.
TEST_F(ConfigTest, NoBulkIsLongerThanAValueCanBe) {
  EXPECT_EQ(set("proto-max-bulk-len", {"4294967295"}), "");
  EXPECT_EQ(set("proto-max-bulk-len", {"4gb"}),
            "argument must be between 1048576 and 4294967295 inclusive");
  EXPECT_EQ(config_.proto_max_bulk_len, 4'294'967'295u);
}

TEST_F(ConfigTest, BooleansAreYesOrNo) {
  EXPECT_EQ(set("protected-mode", {"NO"}), "");
  EXPECT_FALSE(config_.protected_mode);
  EXPECT_EQ(show("protected-mode"), "no");
  for (const char* const text : {"true", "1", "", "yes "}) {
    EXPECT_EQ(set("protected-mode", {text}), "argument must be 'yes' or 'no'") << text;
  }
}

TEST_F(ConfigTest, ChoicesAreListedWhenOneIsWrong) {
  EXPECT_EQ(set("loglevel", {"VERBOSE"}), "");
  EXPECT_EQ(show("loglevel"), "verbose");
  EXPECT_EQ(set("loglevel", {"loud"}),
            "argument(s) must be one of the following: debug, verbose, notice, warning, nothing");
  EXPECT_EQ(set("enable-debug-command", {"local"}), "");
  EXPECT_EQ(set("maxmemory-policy", {"volatile-ttl"}), "");
  EXPECT_EQ(config_.maxmemory_policy, Eviction::volatile_ttl);
  EXPECT_TRUE(set("maxmemory-policy", {"lru"}).ends_with("allkeys-random, noeviction"));
}

TEST_F(ConfigTest, EventsAreLetters) {
  EXPECT_EQ(set("notify-keyspace-events", {"KEA"}), "");
  EXPECT_EQ(show("notify-keyspace-events"), "AKE");
  EXPECT_EQ(set("notify-keyspace-events", {"q"}),
            "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
}

TEST_F(ConfigTest, SaveRulesAddUpAtTheStartAndReplaceLater) {
  EXPECT_EQ(show("save"), "3600 1 300 100 60 10000");
  EXPECT_EQ(set("save", {"900", "1"}), "");
  EXPECT_EQ(set("save", {"300", "10", "60", "100"}), "");
  EXPECT_EQ(show("save"), "900 1 300 10 60 100");
  EXPECT_EQ(set("save", {"5 6"}, false), "");
  EXPECT_EQ(show("save"), "5 6");
  EXPECT_EQ(set("save", {""}), "");
  EXPECT_EQ(show("save"), "");
}

TEST_F(ConfigTest, WrongSaveRulesAreRefused) {
  for (const char* const text : {"900", "x 1", "0 1", "900 -1", "900 1 5"}) {
    EXPECT_EQ(set("save", {text}), "Invalid save parameters") << text;
  }
}

TEST_F(ConfigTest, OutputLimitsChangeByClass) {
  EXPECT_EQ(set("client-output-buffer-limit", {"pubsub", "64mb", "16mb", "90"}), "");
  EXPECT_EQ(set("client-output-buffer-limit", {"replica 1 2 3 normal 4 5 6"}, false), "");
  EXPECT_EQ(show("client-output-buffer-limit"),
            "normal 4 5 6 slave 1 2 3 pubsub 67108864 16777216 90");
}

TEST_F(ConfigTest, WrongOutputLimitsChangeNothing) {
  const std::string before = show("client-output-buffer-limit");
  EXPECT_EQ(set("client-output-buffer-limit", {"pubsub 1 2"}),
            "Wrong number of arguments in buffer limit configuration.");
  EXPECT_EQ(set("client-output-buffer-limit", {"normal 1 2 3 others 1 2 3"}),
            "Invalid client class specified in buffer limit configuration.");
  EXPECT_EQ(set("client-output-buffer-limit", {"normal 1 2 3 pubsub 1 2 -3"}),
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
  EXPECT_EQ(show("client-output-buffer-limit"), before);
}

TEST_F(ConfigTest, PermissionsAreOctal) {
  EXPECT_EQ(set("unixsocketperm", {"700"}), "");
  EXPECT_EQ(config_.unixsocketperm, 0700);
  EXPECT_EQ(show("unixsocketperm"), "700");
  EXPECT_EQ(set("unixsocketperm", {"800"}), "argument couldn't be parsed as an octal number");
  EXPECT_EQ(set("unixsocketperm", {"1777"}), "argument must be between 0 and 777 inclusive");
}

TEST_F(ConfigTest, AddressesAreWords) {
  EXPECT_EQ(set("bind", {""}), "");
  EXPECT_TRUE(config_.bind.empty());
  EXPECT_EQ(set("bind", {"127.0.0.1", "::1"}), "");
  EXPECT_EQ(set("bind", {"* -::*"}), "");
  EXPECT_EQ(config_.bind, (std::vector<std::string>{"*", "-::*"}));
  EXPECT_EQ(show("bind"), "* -::*");
}

TEST_F(ConfigTest, PathsAreChecked) {
  EXPECT_EQ(set("dir", {"/nowhere/at/all"}), "No such file or directory");
  EXPECT_EQ(set("dir", {"/etc/passwd"}), "Not a directory");
  EXPECT_EQ(set("dir", {"/"}), "");
  EXPECT_EQ(show("dir"), "/");
  EXPECT_EQ(set("dbfilename", {"a/b"}), "dbfilename can't be a path, just a filename");
}

TEST_F(ConfigTest, FixedDirectivesAreSetAtTheStartOnly) {
  for (const char* const name : {"unixsocket", "databases", "enable-debug-command", "hash-seed"}) {
    EXPECT_EQ(set(name, {show(name)}, false), "can't set immutable config") << name;
  }
  EXPECT_EQ(set("databases", {"4"}), "");
}

TEST_F(ConfigTest, AliasesAreTheSameDirective) {
  EXPECT_EQ(set("hash-max-ziplist-entries", {"7"}), "");
  EXPECT_EQ(config_.hash_max_listpack_entries, 7);
  EXPECT_EQ(set("slave-priority", {"9"}), "");
  EXPECT_EQ(show("replica-priority"), "9");
  EXPECT_EQ(set("REPLICA-PRIORITY", {"8"}), "");
  EXPECT_EQ(show("slave-priority"), "8");
  EXPECT_EQ(config_.replica_priority, 8);
}

TEST_F(ConfigTest, LimitsOfListsStreamsAndHyperLogLogs) {
  EXPECT_EQ(show("list-max-listpack-size"), "-2");
  EXPECT_EQ(set("list-max-ziplist-size", {"-5"}), "");
  EXPECT_EQ(config_.list_max_listpack_size, -5);
  EXPECT_EQ(set("list-max-listpack-size", {"2147483648"}),
            "argument must be between -2147483648 and 2147483647 inclusive");
  EXPECT_EQ(set("list-compress-depth", {"-1"}),
            "argument must be between 0 and 2147483647 inclusive");
  EXPECT_EQ(set("stream-node-max-bytes", {"1kb"}), "");
  EXPECT_EQ(config_.stream_node_max_bytes, 1024u);
  EXPECT_EQ(set("stream-node-max-entries", {"0"}), "");
  EXPECT_EQ(config_.stream_node_max_entries, 0);
  EXPECT_EQ(set("hll-sparse-max-bytes", {"15000"}), "");
  EXPECT_EQ(show("hll-sparse-max-bytes"), "15000");
}

TEST_F(ConfigTest, InertDirectivesKeepTheirValueInItsForm) {
  EXPECT_TRUE(is_inert("repl-diskless-load"));
  EXPECT_FALSE(is_inert("appendfsync"));
  EXPECT_EQ(show("repl-diskless-load"), "disabled");
  EXPECT_EQ(set("repl-diskless-load", {"swapdb"}, false), "");
  EXPECT_EQ(show("repl-diskless-load"), "swapdb");
  EXPECT_EQ(config_.inert.size(), 1u);
  EXPECT_EQ(set("replica-full-sync-buffer-limit", {"1mb"}), "");
  EXPECT_EQ(show("replica-full-sync-buffer-limit"), "1048576");
  EXPECT_EQ(set("oom-score-adj-values", {"0", "100", "200"}), "");
  EXPECT_EQ(show("oom-score-adj-values"), "0 100 200");
  for (const char* const wrong : {"-2001 0 0", "0 2001 0", "0 0 x"}) {
    EXPECT_EQ(set("oom-score-adj-values", {wrong}),
              "Invalid oom-score-adj-values, elements must be between -2000 and 2000.");
  }
  EXPECT_EQ(set("oom-score-adj-values", {"0 0"}), "wrong number of arguments");
  EXPECT_EQ(show("oom-score-adj-values"), "0 100 200");
  EXPECT_EQ(show("use-exit-on-panic"), "no");
  EXPECT_EQ(set("repl-mptcp", {"maybe"}), "argument must be 'yes' or 'no'");
  EXPECT_EQ(set("rdb-key-save-delay", {"x"}), "argument couldn't be parsed into an integer");
}

TEST_F(ConfigTest, AnUnknownDirectiveComesWithASuggestion) {
  EXPECT_EQ(set("maxmemmory", {"1"}), "there is no directive maxmemmory; did you mean maxmemory?");
  EXPECT_EQ(set("quux", {"1"}), "there is no directive quux");
  EXPECT_EQ(directive_text(config_, "quux"), std::nullopt);
}

TEST_F(ConfigTest, WhatWouldDoHarmIfIgnoredIsRefused) {
  EXPECT_TRUE(set("loadmodule", {"x.so"}).starts_with("modules cannot be loaded"));
  for (const char* const name : {"user", "aclfile", "rename-command"}) {
    EXPECT_NE(set(name, {"x"}), "") << name;
    EXPECT_EQ(set(name, {"x"}).find("no directive"), std::string::npos) << name;
  }
}

TEST_F(ConfigTest, WordsAreQuotedOnlyIfTheyNeedIt) {
  EXPECT_EQ(quoted_word("/var/lib"), "/var/lib");
  EXPECT_EQ(quoted_word(""), "\"\"");
  EXPECT_EQ(quoted_word("a b"), "\"a b\"");
  EXPECT_EQ(quoted_word("#x"), "\"#x\"");
  EXPECT_EQ(quoted_word("say \"\\\n"), "\"say \\\"\\\\\\x0a\"");
}

}  // namespace config_test
}  // namespace mayfly
