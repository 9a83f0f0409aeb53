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
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/clock.h"
#include "resp/reply_parser.h"
#include "server/server.h"

namespace mayfly {

// A connection that leads nowhere.
class TestLink final : public Link {
 public:
  explicit TestLink(std::string address) : address_(std::move(address)) {}

  std::string& output() override { return output_; }
  void flush() override {}
  std::size_t pending() const override { return output_.size(); }
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
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return address_; }
  const std::string& local_address() const override { return local_; }
  bool is_unix() const override { return false; }
  bool is_loopback() const override { return address_.starts_with("127."); }
  int fd() const override { return 7; }

  InputBuffer input_;
  std::string output_;
  std::string why_;

 private:
  std::string address_;
  std::string local_ = "127.0.0.1:6379";
  bool is_closing_ = false;
  bool is_paused_ = false;
};

class TestClient {
 public:
  TestClient(Server& server, const std::string& address) : link_(address) {
    peer_ = server.accept(link_);
  }
  ~TestClient() {
    if (peer_) peer_->closed("the test ends");
  }

  // Sends bytes as they are, and returns the bytes that came back so far.
  std::string send(std::string_view bytes) {
    std::vector<char> scratch(64 * 1024);
    while (!bytes.empty()) {
      const std::span<char> room = link_.input_.room(scratch);
      const std::string_view piece = bytes.substr(0, room.size());
      std::copy(piece.begin(), piece.end(), room.begin());
      bytes.remove_prefix(piece.size());
      link_.input_.added(piece.size());
      if (peer_ && !link_.paused()) peer_->received(link_.input_);
      link_.input_.settle();
    }
    return take();
  }

  // What the loop does after a pause: the input that was left is looked at again.
  std::string resume() {
    if (peer_ && !link_.paused()) peer_->received(link_.input_);
    link_.input_.settle();
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

 private:
  std::string take() { return std::exchange(link_.output_, {}); }

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

class ServerFixture : public Surroundings {
 public:
  explicit ServerFixture(const Config& config = {})
      : log_([this](Level, std::string_view line) { lines.emplace_back(line); }),
        server_(std::make_unique<Server>(clock_, config, log_, *this)) {
    server_->config().enable_debug_command = "yes";
    server_->propagation().add_sink([this](int database, const Propagated& words) {
      std::string line = std::to_string(database) + ":";
      for (const std::string& word : words) line += " " + word;
      propagated.push_back(line);
    });
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

  Server& server() { return *server_; }
  const Clock& wall() const { return clock_; }

  std::vector<std::string> lines;       // of the log
  std::vector<std::string> propagated;  // "0: HDEL key field"
  bool is_shut_down = false;

 private:
  ManualClock clock_{Time(Millis(1'700'000'000'000))};
  Log log_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<TestClient>> clients_;
};

}  // namespace mayfly
