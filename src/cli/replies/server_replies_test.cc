// SPDX-License-Identifier: Apache-2.0
// Servers that reply with escape sequences, with more than was asked for, and with too much.

#include "cli/replies/server_replies.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace server_replies_test {

std::string bulk(std::string_view text) { return fmt::format("${}\r\n{}\r\n", text.size(), text); }

// What a server that has one key of this type replies at first: INFO keyspace, INFO server, INFO
// commandstats, five commands that it knows, SCAN, TYPE.
std::string one_key(std::string_view type) {
  std::string replies = bulk("db0:keys=1\r\n") + bulk("run_id:x\r\n") + bulk("");
  for (int i = 0; i < 4; ++i) replies += "-ERR wrong number of arguments\r\n";
  return replies + "*2\r\n" + bulk("0") + "*1\r\n" + bulk("k") + fmt::format("+{}\r\n", type);
}

TEST(ServerRepliesTest, EscapeSequencesAreNotPrinted) {
  EXPECT_EQ(run_server_replies("I-ERR \x1b[2J\r\n"), "");
  EXPECT_EQ(run_server_replies("I" + bulk("db0:keys=1\r\n") + "-\x1b[2J\r\n-\x9b\r\n-\x9b\r\n"),
            "");
  EXPECT_EQ(run_server_replies("I" + one_key("\x1b[31mmodule")), "");
  EXPECT_EQ(run_server_replies("I\x1b[2J\r\n"), "");
  EXPECT_EQ(run_server_replies("T" + bulk("redis_version:7.0\x1b[2J\r\nrole:\x1b[31mmaster\r\n"
                                          "master_host:a\nb\r\n")),
            "");
  EXPECT_EQ(
      run_server_replies("C" + bulk("\x1b[2Jid 10.0.0.1:1@1 master - 0 0 1 connected 0-16383\n") +
                         "-MISCONF \x1b[2J\r\n"),
      "");
}

TEST(ServerRepliesTest, TheTestsReadAsFarAsTheyShould) {
  RepliedClient replied(one_key("string") + bulk("v") + ":-1\r\n");
  const ManualClock clock{Time(Millis(1'700'000'000'000))};
  auto source = ServerSource::open(replied.take(), {}, {.match = {}, .all_databases = true}, clock);
  ASSERT_TRUE(source) << source.error().message;
  CopyCounts counts;
  const auto items = (*source)->read(counts);
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 1u);
  EXPECT_EQ(items->front().value, "v");
}

// It wrote beyond the members.
TEST(ServerRepliesTest, MoreDeadlinesThanMembers) {
  std::string replies = one_key("hash") + "*2\r\n" + bulk("0") + "*2\r\n" + bulk("f") + bulk("v");
  replies += ":-1\r\n*1000\r\n";
  for (int i = 0; i < 1000; ++i) replies += ":5\r\n";
  EXPECT_EQ(run_server_replies("I" + replies), "");
}

TEST(ServerRepliesTest, NumbersMayBeAnything) {
  for (const char* const number : {"9223372036854775807", "-9223372036854775808", "x", ""}) {
    EXPECT_EQ(
        run_server_replies("I" + one_key("string") + bulk("v") +
                           fmt::format(":{}\r\n*2\r\n", number) + bulk(number) + bulk(number)),
        "");
    std::string info;
    for (const char* const name :
         {"used_memory", "uptime_in_seconds", "total_commands_processed", "maxmemory",
          "rdb_last_save_time", "expired_keys", "master_last_io_seconds_ago"}) {
      info += fmt::format("{}:{}\r\n", name, number);
    }
    EXPECT_EQ(run_server_replies("T" + bulk(info) + bulk(info)), "");
    EXPECT_EQ(run_server_replies("C" + bulk("id 10.0.0.1:1@1 master - 0 0 1 connected 0-16383\n") +
                                 "+PONG\r\n*2\r\n" + bulk(number) + bulk(number) +
                                 bulk(fmt::format("cluster_my_id:id\r\ncluster_epoch:{}\r\n"
                                                  "cluster_member_x:clock_difference_ms={}\r\n",
                                                  number, number)) +
                                 ":1\r\n" + bulk(info)),
              "");
  }
}

TEST(ServerRepliesTest, RepliesOfNodesAreSmallButTablesAreNot) {
  const std::string large(RespClient::kSmallReplyMost + 1, 'x');
  const auto ask = [&](const ClusterNodes::Request& request) {
    RepliedClient replied(bulk(large));
    RespClient client = replied.take();
    return ask_node(client, {request}, Millis(100)).ok();
  };
  EXPECT_FALSE(ask({"INFO"}));
  EXPECT_FALSE(ask({"CLUSTER", "INFO"}));
  EXPECT_FALSE(ask({"CLUSTER", "COUNTKEYSINSLOT", "1"}));
  EXPECT_TRUE(ask({"CLUSTER", "NODES"}));
  EXPECT_TRUE(ask({"CLUSTER", "SLOTS"}));
  EXPECT_TRUE(ask({"FUNCTION", "DUMP"}));
}

}  // namespace server_replies_test
}  // namespace mayfly
