// SPDX-License-Identifier: Apache-2.0
// Sockets as the transport needs them: made nonblocking, closed by their owner, and errors that say
// what to do.
//
//   Result<Fd> listener = listen_at_tcp("127.0.0.1", 6379, options);
//   if (!listener) return listener.error();

#pragma once

#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "net/transport.h"

namespace mayfly {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The text of an errno: "Connection refused".
std::string errno_text(int error);

// Listening sockets. What accepted ones inherit (no delay, keepalive) is set here, once.
Result<Fd> listen_at_tcp(std::string_view host, int port, const ListenOptions& options);
Result<Fd> listen_at_unix(const std::string& path, const ListenOptions& options);

// A numeric address of a host. Asks the system, which may take its time for a name.
Result<std::string> numeric_address(const std::string& host);

// The address of this machine that is used to reach a host.
Result<std::string> local_address_towards(const std::string& host);

// A socket that is connecting to a numeric address, or is connected already.
Result<Fd> begin_connect(std::string_view host, int port);

// Who is at an end of a connection, and what kind of connection it is.
struct SocketEnd {
  std::string text;  // "127.0.0.1:1234", "[::1]:1234", "path:0"
  int port = 0;
  bool is_unix = false;
  bool is_loopback = false;  // a unix socket is, too
};
SocketEnd local_end(int fd);
SocketEnd remote_end(int fd);

}  // namespace mayfly
