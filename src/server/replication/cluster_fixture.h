// SPDX-License-Identifier: Apache-2.0
// Several servers in a test that follow each other, without sockets: what one sends is handed to
// the other when the test says so.
//
//   ClusterFixture cluster(3);
//   cluster.follow(1, 0);                        // server 1 follows server 0
//   cluster.run_until_quiet();                   // turns and deliveries until nothing moves
//   cluster.cut(1);                              // its connection to its primary breaks
//   EXPECT_EQ(cluster.digest(0), cluster.digest(1));

#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/clients.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/background.h"
#include "server/persistence/digest.h"
#include "server/persistence/loading.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {

class ClusterFixture {
 public:
  static constexpr int kFirstPort = 7000;

  explicit ClusterFixture(int servers, const Config& config = cluster_config()) {
    for (int i = 0; i < servers; ++i) add_node(config);
  }

  ~ClusterFixture() {
    // Clients refer to servers, so they go first.
    for (auto& wire : wires_) close_wire(*wire);
    wires_.clear();
  }

  // Files instead of sockets that a child would write to; no waiting for more replicas.
  static Config cluster_config() {
    Config config;
    config.repl_diskless_sync = false;
    config.save.clear();
    return config;
  }

  ServerFixture& operator[](int number) { return *nodes_[static_cast<std::size_t>(number)]; }
  Server& server(int number) { return (*this)[number].server(); }
  TestClient& client(int number) { return *clients_[static_cast<std::size_t>(number)]; }
  std::string run(int number, std::string_view line) { return client(number).run(line); }
  std::string run(int number, const std::vector<std::string>& words) {
    return client(number).run(words);
  }
  int port(int number) const { return kFirstPort + number; }

  std::string follow(int replica, int primary) {
    return run(replica, "REPLICAOF 127.0.0.1 " + std::to_string(port(primary)));
  }
  std::string lead(int number) { return run(number, "REPLICAOF NO ONE"); }

  bool is_up(int number) {
    const PrimaryLink* const primary = server(number).parts().replication.primary();
    return primary != nullptr && primary->is_up();
  }

  std::string digest(int number) {
    const ServerParts& parts = server(number).parts();
    return digest_of(parts.reclaimer.context(), parts.keyspace).text();
  }

  void advance(Millis step) { clock_.advance(step); }
  int size() const { return static_cast<int>(nodes_.size()); }

  // A server that is stopped, as by SIGSTOP, takes no turns, and nothing is delivered to it.
  void set_stopped(int number, bool is) {
    nodes_[static_cast<std::size_t>(number)]->is_stopped = is;
  }
  bool is_stopped(int number) const { return nodes_[static_cast<std::size_t>(number)]->is_stopped; }

  // One turn of every server, and what it sends is delivered.
  void turn() {
    for (auto& node : nodes_) {
      if (node->is_stopped) continue;
      node->server().begin_turn();
      node->server().before_sleep();
    }
    deliver();
  }

  // Turns until all replicas are up and have everything. The clock moves a little, so that those
  // who wait for a moment to try again do.
  bool run_until_quiet(int turns = 200) {
    for (int i = 0; i < turns; ++i) {
      turn();
      if (i > 3 && is_quiet()) return true;
      if (i % 4 == 3) advance(Millis(250));
    }
    return false;
  }

  // Breaks the connection of a replica to its primary. What was sent and not delivered is lost.
  void cut(int number) {
    for (auto& wire : wires_) {
      if (wire->from == number) close_wire(*wire);
    }
    sweep_wires();
  }

  // Delivers at most so many bytes of each connection at a time, to break in the middle of things.
  void set_piece(std::size_t bytes) { piece_ = bytes; }

  // No connection can be made to this server.
  void set_reachable(int number, bool is) {
    (*nodes_[static_cast<std::size_t>(number)]).is_reachable = is;
  }

 private:
  struct Node final : ServerFixture {
    Node(ClusterFixture& its_cluster, int its_number, const Config& config)
        : ServerFixture(config, &its_cluster.clock_, nullptr),
          cluster(its_cluster),
          number(its_number) {}

    std::int64_t port() const override { return kFirstPort + number; }
    void connect(const std::string&, int to, Acceptor connected,
                 std::function<void(const Error&)> failed) override {
      cluster.pending_.push_back(
          {number, to - kFirstPort, std::move(connected), std::move(failed)});
    }
    using ServerFixture::connect;

    ClusterFixture& cluster;
    int number;
    bool is_reachable = true;
    bool is_stopped = false;
  };

