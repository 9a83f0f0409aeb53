// SPDX-License-Identifier: Apache-2.0
#include "tools/resp_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <charconv>
#include <iterator>

namespace mayfly {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr timeval kPatience = {.tv_sec = 60, .tv_usec = 0};

Error lost(std::string_view what, int error) {
  const bool is_late = error == EAGAIN || error == EWOULDBLOCK;
  return {Code::io,
          fmt::format("{}: {}", what, is_late ? "the server is silent" : errno_text(error))};
}

}  // namespace

Result<RespClient> RespClient::connect(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return lost("no socket", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return lost(fmt::format("no server at port {}", port), errno);
  }
  const int yes = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
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
  if (got == 0) return Error{Code::io, "the server has closed the connection"};
  return Done{};
}

Result<ReplyValue> RespClient::read() {
  while (true) {
    const Parsed parsed = parser_.parse(std::string_view(input_).substr(taken_));
    taken_ += parser_.consumed();
    if (parsed == Parsed::request) return std::move(parser_.value());
    if (parsed == Parsed::error) {
      return Error{Code::corrupt, fmt::format("no reply of this protocol: {}", parser_.error())};
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
    return Error{Code::unsupported, fmt::format("the server refused: {}", reply->text)};
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

Result<double> info_number(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const std::string_view line = info.substr(0, info.find("\r\n"));
    info.remove_prefix(std::min(info.size(), line.size() + 2));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    const std::string_view text = line.substr(name.size() + 1);
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure == std::errc() && end == text.data() + text.size()) return number;
  }
  return Error{Code::not_found, fmt::format("INFO of the server has no number '{}'", name)};
}

}  // namespace mayfly
