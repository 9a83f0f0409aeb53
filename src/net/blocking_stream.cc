// SPDX-License-Identifier: Apache-2.0
#include "net/blocking_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "mayfly/internal/stopwatch.h"
#include "net/socket.h"

namespace mayfly {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kLineBytesMax = 64 * 1024;
constexpr std::int64_t kNsPerMs = 1'000'000;

Error broken(std::string what, int error) {
  return {Code::io, std::move(what.append(": ").append(errno_text(error)))};
}

// The end of a wait, by the clock that nobody sets.
class Limit {
 public:
  explicit Limit(Millis longest) : start_ns_(monotonic_ns()), longest_(longest) {}

  // Waits until the socket is ready for `events`, or has failed.
  Status wait(int fd, short events) const {
    for (;;) {
      const std::int64_t left =
          longest_.count() - (monotonic_ns() - start_ns_ + kNsPerMs - 1) / kNsPerMs;
      pollfd waited{fd, events, 0};
      const int most = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
      const int ready = ::poll(&waited, 1, most);
      if (ready > 0) return Done{};
      if (ready < 0 && errno != EINTR) return broken("cannot wait for the other server", errno);
      if (left <= 0) return Error{Code::busy, "the other server does not respond"};
    }
  }

 private:
  const std::int64_t start_ns_;
  const Millis longest_;
};

class SocketStream final : public BlockingStream {
 public:
  explicit SocketStream(Fd socket) : socket_(std::move(socket)) {}

  Status write(std::string_view bytes, Millis longest) override {
    while (!bytes.empty()) {
      const std::string_view chunk = bytes.substr(0, kChunkBytes);
      if (Status status = write_chunk(chunk, Limit(longest)); !status) return status;
      bytes.remove_prefix(chunk.size());
    }
    return Done{};
  }

  Result<std::string> read_line(Millis longest) override {
    const Limit limit(longest);
    for (std::size_t searched = 0;;) {
      const std::size_t end = input_.find("\r\n", searched);
      if (end != std::string::npos) {
        std::string line = input_.substr(0, end);
        input_.erase(0, end + 2);
        return line;
      }
      if (input_.size() > kLineBytesMax) return Error{Code::io, "the reply is too long"};
      searched = input_.empty() ? 0 : input_.size() - 1;
      if (const Status status = receive(limit); !status) return status.error();
    }
  }

 private:
  Status write_chunk(std::string_view bytes, const Limit& limit) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN && errno != EINTR) {
        return broken("cannot send", errno);
      } else if (Status status = limit.wait(socket_.get(), POLLOUT); !status) {
        return status;
      }
    }
    return Done{};
  }

  // Adds at least one byte to the input.
  Status receive(const Limit& limit) {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (got > 0) {
        input_.append(buffer.data(), static_cast<std::size_t>(got));
        return Done{};
      }
      if (got == 0) return Error{Code::io, "the other server has closed the connection"};
      if (errno != EAGAIN && errno != EINTR) return broken("cannot receive", errno);
      if (Status status = limit.wait(socket_.get(), POLLIN); !status) return status;
    }
  }

  Fd socket_;  // nonblocking
  std::string input_;
};

}  // namespace

Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string& host, int port,
                                                         Millis longest) {
  const Limit limit(longest);
  const Result<std::string> address = numeric_address(host);
  if (!address) return address.error();
  Result<Fd> socket = begin_connect(*address, port);
  if (!socket) return socket.error();
  if (const Status status = limit.wait(socket->get(), POLLOUT); !status) return status.error();
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket->get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return broken("cannot connect to " + host, error);
  return std::unique_ptr<BlockingStream>(std::make_unique<SocketStream>(std::move(*socket)));
}

}  // namespace mayfly
