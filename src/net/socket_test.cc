// SPDX-License-Identifier: Apache-2.0
// Where one can listen and where not, and what a person is told about it.

#include "net/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/loop_fixture.h"

namespace mayfly {
namespace socket_test {

class SocketTest : public LoopTest {
 protected:
  SocketTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mayfly-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    path_ = directory_ + "/socket";
  }
  ~SocketTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::string path_;
};

TEST_F(SocketTest, SaysThatAPortIsBusy) {
  const int port = listen();
  const auto again = loop_.listen_tcp("127.0.0.1", port, {}, make());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::busy);
  EXPECT_EQ(again.error().message,
            "port " + std::to_string(port) +
                " on 127.0.0.1 is in use (by another server?); choose another with --port");
}

TEST_F(SocketTest, SaysThatAnAddressIsNotOurs) {
  const auto port = loop_.listen_tcp("192.0.2.1", 0, {}, make());
  ASSERT_FALSE(port.ok());
  EXPECT_NE(port.error().message.find("192.0.2.1"), std::string::npos);
  const auto name = loop_.listen_tcp("no address", 0, {}, make());
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, Code::invalid);
}

TEST_F(SocketTest, ListensAtAllAddresses) {
  const auto port = loop_.listen_tcp("*", 0, {}, make());
  ASSERT_TRUE(port.ok());
  TestClient client = TestClient::tcp(*port);
  client.send("hello");
  expect_answer(client, "hello");
}

TEST_F(SocketTest, ListensAtIpv6BesideIpv4) {
  const auto four = loop_.listen_tcp("0.0.0.0", 0, {}, make());
  ASSERT_TRUE(four.ok());
  const auto six = loop_.listen_tcp("::1", *four, {}, make());
  if (!six.ok()) GTEST_SKIP() << "no IPv6 here: " << six.error().message;
  loop_.connect("::1", *six, make(), [](const Error& error) { FAIL() << error.message; });
  run_until([&] { return log_.made == 2; });
  EXPECT_TRUE(log_.link->address().starts_with("[::1]:"));
  EXPECT_TRUE(log_.link->is_loopback());
}

TEST_F(SocketTest, GivesAcceptedSocketsWhatTheListenerHas) {
  const auto port = loop_.listen_tcp("127.0.0.1", 0, {.keepalive_seconds = 60}, make());
  const TestClient client = TestClient::tcp(*port);
  run_until([&] { return log_.link != nullptr; });
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    ::getsockopt(log_.link->fd(), level, name, &value, &size);
    return value;
  };
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 60);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 20);
  EXPECT_NE(::fcntl(log_.link->fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(SocketTest, EchoesOnAUnixSocket) {
  ASSERT_TRUE(loop_.listen_unix(path_, {.permissions = 0600}, make()).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);

  TestClient client = TestClient::unix_socket(path_);
  client.send("hello");
  expect_answer(client, "hello");
  EXPECT_TRUE(log_.link->is_unix());
  EXPECT_TRUE(log_.link->is_loopback());
  EXPECT_EQ(log_.link->address(), path_ + ":0");
}

TEST_F(SocketTest, ReplacesTheSocketOfADeadServerOnly) {
  ASSERT_TRUE(loop_.listen_unix(path_, {}, make()).ok());
  const Status busy = loop_.listen_unix(path_, {}, make());
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code, Code::busy);

  const std::string dead = directory_ + "/dead";
  ASSERT_TRUE(listen_at_unix(dead, {}).ok());  // closed at once; its file stays
  ASSERT_TRUE(std::filesystem::exists(dead));
  EXPECT_TRUE(loop_.listen_unix(dead, {}, make()).ok());
}

TEST_F(SocketTest, LeavesFilesAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_FALSE(loop_.listen_unix(path_, {}, make()).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  EXPECT_FALSE(loop_.listen_unix(std::string(200, 'x'), {}, make()).ok());
  EXPECT_FALSE(loop_.listen_unix(directory_ + "/no/such", {}, make()).ok());
}

TEST_F(SocketTest, RemovesItsFile) {
  {
    EpollLoop loop(clock_);
    ASSERT_TRUE(loop.listen_unix(path_, {}, make()).ok());
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace socket_test
}  // namespace mayfly
