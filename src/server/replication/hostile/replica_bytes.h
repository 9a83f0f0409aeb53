// SPDX-License-Identifier: Apache-2.0
// A primary, and any bytes as what a replica sends to it: REPLCONF, PSYNC, SYNC, acknowledgements
// and whatever else. For the fuzzer (replica_bytes_fuzz.cc) and for tests.
//
//   run_replica_bytes("\1PSYNC ID 1\r\nPING\r\n") == ""
//
// The first byte chooses what the primary is like. 1: its log is open, so that a replica can go on;
// 2: another client writes between the pieces; 4: pieces are small; 8: time passes faster. In the
// rest ID is the id of the stream, END the offset of the end of the log.
//
// After PSYNC a replica gets the data and the stream, and nothing else: that is checked.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "resp/numbers.h"
#include "resp/request.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"

namespace mayfly {

class ReplicaBytes {
 public:
  explicit ReplicaBytes(bool is_log_open) : fixture_(config()) {
    writer_ = &fixture_.connect("127.0.0.1:5000");
    writer_->run("SET before 1");
    writer_->run({"FUNCTION", "LOAD",
                  "#!lua name=lib\nredis.register_function('f', function() return 1 end)"});
    if (is_log_open) parts().replication.stream().open();
    begin();
  }
  ~ReplicaBytes() { client_.reset(); }

  void send(std::string_view bytes) { take(client_->send(bytes)); }
  void turn(Millis step = Millis(10)) {
    fixture_.advance(step);
    fixture_.server().begin_turn();
    fixture_.server().before_sleep();
    take(client_->send(""));
  }
  void write() { writer_->run("SET k v"); }

  // Another connection.
  void begin() {
    client_ = std::make_unique<TestClient>(fixture_.server(), "127.0.0.1:5001");
    out_.clear();
    attached_at_ = std::string::npos;
  }

  // The defect of the bytes that a replica has got; empty if there is none, or if their first
  // byte is not known.
  std::string check_stream() {
    if (attached_at_ > out_.size()) return {};
    const std::string_view out = std::string_view(out_).substr(attached_at_);
    std::size_t at = out.npos;
    for (const std::string_view head : {"+CONTINUE", "+FULLRESYNC"}) {
      for (std::size_t i = out.find(head); i != out.npos; i = out.find(head, i + 1)) {
        if (i > 0 && out[i - 1] != '\n') continue;  // in an error
        if (at != out.npos) return {};              // one is in a reply
        at = i;
      }
    }
    if (at == out.npos) return {};
    const std::string_view bytes = out.substr(at);
    return bytes.starts_with("+CONTINUE") ? wrong_rest(bytes) : wrong_bytes(bytes);
  }

  std::string check() {
    std::string wrong = check_stream();
    if (wrong.empty()) wrong = parts().replication.stream().log().check_invariants();
    for (int number = 0; wrong.empty() && number < parts().keyspace.count(); ++number) {
      wrong = parts().keyspace[number].check_invariants();
    }
    return wrong;
  }

  bool is_connected() const { return client_->is_connected(); }
  bool is_replica() const {
    return client_->is_connected() && client_->client().is_attached_replica();
  }
  const std::string& out() const { return out_; }
  const ServerParts& parts() { return fixture_.server().parts(); }
  ServerFixture& fixture() { return fixture_; }
  TestClient& client() { return *client_; }

 private:
  void take(std::string_view bytes) {
    const std::size_t before = out_.size();
    out_ += bytes;
    if (client_->has_ended()) return;
    if (client_->client().is_attached_replica() && before < attached_at_) {
      attached_at_ = before;
      id_ = parts().replication.stream().ids().id;
    }
    if (!client_->is_connected()) client_->end();
  }

  static Config config() {
    Config config;
    config.save.clear();
    config.databases = 4;
    config.repl_diskless_sync = false;
    config.enable_debug_command = "no";
    return config;
  }

  // It may have asked for bytes from the middle of a request on.
  std::string wrong_rest(std::string_view out) {
    const ReplicationStream& stream = parts().replication.stream();
    if (stream.ids().id != id_ || out.find("\r\n") == out.npos) return {};
    out.remove_prefix(out.find("\r\n") + 2);
    std::string all;
    for (std::uint64_t from = stream.log().begin(); from < stream.log().end();) {
      const std::string_view piece = stream.log().read(from);
      all += piece;
      from += piece.size();
    }
    return all.find(out) == all.npos ? "something else than the log: " + std::string(out) : "";
  }

  static std::string wrong_bytes(std::string_view out) {
    const std::size_t line = out.find("\r\n");
    if (line == out.npos) return {};
    out.remove_prefix(line + 2);
    while (out.starts_with('\n')) out.remove_prefix(1);
    if (out.empty()) return {};
    const std::size_t end = out.find("\r\n");
    if (end == out.npos) return {};
    const auto size = parse_integer(out.substr(1, end - 1));
    if (out[0] != '$' || !size) return "something else than data: " + std::string(out);
    out.remove_prefix(std::min(out.size(), end + 2 + static_cast<std::size_t>(*size)));
    RequestParser parser;
    while (!out.empty()) {
      if (!out.starts_with('*')) return "something else than the stream: " + std::string(out);
      parser.reset();
      if (parser.parse(out) != Parsed::request) return {};  // the end is missing
      out.remove_prefix(parser.consumed());
    }
    return {};
  }

  ServerFixture fixture_;
  TestClient* writer_;
  std::unique_ptr<TestClient> client_;
  std::string out_;
  std::string id_;                               // of the stream, then
  std::size_t attached_at_ = std::string::npos;  // in out_; before the reply to PSYNC
};

inline std::string run_replica_bytes(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto kind = static_cast<unsigned char>(bytes[0]);
  ReplicaBytes replica((kind & 1) != 0);
  const ReplicationStream& stream = replica.parts().replication.stream();
  std::string text(bytes.substr(1));
  const std::pair<std::string_view, std::string> words[] = {
      {"ID", stream.ids().id}, {"END", std::to_string(stream.log().end())}};
  for (const auto& [word, value] : words) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += value.size()) {
      text.replace(at, word.size(), value);
    }
  }
  std::string_view rest = text;
  const std::size_t most = (kind & 4) != 0 ? 9 : 300;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + (text.size() * 7 + i) % most);
    replica.send(rest.substr(0, size));
    rest.remove_prefix(size);
    replica.turn(Millis((kind & 8) != 0 ? 1000 : 10));
    if ((kind & 2) != 0) replica.write();
    if (replica.is_connected()) continue;
    if (std::string wrong = replica.check_stream(); !wrong.empty()) return wrong;
    replica.begin();
  }
  for (int i = 0; i < 3; ++i) replica.turn();
  return replica.check();
}

}  // namespace mayfly