  struct Connecting {
    int from;
    int to;
    Acceptor connected;
    std::function<void(const Error&)> failed;
  };

  // A connection: the end of the replica, and that of its primary.
  struct Wire {
    Wire(int its_from, int its_to)
        : from(its_from),
          to(its_to),
          near("127.0.0.1:" + std::to_string(kFirstPort + its_to)),
          far("127.0.0.1:" + std::to_string(40'000 + its_from)) {
      int ends[2] = {-1, -1};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
      near.fd_ = ends[0];
      of_child = ends[1];
    }
    ~Wire() {
      ::close(near.fd_);
      ::close(of_child);
    }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    // What a child has written to the near end.
    std::string take_of_child() const {
      std::string bytes;
      std::array<char, 4096> piece;
      for (ssize_t count = 0; (count = ::read(of_child, piece.data(), piece.size())) > 0;) {
        bytes.append(piece.data(), static_cast<std::size_t>(count));
      }
      return bytes;
    }

    int from;
    int to;
    TestLink near;
    TestLink far;
    int of_child = -1;
    std::unique_ptr<Peer> near_peer;
    std::unique_ptr<Peer> far_peer;
    bool is_closed = false;
  };

  void add_node(const Config& config) {
    const auto number = static_cast<int>(nodes_.size());
    nodes_.push_back(std::make_unique<Node>(*this, number, config));
    clients_.push_back(std::make_unique<TestClient>(nodes_.back()->server(), "127.0.0.1:5000"));
  }

  void make_connections() {
    for (Connecting& one : std::exchange(pending_, {})) {
      Node& target = *nodes_[static_cast<std::size_t>(one.to)];
      if (!target.is_reachable) {
        one.failed(Error{Code::io, "connection refused"});
        continue;
      }
      auto wire = std::make_unique<Wire>(one.from, one.to);
      wire->far_peer = target.server().accept(wire->far);
      wire->near_peer = one.connected(wire->near);
      if (wire->near_peer == nullptr || wire->far_peer == nullptr) close_wire(*wire);
      wires_.push_back(std::move(wire));
    }
  }

  void move_bytes(TestLink& from, TestLink& to, Peer& peer) {
    if (to.closing()) return;
    const std::string bytes = from.take(piece_);
    if (bytes.empty() && !to.input_.empty() && !to.paused()) {  // left over from a pause
      peer.received(to.input_);
      to.input_.keep_rest();
    }
    arrive(to, &peer, bytes);
  }

  void deliver() {
    make_connections();
    for (std::size_t i = 0; i < wires_.size(); ++i) {
      Wire& wire = *wires_[i];
      if (wire.is_closed) continue;
      if (!is_stopped(wire.to)) {
        move_bytes(wire.near, wire.far, *wire.far_peer);
        if (!wire.far.closing()) arrive(wire.far, wire.far_peer.get(), wire.take_of_child());
      }
      if (!is_stopped(wire.from)) move_bytes(wire.far, wire.near, *wire.near_peer);
      if (wire.far.output_.empty() && !wire.far.closing()) wire.far_peer->drained();
      if (wire.near.closing() || wire.far.closing()) close_wire(wire);
    }
    sweep_wires();
  }

  void close_wire(Wire& wire) {
    if (wire.is_closed) return;
    wire.is_closed = true;
    if (wire.near_peer) wire.near_peer->closed("the connection was cut");
    if (wire.far_peer) wire.far_peer->closed("the connection was cut");
  }

  void sweep_wires() {
    std::erase_if(wires_, [](const auto& wire) { return wire->is_closed; });
  }

  bool is_quiet() {
    if (!pending_.empty()) return false;
    for (const auto& wire : wires_) {
      if (!wire->near.output_.empty() || !wire->far.output_.empty()) return false;
    }
    for (const auto& node : nodes_) {
      Server& one = node->server();
      if (one.parts().loading.is_active() || one.parts().background.is_busy()) return false;
      const PrimaryLink* const primary = one.parts().replication.primary();
      if (primary == nullptr) continue;
      if (!primary->is_up()) return false;
      const int number = primary->port() - kFirstPort;
      if (server(number).parts().replication.stream().log().end() !=
          one.parts().replication.stream().log().end())
        return false;
    }
    return true;
  }

  ManualClock clock_{Time(Millis(1'700'000'000'000))};
  std::size_t piece_ = std::string::npos;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<TestClient>> clients_;
  std::vector<Connecting> pending_;
  std::vector<std::unique_ptr<Wire>> wires_;
};

}  // namespace mayfly
