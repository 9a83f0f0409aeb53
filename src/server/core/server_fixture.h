// SPDX-License-Identifier: Apache-2.0
// A whole server in a test, without sockets and with a clock that is moved by hand.
//
//   ServerFixture server;
//   TestClient& client = server.connect();
//   EXPECT_EQ(client.run("SET k v EX 10"), "OK");
//   server.advance(10s);                                  // the clock only
//   server.sweep();                                       // what the event loop does by itself
//   EXPECT_EQ(client.run("GET k"), "(nil)");

#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/clock.h"
#include "persist/disk/fake_disk.h"
#include "resp/reply_parser.h"
#include "resp/request.h"
#include "server/core/clients.h"
#include "server/core/server.h"
#include "server/core/server_call.h"
#include "server/replication/propagation.h"

namespace mayfly {

// A connection that leads nowhere.
class TestLink final : public Link {
 public:
  explicit TestLink(std::string address) : address_(std::move(address)) {}

  std::string& output() override { return output_; }
  void hold_output(std::uint64_t position) override { hold_ = position; }
  void flush() override {
    if (!takes_at_once_) return;
    sent_ += output_.size();
    flushed_ += std::exchange(output_, {});
  }
  std::size_t pending() const override { return output_.size(); }
  std::uint64_t sent() const override { return sent_; }
  std::size_t output_capacity() const override { return output_.capacity(); }
  void close_after_flush() override { is_closing_ = true; }
  void close_now(std::string_view why) override {
    is_closing_ = true;
    why_ = why;
  }
  bool closing() const override { return is_closing_; }
  void pause_reading() override { is_paused_ = true; }
  void resume_reading() override { is_paused_ = false; }
  bool paused() const override { return is_paused_; }
  void watch_for_close() override {}
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return address_; }
  const std::string& local_address() const override { return local_; }
  bool is_unix() const override { return false; }
  bool is_loopback() const override { return address_.starts_with("127."); }
  int fd() const override { return fd_; }

  // What may be sent, as if the other end had read it.
  std::string take(std::size_t most = std::string::npos) {
    if (!flushed_.empty()) return std::exchange(flushed_, {});
    const std::uint64_t before_hold = hold_ - std::min(hold_, sent_);
    const std::string bytes = output_.substr(0, std::min<std::uint64_t>(most, before_hold));
    output_.erase(0, bytes.size());
    sent_ += bytes.size();
    return bytes;
  }

  InputBuffer input_;
  std::string output_;
  std::string why_;
  int fd_ = 7;                  // what a child may write to
  bool takes_at_once_ = false;  // whether flush() sends something

 private:
  std::string address_;
  std::string local_ = "127.0.0.1:6379";
  bool is_closing_ = false;
  bool is_paused_ = false;
  std::string flushed_;
  std::uint64_t sent_ = 0;
  std::uint64_t hold_ = kNoHold;
};

// Bytes arrive at a connection, as a loop would hand them over.
inline void arrive(TestLink& link, Peer* peer, std::string_view bytes) {
  std::vector<char> scratch(64 * 1024);
  while (!bytes.empty()) {
    const std::span<char> room = link.input_.room(scratch);
    const std::string_view piece = bytes.substr(0, room.size());
    std::copy(piece.begin(), piece.end(), room.begin());
    bytes.remove_prefix(piece.size());
    link.input_.added(piece.size());
    if (peer != nullptr && !link.paused()) peer->received(link.input_);
    link.input_.keep_rest();
  }
}

class TestClient {
 public:
  TestClient(Server& server, const std::string& address) : link_(address) {
    peer_ = server.accept(link_);
  }
  ~TestClient() {
    if (peer_) peer_->closed("the test ends");
  }

  // The loop has closed the link.
  void end() {
    if (auto peer = std::exchange(peer_, nullptr)) peer->closed("the link is closed");
  }

  // Sends bytes as they are, and returns the bytes that came back so far.
  std::string send(std::string_view bytes) {
    arrive(link_, peer_.get(), bytes);
    return take();
  }

  // What the loop does after a pause: the input that was left is looked at again.
  std::string resume() {
    if (peer_ && !link_.paused()) peer_->received(link_.input_);
    link_.input_.keep_rest();
    return take();
  }

  // Sends a request of these words, and returns the replies in readable form.
  std::string run(const std::vector<std::string>& words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      request += "$" + std::to_string(word.size()) + "\r\n";
      request += word + "\r\n";
    }
    return readable(send(request));
  }

  // The same for words that have no spaces in them.
  std::string run(std::string_view line) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      if (end > at) words.emplace_back(line.substr(at, end - at));
      at = end + 1;
    }
    return run(words);
  }

  // What came by itself: messages.
  std::string messages() { return readable(take()); }

  TestLink& link() { return link_; }
  Client& client() { return static_cast<Client&>(*peer_); }
  bool is_connected() const { return peer_ != nullptr && !link_.closing(); }
  bool has_ended() const { return peer_ == nullptr; }

 private:
  std::string take() { return link_.take(); }

  // See ReplyValue::to_text(); several replies with spaces between them.
  static std::string readable(std::string_view bytes) {
    std::string text;
    ReplyParser parser;
    while (!bytes.empty()) {
      if (parser.parse(bytes) != Parsed::request) return text + "(incomplete) " + parser.error();
      if (!text.empty()) text += ' ';
      text += parser.value().to_text();
      bytes.remove_prefix(parser.consumed());
    }
    return text;
  }

  TestLink link_;
  std::unique_ptr<Peer> peer_;
};

