// SPDX-License-Identifier: Apache-2.0
// The files of an open store: which of them are closed again, and what happens if one is not that
// of its name any more. tests/store_files_test.py does the same with several processes.

#include "store/lmdb/store_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "mayfly/internal/stopwatch.h"
#include "store/api/store_fixture.h"
#include "store/log/session.h"

namespace mayfly::internal {
namespace store_files_test {

class StoreFilesTest : public StoreFixture {
 protected:
  static std::size_t open_files() {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      static_cast<void>(each);
      ++count;
    }
    return count;
  }
  // How often the process has mapped the log, or one that was removed.
  std::size_t maps_of_logs() const {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
      count += line.find(path_.string() + "-wal") != std::string::npos ? 1 : 0;
    }
    return count;
  }
  static void make_log(Store& store) {
    must(store.put("a", "1"));
    must(store.put("b", "2"));
  }
};

TEST_F(StoreFilesTest, ALogThatIsOverIsClosed) {
  Store store = open({.log_segment_bytes = kLogSegmentBytesMin});
  make_log(store);
  const std::size_t files = open_files();
  EXPECT_EQ(maps_of_logs(), 1u);
  for (int round = 0; round < 50; ++round) {
    must(store.checkpoint(CheckpointMode::truncate));
    make_log(store);
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(maps_of_logs(), 1u);
}

TEST_F(StoreFilesTest, AReaderKeepsTheLogItReadsUntilItEnds) {
  Store store = open({.log_segment_bytes = kLogSegmentBytesMin});
  make_log(store);
  {
    const auto reader = must(store.read());
    must(store.checkpoint(CheckpointMode::truncate));
    make_log(store);
    EXPECT_EQ(value_of(reader, "a"), "1");
  }
  EXPECT_EQ(value_of(store, "b"), "2");
  EXPECT_EQ(maps_of_logs(), 1u);
}

TEST_F(StoreFilesTest, AnotherHandleIsNotThatOfAFileThatWasRemoved) {
  for (const bool is_replaced : {false, true}) {
    Store store = open();
    make_log(store);
    std::filesystem::rename(path_, folder_ / "away");
    if (is_replaced) std::filesystem::copy_file(folder_ / "away", path_);

    const auto again = Store::open(path_, clock_);
    EXPECT_EQ(code_of(again), Code::io);
    EXPECT_NE(message_of(again).find("removed or replaced"), std::string::npos);
    EXPECT_EQ(std::filesystem::exists(path_), is_replaced) << "no other store is made there";
    EXPECT_EQ(code_of(store.close()), Code::io) << "what it wrote last is not in that file";
    for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove(each.path());
    }
  }
  Store store = open();  // once it is closed, the path is free
  EXPECT_EQ(value_of(store, "a"), "(none)");
}

TEST_F(StoreFilesTest, ANewStoreReplacesNoFile) {
  must(make_store_file(path_.string()));
  const FileId first = file_id(path_.string());
  must(open().put("key", "value"));
  must(make_store_file(path_.string()));  // as a second process does
  EXPECT_TRUE(file_id(path_.string()) == first);
  EXPECT_EQ(value_of(open(), "key"), "value");
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(each.path().string().find(".new"), std::string::npos);
  }
}

// Another process has the gate and makes no progress. It may have opened the file meanwhile, so who
// made it and could not open it must leave it there.
TEST_F(StoreFilesTest, AFailedOpenRemovesNothing) {
  const pid_t other = ::fork();
  if (other == 0) {
    const auto session = Session::join(path_.string(), Session::kLeastWait);
    ::raise(SIGSTOP);
    ::_exit(session.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, WUNTRACED), other);
  EXPECT_EQ(code_of(Store::open(path_, clock_, {.busy_timeout = Millis(0)})), Code::busy);
  EXPECT_TRUE(std::filesystem::exists(path_));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  Store store = open({.create = false});
  must(store.put("key", "value"));
}

