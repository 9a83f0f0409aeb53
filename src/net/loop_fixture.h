// SPDX-License-Identifier: Apache-2.0
// What tests of a loop need: a client whose calls never block, peers that write down what happens,
// and a loop that is run in the test's own thread until something is the case.

#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mayfly/clock.h"
#include "net/epoll_loop.h"
#include "net/socket.h"

namespace mayfly {

// The other end of a connection.
class TestClient {
 public:
  static TestClient tcp(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return TestClient(AF_INET, &address, sizeof address);
  }

  static TestClient unix_socket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return TestClient(AF_UNIX, &address, sizeof address);
  }

  // Sends what the kernel takes, and drops that much from the front.
  void send_some(std::string_view& bytes) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  void send(std::string_view bytes) {
    send_some(bytes);
    EXPECT_TRUE(bytes.empty());
  }

  // Adds what has come to received(). Returns false once the other side has closed.
  bool receive() {
    std::array<char, 64 * 1024> buffer;
    for (;;) {
      const ssize_t bytes = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (bytes <= 0) return bytes < 0 && errno == EAGAIN;
      received_.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }
  const std::string& received() const { return received_; }

  void finish_sending() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  TestClient(int family, const void* address, socklen_t size)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(fd_.get(), static_cast<const sockaddr*>(address), size), 0);
    const int at_once = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  }

  Fd fd_;
  std::string received_;
};

// Sends everything back, and keeps what happened to it.
class EchoPeer : public Peer {
 public:
  struct Log {
    int made = 0;
    int drained = 0;
    std::vector<std::string> closed;  // why
    Link* link = nullptr;             // the last one
  };

  EchoPeer(Link& link, Log& log) : link_(link), log_(log) {
    ++log_.made;
    log_.link = &link;
  }
  void received(InputBuffer& input) override {
    link_.send(input.view());
    input.consume(input.size());
  }
  void drained() override { ++log_.drained; }
  void closed(std::string_view why) override {
    log_.closed.emplace_back(why);
    log_.link = nullptr;
  }

 protected:
  Link& link_;
  Log& log_;
};

class LoopTest : public testing::Test {
 protected:
  // Listens at any port, with peers of the class `Made`.
  template <class Made = EchoPeer>
  int listen() {
    const auto port = loop_.listen_tcp("127.0.0.1", 0, {}, make<Made>());
    EXPECT_TRUE(port.ok());
    return port.ok() ? *port : 0;
  }

  template <class Made = EchoPeer>
  Acceptor make() {
    return [this](Link& link) { return std::make_unique<Made>(link, log_); };
  }

  // Runs turns until `there` says so; fails if that takes too many.
  void run_until(const std::function<bool()>& there) {
    for (int turn = 0; turn < 20'000; ++turn) {
      if (there()) return;
      loop_.run_once(Millis(1));
    }
    FAIL() << "it never came to that";
  }

  // Runs turns until the client has received `bytes`.
  void expect_answer(TestClient& client, std::string_view bytes) {
    run_until([&] { return !client.receive() || client.received().size() >= bytes.size(); });
    EXPECT_EQ(client.received(), bytes);
  }

  ManualClock clock_{Time(Millis(1000))};
  EchoPeer::Log log_;
  std::vector<std::string> lines_;
  EpollLoop loop_{clock_, {.log = [this](std::string_view line) { lines_.emplace_back(line); }}};
};

}  // namespace mayfly
