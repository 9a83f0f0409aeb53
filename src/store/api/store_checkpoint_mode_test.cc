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
