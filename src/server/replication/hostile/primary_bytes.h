// SPDX-License-Identifier: Apache-2.0
// A replica, and any bytes as what its primary sends: for the fuzzer (primary_bytes_fuzz.cc) and
// for tests.
//
//   PrimaryBytes primary;                  // a server with the key `mine`, which follows
//   primary.greet();                       // up to PSYNC
//   primary.send("+FULLRESYNC ...\r\n");
//   primary.turn();                        // the replica works
//   primary.reconnect();                   // after it has closed the link
//
// run_primary_bytes(bytes): the first byte chooses what the replica is like. 1: it has a history,
// and asks to go on with it; 2: checksums are not checked; 4: the greeting is done for each
// connection; 8: pieces are small. In the rest ID is the id of its history.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "persist/rdb/rdb_save.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/loading.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {

class PrimaryBytes final : public ServerFixture {
 public:
  PrimaryBytes() : ServerFixture(config()) {
    client_ = std::make_unique<TestClient>(server(), "127.0.0.1:5000");
    client_->run("SET mine 1");
    client_->run("REPLICAOF 127.0.0.1 7000");
    turn();
    accept();
  }
  ~PrimaryBytes() override {
    close_link();
    client_.reset();
    server_.reset();
  }

  using ServerFixture::connect;
  void connect(const std::string&, int, Acceptor connected,
               std::function<void(const Error&)>) override {
    connected_ = std::move(connected);
  }

  // One answer after another, until the replica has sent PSYNC.
  void greet() {
    constexpr int kSteps = 10;
    for (int i = 0; i < kSteps && is_connected() && sent().find("PSYNC") == std::string::npos; ++i)
      send("+OK\r\n");
  }

  void send(std::string_view bytes) {
    if (!is_connected()) return;
    arrive(*link_, peer_.get(), bytes);
    close_if_closing();
  }

  void turn(int turns = 3) {
    for (int i = 0; i < turns; ++i) {
      advance(Millis(10));
      server().begin_turn();
      server().before_sleep();
      if (is_connected() && !link_->paused() && !link_->input_.empty()) {
        peer_->received(link_->input_);
        link_->input_.keep_rest();
      }
      close_if_closing();
    }
  }

  // False if it does not try.
  bool reconnect() {
    close_link();
    advance(Millis(1100));
    turn();
    return accept();
  }

  // The replica gets all data of this server, and is up.
  void synchronise(std::string_view data) {
    greet();
    send("+FULLRESYNC " + id() + " 100\r\n$" + std::to_string(data.size()) + "\r\n");
    send(data);
    turn(50);
  }

  // An RDB file with `theirs`.
  static std::string file(bool has_checksum = true) {
    ServerFixture other;
    other.connect().run("SET theirs 2");
    StringSink sink;
    SaveOptions options;
    options.format.checksums = has_checksum;
    (void)save_rdb(other.server().parts().keyspace, sink, options, {});
    return std::move(sink.bytes);
  }
  static std::string id() { return std::string(40, 'a'); }

  bool is_connected() const { return peer_ != nullptr; }
  std::string& sent() {  // by the replica, on this connection
    sent_ += link_->take();
    return sent_;
  }
  const PrimaryLink& primary() { return *server().parts().replication.primary(); }
  TestClient& client() { return *client_; }

  // Its defect; empty if it is sound.
  std::string check() {
    const ServerParts& parts = server().parts();
    for (int number = 0; number < parts.keyspace.count(); ++number) {
      std::string wrong = parts.keyspace[number].check_invariants();
      if (!wrong.empty()) return wrong;
    }
    return parts.replication.stream().log().check_invariants();
  }

 private:
  static Config config() {
    Config config;
    config.save.clear();
    config.databases = 4;
    config.repl_timeout = 1'000'000;
    config.repl_diskless_sync = false;
    return config;
  }

  bool accept() {
    if (!connected_) return false;
    link_ = std::make_unique<TestLink>("127.0.0.1:7000");
    sent_.clear();
    peer_ = std::exchange(connected_, {})(*link_);
    return peer_ != nullptr;
  }
  void close_if_closing() {
    if (link_ != nullptr && link_->closing()) close_link();
  }
  void close_link() {
    if (auto peer = std::exchange(peer_, nullptr)) peer->closed("the connection was cut");
  }

  std::unique_ptr<TestClient> client_;
  Acceptor connected_;
  std::unique_ptr<TestLink> link_;
  std::unique_ptr<Peer> peer_;
  std::string sent_;
};

inline std::string run_primary_bytes(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto kind = static_cast<unsigned char>(bytes[0]);
  std::string text(bytes.substr(1));
  for (std::size_t at = 0; (at = text.find("ID", at)) != text.npos; at += PrimaryBytes::id().size())
    text.replace(at, 2, PrimaryBytes::id());

  PrimaryBytes primary;
  primary.server().parts().config.skips_checksums = (kind & 2) != 0;
  if ((kind & 1) != 0) {
    primary.synchronise(PrimaryBytes::file());
    if (!primary.primary().is_up()) return "a good file was refused";
    if (!primary.reconnect()) return "it does not connect again";
  }
  if ((kind & 4) != 0) primary.greet();
  std::string_view rest = text;
  const std::size_t most = (kind & 8) != 0 ? 7 : 500;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + (text.size() * 7 + i) % most);
    primary.send(rest.substr(0, size));
    rest.remove_prefix(size);
    primary.turn(1 + static_cast<int>(i % 2));
    if (primary.is_connected()) continue;
    if (!primary.reconnect()) return {};  // it is a primary now, or loads for long
    if ((kind & 4) != 0) primary.greet();
  }
  primary.turn();
  return primary.check();
}

}  // namespace mayfly
