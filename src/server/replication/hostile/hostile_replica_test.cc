// SPDX-License-Identifier: Apache-2.0
// Options and requests of replicas that are refused, or close their link.

#include <gtest/gtest.h>

#include "persist/rdb/verify/rdb_verify.h"
#include "server/monitoring/info.h"
#include "server/replication/hostile/replica_bytes.h"

namespace mayfly {
namespace hostile_replica_test {

class HostileReplicaTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return replica_.client().run(line); }
  std::string run(const std::vector<std::string>& words) { return replica_.client().run(words); }

  ReplicaBytes replica_{true};
};

TEST_F(HostileReplicaTest, UnknownOptionsAreRefused) {
  EXPECT_EQ(run("REPLCONF listening-port 1 surprise 2"),
            "(error) ERR Unrecognized REPLCONF option: surprise");
  EXPECT_EQ(run({"REPLCONF", std::string(1000, 'x') + "\r\n", "1"}),
            "(error) ERR Unrecognized REPLCONF option: " + std::string(64, 'x') + "...");
  EXPECT_EQ(run("REPLCONF capa surprise"), "OK") << "later versions have more of them";
  EXPECT_EQ(run("REPLCONF version 9.0.1 rdb-only 1"), "OK");
  EXPECT_EQ(run("REPLCONF rdb-only x"), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(run("REPLCONF rdb-filter-only functions,keys"),
            "(error) ERR Unsupported rdb-filter-only option: functions,keys");
}

TEST_F(HostileReplicaTest, AddressesAreChecked) {
  const std::string wrong =
      "(error) ERR REPLCONF ip-address provided by replica instance is not an address or host name";
  for (const std::string& host :
       {std::string("a b"), std::string("a\r\nrole:master"), std::string("\x1b[2J"),
        std::string(256, 'a'), std::string("a\0b", 3), std::string("a,port=1"),
        std::string("caf\xc3\xa9")}) {
    EXPECT_EQ(run({"REPLCONF", "ip-address", host}), wrong) << host;
  }
  for (const char* host : {"10.0.0.1", "db-1.example.org", "fe80::1%eth0", "::1", "my_host", ""}) {
    EXPECT_EQ(run({"REPLCONF", "ip-address", host}), "OK") << host;
  }
  for (const char* port : {"-1", "65536", "x", "", "99999999999999999999", " 1"}) {
    EXPECT_EQ(run({"REPLCONF", "listening-port", port}),
              "(error) ERR value is not an integer or out of range")
        << port;
  }
  EXPECT_EQ(run("REPLCONF listening-port 0"), "OK");
  EXPECT_EQ(run("REPLCONF listening-port 65535"), "OK");
  EXPECT_EQ(run({"REPLCONF", "cluster-node", "a\r\nb:c"}),
            "(error) ERR Invalid REPLCONF cluster-node");
}

TEST_F(HostileReplicaTest, AnAcknowledgementBeyondTheLogClosesTheLink) {
  const std::string end = std::to_string(replica_.parts().replication.stream().log().end());
  replica_.send("PSYNC ? -1\r\nREPLCONF ACK " + end + "\r\n");
  ASSERT_TRUE(replica_.is_replica());
  replica_.send("REPLCONF ACK 9223372036854775807\r\n");
  EXPECT_FALSE(replica_.is_connected());
}

// PSYNC has been answered: all bytes from there on are the data and the stream.
TEST_F(HostileReplicaTest, ARequestWithAReplyClosesTheLink) {
  for (const std::string line : {"PING", "GET before", "NOSUCH", "GET", "REPLCONF capa eof",
                                 "REPLCONF ACK", "REPLCONF GETACK *", "CLIENT REPLY OFF", "QUIT",
                                 "RESET", "MULTI", "SUBSCRIBE a", "*1\r\n$x", "INFO", "MONITOR",
                                 "HELLO 3", "REPLICAOF NO ONE", "SHUTDOWN NOSAVE", "DEBUG JMAP"}) {
    for (const bool is_sync : {false, true}) {
      replica_.begin();
      replica_.send("REPLCONF capa psync2\r\n");
      replica_.send(is_sync ? "SYNC\r\n"
                            : "PSYNC " + replica_.parts().replication.stream().ids().id + " 1\r\n");
      ASSERT_TRUE(replica_.is_replica()) << line;
      const std::string before = replica_.out();
      replica_.send(line + "\r\n");
      EXPECT_FALSE(replica_.is_connected()) << line;
      EXPECT_EQ(replica_.out(), before) << line;
    }
  }
  EXPECT_FALSE(replica_.fixture().is_shut_down);
}

TEST_F(HostileReplicaTest, AcknowledgementsAndFurtherPsyncsDoNot) {
  replica_.send("PSYNC ? -1\r\n");
  for (int i = 0; i < 5; ++i) replica_.turn();
  replica_.send("REPLCONF ACK 0\r\nREPLCONF ack 0 fack 0\r\n\r\n\nPSYNC ? -1\r\nSYNC\r\n");
  replica_.write();
  replica_.turn();
  EXPECT_TRUE(replica_.is_replica());
  EXPECT_EQ(replica_.check(), "");
  EXPECT_NE(replica_.out().find("SET\r\n$1\r\nk"), std::string::npos);
}

TEST_F(HostileReplicaTest, AClientThatGetsMessagesIsNoReplica) {
  for (const std::string& first :
       {std::string("MONITOR"), std::string("SUBSCRIBE a"), std::string("MULTI"),
        std::string("HELLO 3\r\nCLIENT TRACKING ON")}) {
    replica_.begin();
    replica_.send(first + "\r\nPSYNC ? -1\r\n");
    EXPECT_FALSE(replica_.is_replica()) << first;
  }
  // Invalidations of another client are not redirected to it either.
  replica_.begin();
  replica_.send("HELLO 3\r\n");
  const std::string id = std::to_string(replica_.client().client().id());
  TestClient& reader = replica_.fixture().connect();
  EXPECT_EQ(reader.run("CLIENT TRACKING ON REDIRECT " + id), "OK");
  reader.run("GET k");
  replica_.send("PSYNC ? -1\r\n");
  replica_.write();
  replica_.turn();
  EXPECT_EQ(replica_.out().find("invalidate"), std::string::npos);
}

// The content of the file that this client gets.
struct Received {
  std::uint64_t keys = 0;
  std::size_t libraries = 0;
  bool has_history = false;
  bool is_closed = false;
};

Received receive(ReplicaBytes& replica, const std::string& options, const std::string& request) {
  replica.begin();
  replica.send(options + "\r\n" + request + "\r\n");
  for (int i = 0; i < 5 && replica.is_connected(); ++i) replica.turn();
  const std::string& out = replica.out();
  Received received;
  const std::size_t head = out.find('$');
  const std::size_t end = out.find("\r\n", head);
  if (head == out.npos || end == out.npos) return received;
  const auto size = parse_integer(std::string_view(out).substr(head + 1, end - head - 1));
  StringSource source(std::string_view(out).substr(end + 2, static_cast<std::size_t>(*size)));
  ServerFixture other;
  RdbLoader loader(source, other.server().parts().keyspace,
                   {.load_function = [&](std::string_view) { return ++received.libraries > 0; }});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(100);
  EXPECT_TRUE(ended.ok());
  received.keys = loader.report().keys;
  received.has_history = loader.report().aux.contains("repl-id");
  received.is_closed = !replica.is_connected();
  EXPECT_EQ(out.size(), end + 2 + static_cast<std::size_t>(*size)) << "nothing follows the file";
  return received;
}

TEST_F(HostileReplicaTest, AFilterChoosesWhatTheFileHas) {
  // As `valkey-cli --functions-rdb`.
  const std::string filter = "REPLCONF rdb-only 1\r\nREPLCONF rdb-filter-only functions";
  for (const std::string request : {"SYNC", "PSYNC ? -1"}) {
    const Received functions = receive(replica_, filter, request);
    EXPECT_EQ(functions.keys, 0u);
    EXPECT_EQ(functions.libraries, 1u);
    EXPECT_FALSE(functions.has_history) << "who loads it must not go on with the stream";
    EXPECT_TRUE(functions.is_closed);
  }
  replica_.begin();
  replica_.client().run({"REPLCONF", "rdb-filter-only", ""});
  replica_.send("SYNC\r\n");
  for (int i = 0; i < 5; ++i) replica_.turn();
  EXPECT_NE(replica_.out().find('$'), std::string::npos);
  EXPECT_EQ(replica_.out().find("lib"), std::string::npos);
  const Received all = receive(replica_, "REPLCONF rdb-only 1", "SYNC");
  EXPECT_EQ(all.keys, 1u);
  EXPECT_EQ(all.libraries, 1u);
  EXPECT_TRUE(all.is_closed);
}

// One file is not shared by replicas that want different ones.
TEST_F(HostileReplicaTest, AFilteredFileIsNotForOthers) {
  replica_.fixture().holds_children = true;
  TestClient filtered(replica_.fixture().server(), "127.0.0.1:5002");
  filtered.send("REPLCONF rdb-filter-only functions\r\nPSYNC ? -1\r\n");
  replica_.turn();
  replica_.send("PSYNC ? -1\r\n");
  replica_.turn();
  EXPECT_EQ(replica_.out().find("FULLRESYNC"), std::string::npos) << "it waits for its own";
  replica_.fixture().holds_children = false;
  for (int i = 0; i < 5; ++i) replica_.turn();
  EXPECT_NE(replica_.out().find("before"), std::string::npos);
  EXPECT_TRUE(replica_.is_replica());
}

TEST_F(HostileReplicaTest, AnyBytesLeaveASoundServer) {
  std::uint64_t seed = 11;
  for (int i = 0; i < 60; ++i) {
    std::string bytes(1, static_cast<char>(i));
    bytes +=
        "REPLCONF listening-port 1 capa psync2\r\nPSYNC ID 1\r\nREPLCONF ACK END\r\n"
        "PSYNC ? -1\r\nPING\r\nREPLCONF rdb-filter-only functions\r\nSYNC\r\n";
    for (int changes = 0; changes < i % 5; ++changes) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      bytes[1 + (seed >> 33) % (bytes.size() - 1)] = static_cast<char>(seed >> 25);
    }
    EXPECT_EQ(run_replica_bytes(bytes), "") << i;
  }
}

}  // namespace hostile_replica_test
}  // namespace mayfly
