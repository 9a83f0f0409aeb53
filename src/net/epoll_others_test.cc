// SPDX-License-Identifier: Apache-2.0
// serve_others(): connections are served from within a peer's received(), which takes long.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "net/loop_fixture.h"

namespace mayfly {
namespace epoll_others_test {

std::function<void(Link&)> when_long;  // what a peer does that gets "long"

// Echoes; but "long" takes long, and is answered by "begin" and "end".
class LongPeer final : public EchoPeer {
 public:
  using EchoPeer::EchoPeer;
  void received(InputBuffer& input) override {
    const std::string text(input.view());
    if (text != "long") return EchoPeer::received(input);
    link_.send("begin ");
    link_.pause_reading();
    if (when_long) when_long(link_);
    link_.resume_reading();
    EXPECT_EQ(input.view(), text);  // it is where it was
    input.consume(input.size());
    link_.send("end");
  }
};

class EpollOthersTest : public LoopTest {
 protected:
  void SetUp() override {
    when_long = nullptr;
    port = listen<LongPeer>();
  }

  // Until `there` says so.
  void serve_until(const std::function<bool()>& there) {
    for (int round = 0; round < 20'000 && !there(); ++round) loop_.serve_others();
    EXPECT_TRUE(there());
  }

  int port = 0;
};

TEST_F(EpollOthersTest, OthersAreAnsweredAndTheOutputOfTheBusyOneStays) {
  TestClient busy = TestClient::tcp(port);
  TestClient other = TestClient::tcp(port);
  std::size_t pending = 0;
  when_long = [&](Link& link) {
    other.send("hello");
    serve_until([&] { return !other.receive() || other.received() == "hello"; });
    pending = link.pending();
  };
  busy.send("long");
  expect_answer(busy, "begin end");
  EXPECT_EQ(pending, 6u);  // positions in it are still good
}

TEST_F(EpollOthersTest, OthersComeAndGo) {
  TestClient busy = TestClient::tcp(port);
  std::optional<TestClient> old(TestClient::tcp(port));
  run_until([&] { return log_.made == 2; });
  std::optional<TestClient> late;
  when_long = [&](Link&) {
    old.reset();
    late.emplace(TestClient::tcp(port));
    late->send("hello");
    serve_until([&] { return !late->receive() || late->received() == "hello"; });
    serve_until([&] { return log_.closed.size() == 1; });
  };
  busy.send("long");
  expect_answer(busy, "begin end");
  late->send(" again");
  expect_answer(*late, "hello again");
}

TEST_F(EpollOthersTest, TheBusyOneIsClosedWhenItsPeerIsDone) {
  TestClient busy = TestClient::tcp(port);
  bool was_open = false;
  when_long = [&](Link& link) {
    link.close_now("by the test");
    for (int i = 0; i < 3; ++i) loop_.serve_others();
    was_open = log_.closed.empty();
  };
  busy.send("long");
  run_until([&] { return !log_.closed.empty(); });
  EXPECT_TRUE(was_open);
  EXPECT_EQ(log_.closed, std::vector<std::string>{"by the test"});
}

TEST_F(EpollOthersTest, WhatTheBusyOneSendsMeanwhileComesAfterwards) {
  TestClient busy = TestClient::tcp(port);
  when_long = [&](Link&) {
    busy.send("more");
    for (int i = 0; i < 100; ++i) loop_.serve_others();
  };
  busy.send("long");
  expect_answer(busy, "begin endmore");
}

}  // namespace epoll_others_test
}  // namespace mayfly
