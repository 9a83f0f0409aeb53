// SPDX-License-Identifier: Apache-2.0
// What a real server propagates, filtered by slots.

#include "server/cluster/moves/slot_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/expiry/expiry_log.h"

namespace mayfly {
namespace slot_filter_test {

using std::chrono_literals::operator""ms;
using Lines = std::vector<std::string>;

// Keys with the hash tag {in} move, those with {out} stay.
class SlotFilterTest : public testing::Test {
 protected:
  explicit SlotFilterTest(const Config& config = {}) : server_(config) {
    server_.server().parts().propagation.add_sink(filter_);
  }
  ~SlotFilterTest() override { server_.server().parts().propagation.remove_sink(filter_); }

  static SlotSet slots() {
    SlotSet slots;
    slots.add(hash_slot("in"));
    return slots;
  }

  std::string run(std::string_view line) { return client_.run(line); }

  Lines kept() {
    std::string bytes = filter_.take_bytes();
    std::string_view rest = bytes;
    RequestParser parser;
    Lines lines;
    while (!rest.empty()) {
      if (parser.parse(rest) != Parsed::request) return {"incomplete"};
      std::string line;
      for (const std::string_view word : parser.words()) {
        line.append(line.empty() ? "" : " ").append(word);
      }
      lines.push_back(line);
      rest.remove_prefix(parser.consumed());
    }
    return lines;
  }

  ServerFixture server_;
  TestClient& client_ = server_.connect();
  SlotFilter filter_{server_.server().parts().commands, slots(), 1000, kExpiryLogKey};
};

TEST_F(SlotFilterTest, KeepsWritesOfItsSlots) {
  run("SET {in}a 1");
  run("SET {out}a 1");
  run("MSET {in}b 2 {in}c 3");
  run("GET {in}a");
  run("XGROUP CREATE {in}x g $ MKSTREAM");
  EXPECT_EQ(kept(),
            (Lines{"SET {in}a 1", "MSET {in}b 2 {in}c 3", "XGROUP CREATE {in}x g $ MKSTREAM"}));
  EXPECT_EQ(filter_.count(), 3u);
  EXPECT_EQ(filter_.failure(), "");
}

TEST_F(SlotFilterTest, LeavesOtherDatabasesOut) {
  run("SELECT 1");
  run("SET {in}a 1");
  EXPECT_EQ(kept(), Lines{});
}

TEST_F(SlotFilterTest, WrapsUnitsAnew) {
  run("MULTI");
  run("SET {in}a 1");
  run("SET {out}a 1");
  run("SET {in}b 1");
  run("EXEC");
  EXPECT_EQ(kept(), (Lines{"MULTI", "SET {in}a 1", "SET {in}b 1", "EXEC"}));
  run("MULTI");
  run("SET {in}a 2");
  run("SET {out}a 2");
  run("EXEC");
  EXPECT_EQ(kept(), (Lines{"SET {in}a 2"}));
  run("MULTI");
  run("SET {out}b 3");
  run("SET {out}a 3");
  run("EXEC");
  EXPECT_EQ(kept(), Lines{});
}

TEST_F(SlotFilterTest, LeavesOutWhatHasNoKeys) {
  run("PUBLISH {in}a message");
  run("SPUBLISH {in}a message");
  run("SCRIPT FLUSH");
  run("FUNCTION FLUSH");
  EXPECT_EQ(kept(), Lines{});
  EXPECT_EQ(filter_.failure(), "");
}

TEST_F(SlotFilterTest, CannotFollowAWriteToSeveralSlots) {
  run("MSET {in}a 1 {in}b 1 {out}a 1");
  EXPECT_EQ(filter_.failure(), "'mset' wrote to several slots, and only some of them move");
}

TEST_F(SlotFilterTest, KeepsItsPartOfARemoval) {
  run("MSET {in}a 1 {in}b 1");
  run("SET {out}a 1");
  filter_.take_bytes();
  run("DEL {in}a {out}a {in}b");
  EXPECT_EQ(kept(), (Lines{"DEL {in}a {in}b"}));
  EXPECT_EQ(filter_.failure(), "");
}

TEST_F(SlotFilterTest, CannotFollowAFlush) {
  run("SET {in}a 1");
  run("FLUSHALL");
  EXPECT_EQ(filter_.failure(), "all keys were removed (FLUSHALL)");
  run("SET {in}a 1");
  EXPECT_EQ(kept(), Lines{});
}

TEST_F(SlotFilterTest, HasALimit) {
  run({"SET {in}a " + std::string(900, 'x')});
  EXPECT_EQ(filter_.failure(), "");
  run({"SET {in}a " + std::string(100, 'x')});
  EXPECT_NE(filter_.failure(), "");
  EXPECT_EQ(filter_.size(), 0u);
}

class LoggingFilterTest : public SlotFilterTest {
 protected:
  LoggingFilterTest() : SlotFilterTest(config()) {}

  static Config config() {
    Config config;
    config.expiry_log = true;
    return config;
  }
};

TEST_F(LoggingFilterTest, TurnsASweepIntoRemovals) {
  run("SET {in}a 1 PX 10");
  run("SET {out}a 1 PX 10");
  run("HSETEX {in}h PX 10 FIELDS 1 f v");
  run("HSET {in}h g v");
  run("SADDEX {in}s PX 10 MEMBERS 1 m");
  run("SADD {in}s n");
  run("ZADDEX {in}z PX 10 MEMBERS 1 1 m");
  run("ZADD {in}z 1 n");
  run("HSETEX {out}h PX 10 FIELDS 1 f v");
  filter_.take_bytes();
  server_.advance(1000ms);
  server_.sweep();
  Lines lines = kept();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.front(), "MULTI");
  EXPECT_EQ(lines.back(), "EXEC");
  std::sort(lines.begin() + 1, lines.end() - 1);
  EXPECT_EQ(lines, (Lines{"MULTI", "HDEL {in}h f", "SREM {in}s m", "UNLINK {in}a", "ZREM {in}z m",
                          "EXEC"}));
  EXPECT_EQ(filter_.failure(), "");
}

}  // namespace slot_filter_test
}  // namespace mayfly
