// SPDX-License-Identifier: Apache-2.0
#include "tools/resp_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>

#include "text/byte_text.h"
#include "tools/server_address.h"

namespace mayfly {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kDialogueBytes = 32 * 1024;  // less than any socket takes without a reader
constexpr std::size_t kDialogueCommands = 256;
constexpr timeval kPatience = {.tv_sec = 60, .tv_usec = 0};

constexpr std::size_t kShownMost = 200;  // of a reply that is none

Error lost(std::string_view what, int error) {
  const bool is_late = error == EAGAIN || error == EWOULDBLOCK;
  return {is_late ? Code::busy : Code::io,
          fmt::format("{}: {}", what, is_late ? "the server does not respond" : errno_text(error))};
}

timeval seconds_of(Millis time) {
  return {.tv_sec = time.count() / 1000,
          .tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

void set_patience(int socket, const timeval& patience) {
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// A connected socket: the first of the host's addresses that answers.
Result<Fd> connect_to_host(const ServerAddress& to, Millis patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int unknown =
      ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &list);
  if (unknown != 0) {
    return Error{Code::io, fmt::format("host '{}' not found: {}", to.host, gai_strerror(unknown))};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(list);
  int error = 0;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Fd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    set_patience(socket.get(), seconds_of(patience));
    if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) return socket;
    error = errno;
  }
  const bool is_late = error == EINPROGRESS || error == ETIMEDOUT;
  const Code code = error == ECONNREFUSED ? Code::not_found : is_late ? Code::busy : Code::io;
  return Error{code, fmt::format("no server at {}:{}: {}", to.host, to.port,
                                 error == EINPROGRESS ? "no response" : errno_text(error))};
}

Result<Fd> connect_to_path(const ServerAddress& to, Millis patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (to.path.size() >= sizeof address.sun_path) {
    return Error{Code::invalid, fmt::format("unix socket path longer than {} bytes: {}",
                                            sizeof address.sun_path - 1, to.path)};
  }
  std::memcpy(address.sun_path, to.path.c_str(), to.path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  set_patience(socket.get(), seconds_of(patience));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return lost(fmt::format("no server at {}", to.path), errno);
  }
  return socket;
}

Error no_entry(const ServerAddress& to, const Error& why) {
  if (why.code == Code::corrupt) {
    return {why.code,
            fmt::format("{} is not a Redis, Valkey or Mayfly server: {}", to.text(), why.message)};
  }
  const bool needs_password = why.message.find("NOAUTH") != std::string::npos;
  return {why.code == Code::unsupported ? Code::denied : why.code,
          fmt::format("{}: {}{}", to.text(), why.message,
                      needs_password ? " (use redis://:PASSWORD@host)" : "")};
}

// Errors of the state that a server is in. It has let us in, and some commands work: INFO nearly
// always, reads while the disk is full. That is when it has to be looked at, or copied.
bool is_of_state(std::string_view error) {
  constexpr std::array<std::string_view, 4> kStates = {"MISCONF ", "MASTERDOWN ", "LOADING ",
                                                       "BUSY "};
  return std::ranges::any_of(kStates,
                             [&](std::string_view state) { return error.starts_with(state); });
}

// An error of the server may come with escape sequences, and be as long as a reply.
void escape_errors(ReplyValue& reply) {
  constexpr std::size_t kLongest = 1024;
  if (reply.kind == ReplyValue::Kind::error) {
    const bool is_cut = reply.text.size() > kLongest;
    reply.text = escape_controls(std::string_view(reply.text).substr(0, kLongest));
    if (is_cut) reply.text += "...";
  }
  for (ReplyValue& item : reply.items) escape_errors(item);
}

// How data can be read in that state.
std::string_view way_around(std::string_view error) {
  if (error.starts_with("LOADING ")) return " (try again when it has loaded its files)";
  if (error.starts_with("BUSY ")) return " (a script runs: SCRIPT KILL)";
  if (error.starts_with("MASTERDOWN ")) {
    return " (CONFIG SET replica-serve-stale-data yes there: then it answers with the data it has)";
  }
  return "";
}

Status say_hello(RespClient& client) {
  client.add("PING");
  if (const Status status = client.send(); !status) return status;
  const Result<ReplyValue> pong = client.read();
  if (!pong) return pong.error();
  if (pong->kind != ReplyValue::Kind::error || is_of_state(pong->text)) return Done{};
  return Error{Code::unsupported, fmt::format("the server replied with an error: {}", pong->text)};
}

// Says who we are and which database we mean.
Status introduce(RespClient& client, const ServerAddress& to) {
  if (!to.password.empty()) {
    const Result<ReplyValue> let_in = to.user.empty() ? client.call("AUTH", to.password)
                                                      : client.call("AUTH", to.user, to.password);
    if (!let_in) return let_in.error();
  }
  if (const Status hello = say_hello(client); !hello) return hello;
  if (to.database == 0) return Done{};
  const Result<ReplyValue> chosen = client.call("SELECT", std::to_string(to.database));
  return chosen ? Status(Done{}) : chosen.error();
}

}  // namespace

Result<RespClient> RespClient::connect(const ServerAddress& address, Millis patience) {
  Result<Fd> socket = address.path.empty() ? connect_to_host(address, patience)
                                           : connect_to_path(address, patience);
  if (!socket) return socket.error();
  const int fd = socket->get();
  const int yes = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  RespClient client(std::move(*socket));
  client.set_reply_most(kSmallReplyMost);
  if (const Status status = introduce(client, address); !status) {
    return no_entry(address, status.error());
  }
  set_patience(fd, kPatience);
  client.set_reply_most(kReplyMost);
  return client;
}

Result<RespClient> RespClient::connect(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return lost("cannot create a socket", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return lost(fmt::format("no server at port {}", port), errno);
  }
  const int yes = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  set_patience(socket.get(), kPatience);
  return RespClient(std::move(socket));
}

void RespClient::add(Words words) {
  const auto out = std::back_inserter(output_);
  fmt::format_to(out, "*{}\r\n", words.size());
  for (const std::string_view word : words) fmt::format_to(out, "${}\r\n{}\r\n", word.size(), word);
}

Status RespClient::send() {
  std::string_view rest = output_;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return lost("cannot write to the server", errno);
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  output_.clear();
  return Done{};
}

Status RespClient::receive() {
  input_.erase(0, taken_);
  taken_ = 0;
  const std::size_t before = input_.size();
  input_.resize(before + kReadBytes);
  ssize_t got = -1;
  do {
    got = ::recv(socket_.get(), input_.data() + before, kReadBytes, 0);
  } while (got < 0 && errno == EINTR);
  input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return lost("cannot read from the server", errno);
  if (got == 0) return Error{Code::io, "the server closed the connection"};
  return Done{};
}

Result<ReplyValue> RespClient::read() {
  while (true) {
    const Parsed parsed = parser_.parse(std::string_view(input_).substr(taken_));
    taken_ += parser_.consumed();
    if (parsed == Parsed::request) {
      escape_errors(parser_.value());
      return std::move(parser_.value());
    }
    if (parsed == Parsed::error) {
      const std::string_view why = std::string_view(parser_.error()).substr(0, kShownMost);
      return Error{Code::corrupt, fmt::format("invalid reply: {}", escape_controls(why))};
    }
    if (const Status status = receive(); !status) return status.error();
  }
}

Result<std::optional<ReplyValue>> RespClient::read_within(Millis time) {
  if (taken_ == input_.size()) {
    pollfd wait = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(time, Millis(0)).count()));
    if (ready < 0 && errno != EINTR) return lost("cannot wait for the server", errno);
    if (ready <= 0) return std::optional<ReplyValue>();
  }
  Result<ReplyValue> reply = read();
  if (!reply) return reply.error();
  return std::optional<ReplyValue>(std::move(*reply));
}