// Work of a child, done at once in the test's own process: on the data as it was at the fork.
class InlineChild final : public Child {
 public:
  InlineChild(const ChildWork& work, const bool& is_held) : is_held_(is_held) {
    result_ = work([this](const ChildProgress& progress) { progress_ = progress; });
  }

  bool is_running() override { return is_held_ && !is_stopped_; }
  Status result() const override {
    return is_stopped_ ? Status(Error{Code::io, "the child was stopped"}) : result_;
  }
  ChildProgress progress() const override { return progress_; }
  void stop() override { is_stopped_ = true; }
  int pid() const override { return 4711; }

 private:
  const bool& is_held_;
  bool is_stopped_ = false;
  Status result_ = Done{};
  ChildProgress progress_;
};

// What is propagated, in readable form.
class PropagationRecord final : public PropagationSink {
 public:
  unsigned target() const override { return propagate_to::all; }
  void take(int database, std::string_view command) override {
    RequestParser parser;
    std::string line = std::to_string(std::max(database, 0)) + ":";
    if (parser.parse(command) == Parsed::request) {
      for (const std::string_view word : parser.words()) line.append(" ").append(word);
    }
    lines.push_back(std::move(line));
  }

  std::vector<std::string> lines;
};

class ServerFixture : public ServerHost {
 public:
  explicit ServerFixture(const Config& config = {}) : ServerFixture(config, nullptr, nullptr) {}

  // With a clock or a disk that others use, too.
  ServerFixture(const Config& config, ManualClock* clock, FakeDisk* disk)
      : clock_(clock == nullptr ? own_clock_ : *clock),
        disk_(disk == nullptr ? own_disk_ : *disk),
        log_([this](Level, std::string_view line) { lines.emplace_back(line); }),
        server_(std::make_unique<Server>(clock_, config, log_, *this)) {
    server_->parts().config.enable_debug_command = "yes";
    server_->parts().propagation.add_sink(record_);
  }

  TestClient& connect(const std::string& address = "127.0.0.1:5000") {
    clients_.push_back(std::make_unique<TestClient>(*server_, address));
    return *clients_.back();
  }

  void advance(Millis step) { clock_.advance(step); }

  // Turns of the loop until nothing waits.
  void sweep() {
    do {
      server_->begin_turn();
    } while (server_->before_sleep() == Millis(0));
  }

  void shut_down() override { is_shut_down = true; }
  void serve_others() override {
    if (when_busy) when_busy();
  }
  Disk& disk() override { return disk_; }
  Result<std::unique_ptr<Child>> start_child(const ChildWork& work,
                                             const std::vector<int>&) override {
    return std::unique_ptr<Child>(std::make_unique<InlineChild>(work, holds_children));
  }
  void connect(const std::string& host, int, Acceptor,
               std::function<void(const Error&)> failed) override {
    failed(Error{Code::io, "nobody listens at " + host});
  }
  Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string& host, int port,
                                                           Millis) override {
    if (dial) return dial(port);
    return Error{Code::io, "nobody listens at " + host};
  }

  const Clock& lease_clock() const override { return clock_; }
  Result<std::unique_ptr<Register>> open_register(const Config& config) override {
    if (make_register) return make_register();
    return ServerHost::open_register(config);
  }

  Server& server() { return *server_; }
  const Clock& wall() const { return clock_; }
  FakeDisk& fake_disk() { return disk_; }

  std::vector<std::string> lines;  // of the log
  bool is_shut_down = false;
  std::function<Result<std::unique_ptr<BlockingStream>>(int port)> dial;  // who is there
  std::function<std::unique_ptr<Register>()> make_register;               // of a cluster
  std::function<void()> when_busy;  // what other clients do while a script runs for long
  bool holds_children = false;      // a child that is started does not end until this is false

 private:
  ManualClock own_clock_{Time(Millis(1'700'000'000'000))};
  FakeDisk own_disk_;
  ManualClock& clock_;
  FakeDisk& disk_;
  Log log_;
  PropagationRecord record_;

 protected:
  std::unique_ptr<Server> server_;

 private:
  std::vector<std::unique_ptr<TestClient>> clients_;

 public:
  std::vector<std::string>& propagated = record_.lines;  // "0: HDEL key field"
};

}  // namespace mayfly
