// SPDX-License-Identifier: Apache-2.0
// RespClient: a small blocking client for servers that speak the Valkey protocol.
//
//   Result<RespClient> client = RespClient::connect(6379);    // or a ServerAddress
//   if (!client) return client.error();
//   const Result<ReplyValue> reply = client->call("HLEN", "cart");
//
//   RespPipeline pipeline(*client);              // many commands, of which only errors matter
//   for (const Item& item : items) pipeline.add("SET", item.key, item.value);
//   if (const Status status = pipeline.finish(); !status) return status;

#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "net/socket.h"
#include "resp/reply_parser.h"

namespace mayfly {

struct ServerAddress;

class RespClient {
 public:
  static constexpr Millis kConnectPatience{5000};  // it may be no such server

  // To a server on this machine.
  static Result<RespClient> connect(int port);

  // To any server. It has sent its name (AUTH), chosen the database and been answered, so that the
  // server lets it in. An error about the server's state (MISCONF, MASTERDOWN, LOADING, BUSY) is a
  // good answer: some commands work then.
  // Code::not_found: nothing listens there. Code::busy: no answer, as of a process that is stopped.
  static Result<RespClient> connect(const ServerAddress& address,
                                    Millis patience = kConnectPatience);

  // REQUIRES: a connected socket, in blocking mode.
  explicit RespClient(Fd socket) : socket_(std::move(socket)) {}

  // The largest reply that is read, see ReplyParser. Beyond it there is an error, Code::corrupt.
  static constexpr std::size_t kReplyMost = std::size_t{1} << 30;
  static constexpr std::size_t kSmallReplyMost = std::size_t{64} * 1024;
  void set_reply_most(std::size_t most) { parser_.set_most(most); }

  // Puts a command behind those that wait for send().
  void add(Words words);
  template <class... Word>
  void add(const Word&... words) {
    add(Words(std::array<std::string_view, sizeof...(words)>{words...}));
  }
  Status send();
  std::size_t unsent_bytes() const { return output_.size(); }

  // The next reply, also an error. Code::io when the connection is closed, busy after a minute
  // without a reply. The texts of errors are for people: see escape_controls().
  Result<ReplyValue> read();

  // The same, but nothing if none came in time.
  Result<std::optional<ReplyValue>> read_within(Millis time);

  // One command and its reply. A reply that is an error is one.
  template <class... Word>
  Result<ReplyValue> call(const Word&... words) {
    add(words...);
    if (const Status status = send(); !status) return status.error();
    return read_good();
  }

  // As read(), but a reply that is an error is one.
  Result<ReplyValue> read_good();

 private:
  Status receive();

  Fd socket_;
  std::string output_;
  std::string input_;
  std::size_t taken_ = 0;  // bytes of input_ that are read already
  ReplyParser parser_{kReplyMost};
};

// Sends commands some hundred at a time. After the first failure the rest do nothing, and finish()
// tells why.
class RespPipeline {
 public:
  // `client` must outlive it, and serve nobody else meanwhile.
  explicit RespPipeline(RespClient& client, std::size_t depth = 256)
      : client_(client), depth_(depth) {}

  void add(Words words);
  template <class... Word>
  void add(const Word&... words) {
    add(Words(std::array<std::string_view, sizeof...(words)>{words...}));
  }

  // Reads what is still to be read.
  Status finish();

 private:
  void flush();

  RespClient& client_;
  const std::size_t depth_;
  std::size_t waiting_ = 0;
  Status status_ = Done{};
};

// As RespPipeline, but each reply goes to the function that came with the command, errors too.
class RespDialogue {
 public:
  using Take = std::function<Status(ReplyValue& reply)>;

  // `client` must outlive it, and serve nobody else meanwhile.
  explicit RespDialogue(RespClient& client) : client_(client) {}

  void ask(Take take, Words words);
  template <class... Word>
  void ask(Take take, const Word&... words) {
    ask(std::move(take), Words(std::array<std::string_view, sizeof...(words)>{words...}));
  }

  // Reads what is still to be read, and tells what went wrong first.
  Status finish();

 private:
  void flush();

  RespClient& client_;
  std::vector<Take> waiting_;
  Status status_ = Done{};
};

// The texts of a reply, for people: see escape_controls(). Ends of lines stay: CR LF if a text has
// any, else LF.
void escape_texts(ReplyValue& reply);

// Whether the server has such a command. It is sent alone, so that it does nothing.
// REQUIRES: one that needs words behind its name.
Result<bool> knows_command(RespClient& client, std::string_view name);

// The text of `name` in a reply of INFO; empty if it has none.
std::string_view info_value(std::string_view info, std::string_view name);

// The same as a number; Code::not_found if it is none.
Result<double> info_number(std::string_view info, std::string_view name);

}  // namespace mayfly