Result<ReplyValue> RespClient::read_good() {
  Result<ReplyValue> reply = read();
  if (reply && reply->kind == ReplyValue::Kind::error) {
    return Error{Code::unsupported, fmt::format("the server replied with an error: {}{}",
                                                reply->text, way_around(reply->text))};
  }
  return reply;
}

void RespPipeline::add(Words words) {
  if (!status_) return;
  client_.add(words);
  if (++waiting_ == depth_) flush();
}

void RespPipeline::flush() {
  status_ = client_.send();
  for (; status_ && waiting_ > 0; --waiting_) {
    if (const Result<ReplyValue> reply = client_.read_good(); !reply) status_ = reply.error();
  }
}

Status RespPipeline::finish() {
  if (status_) flush();
  return status_;
}

void RespDialogue::ask(Take take, Words words) {
  if (!status_) return;
  client_.add(words);
  waiting_.push_back(std::move(take));
  if (waiting_.size() >= kDialogueCommands || client_.unsent_bytes() >= kDialogueBytes) flush();
}

void RespDialogue::flush() {
  status_ = client_.send();
  for (const Take& take : waiting_) {
    if (!status_) break;
    Result<ReplyValue> reply = client_.read();
    status_ = reply ? take(*reply) : Status(reply.error());
  }
  waiting_.clear();
}

Status RespDialogue::finish() {
  if (status_) flush();
  return status_;
}

void escape_texts(ReplyValue& reply) {
  const std::string_view text = reply.text;
  const std::string_view end = text.find("\r\n") == text.npos ? "\n" : "\r\n";
  std::string shown;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t stop = std::min(text.find(end, at), text.size());
    shown += escape_controls(text.substr(at, stop - at));
    if (stop < text.size()) shown += end;
    at = stop == text.size() ? stop + 1 : stop + end.size();
  }
  reply.text = std::move(shown);
  for (ReplyValue& item : reply.items) escape_texts(item);
}

Result<bool> knows_command(RespClient& client, std::string_view name) {
  client.add(name);
  if (const Status status = client.send(); !status) return status.error();
  const Result<ReplyValue> reply = client.read();
  if (!reply) return reply.error();
  return reply->text.find("unknown command") == std::string::npos;
}

std::string_view info_value(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const std::string_view line = info.substr(0, info.find("\r\n"));
    info.remove_prefix(std::min(info.size(), line.size() + 2));
    if (line.starts_with(name) && line.substr(name.size(), 1) == ":") {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

Result<double> info_number(std::string_view info, std::string_view name) {
  const std::string_view text = info_value(info, name);
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && failure == std::errc() && end == text.data() + text.size()) return number;
  return Error{Code::not_found, fmt::format("INFO has no number '{}'", name)};
}

}  // namespace mayfly
