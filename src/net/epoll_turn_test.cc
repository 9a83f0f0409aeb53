// SPDX-License-Identifier: Apache-2.0
// The order of things in a turn of the loop: hooks, wake-ups, stopping; and outgoing
// connections and the lack of sockets, which depend on it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "net/loop_fixture.h"

namespace mayfly {
namespace epoll_turn_test {

TEST_F(LoopTest, CallsBeforeSleepBeforeItWrites) {
  std::vector<std::string> order;
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  loop_.on_turn_begin([&] { order.emplace_back("begin"); });
  loop_.before_sleep([&] {
    order.emplace_back("before sleep, pending " + std::to_string(log_.link->pending()));
    return Millis(0);
  });
  client.send("ping");
  loop_.run_once(Loop::kForever);
  client.receive();
  EXPECT_EQ(order, (std::vector<std::string>{"begin", "before sleep, pending 4"}));
  EXPECT_EQ(client.received(), "ping");
  EXPECT_EQ(log_.drained, 1);
}

TEST_F(LoopTest, SleepsNoLongerThanItMay) {
  int turns = 0;
  loop_.before_sleep([&] { return ++turns < 5 ? Millis(1) : Millis(-1); });
  for (int turn = 0; turn < 7; ++turn) loop_.run_once(Loop::kForever);
  EXPECT_EQ(turns, 7);
}

TEST_F(LoopTest, IsWokenEvenBeforeItSleeps) {
  int woken = 0;
  loop_.on_wake([&] { ++woken; });
  loop_.run_once(Millis(0));
  loop_.wake();
  loop_.wake();
  loop_.run_once(Loop::kForever);
  EXPECT_EQ(woken, 1);
}

TEST_F(LoopTest, StopsAndCanBeRunAgain) {
  loop_.stop();
  loop_.run();
  int turns = 0;
  loop_.on_turn_begin([&] {
    if (++turns == 3) loop_.stop();
  });
  loop_.before_sleep([] { return Millis(0); });
  loop_.run();
  EXPECT_EQ(turns, 3);
}

// Sends as much as it is allowed to, piece by piece, whenever the kernel has taken the last one.
class StreamPeer : public EchoPeer {
 public:
  using EchoPeer::EchoPeer;
  void drained() override {
    if (++pieces_ < 100) link_.send(std::string(1000, 'x'));
  }

 private:
  int pieces_ = 0;
};

TEST_F(LoopTest, LetsAPeerSendOnWhenItIsDrained) {
  TestClient client = TestClient::tcp(listen<StreamPeer>());
  client.send("x");
  expect_answer(client, std::string(99'001, 'x'));
}

TEST_F(LoopTest, ConnectsToOthers) {
  const int port = listen();
  const auto connected = [this](Link& link) {
    link.send("hello from the other end");
    return std::make_unique<EchoPeer>(link, log_);
  };
  loop_.connect("127.0.0.1", port, connected, [](const Error& error) { FAIL() << error.message; });
  run_until([&] { return log_.drained > 3; });  // it goes back and forth
  EXPECT_EQ(loop_.connections(), 2u);
}

TEST_F(LoopTest, SaysWhyItCannotConnect) {
  const int port = listen();
  loop_.stop_listening();
  loop_.run_once(Millis(0));
  std::vector<std::string> errors;
  const auto failed = [&](const Error& error) { errors.push_back(error.message); };
  loop_.connect("127.0.0.1", port, make(), failed);
  loop_.connect("not numeric", port, make(), failed);
  run_until([&] { return errors.size() == 2; });
  EXPECT_EQ(log_.made, 0);
}

// Takes all file descriptors but a few, for as long as it lives.
class FewFiles {
 public:
  explicit FewFiles(rlim_t free) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit few{static_cast<rlim_t>(next.get()) + free, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST_F(LoopTest, AcceptsAgainWhenThereAreSocketsAgain) {
  const int port = listen();
  clock_.advance(Millis(1));  // UBSan's first check of a class needs a file descriptor
  TestClient client = [&] {
    const FewFiles few(1);
    TestClient first = TestClient::tcp(port);
    for (int turn = 0; turn < 10; ++turn) loop_.run_once(Millis(0));
    EXPECT_EQ(log_.made, 0);
    EXPECT_EQ(lines_, std::vector<std::string>{"cannot accept a connection: Too many open files"});
    clock_.advance(Millis(100));
    loop_.run_once(Millis(0));
    loop_.run_once(Millis(0));
    EXPECT_EQ(lines_.size(), 1u) << "says it once";
    return first;
  }();
  clock_.advance(Millis(100));
  client.send("at last");
  expect_answer(client, "at last");
}

}  // namespace epoll_turn_test
}  // namespace mayfly
