// SPDX-License-Identifier: Apache-2.0
// The choice of the node that recovers a shard.
#include "cluster/plan/recovery.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

class RecoveryTest : public testing::Test {
 protected:
  static inline const std::string kOne = std::string(40, 'a');
  static inline const std::string kTwo = std::string(40, 'b');
  static inline const std::string kOther = std::string(40, 'c');  // the record does not name it

  static constexpr std::uint64_t kVersion = 20;  // of the record

  RecoveryTest() {
    record_.epoch = 5;
    record_.primary = {kOne, "0000000000000001"};
  }

  void start(const std::string& node, std::uint64_t epoch, std::uint64_t offset,
             std::uint64_t held = 0) {
    LiveRecord& live = lives_[node];
    live.epoch = epoch;
    live.offset = offset;
    live.held = held;
  }
  void settle(const std::string& node, std::uint64_t end, std::uint64_t version = kVersion) {
    lives_[node].settled = version;
    lives_[node].end = end;
  }
  RecoveryChoice choose() const { return choose_recovery(record_, kVersion, lives_); }

  ShardRecord record_;
  LiveProcesses lives_;
};

TEST_F(RecoveryTest, ANodeThatIsNotThereIsWaitedFor) {
  EXPECT_EQ(choose().best, "");
  record_.insync = {{kTwo, "0000000000000002"}};
  start(kOne, 5, 10);
  EXPECT_EQ(choose().best, "");
}

TEST_F(RecoveryTest, TheOneWithTheMostGoesOn) {
  record_.insync = {{kTwo, "0000000000000002"}};
  start(kOne, 5, 10);
  start(kTwo, 5, 11);
  EXPECT_EQ(choose().best, kTwo);
  start(kOne, 6, 0);
  EXPECT_EQ(choose().best, kOne);
  EXPECT_EQ(choose().holder, "");
}

TEST_F(RecoveryTest, NobodyHasAnything) {
  start(kOne, 0, 0);
  start(kOther, 0, 0);
  EXPECT_EQ(choose().best, kOne);
  EXPECT_EQ(choose().holder, "");
}

TEST_F(RecoveryTest, AnEmptyOneWaitsForDataInMemory) {
  start(kOne, 0, 0);
  start(kOther, 0, 0, 3);
  EXPECT_EQ(choose().best, kOne);
  EXPECT_EQ(choose().holder, kOther);
}

TEST_F(RecoveryTest, OneThatHasLoadedAnEarlierEpochWaitsToo) {
  start(kOne, 4, 900);
  start(kOther, 4, 901);
  EXPECT_EQ(choose().holder, kOther);
  start(kOther, 4, 900);
  EXPECT_EQ(choose().holder, "");
}

// The file of the primary may be an old one: a snapshot, or a copy.
TEST_F(RecoveryTest, OneThatHasLoadedTheLastEpochWaitsUntilDataInMemoryIsKnown) {
  start(kOne, 5, 100);
  start(kOther, 0, 0, 5);
  EXPECT_EQ(choose().holder, kOther);
  EXPECT_TRUE(choose().is_asked);
  settle(kOther, 99, kVersion - 1);
  EXPECT_TRUE(choose().is_asked) << "it may have got more since";
  settle(kOther, 101);
  EXPECT_EQ(choose().holder, kOther);
  EXPECT_FALSE(choose().is_asked);
  settle(kOther, 100);
  EXPECT_EQ(choose().holder, "");
}

TEST_F(RecoveryTest, OneThatHasLoadedTheLastEpochHasAllThatWasSafeBefore) {
  start(kOne, 5, 100);
  start(kOther, 0, 0, 4);
  settle(kOther, 900);
  EXPECT_EQ(choose().holder, "");
}

TEST_F(RecoveryTest, AFileThatHasMoreIsWaitedFor) {
  start(kOne, 5, 100);
  start(kOther, 5, 101);
  EXPECT_EQ(choose().holder, kOther);
  start(kOther, 6, 1);
  EXPECT_EQ(choose().holder, kOther);
  start(kOther, 5, 100);
  EXPECT_EQ(choose().holder, "");
}

TEST_F(RecoveryTest, ANodeThatIsKnownToHaveMoreIsToldFirst) {
  start(kOne, 5, 100);
  start(kTwo, 0, 0, 5);
  start(kOther, 5, 101);
  EXPECT_EQ(choose().holder, kOther);
  EXPECT_FALSE(choose().is_asked);
}

// Its node was named, and its new process has got all data since.
TEST_F(RecoveryTest, DataInMemoryCountsAtANodeThatIsNamed) {
  record_.insync = {{kTwo, "0000000000000002"}};
  start(kOne, 0, 0);
  start(kTwo, 0, 0, 5);
  EXPECT_EQ(choose().best, kTwo);
  EXPECT_EQ(choose().holder, kTwo) << "it has not announced how much";
  settle(kTwo, 100);
  EXPECT_EQ(choose().holder, "");
  start(kOne, 5, 101);
  EXPECT_EQ(choose().best, kOne);
  settle(kTwo, 102);
  EXPECT_EQ(choose().best, kTwo);
  start(kOther, 0, 0, 5);
  settle(kOther, 103);
  EXPECT_EQ(choose().holder, kOther);
}

}  // namespace
}  // namespace mayfly
