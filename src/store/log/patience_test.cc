// SPDX-License-Identifier: Apache-2.0
// Behind a process that was stopped while it made a checkpoint: each call ends in busy_timeout, and
// keeps no lock. A call that waited for ever would never end here either.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "store/api/store_fixture.h"
#include "store/lmdb/environment.h"
#include "store/log/checkpoint_turn.h"

namespace mayfly::internal {
namespace patience_test {

// A process that takes the checkpoint lock, and the lock of syncs, and is stopped then.
class StoppedProcess {
 public:
  explicit StoppedProcess(const std::string& path, const StoreOptions& options) : id_(::fork()) {
    if (id_ == 0) take_locks(path, options);
    int status = 0;
    if (::waitpid(id_, &status, WUNTRACED) != id_ || !WIFSTOPPED(status)) {
      throw std::runtime_error("it did not get the locks");
    }
  }
  ~StoppedProcess() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

 private:
  [[noreturn]] static void take_locks(const std::string& path, const StoreOptions& options) {
    try {
      const auto environment = must(Environment::open(path, options));
      const CheckpointTurn turn =
          must(CheckpointTurn::take(environment->log(), Session::kLeastWait));
      ::raise(SIGSTOP);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    ::_exit(1);
  }

  const pid_t id_;
};

class PatienceTest : public StoreFixture {
 protected:
  PatienceTest() {
    Store store = open(options_);
    must(store.create_family("family"));
    must(store.put("key", "value"));
  }

  // Another writer finds no lock.
  void expect_free(Store& store) {
    auto txn = store.write(Millis(0));
    EXPECT_TRUE(txn.ok()) << message_of(txn);
  }

  const StoreOptions options_{.busy_timeout = Millis(30), .log_segment_bytes = kLogSegmentBytesMin};
};

TEST_F(PatienceTest, CallsThatNeedTheCheckpointLockEndInTime) {
  const StoppedProcess stopped(path_.string(), options_);
  Store store = open(options_);
  const Family family = must(store.family("family"));
  EXPECT_EQ(code_of(store.create_family("another")), Code::busy);
  expect_free(store);
  EXPECT_EQ(code_of(store.drop_family("family")), Code::busy);
  expect_free(store);
  EXPECT_EQ(code_of(store.clear(family)), Code::busy);
  expect_free(store);
  EXPECT_EQ(code_of(store.set_default_ttl(Millis(1000), family)), Code::busy);
  expect_free(store);
  EXPECT_EQ(code_of(store.checkpoint(CheckpointMode::full)), Code::busy);
  expect_free(store);
  must(store.checkpoint(CheckpointMode::passive));
  EXPECT_EQ(code_of(store.compact()), Code::busy);
  expect_free(store);
  EXPECT_EQ(code_of(store.put("large", std::string(1 << 20, 'v'))), Code::busy);
  expect_free(store);
  EXPECT_EQ(value_of(store, "key"), "value");
}

TEST_F(PatienceTest, APutThatFindsBothSegmentsFullEndsInTime) {
  std::optional<StoppedProcess> stopped(std::in_place, path_.string(), options_);
  Store store = open(options_);
  Status put = store.put("key", "first");
  if (!put) {  // there is no log yet, and to make one takes the lock
    EXPECT_EQ(code_of(put), Code::busy);
    expect_free(store);
    stopped.reset();
    must(store.put("key", "first"));
    must(store.put("key", "second"));
    stopped.emplace(path_.string(), options_);
    put = Done{};
  }
  int count = 0;
  for (; put; ++count) put = store.put(std::to_string(count), std::string(1'000, 'v'));
  EXPECT_EQ(code_of(put), Code::busy) << message_of(put);
  EXPECT_GT(count, 40) << "both segments took some";
  expect_free(store);
  EXPECT_EQ(code_of(store.checkpoint(CheckpointMode::truncate)), Code::busy);
  expect_free(store);
  stopped.reset();
  must(store.put("key", "third"));
  EXPECT_EQ(value_of(store, std::to_string(count - 2)), std::string(1'000, 'v'));
}

}  // namespace patience_test
}  // namespace mayfly::internal
