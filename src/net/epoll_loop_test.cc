// SPDX-License-Identifier: Apache-2.0
// Connections through a real kernel, on loopback and unix sockets: what is sent arrives, what is
// closed is told once, and nothing is kept.

#include "net/epoll_loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "net/loop_fixture.h"

namespace mayfly {
namespace epoll_loop_test {

// A text of `size` bytes in which every part is different from its neighbours.
std::string pattern(std::size_t size) {
  std::string bytes;
  for (int number = 0; bytes.size() < size; ++number) {
    bytes.append(std::to_string(number)).append(1000, '.');
  }
  bytes.resize(size);
  return bytes;
}

TEST_F(LoopTest, EchoesOnTcp) {
  TestClient client = TestClient::tcp(listen());
  client.send("hello");
  expect_answer(client, "hello");
  EXPECT_EQ(loop_.connections(), 1u);
  EXPECT_TRUE(log_.link->address().starts_with("127.0.0.1:"));
  EXPECT_TRUE(log_.link->local_address().starts_with("127.0.0.1:"));
  EXPECT_TRUE(log_.link->is_loopback());
  EXPECT_FALSE(log_.link->is_unix());
}

// A forked child has the same sockets, as a duplicate has.
TEST_F(LoopTest, EndsAConnectionThatAChildStillHas) {
  TestClient client = TestClient::tcp(listen());
  client.send("hello");
  expect_answer(client, "hello");
  const Fd copy(::dup(log_.link->fd()));
  log_.link->close_now("the test says so");
  run_until([&] { return !client.receive(); });
  std::string_view more = "more";
  client.send_some(more);
  for (int i = 0; i < 3; ++i) loop_.run_once(Millis(1));  // nobody is called who is gone
  EXPECT_EQ(log_.closed.size(), 1u);
}

// Replies to whole lines only.
class LinePeer : public EchoPeer {
 public:
  using EchoPeer::EchoPeer;
  void received(InputBuffer& input) override {
    const std::size_t end = input.view().rfind('\n');
    if (end == std::string_view::npos) return;
    link_.send(input.view().substr(0, end + 1));
    input.consume(end + 1);
  }
};

TEST_F(LoopTest, KeepsWhatThePeerHasNotConsumed) {
  TestClient client = TestClient::tcp(listen<LinePeer>());
  for (const char* piece : {"a", "bc", "d\nef", "g"}) {
    client.send(piece);
    loop_.run_once(Millis(1));
  }
  expect_answer(client, "abcd\n");
  EXPECT_EQ(log_.link->input().view(), "efg");
  client.send("\n");
  expect_answer(client, "abcd\nefg\n");
  EXPECT_EQ(log_.link->input().capacity(), 0u);
}

TEST_F(LoopTest, CarriesALotBothWays) {
  const std::string bytes = pattern(64 << 20);
  TestClient client = TestClient::tcp(listen());
  std::string_view left = bytes;
  run_until([&] {
    client.send_some(left);
    client.receive();
    return client.received().size() >= bytes.size();
  });
  EXPECT_TRUE(client.received() == bytes);
  loop_.run_once(Millis(0));
  EXPECT_LE(log_.link->output_capacity(), 64u * 1024);
  EXPECT_EQ(log_.link->input().capacity(), 0u);
}

// Waits for one request of 64 MiB, and says so to the buffer.
class BulkPeer : public EchoPeer {
 public:
  static constexpr std::size_t kBytes = 64 << 20;
  using EchoPeer::EchoPeer;
  void received(InputBuffer& input) override {
    if (input.size() < kBytes) return input.want(kBytes);
    EXPECT_LE(input.capacity(), kBytes);
    EXPECT_TRUE(input.view() == pattern(kBytes));
    input.consume(kBytes);
    link_.send("whole");
  }
};

TEST_F(LoopTest, CollectsALongRequest) {
  const std::string bytes = pattern(BulkPeer::kBytes);
  TestClient client = TestClient::tcp(listen<BulkPeer>());
  std::string_view left = bytes;
  run_until([&] {
    client.send_some(left);
    return left.empty();
  });
  expect_answer(client, "whole");
  EXPECT_EQ(log_.link->input().capacity(), 0u);
}

TEST_F(LoopTest, ShowsThatAReaderIsSlow) {
  const std::string bytes = pattern(32 << 20);
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  log_.link->send(bytes);
  for (int turn = 0; turn < 10; ++turn) loop_.run_once(Millis(0));
  EXPECT_GT(log_.link->pending(), 0u);
  EXPECT_EQ(log_.drained, 0);

  expect_answer(client, bytes);
  run_until([&] { return log_.drained == 1; });
  EXPECT_EQ(log_.link->pending(), 0u);
}

TEST_F(LoopTest, ClosesAfterAllIsDelivered) {
  const std::string bytes = pattern(8 << 20);
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  client.send("never read");
  log_.link->send(bytes);
  log_.link->close_after_flush();
  EXPECT_TRUE(log_.link->closing());
  run_until([&] { return !client.receive(); });
  EXPECT_TRUE(client.received() == bytes);
  EXPECT_EQ(log_.closed, std::vector<std::string>{"closed by us"});
}

TEST_F(LoopTest, ClosesNowWithoutWriting) {
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  log_.link->send("lost");
  log_.link->close_now("killed");
  log_.link->close_now("killed again");
  EXPECT_TRUE(log_.closed.empty()) << "never from within the call";
  run_until([&] { return !client.receive(); });
  EXPECT_EQ(client.received(), "");
  EXPECT_EQ(log_.closed, std::vector<std::string>{"killed"});
  EXPECT_EQ(loop_.connections(), 0u);
}

TEST_F(LoopTest, AnswersAClientThatHasFinishedSending) {
  const std::string bytes = pattern(100'000);
  TestClient client = TestClient::tcp(listen());
  client.send(bytes);
  client.finish_sending();
  run_until([&] { return !client.receive(); });
  EXPECT_TRUE(client.received() == bytes);
  EXPECT_EQ(log_.closed.size(), 1u);
}

TEST_F(LoopTest, ForgetsTwoThousandConnections) {
  const int port = listen();
  for (int i = 0; i < 2000; ++i) {
    TestClient client = TestClient::tcp(port);
    if (i % 2 == 0) client.send("half a requ");
    if (i % 50 == 0) loop_.run_once(Millis(0));
  }
  run_until([&] { return log_.closed.size() == 2000; });
  EXPECT_EQ(loop_.connections(), 0u);
}

TEST_F(LoopTest, DeliversNothingWhilePaused) {
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  log_.link->pause_reading();
  client.send("later");
  for (int turn = 0; turn < 10; ++turn) loop_.run_once(Millis(0));
  client.receive();
  EXPECT_EQ(client.received(), "");
  log_.link->resume_reading();
  expect_answer(client, "later");
}

// Takes one byte a turn: pauses and resumes at once.
class SlowPeer : public EchoPeer {
 public:
  using EchoPeer::EchoPeer;
  void received(InputBuffer& input) override {
    link_.send(input.view().substr(0, 1));
    input.consume(1);
    link_.pause_reading();
    link_.resume_reading();
  }
};

TEST_F(LoopTest, ComesBackToWhatWasLeftAfterResuming) {
  TestClient client = TestClient::tcp(listen<SlowPeer>());
  client.send("one by one");
  expect_answer(client, "one by one");
}

// What is left over comes before anything new is read, the end included.
TEST_F(LoopTest, AnswersWhatWasLeftEvenIfTheClientHasFinishedSending) {
  TestClient client = TestClient::tcp(listen<SlowPeer>());
  client.send("one by one");
  client.finish_sending();
  expect_answer(client, "one by one");
}

TEST_F(LoopTest, NoticesThatAPausedClientIsGone) {
  auto client = std::make_unique<TestClient>(TestClient::tcp(listen()));
  run_until([&] { return log_.link != nullptr; });
  log_.link->send("unread, so that closing resets the connection");
  log_.link->pause_reading();
  loop_.run_once(Millis(0));
  client.reset();
  run_until([&] { return log_.closed.size() == 1; });
}

TEST_F(LoopTest, NoticesThatAPausedClientHasFinishedSendingIfItWatchesForThat) {
  TestClient client = TestClient::tcp(listen());
  run_until([&] { return log_.link != nullptr; });
  log_.link->pause_reading();
  client.send("unread");
  client.finish_sending();
  for (int turn = 0; turn < 10; ++turn) loop_.run_once(Millis(0));
  EXPECT_EQ(log_.closed.size(), 0u);
  log_.link->watch_for_close();
  run_until([&] { return log_.closed.size() == 1; });
}

TEST_F(LoopTest, RefusesWithAFewLastWords) {
  const auto port = loop_.listen_tcp("127.0.0.1", 0, {}, [](Link& link) {
    link.send("-ERR too many\r\n");
    return nullptr;
  });
  TestClient client = TestClient::tcp(*port);
  run_until([&] { return !client.receive(); });
  EXPECT_EQ(client.received(), "-ERR too many\r\n");
  EXPECT_EQ(loop_.connections(), 0u);
}

TEST_F(LoopTest, ClosesWhatIsOpenWhenItIsDestroyed) {
  EchoPeer::Log log;
  {
    EpollLoop loop(clock_);
    const auto port = loop.listen_tcp(
        "127.0.0.1", 0, {}, [&](Link& link) { return std::make_unique<EchoPeer>(link, log); });
    const TestClient client = TestClient::tcp(*port);
    while (log.made == 0) loop.run_once(Millis(1));
  }
  EXPECT_EQ(log.closed, std::vector<std::string>{"the server stops"});
}

TEST_F(LoopTest, AcceptsNoMoreAfterStopListening) {
  const int port = listen();
  TestClient client = TestClient::tcp(port);
  run_until([&] { return log_.link != nullptr; });
  loop_.stop_listening();
  loop_.run_once(Millis(0));
  client.send("still here");
  expect_answer(client, "still here");
  EXPECT_TRUE(loop_.listen_tcp("127.0.0.1", port, {}, make()).ok());
}

}  // namespace epoll_loop_test
}  // namespace mayfly
