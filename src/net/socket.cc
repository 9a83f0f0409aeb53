// SPDX-License-Identifier: Apache-2.0
#include "net/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace mayfly {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Error io_error(std::string what, int error) {
  const Code code = error == EACCES || error == EPERM ? Code::denied : Code::io;
  return {code, std::move(what.append(": ").append(errno_text(error)))};
}

void set_option(int fd, int level, int name, int value) {
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

void set_tcp_options(int fd, int keepalive_seconds) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (keepalive_seconds <= 0) return;
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_seconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, keepalive_seconds / 3));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Result<Addresses> resolve(std::string_view host, int port, int flags) {
  std::string name(host);
  if (name == "*") name = "0.0.0.0";
  if (name == "::*") name = "::";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    return Error{Code::invalid,
                 name.append(" is not a valid address: ").append(::gai_strerror(error))};
  }
  return Addresses(list);
}

Error bind_error(std::string_view host, int port, int error) {
  std::string text = "port ";
  text.append(std::to_string(port)).append(" on ").append(host);
  if (error == EADDRINUSE) {
    return {Code::busy, text.append(" is in use (by another server?); choose another with --port")};
  }
  if (error == EADDRNOTAVAIL) {
    return {Code::invalid, text.append(" cannot be used: this machine does not have the address ")
                               .append(host)
                               .append("; choose one that it has with --bind")};
  }
  if (error == EACCES) {
    return {Code::denied,
            text.append(" may not be used by this user; choose one above 1023 with --port")};
  }
  return io_error(text.append(" cannot be used"), error);
}

bool fill_path(sockaddr_un& address, const std::string& path) {
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

const sockaddr* as_sockaddr(const void* address) { return static_cast<const sockaddr*>(address); }

// Removes the socket of a dead server at `path`. A server that still answers there keeps it.
Status clear_path(const sockaddr_un& address, const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Done{};
  if (!S_ISSOCK(info.st_mode)) {
    return Error{Code::invalid, std::string(path).append(" is a file, and not a socket")};
  }
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), as_sockaddr(&address), sizeof address) == 0) {
    return Error{Code::busy, std::string(path).append(" is in use (by another server?)")};
  }
  ::unlink(path.c_str());
  return Done{};
}

SocketEnd describe_ip(int family, const void* ip, int port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, ip, text.data(), text.size());
  SocketEnd end;
  const std::string_view name(text.data());
  end.text = family == AF_INET6 ? std::string("[").append(name).append("]") : std::string(name);
  end.text.append(":").append(std::to_string(port));
  end.port = port;
  end.is_loopback = name.starts_with("127.") || name == "::1" || name.starts_with("::ffff:127.");
  return end;
}

SocketEnd describe(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    return describe_ip(AF_INET, &in.sin_addr, ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof in);
    return describe_ip(AF_INET6, &in.sin6_addr, ntohs(in.sin6_port));
  }
  sockaddr_un un;
  std::memcpy(&un, &address, sizeof un);
  SocketEnd end;
  end.text.append(un.sun_path).append(":0");
  end.is_unix = true;
  end.is_loopback = true;
  return end;
}

}  // namespace

Fd::Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string errno_text(int error) { return std::generic_category().message(error); }

Result<Fd> listen_at_tcp(std::string_view host, int port, const ListenOptions& options) {
  const auto found = resolve(host, port, AI_PASSIVE);
  if (!found) return found.error();
  const addrinfo& address = **found;

  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return bind_error(host, port, errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_tcp_options(fd.get(), options.keepalive_seconds);
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(fd.get(), options.backlog) != 0) {
    return bind_error(host, port, errno);
  }
  return fd;
}

Result<Fd> listen_at_unix(const std::string& path, const ListenOptions& options) {
  sockaddr_un address{};
  if (!fill_path(address, path)) {
    return Error{Code::invalid,
                 std::string("the path of a unix socket has 1 to 107 bytes: ").append(path)};
  }
  if (const Status cleared = clear_path(address, path); !cleared) return cleared.error();

  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid() || ::bind(fd.get(), as_sockaddr(&address), sizeof address) != 0 ||
      ::listen(fd.get(), options.backlog) != 0) {
    return io_error(std::string("the unix socket ").append(path).append(" cannot be made"), errno);
  }
  if (options.permissions != 0 && ::chmod(path.c_str(), options.permissions) != 0) {
    return io_error(std::string("the permissions of ").append(path).append(" cannot be set"),
                    errno);
  }
  return fd;
}

Result<std::string> numeric_address(const std::string& host) {
  const auto found = resolve(host, 0, 0);
  if (!found) return found.error();
  const addrinfo& address = **found;
  char text[NI_MAXHOST] = {};
  const int error = ::getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr,
                                  0, NI_NUMERICHOST);
  if (error != 0) return Error{Code::invalid, std::string(host).append(" has no address")};
  return std::string(text);
}

Result<std::string> local_address_towards(const std::string& host) {
  const auto found = resolve(host, 9, 0);
  if (!found) return found.error();
  const addrinfo& address = **found;
  // Connecting a datagram socket sends nothing.
  const Fd fd(::socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || ::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    return io_error(std::string("no way to ").append(host), errno);
  }
  const std::string text = local_end(fd.get()).text;
  const std::string host_part = text.substr(0, text.rfind(':'));
  return host_part.starts_with('[') ? host_part.substr(1, host_part.size() - 2) : host_part;
}

Result<Fd> begin_connect(std::string_view host, int port) {
  const auto found = resolve(host, port, AI_NUMERICHOST);
  if (!found) return found.error();
  const addrinfo& address = **found;

  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.valid()) set_tcp_options(fd.get(), ListenOptions().keepalive_seconds);
  if (!fd.valid() ||
      (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS)) {
    const int error = errno;
    return io_error(std::string("cannot connect to ")
                        .append(host)
                        .append(" port ")
                        .append(std::to_string(port)),
                    error);
  }
  return fd;
}

SocketEnd local_end(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return describe(address);
}

SocketEnd remote_end(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return describe(address);
}

}  // namespace mayfly
