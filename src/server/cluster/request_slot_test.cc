// SPDX-License-Identifier: Apache-2.0
// The slot of requests of all forms.

#include "server/cluster/request_slot.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/core/server_call.h"

namespace mayfly {
namespace request_slot_test {

RequestSlot slot_of(const std::vector<std::string_view>& words) {
  static const CommandTable table = [] {
    CommandTable all;
    for (const auto rows : data_commands()) all.add(rows);
    for (const auto rows : {pubsub_commands(), script_commands(), function_commands(),
                            migrate_commands(), transaction_commands(), server_commands()}) {
      all.add(rows);
    }
    return all;
  }();
  const Command* const command = table.resolve(*table.find(words[0]), words);
  return request_slot(*command, words);
}

RequestSlot slot_of_key(std::string_view key) { return {RequestSlot::one, hash_slot(key)}; }

constexpr auto kNone = RequestSlot::none;
constexpr auto kCross = RequestSlot::cross;

TEST(RequestSlot, IsThatOfTheKey) {
  EXPECT_EQ(slot_of({"GET", "foo"}), slot_of_key("foo"));
  EXPECT_EQ(slot_of({"SET", "{foo}bar", "value", "PX", "10"}), slot_of_key("foo"));
  EXPECT_EQ(slot_of({"OBJECT", "ENCODING", "foo"}), slot_of_key("foo"));
  EXPECT_EQ(slot_of({"XGROUP", "CREATE", "foo", "g", "$"}), slot_of_key("foo"));
}

TEST(RequestSlot, IsNoneWithoutKeys) {
  EXPECT_EQ(slot_of({"DBSIZE"}).kind, kNone);
  EXPECT_EQ(slot_of({"MULTI"}).kind, kNone);
  EXPECT_EQ(slot_of({"EVAL", "return 1", "0"}).kind, kNone);
  EXPECT_EQ(slot_of({"PUBLISH", "channel", "message"}).kind, kNone);
  EXPECT_EQ(slot_of({"SUBSCRIBE", "a", "b"}).kind, kNone);
}

TEST(RequestSlot, IsOneIfAllKeysHaveTheSame) {
  EXPECT_EQ(slot_of({"MGET", "{a}1", "{a}2", "a"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"MSET", "{a}1", "b", "{a}2", "c"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"MGET", "a", "b"}).kind, kCross);
  EXPECT_EQ(slot_of({"MGET", "a", "b", "a"}).kind, kCross);
  EXPECT_EQ(slot_of({"MSET", "a", "1", "b", "2"}).kind, kCross);
  EXPECT_EQ(slot_of({"BITOP", "AND", "a", "b"}).kind, kCross);
}

TEST(RequestSlot, CountsKeysThatOptionsName) {
  EXPECT_EQ(slot_of({"EVAL", "return 1", "2", "{a}1", "{a}2", "b"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"EVAL", "return 1", "2", "a", "b"}).kind, kCross);
  EXPECT_EQ(slot_of({"FCALL", "f", "1", "a", "b"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"ZUNIONSTORE", "t", "1", "a"}).kind, kCross);
  EXPECT_EQ(slot_of({"SORT", "a", "STORE", "b"}).kind, kCross);
  EXPECT_EQ(slot_of({"SORT", "{a}1", "STORE", "{a}2"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"GEORADIUS", "a", "0", "0", "1", "km", "STORE", "b"}).kind, kCross);
  EXPECT_EQ(slot_of({"XREAD", "COUNT", "1", "STREAMS", "a", "b", "0", "0"}).kind, kCross);
  EXPECT_EQ(slot_of({"XREAD", "STREAMS", "a", "0"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"MIGRATE", "host", "1", "a", "0", "10"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"MIGRATE", "host", "1", "", "0", "10", "KEYS", "a", "b"}).kind, kCross);
}

TEST(RequestSlot, IsThatOfShardChannels) {
  EXPECT_EQ(slot_of({"SSUBSCRIBE", "a"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"SSUBSCRIBE", "{a}1", "{a}2"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"SSUBSCRIBE", "a", "b"}).kind, kCross);
  EXPECT_EQ(slot_of({"SPUBLISH", "a", "b"}), slot_of_key("a"));
  EXPECT_EQ(slot_of({"SUNSUBSCRIBE"}).kind, kNone);
}

}  // namespace request_slot_test
}  // namespace mayfly