// A process that has the store open, and a child, is killed. The child has copies of its files.
TEST_F(StoreFilesTest, AChildHoldsNothingOfAProcessThatDied) {
  int end_of_child[2];
  ASSERT_EQ(::pipe(end_of_child), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    Store store = open();
    make_log(store);
    ::close(end_of_child[1]);
    char byte = 0;
    if (::fork() == 0) ::_exit(static_cast<int>(::read(end_of_child[0], &byte, 1)));
    ::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  {
    Store store = open();
    EXPECT_EQ(value_of(store, "b"), "2");
    must(store.put("c", "3"));
    must(store.close());
  }
  EXPECT_FALSE(std::filesystem::exists(path_.string() + "-wal")) << "it was alone";
  ::close(end_of_child[0]);
  ::close(end_of_child[1]);
}

TEST_F(StoreFilesTest, AFileIsHeldUntilAllWhoHoldItLetItGo) {
  std::ofstream(path_).close();
  auto first = must(FileHold::on(path_.string()));
  EXPECT_FALSE(first.is_shared());
  EXPECT_TRUE(is_held(path_.string()));
  {
    const auto second = must(FileHold::on(path_.string()));
    EXPECT_TRUE(first.is_shared());
    EXPECT_TRUE(second.is_shared());
  }
  EXPECT_FALSE(first.is_shared());
  EXPECT_TRUE(first.is_on(file_id(path_.string())));
  first = {};
  EXPECT_FALSE(is_held(path_.string()));
  EXPECT_FALSE(is_held((folder_ / "none").string()));
}

class SizeLimitTest : public StoreFilesTest {
 protected:
  SizeLimitTest() {
    std::signal(SIGXFSZ, [](int) { ++signals_; });
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~SizeLimitTest() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  void limit(rlim_t bytes) const {
    const rlimit limits{bytes, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limits), 0);
  }
  // Until it cannot.
  static Status fill(Store& store) {
    for (int i = 0; i < 100'000; ++i) {
      Status put = store.put(std::to_string(i), std::string(2'000, 'v'));
      if (!put) return put;
    }
    return Done{};
  }

  // An open store looks at the limit each millisecond.
  static void wait_for_look() {
    const std::int64_t end = monotonic_ns() + 2 * kNanosInMilli;
    while (monotonic_ns() < end) continue;
  }

  static inline std::atomic<int> signals_{0};
  rlimit before_{};
};

TEST_F(SizeLimitTest, AWriteBeyondItIsAnErrorAndNoSignal) {
  signals_ = 0;
  std::ofstream(folder_ / "file").close();
  limit(4'096);
  {
    const NoSizeSignal quiet(true);
    EXPECT_NE(::truncate((folder_ / "file").c_str(), 8'192), 0);
    EXPECT_EQ(errno, EFBIG);
  }
  EXPECT_EQ(signals_, 0);
  EXPECT_NE(::truncate((folder_ / "file").c_str(), 8'192), 0);
  EXPECT_EQ(signals_, 1) << "as before";
}

// The log was made, and the file has grown, when there was no limit yet.
TEST_F(SizeLimitTest, OneThatComesLaterSendsNoSignalEither) {
  signals_ = 0;
  Store store = open({.log_segment_bytes = 1 << 20});
  make_log(store);
  must(store.close());
  for (const rlim_t bytes : {300u << 10, 1u << 20, 1'500u << 10}) {
    Store limited = open({.log_segment_bytes = 1 << 20});
    make_log(limited);
    limit(bytes);
    wait_for_look();
    EXPECT_EQ(code_of(fill(limited)), Code::full);
    Store other = must(Store::open(folder_ / std::to_string(bytes), clock_));
    EXPECT_EQ(code_of(fill(other)), Code::full);
    EXPECT_EQ(code_of(other.checkpoint()).value_or(Code::full), Code::full);
    EXPECT_EQ(value_of(other, "0"), std::string(2'000, 'v'));
    EXPECT_TRUE(must(other.check()).ok());
    limit(before_.rlim_cur);
    must(other.put("key", "value"));
    must(other.close());
    EXPECT_EQ(value_of(limited, "0"), std::string(2'000, 'v'));
    must(limited.close());
  }
  EXPECT_EQ(signals_, 0);
}

}  // namespace store_files_test
}  // namespace mayfly::internal
