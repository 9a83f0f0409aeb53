// SPDX-License-Identifier: Apache-2.0
#include "server/replication/socket_sink.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace mayfly {

Status SocketSink::write(std::string_view bytes) {
  std::erase_if(sockets_, [&](int socket) {
    if (write_to(socket, bytes)) return false;
    ::shutdown(socket, SHUT_RDWR);  // the parent process notices
    return true;
  });
  if (sockets_.empty()) return Error{Code::io, "no connection is left to send to"};
  return Done{};
}

bool SocketSink::write_to(int socket, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd wanted{socket, POLLOUT, 0};
    if (::poll(&wanted, 1, static_cast<int>(timeout_.count())) == 0) return false;
  }
  return true;
}

}  // namespace mayfly
