// SPDX-License-Identifier: Apache-2.0
// ScriptedHttp: an HTTP server for tests that answers as it is told, also not at all.
//
//   ScriptedHttp server([](const ScriptedRequest&) { return ScriptedReply{.body = "{}"}; });
//   open(server.url());
//
// It runs in a thread of its own; so does the script.

#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace mayfly {

struct ScriptedRequest {
  std::string path;
  std::string head;  // all headers
  std::string body;
};

struct ScriptedReply {
  enum class Kind {
    answer,
    hang,   // no answer, and the connection stays open
    close,  // no answer, and the connection ends
    stream  // `body` as the first chunk; more may follow
  };

  Kind kind = Kind::answer;
  int status = 200;
  std::string body = {};
};

class ScriptedHttp {
 public:
  using Script = std::function<ScriptedReply(const ScriptedRequest&)>;

  explicit ScriptedHttp(Script script);
  ~ScriptedHttp();

  ScriptedHttp(const ScriptedHttp&) = delete;
  ScriptedHttp& operator=(const ScriptedHttp&) = delete;

  std::string url() const;

  // Any thread may call these. The next chunk of all streams; their end.
  void push(std::string chunk);
  void end_streams();

 private:
  struct Connection {
    int fd = -1;
    std::string input;
    bool is_stream = false;
  };

  void run();
  void accept_one();
  bool on_input(Connection& connection);  // whether it stays
  bool answer(Connection& connection, const ScriptedReply& reply);
  void act(const std::function<void()>& task);

  const Script script_;
  int listener_ = -1;
  int bell_ = -1;
  int port_ = 0;
  std::list<Connection> connections_;

  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // guarded by mutex_
  bool is_stopping_ = false;                  // guarded by mutex_

  std::thread thread_;
};

namespace scripted_http {

inline bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

inline std::string chunk_of(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

// The first request in `input`, if it is complete; it is taken out.
inline bool take_request(std::string& input, ScriptedRequest& request) {
  const std::size_t head_end = input.find("\r\n\r\n");
  if (head_end == std::string::npos) return false;
  request.head = input.substr(0, head_end);
  std::size_t length = 0;
  const std::string_view name = "Content-Length: ";
  if (const std::size_t at = request.head.find(name); at != std::string::npos) {
    length = std::strtoull(request.head.c_str() + at + name.size(), nullptr, 10);
  }
  if (input.size() < head_end + 4 + length) return false;
  request.body = input.substr(head_end + 4, length);
  input.erase(0, head_end + 4 + length);
  const std::size_t space = request.head.find(' ');
  request.path = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
  return true;
}

}  // namespace scripted_http

inline ScriptedHttp::ScriptedHttp(Script script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, any, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  bell_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

inline ScriptedHttp::~ScriptedHttp() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ::eventfd_write(bell_, 1);
  thread_.join();
  for (const Connection& connection : connections_) ::close(connection.fd);
  ::close(listener_);
  ::close(bell_);
}

inline std::string ScriptedHttp::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

inline void ScriptedHttp::push(std::string chunk) {
  act([this, chunk = std::move(chunk)] {
    for (const Connection& connection : connections_) {
      if (connection.is_stream)
        scripted_http::send_all(connection.fd, scripted_http::chunk_of(chunk));
    }
  });
}

inline void ScriptedHttp::end_streams() {
  act([this] {
    std::erase_if(connections_, [](const Connection& connection) {
      if (connection.is_stream) ::close(connection.fd);
      return connection.is_stream;
    });
  });
}

inline void ScriptedHttp::act(const std::function<void()>& task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  ::eventfd_write(bell_, 1);
}

inline void ScriptedHttp::run() {
  while (true) {
    std::vector<pollfd> files{{listener_, POLLIN, 0}, {bell_, POLLIN, 0}};
    for (const Connection& connection : connections_) files.push_back({connection.fd, POLLIN, 0});
    ::poll(files.data(), files.size(), -1);
    std::size_t file = 2;
    for (auto at = connections_.begin(); at != connections_.end(); ++file) {
      const bool stays = files[file].revents == 0 || on_input(*at);
      if (!stays) ::close(at->fd);
      at = stays ? std::next(at) : connections_.erase(at);
    }
    if (files[0].revents != 0) accept_one();
    if (files[1].revents == 0) continue;
    eventfd_t count = 0;
    ::eventfd_read(bell_, &count);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
  }
}

inline void ScriptedHttp::accept_one() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) connections_.push_back({fd, {}, false});
}

inline bool ScriptedHttp::on_input(Connection& connection) {
  std::array<char, 65536> buffer{};
  const ssize_t size = ::recv(connection.fd, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  connection.input.append(buffer.data(), static_cast<std::size_t>(size));
  for (ScriptedRequest request; scripted_http::take_request(connection.input, request);) {
    if (!answer(connection, script_(request))) return false;
  }
  return true;
}

inline bool ScriptedHttp::answer(Connection& connection, const ScriptedReply& reply) {
  switch (reply.kind) {
    case ScriptedReply::Kind::answer:
      return scripted_http::send_all(
          connection.fd, fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", reply.status,
                                     reply.body.size(), reply.body));
    case ScriptedReply::Kind::hang:
      return true;
    case ScriptedReply::Kind::close:
      return false;
    case ScriptedReply::Kind::stream:
      break;
  }
  connection.is_stream = true;
  return scripted_http::send_all(
      connection.fd,
      fmt::format("HTTP/1.1 {} X\r\nTransfer-Encoding: chunked\r\n\r\n", reply.status) +
          scripted_http::chunk_of(reply.body));
}

}  // namespace mayfly
