// SPDX-License-Identifier: Apache-2.0
// XEXPIRED: entries are added, and what they are about is removed, in one step or not at all.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "commands/stream/stream_fixture.h"
#include "keyspace/stream/stream_block.h"

namespace mayfly {
namespace stream_expired_test {

using EntryWords = std::vector<std::string_view>;

class StreamExpiredTest : public StreamFixture {
 protected:
  StreamExpiredTest() { context().policy = Policy::show; }

  // Entries 5-0, 5-1 ...
  static std::string block_of(const std::vector<EntryWords>& entries) {
    StreamBlock block({5, 0}, entries[0], 0);
    for (std::size_t i = 1; i < entries.size(); ++i) block.append({5, i}, entries[i]);
    return std::string(block.listpack());
  }
  std::string send(const std::string& block, std::string_view id = "5-0") {
    return run({"XEXPIRED", "log", id, block});
  }
};

TEST_F(StreamExpiredTest, AddsEntriesAndRemovesWhatTheyAreAbout) {
  run("SET a v");
  run("SET 12 v");
  run("HSET h f 1 7 2 g 3");
  run("SADD s x");
  run("SET stays v");
  events();
  const std::string block = block_of({{"key", "a"},
                                      {"key", "h", "member", "f"},
                                      {"key", "h", "member", "7"},
                                      {"key", "12"},
                                      {"key", "s", "member", "x"},
                                      {"key", "none"},
                                      {"key", "none", "member", "m"},
                                      {"key", "stays", "member", "m"}});
  EXPECT_EQ(send(block), "OK");
  EXPECT_EQ(events(), "n:new:log g:del:a h:hdel:h g:del:12 s:srem:s g:del:s t:xadd:log");
  EXPECT_EQ(run("HKEYS h"), "[\"g\"]");
  EXPECT_EQ(run("EXISTS a 12 s stays"), "(integer) 1");
  EXPECT_EQ(run("XLEN log"), "(integer) 8");
  EXPECT_EQ(flat("XRANGE log 5-2 5-2"), "[[5-2 [key h member 7]]]");
  EXPECT_EQ(send(block), "(error) ERR XEXPIRED has entries that the stream has already");
  EXPECT_EQ(run("XLEN log"), "(integer) 8");
}

TEST_F(StreamExpiredTest, ClientsMayNotSendIt) {
  context().policy = Policy::reclaim;
  run("SET a v");
  EXPECT_TRUE(send(block_of({{"key", "a"}})).starts_with("(error) ERR XEXPIRED comes from"));
  context().policy = Policy::hide;
  EXPECT_TRUE(send(block_of({{"key", "a"}})).starts_with("(error) ERR XEXPIRED comes from"));
  EXPECT_EQ(run("EXISTS a log"), "(integer) 1");
}

TEST_F(StreamExpiredTest, WhatIsDamagedChangesNothing) {
  run("SET a v");
  const std::string block = block_of({{"key", "a"}, {"key", "b"}});
  EXPECT_EQ(send(block, "x"), kWrongId);
  for (std::size_t size = 0; size < block.size(); ++size) {
    ASSERT_TRUE(send(block.substr(0, size)).starts_with("(error) ERR XEXPIRED has ")) << size;
  }
  run("SET log v");
  EXPECT_EQ(send(block), kStreamWrongType);
  EXPECT_EQ(run("EXISTS a"), "(integer) 1");
}

}  // namespace stream_expired_test
}  // namespace mayfly
