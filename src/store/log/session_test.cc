// SPDX-License-Identifier: Apache-2.0
// The processes that have a store open: who is alone, who waits, and what one that dies leaves.

#include "store/log/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <random>
#include <thread>

#include "mayfly/internal/stopwatch.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace log_session_test {

using namespace std::chrono_literals;

constexpr SharedLock kLocks[] = {SharedLock::write, SharedLock::checkpoint, SharedLock::sync};
constexpr off_t kMembers = 0;
constexpr off_t kGate = 1;

// A process of another program, as far as one can see it: `path-shm` by hand.
class ByHand {
 public:
  explicit ByHand(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    EXPECT_EQ(posix_fallocate(file_, 0, 4096), 0);
    memory_ = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~ByHand() {
    munmap(memory_, 4096);
    close(file_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  bool lock(off_t byte, short type) {
    struct flock lock = one(byte, type);
    return fcntl(file_, F_OFD_SETLK, &lock) == 0;
  }
  // How others have locked the byte: F_RDLCK, F_WRLCK, or F_UNLCK.
  short locked(off_t byte) {
    struct flock lock = one(byte, F_WRLCK);
    EXPECT_EQ(fcntl(file_, F_OFD_GETLK, &lock), 0);
    return lock.l_type;
  }
  char* memory() { return memory_; }

  // What version 1 does with the page.
  void make_version_1() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(mutex(), &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  pthread_mutex_t* mutex() { return reinterpret_cast<pthread_mutex_t*>(memory_); }

 private:
  static struct flock one(off_t byte, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
  }

  int file_;
  char* memory_ = nullptr;
};

class LogSessionTest : public testing::Test {
 protected:
  // Joins, and lets others join too.
  std::unique_ptr<Session> join() const {
    auto session = must(Session::join(path_, 60s));
    session->let_others_in();
    return session;
  }
  bool has_file() const { return std::filesystem::exists(shared_path_); }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "store").string();
  const std::string shared_path_ = path_ + "-shm";
};

// A child process that does `work`, then tells so and waits to be killed.
class Child {
 public:
  template <class Work>
  explicit Child(Work work) {
    EXPECT_EQ(pipe(pipe_), 0);
    process_ = fork();
    if (process_ != 0) return;
    const char answer = work() ? 'y' : 'n';
    if (write(pipe_[1], &answer, 1) == 1) pause();
    _exit(0);
  }
  ~Child() { kill_it(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // What its work returned; waits for it.
  bool answer() {
    char answer = 0;
    EXPECT_EQ(read(pipe_[0], &answer, 1), 1);
    return answer == 'y';
  }
  void kill_it() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    EXPECT_EQ(waitpid(process_, nullptr, 0), process_);
    close(pipe_[0]);
    close(pipe_[1]);
    process_ = 0;
  }

 private:
  int pipe_[2] = {};
  pid_t process_ = 0;
};

// Memory that this process and its children share.
template <class T>
class SharedMemory {
 public:
  SharedMemory()
      : memory_(
            mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (memory_) T();
  }
  ~SharedMemory() { munmap(memory_, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  T* operator->() { return static_cast<T*>(memory_); }
  T& operator*() { return *static_cast<T*>(memory_); }

 private:
  void* memory_;
};

TEST_F(LogSessionTest, ALockIsTakenOnce) {
  const auto session = join();
  for (const SharedLock which : kLocks) must(session->lock(which, 0ms));  // each is its own
  for (const SharedLock which : kLocks) {
    std::thread([&] {
      EXPECT_EQ(code_of(session->lock(which, 0ms)), Code::busy);
      EXPECT_EQ(code_of(session->lock(which, 5ms)), Code::busy);
    }).join();
    session->unlock(which);
    bool owner_died = true;
    must(session->lock(which, 0ms, &owner_died));
    EXPECT_FALSE(owner_died);
  }
  EXPECT_EQ(message_of(session->lock(SharedLock::write, 0ms)),
            "cannot write: another transaction is writing to the store");
  EXPECT_EQ(message_of(session->lock(SharedLock::write, 1ms)),
            "cannot write: another transaction is writing to the store, and did not finish within "
            "1 ms");
  for (const SharedLock which : kLocks) session->unlock(which);
}

TEST_F(LogSessionTest, AWaitingThreadGetsTheLock) {
  const auto session = join();
  int count = 0;  // by the lock
  const auto work = [&] {
    for (int round = 0; round < 500; ++round) {
      must(session->lock(SharedLock::write, 60s));
      ++count;
      session->unlock(SharedLock::write);
    }
  };
  {
    std::jthread one(work);
    std::jthread other(work);
  }
  EXPECT_EQ(count, 1000);
}

TEST_F(LogSessionTest, AProcessThatDiesLeavesItsLocksFree) {
  const auto session = join();
  for (const SharedLock which : kLocks) {
    Child holder([&] { return join().release()->lock(which, 0ms).ok(); });  // it stays locked
    ASSERT_TRUE(holder.answer());
    EXPECT_EQ(code_of(session->lock(which, 5ms)), Code::busy);
    holder.kill_it();
    bool owner_died = false;
    must(session->lock(which, 0ms, &owner_died));
    EXPECT_TRUE(owner_died);
    session->unlock(which);
    must(session->lock(which, 0ms, &owner_died));
    EXPECT_FALSE(owner_died) << "it is told once";
    session->unlock(which);
  }
}

TEST_F(LogSessionTest, AWaitingProcessGetsTheLockOfOneThatDies) {
  const auto session = join();
  Child holder([this] { return join().release()->lock(SharedLock::write, 0ms).ok(); });
  ASSERT_TRUE(holder.answer());
  std::jthread killer([&holder] { holder.kill_it(); });
  bool owner_died = false;
  must(session->lock(SharedLock::write, 60s, &owner_died));
  EXPECT_TRUE(owner_died);
  session->unlock(SharedLock::write);
}

TEST_F(LogSessionTest, OneIsAloneUntilAnotherProcessComes) {
  const auto session = join();
  {
    Child other([this] { return join().release() != nullptr; });
    ASSERT_TRUE(other.answer());
    EXPECT_FALSE(session->try_alone(0ms));
    EXPECT_FALSE(session->alone());
    ByHand probe(shared_path_);
    EXPECT_EQ(probe.locked(kGate), F_UNLCK) << "the gate is given back";
    EXPECT_EQ(session->words().members, 2U);
  }
  EXPECT_EQ(ByHand(shared_path_).locked(kMembers), F_RDLCK) << "the share is still there";
  EXPECT_TRUE(session->try_alone(0ms));
  EXPECT_TRUE(session->alone());
  EXPECT_EQ(session->words().members, 1U) << "the dead one is not counted any more";
  session->let_others_in();
  EXPECT_FALSE(session->alone());
  Child next([this] { return !join()->alone(); });
  EXPECT_TRUE(next.answer());
}

TEST_F(LogSessionTest, TheFirstIsAloneAndMakesThePage) {
  {
    const auto first = must(Session::join(path_, 60s));
    EXPECT_TRUE(first->alone());
    first->words().tail = 5;
    first->let_others_in();
    const auto second = must(Session::join(path_, 60s));
    EXPECT_FALSE(second->alone());
    EXPECT_EQ(second->words().tail, 5U);
    EXPECT_EQ(second->words().members, 2U);
  }
  EXPECT_TRUE(has_file()) << "who does not ask whether it is the last does not remove it";
  const auto next = must(Session::join(path_, 60s));
  EXPECT_TRUE(next->alone());
  EXPECT_EQ(next->words().tail, 0U);
  EXPECT_EQ(next->words().members, 1U);
}

TEST_F(LogSessionTest, AProcessThatDiesAloneLeavesTheNextAlone) {
  for (int round = 0; round < 3; ++round) {
    Child first([this] {
      auto* const session = must(Session::join(path_, 60s)).release();
      session->words().tail = 5;
      return session->alone();
    });
    ASSERT_TRUE(first.answer());
    EXPECT_EQ(ByHand(shared_path_).locked(kMembers), F_WRLCK);
    EXPECT_EQ(ByHand(shared_path_).locked(kGate), F_WRLCK);
    std::jthread killer([&first] { first.kill_it(); });
    const auto session = must(Session::join(path_, 60s));
    EXPECT_TRUE(session->alone());
    EXPECT_EQ(session->words().tail, 0U);
  }
}

// [gate]: nobody asks whether it is alone while another opens or closes.
TEST_F(LogSessionTest, NobodyPassesTheGateWhileAnotherHasIt) {
  const auto session = join();
  ByHand other(shared_path_);
  ASSERT_TRUE(other.lock(kGate, F_WRLCK));
  EXPECT_EQ(code_of(Session::join(path_, 0ms)), Code::busy);
  EXPECT_FALSE(session->try_alone(0ms));
  EXPECT_FALSE(session->begin_to_leave(5ms));
  EXPECT_EQ(other.locked(kMembers), F_RDLCK);
  ASSERT_TRUE(other.lock(kGate, F_UNLCK));
  EXPECT_TRUE(session->try_alone(0ms));
  EXPECT_FALSE(other.lock(kGate, F_WRLCK)) << "held while one is alone";
  session->let_others_in();
  EXPECT_EQ(other.locked(kGate), F_UNLCK);
}

TEST_F(LogSessionTest, TheLastRemovesTheFile) {
  auto first = join();
  auto second = join();
  EXPECT_FALSE(first->begin_to_leave(0ms));
  EXPECT_FALSE(second->begin_to_leave(0ms)) << "the other has the gate until it has left";
  ByHand probe(shared_path_);
  EXPECT_EQ(probe.locked(kGate), F_WRLCK);
  first->leave();
  first->leave();  // does nothing
  first.reset();
  EXPECT_TRUE(has_file());
  EXPECT_EQ(second->words().members, 1U);
  EXPECT_TRUE(second->begin_to_leave(0ms));
  second->leave();
  EXPECT_FALSE(has_file());
  EXPECT_EQ(probe.locked(kGate), F_UNLCK);
  EXPECT_EQ(probe.locked(kMembers), F_UNLCK);
}

// How often this process has the file open.
int count_open(const std::string& path) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry.path(), gone) == path ? 1 : 0;
  }
  return count;
}

// [inode]: the file on which it waits is removed; another may have that name by then.
TEST_F(LogSessionTest, WhoWaitedForAFileThatIsRemovedTakesTheNewOne) {
  for (int round = 0; round < 10; ++round) {
    auto last = must(Session::join(path_, 60s));
    ASSERT_TRUE(last->alone());
    std::unique_ptr<Session> waiter;
    std::thread waiting([&] { waiter = join(); });
    while (count_open(shared_path_) < 2) std::this_thread::yield();
    last->leave();
    if (round % 2 == 0) waiting.join();
    const auto other = join();  // which of them is first does not matter
    if (round % 2 == 1) waiting.join();
    EXPECT_TRUE(has_file());
    other->words().tail = 7;
    EXPECT_EQ(waiter->words().tail, 7U) << "both have the same page";
    EXPECT_FALSE(other->try_alone(0ms));
    EXPECT_FALSE(waiter->try_alone(0ms));
  }
}

TEST_F(LogSessionTest, AnotherLayoutIsUnsupported) {
  const auto session = join();
  ++ByHand(shared_path_).memory()[32];  // the version
  const auto other = Session::join(path_, 60s);
  EXPECT_EQ(code_of(other), Code::unsupported);
  EXPECT_NE(message_of(other).find("another version of Mayfly"), std::string::npos);
  EXPECT_TRUE(session->try_alone(0ms)) << "it left no lock behind";
}

TEST_F(LogSessionTest, WithAProcessOfVersion1InsideTheStoreIsBusy) {
  { const auto before = join(); }  // leaves a page of version 2
  ByHand older(shared_path_);
  ASSERT_TRUE(older.lock(kMembers, F_WRLCK));
  EXPECT_EQ(code_of(Session::join(path_, 0ms)), Code::busy) << "it is alone, without the gate";
  older.make_version_1();
  ASSERT_TRUE(older.lock(kMembers, F_RDLCK));
  pthread_mutex_lock(older.mutex());
  const auto session = Session::join(path_, 0ms);
  EXPECT_EQ(code_of(session), Code::busy);
  EXPECT_NE(message_of(session).find("an older Mayfly has the store open"), std::string::npos);
  pthread_mutex_unlock(older.mutex());
  EXPECT_EQ(ByHand(shared_path_).locked(kGate), F_UNLCK);
  std::unique_ptr<Session> waiter;
  std::thread waiting([&] { waiter = must(Session::join(path_, 60s)); });
  ASSERT_TRUE(older.lock(kMembers, F_UNLCK));
  waiting.join();
  EXPECT_TRUE(waiter->alone());
}

TEST_F(LogSessionTest, AProcessOfVersion1MayUseItsMutex) {
  const auto session = join();
  ByHand older(shared_path_);
  EXPECT_EQ(pthread_mutex_trylock(older.mutex()), 0);
  EXPECT_NE(join(), nullptr);
  EXPECT_EQ(pthread_mutex_unlock(older.mutex()), 0);
  EXPECT_NE(join(), nullptr);
}

// [pid]: the copy of a session in a child has the locks of its parent.
TEST_F(LogSessionTest, TheChildOfAForkReleasesNothing) {
  auto session = must(Session::join(path_, 60s));
  ASSERT_TRUE(session->alone());
  for (int way = 0; way < 3; ++way) {
    Child child([&] {
      if (way == 0) session->leave();
      if (way == 1) session->close_in_child();
      session.reset();
      return true;
    });
    ASSERT_TRUE(child.answer());
    EXPECT_TRUE(has_file());
    EXPECT_EQ(ByHand(shared_path_).locked(kMembers), F_WRLCK);
    EXPECT_EQ(ByHand(shared_path_).locked(kGate), F_WRLCK);
    EXPECT_EQ(session->words().members, 1U);
  }
  session->let_others_in();
  Child copy([] { return true; });
  ASSERT_TRUE(copy.answer());
  session.reset();
  EXPECT_TRUE(must(Session::join(path_, 60s))->alone()) << "a copy of the file keeps no lock";
}

// A child of a dead process keeps its membership, unless it has closed the file.
TEST_F(LogSessionTest, AChildThatOutlivesItsParentIsAMemberStill) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (const bool closes : {false, true}) {
    SharedMemory<std::atomic<pid_t>> grandchild;
    Child parent([&] {
      auto session = join();
      Child child([&] {
        if (closes) session->close_in_child();
        *grandchild = getpid();
        return true;
      });
      const bool answer = child.answer();
      pause();
      return answer;
    });
    while (*grandchild == 0) std::this_thread::yield();
    const auto is_alone = [&] { return must(Session::join(path_, 60s))->alone(); };
    EXPECT_FALSE(is_alone()) << "the parent is inside";
    parent.kill_it();
    EXPECT_EQ(is_alone(), closes);
    kill(*grandchild, SIGKILL);
    EXPECT_EQ(waitpid(*grandchild, nullptr, 0), *grandchild);
    EXPECT_TRUE(is_alone());
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(LogSessionTest, WithoutAFolderThereIsNone) {
  const auto session = Session::join((folder_ / "none" / "store").string(), 0ms);
  EXPECT_EQ(code_of(session), Code::not_found);
}

TEST_F(LogSessionTest, ADetachedOneIsAloneAndMakesNoFile) {
  const auto one = must(Session::detached());
  const auto other = must(Session::detached());
  EXPECT_TRUE(one->alone() && other->alone());
  one->let_others_in();
  EXPECT_TRUE(one->try_alone(0ms));
  must(one->lock(SharedLock::checkpoint, 0ms));
  one->unlock(SharedLock::checkpoint);
  EXPECT_FALSE(has_file());
}

// Processes that open and close at random and are killed at any moment. What each believes stands
// in shared memory, where the others compare it with what they believe.
struct Beliefs {
  static constexpr int kProcesses = 4;
  enum State : std::uint32_t { out, in, alone };
  struct One {
    std::atomic<std::uint32_t> state{out};
    std::atomic<std::uint64_t> group{0};  // who made the page
    std::atomic<bool> doomed{false};      // about to be killed, or dead
  };
  std::array<One, kProcesses> processes;
  std::atomic<std::uint64_t> groups{0};
  std::atomic<int> joins{0};
  std::atomic<int> alones{0};
  std::atomic<int> ends{0};
  std::atomic<int> dead_owners{0};
  std::atomic<int> not_alone{0};  // what must not be
  std::atomic<int> other_group{0};
  std::atomic<int> not_recovered{0};
  std::atomic<int> not_told{0};
  std::atomic<int> errors{0};
};

// Processes are at different places because they wait for different times.
void pause_for(std::uint64_t microseconds) {
  const timespec time{0, static_cast<long>(microseconds) * 1000};
  (void)::ppoll(nullptr, 0, &time, nullptr);
}

class OpenAndClose {
 public:
  OpenAndClose(Beliefs& beliefs, int self, unsigned seed)
      : beliefs_(&beliefs),
        self_(&beliefs.processes[static_cast<std::size_t>(self)]),
        random_(seed) {}

  void once(const std::string& path) {
    pause_for(random_() % 6000);
    auto joined = Session::join(path, 60s);
    if (!joined.ok()) {
      ++beliefs_->errors;
      return;
    }
    const auto session = std::move(*joined);
    SharedWords& words = session->words();
    ++beliefs_->joins;
    if (session->alone()) {
      believe(Beliefs::alone);
      beliefs_->not_recovered += words.commits == 0 ? 0 : 1;  // the page is new
      words.log = ++beliefs_->groups;
      linger();
      words.commits = 1;  // recovered
      self_->group = words.log.load();
      believe(Beliefs::in);
      session->let_others_in();
    } else {
      beliefs_->not_recovered += words.commits == 1 ? 0 : 1;
      self_->group = words.log.load();
      believe(Beliefs::in);
    }
    write(*session);
    if (random_() % 4 == 0 && session->try_alone(Millis(random_() % 3))) {
      believe(Beliefs::alone);
      linger();
      believe(Beliefs::in);
      session->let_others_in();
    }
    linger();
    if (random_() % 4 != 0 && session->begin_to_leave(60s)) {
      believe(Beliefs::alone);
      ++beliefs_->ends;
    }
    self_->state = Beliefs::out;
  }

 private:
  void linger() {
    if (random_() % 4 == 0) pause_for(random_() % 3000);
    for (auto turns = random_() % 200; turns > 0; --turns) std::this_thread::yield();
  }

  void believe(Beliefs::State state) {
    self_->state = state;
    beliefs_->alones += state == Beliefs::alone ? 1 : 0;
    for (const Beliefs::One& other : beliefs_->processes) {
      const std::uint64_t group = other.group;
      const std::uint32_t its = other.state;
      if (&other == self_ || its == Beliefs::out) continue;
      const bool fits = state == Beliefs::in && its == Beliefs::in;
      if (fits && group == self_->group) continue;
      if (other.doomed || other.state != its || other.group != group) continue;  // it is gone
      ++(fits ? beliefs_->other_group : beliefs_->not_alone);
    }
  }

  void write(Session& session) {
    bool owner_died = false;
    if (!session.lock(SharedLock::write, 60s, &owner_died).ok()) {
      ++beliefs_->errors;
      return;
    }
    SharedWords& words = session.words();
    beliefs_->dead_owners += owner_died ? 1 : 0;
    if (words.busy != SharedWords::kIdle && !owner_died) ++beliefs_->not_told;
    words.busy = SharedWords::kWriting;
    linger();
    words.busy = SharedWords::kIdle;
    session.unlock(SharedLock::write);
  }

  Beliefs* const beliefs_;
  Beliefs::One* const self_;
  std::mt19937 random_;
};

TEST_F(LogSessionTest, NobodyBelievesToBeAloneWhileAnotherIsInside) {
  SharedMemory<Beliefs> beliefs;
  std::array<pid_t, Beliefs::kProcesses> children{};
  std::mt19937 random(16);
  const auto start = [&](int number) {
    const auto seed = static_cast<unsigned>(random());
    pid_t& child = children[static_cast<std::size_t>(number)];
    child = fork();
    if (child != 0) return;
    OpenAndClose process(*beliefs, number, seed);
    for (;;) process.once(path_);
  };
  const auto end = [&](int number) {
    Beliefs::One& one = beliefs->processes[static_cast<std::size_t>(number)];
    const pid_t child = children[static_cast<std::size_t>(number)];
    one.doomed = true;
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    one.state = Beliefs::out;
    one.doomed = false;
  };
  for (int number = 0; number < Beliefs::kProcesses; ++number) start(number);
  const std::int64_t begin = monotonic_ns();
  const auto seconds = [&] { return (monotonic_ns() - begin) / (1000 * kNanosInMilli); };
  const auto has_seen_all = [&] { return beliefs->alones > 0 && beliefs->ends > 0; };
  int kills = 0;
  while ((beliefs->joins < 600 || kills < 300 || !has_seen_all()) &&
         seconds() < (has_seen_all() ? 20 : 120)) {  // a busy machine needs longer
    pause_for(random() % 10'000);
    const int number = static_cast<int>(random() % Beliefs::kProcesses);
    end(number);
    start(number);
    ++kills;
  }
  for (int number = 0; number < Beliefs::kProcesses; ++number) end(number);
  EXPECT_GT(beliefs->joins, 0);
  EXPECT_GT(beliefs->alones, 0);
  EXPECT_GT(beliefs->ends, 0);
  EXPECT_EQ(beliefs->not_alone, 0);
  EXPECT_EQ(beliefs->other_group, 0);
  EXPECT_EQ(beliefs->not_recovered, 0);
  EXPECT_EQ(beliefs->not_told, 0);
  EXPECT_EQ(beliefs->errors, 0);
  EXPECT_TRUE(must(Session::join(path_, 60s))->alone());
}

}  // namespace log_session_test
}  // namespace mayfly::internal
