// SPDX-License-Identifier: Apache-2.0
// Checkpoints on request: what each mode waits for, what it counts, and what is left of the log.
// Processes that have the store open with it go on.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_checkpoint_mode_test {

using namespace std::chrono_literals;

constexpr CheckpointMode kModes[] = {CheckpointMode::passive, CheckpointMode::full,
                                     CheckpointMode::truncate};

class StoreCheckpointModeTest : public StoreFixture {
 protected:
  bool has_log() const { return std::filesystem::exists(path_.string() + "-wal"); }

  void put(Store& store, int number) {
    for (int i = 0; i < number; ++i) must(store.put("key" + std::to_string(i), "value"));
  }

  // Runs `work` in another process, with a store of its own.
  void elsewhere(const std::function<void(Store&)>& work, const StoreOptions& options = {}) {
    const pid_t id = fork();
    if (id == 0) {
      try {
        Store store = open(options);
        work(store);
        must(store.close());
      } catch (const std::exception& error) {
        std::fprintf(stderr, "in the child: %s\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(id, &status, 0), id);
    EXPECT_EQ(status, 0);
  }
};

TEST_F(StoreCheckpointModeTest, CountsTransactionsThatWerePending) {
  Store store = open();
  put(store, 1);  // straight into the tree: there is no log yet
  for (const CheckpointMode mode : kModes) {
    const Checkpointed none = must(store.checkpoint(mode));
    EXPECT_EQ(none.pending, 0u);
    EXPECT_EQ(none.applied, 0u);
  }
  for (const CheckpointMode mode : kModes) {
    put(store, 10);
    const Checkpointed done = must(store.checkpoint(mode));
    EXPECT_EQ(done.pending, 10u);
    EXPECT_EQ(done.applied, 10u);
    EXPECT_EQ(must(store.stats()).pending_bytes, 0u);
    EXPECT_EQ(must(store.checkpoint(mode)).pending, 0u);
    EXPECT_EQ(has_log(), mode != CheckpointMode::truncate);
  }
  EXPECT_EQ(stored_in(store), 10u);
  EXPECT_TRUE(must(store.check()).ok());
}

// What was cut before can be applied; what came later has to wait.
TEST_F(StoreCheckpointModeTest, OnlyAPassiveOneDoesNotWaitForAWriter) {
  Store store = open({.busy_timeout = 0ms});
  put(store, 10);
  auto txn = must(store.write());
  txn.put("key", "in the transaction");
  for (const CheckpointMode mode : {CheckpointMode::full, CheckpointMode::truncate}) {
    std::thread([&] { EXPECT_EQ(code_of(store.checkpoint(mode)), Code::busy); }).join();
    EXPECT_EQ(code_of(store.checkpoint(mode)), Code::busy);
  }
  const auto check_passive = [&] {
    const Checkpointed done = must(store.checkpoint(CheckpointMode::passive));
    EXPECT_EQ(done.pending, 9u);
    EXPECT_EQ(done.applied, 0u);
  };
  check_passive();
  std::thread(check_passive).join();
  must(txn.commit());
  EXPECT_EQ(must(store.checkpoint(CheckpointMode::passive)).applied, 10u);
}

// A writer that went straight into the tree has the lock of checkpoints, too.
TEST_F(StoreCheckpointModeTest, APassiveOneWaitsForNoLockOfCheckpoints) {
  Store store = open({.busy_timeout = 0ms});
  put(store, 3);
  auto txn = must(store.write());
  must(txn.create_family("family"));
  std::thread([&] {
    EXPECT_EQ(must(store.checkpoint(CheckpointMode::passive)).applied, 0u);
  }).join();
  EXPECT_EQ(must(store.checkpoint(CheckpointMode::passive)).applied, 0u);
  must(txn.commit());
  EXPECT_TRUE(store.family("family").ok());
}

TEST_F(StoreCheckpointModeTest, AReadOnlyStoreHasNone) {
  Store store = open();
  put(store, 3);
  Store reader = open({.read_only = true});
  for (const CheckpointMode mode : kModes) {
    EXPECT_EQ(code_of(reader.checkpoint(mode)), Code::denied);
  }
}

TEST_F(StoreCheckpointModeTest, AnotherProcessGoesOnWhenTheLogIsRemoved) {
  Store store = open();
  put(store, 3);
  int asks[2] = {};
  int answers[2] = {};
  ASSERT_EQ(pipe(asks), 0);
  ASSERT_EQ(pipe(answers), 0);
  char letter = 0;
  std::thread other([&] {
    elsewhere([&](Store& mine) {
      must(mine.put("other", "first"));  // it knows the log
      EXPECT_EQ(write(answers[1], "x", 1), 1);
      EXPECT_EQ(read(asks[0], &letter, 1), 1);
      EXPECT_EQ(value_of(mine, "key0"), "new");
      must(mine.put("other", "second"));
      if (testing::Test::HasFailure()) throw std::runtime_error("it does not see the new log");
    });
  });
  EXPECT_EQ(read(answers[0], &letter, 1), 1);
  EXPECT_EQ(must(store.checkpoint(CheckpointMode::truncate)).applied, 3u);
  EXPECT_FALSE(has_log());
  must(store.put("key0", "new"));  // makes a log
  must(store.checkpoint());        // of which nothing is pending
  EXPECT_EQ(write(asks[1], "x", 1), 1);
  other.join();
  EXPECT_EQ(value_of(store, "other"), "second");
  EXPECT_TRUE(must(store.check()).ok());
  for (const int end : {asks[0], asks[1], answers[0], answers[1]}) close(end);
}

TEST_F(StoreCheckpointModeTest, AProcessThatComesAfterACheckpointWritesToTheSameLog) {
  Store store = open();
  put(store, 3);
  must(store.checkpoint());
  elsewhere([&](Store& other) { must(other.put("other", "value")); });
  EXPECT_EQ(value_of(store, "other"), "value");
  must(store.put("key0", "new"));
  elsewhere([&](Store& other) {
    EXPECT_EQ(value_of(other, "key0"), "new");
    must(other.checkpoint());
    must(other.create_family("family"));
  });
  EXPECT_TRUE(must(store.check()).ok());
}

// The size of the segments is that of whoever made the log.
TEST_F(StoreCheckpointModeTest, TheSegmentsOfTheLogDecideWhatFitsIntoARecord) {
  Store store = open({.log_segment_bytes = kLogSegmentBytesMin});
  put(store, 3);
  const std::string large(std::size_t{1} << 20, 'v');
  elsewhere([&](Store& other) { must(other.put("large", large)); });
  EXPECT_TRUE(value_of(store, "large") == large);
  put(store, 3);
  EXPECT_TRUE(must(store.check()).ok());
}

}  // namespace store_checkpoint_mode_test
}  // namespace mayfly::internal
