// SPDX-License-Identifier: Apache-2.0
// The write lock that processes share: it can be tried and waited for, and a process that dies with
// it leaves it free.

#include "store/lmdb/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace session_test {

using namespace std::chrono_literals;

class SessionTest : public testing::Test {
 protected:
  // Joins, and lets others join too.
  std::unique_ptr<Session> join() const {
    auto session = must(Session::join(path_, 60s));
    session->let_others_in();
    return session;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "store").string();
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

TEST_F(SessionTest, TheLockIsTakenOnce) {
  const auto session = join();
  ASSERT_TRUE(session->lock(Millis(0)).ok());
  EXPECT_EQ(code_of(session->lock(0ms)), Code::busy);
  EXPECT_EQ(code_of(session->lock(60s)), Code::busy) << "at once: this thread has it already";
  std::thread([&] {
    EXPECT_FALSE(session->lock(Millis(0)).ok());
    EXPECT_EQ(code_of(session->lock(0ms)), Code::busy);
    EXPECT_EQ(code_of(session->lock(5ms)), Code::busy);
  }).join();
  session->unlock();
  must(session->lock(0ms));
  session->unlock();
}

TEST_F(SessionTest, AProcessThatDiesLeavesTheLockFree) {
  for (int round = 0; round < 3; ++round) {
    Child holder(
        [this] { return join().release()->lock(Millis(0)).ok(); });  // it stays open, and locked
    ASSERT_TRUE(holder.answer());
    const auto session = join();
    EXPECT_FALSE(session->lock(Millis(0)).ok());
    EXPECT_EQ(code_of(session->lock(5ms)), Code::busy);
    holder.kill_it();
    EXPECT_TRUE(session->lock(Millis(0)).ok());
    session->unlock();
  }
}

TEST_F(SessionTest, AWaitingProcessGetsTheLockOfOneThatDies) {
  Child holder([this] { return join().release()->lock(Millis(0)).ok(); });
  ASSERT_TRUE(holder.answer());
  const auto session = join();
  std::jthread killer([&holder] { holder.kill_it(); });
  must(session->lock(60s));
  session->unlock();
}

TEST_F(SessionTest, OneIsAloneUntilAnotherProcessComes) {
  const auto session = join();
  {
    Child other([this] { return join().release() != nullptr; });
    ASSERT_TRUE(other.answer());
    EXPECT_FALSE(session->try_alone());
    EXPECT_FALSE(session->alone());
  }
  EXPECT_TRUE(session->try_alone());
  EXPECT_TRUE(session->alone());
  session->let_others_in();
  EXPECT_FALSE(session->alone());
  Child next([this] { return join() != nullptr; });
  EXPECT_TRUE(next.answer());
}

TEST_F(SessionTest, TheFirstIsAloneAtOnce) {
  const auto first = must(Session::join(path_, 60s));
  EXPECT_TRUE(first->alone());
  first->let_others_in();
  const auto second = must(Session::join(path_, 60s));
  EXPECT_FALSE(second->alone());
}

TEST_F(SessionTest, WithoutAFolderThereIsNone) {
  const auto session = Session::join((folder_ / "none" / "store").string(), 0ms);
  EXPECT_EQ(code_of(session), Code::not_found);
}

}  // namespace session_test
}  // namespace mayfly::internal
