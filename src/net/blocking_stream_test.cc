// SPDX-License-Identifier: Apache-2.0
// A stream delivers lines however they are cut, gives up when its time is over, and tells a silent
// server from one that is gone. The other end is a socket of the test itself.

#include "net/blocking_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "net/socket.h"

namespace mayfly {
namespace blocking_stream_test {

constexpr Millis kLong(10'000);
constexpr Millis kShort(1);

class BlockingStreamTest : public testing::Test {
 protected:
  BlockingStreamTest() {
    Result<Fd> listener = listen_at_tcp("127.0.0.1", 0, {});
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    port_ = local_end(listener_.get()).port;
    auto stream = connect_blocking("localhost", port_, kLong);
    EXPECT_TRUE(stream.ok()) << stream.error().message;
    stream_ = std::move(*stream);
    other_ = Fd(::accept(listener_.get(), nullptr, nullptr));
  }

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(other_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  Fd listener_;
  int port_ = 0;
  std::unique_ptr<BlockingStream> stream_;
  Fd other_;
};

TEST_F(BlockingStreamTest, ReadsLinesOneByOne) {
  send("+OK\r\n-ERR no\r\n\r\n+a\rb");
  EXPECT_EQ(*stream_->read_line(kLong), "+OK");
  EXPECT_EQ(*stream_->read_line(kLong), "-ERR no");
  EXPECT_EQ(*stream_->read_line(kLong), "");
  EXPECT_EQ(stream_->read_line(kShort).error().code, Code::busy);
  send("\r");
  EXPECT_EQ(stream_->read_line(kShort).error().code, Code::busy);
  send("\n");
  EXPECT_EQ(*stream_->read_line(kLong), "+a\rb");
}

TEST_F(BlockingStreamTest, WritesWhatTheOtherEndReads) {
  ASSERT_TRUE(stream_->write("PING\r\n", kLong).ok());
  std::string got(6, ' ');
  EXPECT_EQ(::recv(other_.get(), got.data(), got.size(), MSG_WAITALL), 6);
  EXPECT_EQ(got, "PING\r\n");
}

TEST_F(BlockingStreamTest, GivesUpIfNobodyReads) {
  const Status status = stream_->write(std::string(64 << 20, 'x'), kShort);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::busy);
}

TEST_F(BlockingStreamTest, NoticesThatTheOtherEndIsGone) {
  send("+last\r\n+cut");
  other_ = Fd();
  EXPECT_EQ(*stream_->read_line(kLong), "+last");
  EXPECT_EQ(stream_->read_line(kLong).error().code, Code::io);
}

TEST_F(BlockingStreamTest, RefusesALineWithoutEnd) {
  send(std::string(70'000, 'x'));
  EXPECT_EQ(stream_->read_line(kLong).error().code, Code::io);
}

TEST_F(BlockingStreamTest, FailsWhereNobodyListens) {
  listener_ = Fd();
  const auto stream = connect_blocking("127.0.0.1", port_, kLong);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, Code::io);
  EXPECT_FALSE(connect_blocking("no.such.host.invalid", port_, kLong).ok());
}

}  // namespace blocking_stream_test
}  // namespace mayfly
