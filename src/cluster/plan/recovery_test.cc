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
  RecoveryChoice choose() const { return choose_recovery(record_, lives_); }

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

TEST_F(RecoveryTest, OneThatHasLoadedTheLastEpochDoesNot) {
  start(kOne, 5, 1);
  start(kOther, 0, 0, 5);
  EXPECT_EQ(choose().holder, "");
}

// Its node was named, and its new process has got all data since.
TEST_F(RecoveryTest, DataInMemoryCountsAtANodeThatIsNamed) {
  record_.insync = {{kTwo, "0000000000000002"}};
  start(kOne, 0, 0);
  start(kTwo, 0, 0, 5);
  EXPECT_EQ(choose().best, kTwo);
  EXPECT_EQ(choose().holder, "");
  start(kOther, 0, 0, 5);
  EXPECT_EQ(choose().holder, kOther) << "nobody knows which of both has more";
}

}  // namespace
}  // namespace mayfly
