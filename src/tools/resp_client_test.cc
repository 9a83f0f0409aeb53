// SPDX-License-Identifier: Apache-2.0
// The client, at one end of a pair of sockets; the test is the server at the other.

#include "tools/resp_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tools/scratch_directory.h"
#include "tools/server_address.h"

namespace mayfly {
namespace resp_client_test {

// A client, and the other end of its connection.
class RespClientTest : public testing::Test {
 protected:
  RespClientTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_ = std::make_unique<RespClient>(Fd(ends[0]));
    server_ = Fd(ends[1]);
  }

  // What the server says is there before it is asked.
  void answer(std::string_view bytes) {
    EXPECT_EQ(::write(server_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  std::string asked() {
    std::string bytes(4096, '\0');
    const ssize_t got = ::recv(server_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

  std::unique_ptr<RespClient> client_;
  Fd server_;
};

TEST_F(RespClientTest, SendsArraysOfBulksAndReadsTheReply) {
  answer("$3\r\none\r\n");
  const Result<ReplyValue> reply = client_->call("GET", "k");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->text, "one");
  EXPECT_EQ(asked(), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
}

TEST_F(RespClientTest, ReadsRepliesThatCameTogetherOneByOne) {
  answer(":1\r\n:2\r\n*1\r\n$1\r\nx\r\n");
  EXPECT_EQ(client_->read()->integer, 1);
  EXPECT_EQ(client_->read()->integer, 2);
  EXPECT_EQ(client_->read()->to_text(), "[\"x\"]");
}

TEST_F(RespClientTest, AnErrorReplyIsAnErrorOfACallButNotOfRead) {
  answer("-ERR no\r\n-ERR no\r\n");
  const Result<ReplyValue> called = client_->call("NO");
  ASSERT_FALSE(called);
  EXPECT_NE(called.error().message.find("ERR no"), std::string::npos);
  EXPECT_TRUE(client_->read());
}

TEST_F(RespClientTest, NothingWithinTheTimeIsNoError) {
  const auto none = client_->read_within(Millis(0));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  answer("+OK\r\n");
  const auto one = client_->read_within(Millis(0));
  ASSERT_TRUE(one);
  EXPECT_EQ((*one)->text, "OK");
}

TEST_F(RespClientTest, SaysThatTheServerIsGone) {
  server_ = Fd();
  const Result<ReplyValue> reply = client_->read();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::io);
}

TEST_F(RespClientTest, APipelineReadsAsManyRepliesAsItSentCommands) {
  answer("+OK\r\n+OK\r\n+OK\r\n:7\r\n");
  RespPipeline pipeline(*client_, 2);
  for (int i = 0; i < 3; ++i) pipeline.add("SET", "k", "v");
  EXPECT_TRUE(pipeline.finish());
  EXPECT_EQ(client_->read()->integer, 7);
}

TEST_F(RespClientTest, ErrorsAreForPeople) {
  answer("-ERR \x1b[2Jno\r\n*1\r\n-ERR \x9b\r\n$3\r\n\x1b[m\r\n\x1b[2J\r\n");
  EXPECT_EQ(client_->read()->text, "ERR \\x1b[2Jno");
  EXPECT_EQ(client_->read()->items.at(0).text, "ERR \\x9b");
  EXPECT_EQ(client_->read()->text, "\x1b[m") << "a value stays as it is";
  EXPECT_EQ(client_->read().error().message,
            "invalid reply: the reply has a line that means nothing: '\\x1b[2J'");
}

TEST_F(RespClientTest, OfAnErrorAKibibyteIsShown) {
  const std::string shown(1024, 'x');
  answer("-" + shown + "\r\n-" + shown + "y\r\n");
  EXPECT_EQ(client_->read()->text, shown);
  EXPECT_EQ(client_->read()->text, shown + "...");
}

TEST(EscapeTextsTest, EndsOfLinesStay) {
  const auto escaped = [](const std::string& text) {
    ReplyValue reply;
    reply.items.emplace_back().text = text;
    escape_texts(reply);
    return reply.items.front().text;
  };
  EXPECT_EQ(escaped("a:1\r\nb:\x1b\n\r2\r\n"), "a:1\r\nb:\\x1b\\x0a\\x0d2\r\n");
  EXPECT_EQ(escaped("node 1\nnode\r2\n\n"), "node 1\nnode\\x0d2\n\n");
  EXPECT_EQ(escaped(""), "");
  EXPECT_EQ(escaped("\r\n"), "\r\n");
}

TEST_F(RespClientTest, AReplyHasALimit) {
  client_->set_reply_most(RespClient::kSmallReplyMost);
  answer("+ok\r\n$65537\r\n");
  EXPECT_EQ(client_->read()->text, "ok");
  const Result<ReplyValue> reply = client_->read();
  EXPECT_EQ(reply.error().code, Code::corrupt);
  EXPECT_EQ(reply.error().message, "invalid reply: the reply has more than 65536 bytes");
}

TEST_F(RespClientTest, TheLimitOfAnyReplyIsAGibibyte) {
  answer("$1073741825\r\n");
  EXPECT_FALSE(client_->read());
}

TEST_F(RespClientTest, APipelineStopsAtTheFirstErrorAndTellsIt) {
  answer("+OK\r\n-OOM full\r\n");
  RespPipeline pipeline(*client_, 2);
  for (int i = 0; i < 2; ++i) pipeline.add("SET", "k", "v");
  EXPECT_FALSE(asked().empty());
  pipeline.add("SET", "k", "v");
  const Status status = pipeline.finish();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("OOM full"), std::string::npos);
  EXPECT_EQ(asked(), "");
}

// A server that answers the first request with these bytes.
class AnsweringServer {
 public:
  explicit AnsweringServer(std::string answer) : folder_(*ScratchDirectory::make("/tmp")) {
    address_.path = folder_.path() / "socket";
    listener_ = *listen_at_unix(address_.path, {});
    thread_ = std::thread([this, answer = std::move(answer)] {
      pollfd wait = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
      (void)::poll(&wait, 1, -1);
      const Fd client(::accept(listener_.get(), nullptr, nullptr));
      EXPECT_EQ(::write(client.get(), answer.data(), answer.size()),
                static_cast<ssize_t>(answer.size()));
      std::string rest(100, ' ');
      while (::read(client.get(), rest.data(), rest.size()) > 0) {
      }
    });
  }
  ~AnsweringServer() { thread_.join(); }

  // Why a client does not get in; empty if it does.
  std::string refusal() {
    const Result<RespClient> client = RespClient::connect(address_);
    return client ? "" : client.error().message;
  }

 private:
  ScratchDirectory folder_;
  ServerAddress address_;
  Fd listener_;
  std::thread thread_;
};

TEST(RespClientConnectTest, AServerInABadStateLetsUsIn) {
  for (const char* state :
       {"PONG", "MISCONF Errors writing to the AOF file", "MASTERDOWN Link with MASTER is down",
        "LOADING Mayfly is loading the dataset in memory", "BUSY a script runs"}) {
    const char* const sign = std::string_view(state) == "PONG" ? "+" : "-";
    AnsweringServer server(std::string(sign) + state + "\r\n");
    EXPECT_EQ(server.refusal(), "") << state;
  }
}

TEST(RespClientConnectTest, AServerThatRefusesUsDoesNot) {
  AnsweringServer server("-NOAUTH Authentication required.\r\n");
  EXPECT_NE(server.refusal().find("NOAUTH"), std::string::npos);
}

TEST(RespClientConnectTest, ACodeTellsThatNothingListens) {
  ServerAddress address;
  address.host = "127.0.0.1";
  address.port = 1;
  EXPECT_EQ(RespClient::connect(address).error().code, Code::not_found);
}

TEST(InfoNumberTest, FindsTheWholeNameAtTheBeginningOfALine) {
  const std::string_view info =
      "# "
      "Memory\r\nused_memory_rss:7\r\nmax_used_memory:8\r\nused_memory:42\r\nused_memory_human:1K";
  EXPECT_EQ(*info_number(info, "used_memory"), 42);
  EXPECT_FALSE(info_number(info, "used"));
  EXPECT_FALSE(info_number(info, "used_memory_human"));
  EXPECT_FALSE(info_number("", "used_memory"));
}

}  // namespace resp_client_test
}  // namespace mayfly
