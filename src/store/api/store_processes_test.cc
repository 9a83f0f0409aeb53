// SPDX-License-Identifier: Apache-2.0
// A store and several processes: who recovers it when they open it at the same time, what the child
// of a fork may do with it, and what a thread may do with the transaction of another one.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/lmdb/environment.h"
#include "store/log/session.h"

namespace mayfly::internal {
namespace store_processes_test {

using namespace std::chrono_literals;
using std::filesystem::perms;

// A process that does `work` and ends with what it returns: 0 if all is well.
class Process {
 public:
  explicit Process(const std::function<int()>& work) : id_(fork()) {
    if (id_ != 0) return;
    int code = 99;
    try {
      code = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(code);
  }
  ~Process() { kill_it(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int wait() {
    int status = 0;
    EXPECT_EQ(waitpid(std::exchange(id_, 0), &status, 0) > 0, true);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill_it() {
    if (id_ == 0) return;
    kill(id_, SIGKILL);
    waitpid(std::exchange(id_, 0), nullptr, 0);
  }

  // Waits until the process has the file open.
  void wait_until_it_has(const std::filesystem::path& file) const {
    const std::string folder = "/proc/" + std::to_string(id_) + "/fd";
    for (bool found = false; !found; std::this_thread::yield()) {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        found = found || std::filesystem::read_symlink(entry, ignored) == file;
      }
    }
  }

 private:
  pid_t id_;
};

class StoreProcessesTest : public StoreFixture {
 protected:
  std::filesystem::path beside(const char* suffix) const { return path_.string() + suffix; }
  bool has_log() const { return std::filesystem::exists(beside("-wal")); }

  // Leaves a store as a power cut does: "key" was put with the value "synced", and later with
  // "lost", whose record did not reach the disk as a whole.
  void cut_power() const {
    const std::filesystem::path live = folder_ / "live";
    Store store = must(Store::open(live, clock_, {.sync_interval = 1h}));
    must(store.put("other", "value"));
    must(store.put("key", "synced"));
    must(store.sync());
    must(store.put("key", "lost"));
    std::filesystem::copy_file(live, path_);
    std::string log = read_file(live.string() + "-wal");
    log.replace(log.find("lost"), 4, "torn");
    std::ofstream(beside("-wal"), std::ios::binary) << log;
  }
  static std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // A process that is alone with the store, as in the middle of its recovery.
  std::unique_ptr<Process> start_alone() const {
    int ready[2] = {};
    EXPECT_EQ(pipe(ready), 0);
    auto process = std::make_unique<Process>([&] {
      const auto session = must(Session::join(path_.string(), 60s));
      if (session->alone() && write(ready[1], "x", 1) == 1) pause();
      return 1;
    });
    char letter = 0;
    EXPECT_EQ(read(ready[0], &letter, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return process;
  }

  // What a process that opens the store finds: 0 if it was recovered, 1 if not.
  int look() const {
    Store store = open({.busy_timeout = 60s});
    const bool is_sound = must(store.check()).ok();
    return is_sound && value_of(store, "key") == "synced" ? 0 : 1;
  }
};

// --- Recovery ------------------------------------------------------------------------------------

TEST_F(StoreProcessesTest, TheFirstOpenerRecoversTheStore) {
  cut_power();
  EXPECT_TRUE(has_log());
  EXPECT_EQ(look(), 0);
  EXPECT_FALSE(has_log());
}

TEST_F(StoreProcessesTest, WhoWaitedForOneThatDiedRecoversTheStoreItself) {
  cut_power();
  const auto alone = start_alone();
  Process waiting([this] { return look(); });
  waiting.wait_until_it_has(beside("-shm"));
  alone->kill_it();
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_FALSE(has_log());
}

TEST_F(StoreProcessesTest, ManyOpenersAfterACrashAllFindTheRecoveredStore) {
  cut_power();
  const auto alone = start_alone();
  std::vector<std::unique_ptr<Process>> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(std::make_unique<Process>([this] { return look(); }));
  }
  for (const auto& process : waiting) process->wait_until_it_has(beside("-shm"));
  alone->kill_it();
  waiting.front()->kill_it();  // perhaps while it recovers
  for (std::size_t i = 1; i < waiting.size(); ++i) EXPECT_EQ(waiting[i]->wait(), 0);
  EXPECT_EQ(look(), 0);
}

TEST_F(StoreProcessesTest, AReaderThatIsAloneSeesTheLogAndWritesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only the superuser can become another";
  cut_power();
  const std::string before = read_file(beside("-wal"));
  std::filesystem::permissions(path_, perms(0444));
  std::filesystem::permissions(beside("-wal"), perms(0444));
  std::filesystem::permissions(folder_.path(), perms(0777));  // so that it can make a -shm
  ASSERT_EQ(seteuid(65'534), 0);
  {
    Store reader = must(Store::open(path_, clock_, {.read_only = true}));
    EXPECT_EQ(value_of(reader, "key"), "synced");
  }
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(read_file(beside("-wal")), before);
  std::filesystem::permissions(path_, perms(0644));
  std::filesystem::permissions(beside("-wal"), perms(0644));
  EXPECT_EQ(look(), 0);
}

TEST_F(StoreProcessesTest, AnOpenerGivesUpWhenItsTimeIsOver) {
  must(open().put("key", "value"));
  const auto alone = start_alone();
  EXPECT_EQ(code_of(Store::open(path_, clock_, {.busy_timeout = 1ms})), Code::busy);
  alone->kill_it();
  EXPECT_EQ(value_of(open(), "key"), "value");
}

TEST_F(StoreProcessesTest, AThreadThatWaitsForOneStoreKeepsNobodyFromAnother) {
  must(open().put("key", "value"));
  const auto alone = must(Session::join(path_.string(), 60s));
  std::jthread opener(
      [this] { static_cast<void>(Store::open(path_, clock_, {.busy_timeout = 1ms})); });
  // The first one waits for a second, at least.
  for (int i = 0; i < 20; ++i) {
    Store other = must(Store::open(folder_ / "other", clock_));
    must(other.put("key", "value"));
    must(other.close());
  }
}

// --- Forks ---------------------------------------------------------------------------------------

TEST_F(StoreProcessesTest, AChildThatEndsLeavesTheStoreOfItsParentAlone) {
  auto store = std::make_unique<Store>(open({.sync_interval = 1h}));
  must(store->put("key", "value"));
  must(store->put("key", "value"));
  ASSERT_TRUE(has_log());
  EXPECT_EQ(Process([&store] {
              store.reset();  // as a static one is when the child exits
              return 0;
            }).wait(),
            0);
  EXPECT_TRUE(has_log()) << "the parent needs it";
  must(store->put("key", "later"));
  EXPECT_EQ(Process([&store] { return store->close().ok() ? 0 : 1; }).wait(), 0);
  EXPECT_TRUE(has_log());
  EXPECT_EQ(value_of(*store, "key"), "later");
  must(store->close());
  EXPECT_FALSE(has_log());
}

TEST_F(StoreProcessesTest, AChildCannotUseWhatItsParentHasOpen) {
  Store store = open();
  must(store.put("key", "value"));
  const ReadTxn reader = must(store.read());
  Cursor cursor = must(store.cursor());
  ASSERT_TRUE(cursor.first());
  auto writer = std::make_unique<WriteTxn>(must(store.write()));
  for (int i = 0; i < 3; ++i) writer->put("key", "of the parent");
  Process child([&] {
    const auto refused = [](const auto& result) { return code_of(result) == Code::invalid; };
    if (!refused(store.get("key")) || !refused(store.put("key", "child"))) return 1;
    if (!refused(store.read()) || !refused(store.write()) || !refused(store.cursor())) return 2;
    if (!refused(store.sync()) || !refused(store.compact()) || !refused(store.stats())) return 3;
    if (!refused(store.check()) || !refused(store.backup(folder_ / "copy"))) return 4;
    if (!refused(store.purge_expired().status) || !refused(reader.get("key"))) return 5;
    if (cursor.next() || cursor.first() || !refused(cursor.status())) return 6;
    writer->put("key", "child");
    if (!refused(writer->create_family("family")) || !refused(writer->status())) return 7;
    if (!refused(writer->commit())) return 8;
    writer->rollback();
    writer.reset();
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  must(writer->commit());
  EXPECT_EQ(value_of(store, "key"), "of the parent");
  EXPECT_EQ(value_of(reader, "key"), "value");
}

TEST_F(StoreProcessesTest, AChildCanOpenTheSameFileItself) {
  Store store = open();
  must(store.put("key", "parent"));
  Process child([this] {
    Store own = open();
    if (value_of(own, "key") != "parent") return 1;
    must(own.put("key", "child"));
    must(own.close());
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(value_of(store, "key"), "child");
  must(store.put("key", "parent again"));
  EXPECT_EQ(value_of(store, "key"), "parent again");
}

TEST_F(StoreProcessesTest, AChildThatLivesOnKeepsNoLockOfItsParent) {
  auto store = std::make_unique<Store>(open());
  must(store->put("key", "value"));
  int pipe_ends[2] = {};
  ASSERT_EQ(pipe(pipe_ends), 0);
  Process child([&] {
    char letter = 0;
    return read(pipe_ends[0], &letter, 1) == 1 ? 0 : 1;
  });
  store.reset();
  auto next = must(Session::join(path_.string(), 0ms));
  EXPECT_TRUE(next->alone());
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  EXPECT_EQ(child.wait(), 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(StoreProcessesTest, ATemporaryStoreOutlivesAChild) {
  Store store = must(Store::open({}, clock_));
  must(store.put("key", "value"));
  EXPECT_EQ(Process([&store] { return store.close().ok() ? 0 : 1; }).wait(), 0);
  must(store.put("other", "value"));
  EXPECT_TRUE(must(store.check()).ok());
}

// --- Threads -------------------------------------------------------------------------------------

TEST_F(StoreProcessesTest, OnlyTheThreadThatBeganATransactionCanEndIt) {
  Store store = open({.busy_timeout = 0ms});
  WriteTxn txn = must(store.write());
  txn.put("key", "value");
  std::thread([&txn] {
    EXPECT_EQ(code_of(txn.commit()), Code::invalid);
    txn.rollback();
    EXPECT_TRUE(txn.status().ok());
  }).join();
  EXPECT_EQ(value_of(store, "key"), "(none)");
  txn.put("other", "value");
  must(txn.commit());
  EXPECT_EQ(value_of(store, "key"), "value");
  std::thread([&store] { must(store.put("key", "another thread")); }).join();
}

TEST_F(StoreProcessesTest, ATransactionThatAnotherThreadDestroysIsUndone) {
  Store store = open({.busy_timeout = 0ms});
  auto txn = std::make_unique<WriteTxn>(must(store.write()));
  txn->put("key", "lost");
  std::thread([&txn] { txn.reset(); }).join();
  must(store.put("other", "value"));  // this gives the lock back, and takes it again
  EXPECT_EQ(value_of(store, "key"), "(none)");
  std::thread([&store] { must(store.put("key", "value")); }).join();
  must(store.compact());
}

TEST_F(StoreProcessesTest, ATransactionOutlivesItsThreadAndKeepsNobodyFromWritingForEver) {
  Store store = open({.busy_timeout = 0ms});
  std::unique_ptr<WriteTxn> txn;
  std::thread([&] {
    txn = std::make_unique<WriteTxn>(must(store.write()));
    txn->put("key", "lost");
  }).join();
  EXPECT_EQ(code_of(txn->commit()), Code::invalid);
  EXPECT_EQ(code_of(store.put("key", "value")), Code::busy);
  txn.reset();
  must(store.put("key", "value"));
  EXPECT_EQ(value_of(store, "key"), "value");
  std::thread([&store] { must(store.put("key", "another thread")); }).join();
}

// --- Readers -------------------------------------------------------------------------------------

std::size_t places_taken(Environment& environment) {
  MDB_envinfo info{};
  mdb_env_info(environment.lmdb(), &info);
  return info.me_numreaders;
}

TEST_F(StoreProcessesTest, ManyIdleProcessesLeaveRoomForReaders) {
  constexpr std::size_t kEach = 64;
  constexpr int kProcesses = 70;  // which do not fit if each keeps as many idle snapshots
  must(open().put("key", "value"));
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  std::vector<std::unique_ptr<Process>> idle;
  for (int i = 0; i < kProcesses; ++i) {
    idle.push_back(std::make_unique<Process>([&] {
      const Store store = open();
      {
        std::vector<ReadTxn> readers;
        for (std::size_t n = 0; n < kEach; ++n) readers.push_back(must(store.read()));
      }
      if (write(ready[1], "x", 1) == 1) pause();
      return 0;
    }));
    char letter = 0;
    ASSERT_EQ(read(ready[0], &letter, 1), 1);
  }
  Store store = open();
  EXPECT_EQ(value_of(store, "key"), "value");
  must(store.put("key", "new"));
  idle.clear();
  close(ready[0]);
  close(ready[1]);
}

TEST_F(StoreProcessesTest, IdleSnapshotsAreGivenBackWhenPlacesAreShort) {
  must(open().put("key", "value"));
  auto environment = must(Environment::open(path_.string(), {}));
  std::vector<ReadTurn> readers;
  std::optional<Code> code;
  while (!code) {
    auto reader = environment->begin_read();
    code = code_of(reader);
    if (!code) readers.push_back(std::move(*reader));
  }
  EXPECT_EQ(code, Code::busy);
  EXPECT_EQ(places_taken(*environment), readers.size() + 3) << "writers and checkpoints have some";
  const std::size_t count = readers.size();
  readers.clear();
  // What is idle now is little: another user of the table finds places.
  std::vector<MDB_txn*> others;
  MDB_txn* txn = nullptr;
  while (mdb_txn_begin(environment->lmdb(), nullptr, MDB_RDONLY, &txn) == 0) others.push_back(txn);
  EXPECT_GE(others.size() + 8, count);
  for (MDB_txn* const each : others) mdb_txn_abort(each);
}

// --- The clock -----------------------------------------------------------------------------------

// A store keeps the clock that it was given, so that must not be a temporary.
template <class Given>
concept CanOpenWith = requires(Given&& clock) {
  Store::open("", std::forward<Given>(clock));
};

static_assert(CanOpenWith<SystemClock&>);
static_assert(CanOpenWith<const Clock&>);
static_assert(!CanOpenWith<SystemClock>);
static_assert(!CanOpenWith<const ManualClock>);

}  // namespace store_processes_test
}  // namespace mayfly::internal
