// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/cluster_admin.h"

#include <fmt/format.h>

#include "net/socket.h"
#include "server/cluster/cluster_replies.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

using Changed = Result<std::optional<RegisterCommit>>;

std::optional<SlotSet> read_slots(ServerCall& call, bool are_ranges) {
  SlotSet slots;
  const std::size_t step = are_ranges ? 2 : 1;
  if (are_ranges && call.count() % 2 != 0) {
    call.fail_arity();
    return std::nullopt;
  }
  for (std::size_t i = 2; i < call.count(); i += step) {
    constexpr const char* kWrong = "ERR Invalid or out of range slot";
    const auto first = call.integer(i, 0, kHashSlots - 1, kWrong);
    if (!first) return std::nullopt;
    const auto last = are_ranges ? call.integer(i + 1, 0, kHashSlots - 1, kWrong) : first;
    if (!last) return std::nullopt;
    if (*first > *last) {
      call.fail(fmt::format("ERR start slot number {} is greater than end slot number {}", *first,
                            *last));
      return std::nullopt;
    }
    const SlotSet more({{static_cast<HashSlot>(*first), static_cast<HashSlot>(*last)}});
    if (slots.overlaps(more)) {
      call.fail(fmt::format("ERR Slot {} specified multiple times", (slots & more).text()));
      return std::nullopt;
    }
    slots |= more;
  }
  return slots;
}

void add_slots_of(ServerCall& call, Cluster& cluster, bool are_ranges) {
  const auto slots = read_slots(call, are_ranges);
  if (!slots) return;
  ClusterRecord config;
  config.id = random_id();
  config.lease = Millis(call.server.config.cluster_lease);
  config.created = call.now();
  SlotsFor wanted{cluster.node().self(), *slots, config};
  cluster.changes().run(call, [wanted, now = call.now()](const ClusterView& view) mutable {
    Changed changed = add_slots(view, wanted, now);
    wanted.is_repetition = true;
    return changed;
  });
}

// The node that listens there; empty if none is known.
std::string node_at(const ClusterView& view, const std::string& host, std::int64_t port) {
  for (const auto& [id, node] : view.nodes()) {
    if (node.record.host == host && node.record.port == port) return id;
  }
  return {};
}

// False if it is not known where the primary is.
bool ask_for_handover(Cluster& cluster, const ShardMachine& machine) {
  const std::string& node = machine.record().primary.node;
  const NodeRecord* const primary = cluster.view().node(node);
  if (primary == nullptr) return false;
  cluster.links().send(node, {primary->host, primary->port}, {"CLUSTER", "HANDOVER", cluster.id()},
                       {});
  return true;
}

}  // namespace

// All nodes with this etcd and this name register themselves there: there is nobody to talk to. One
// that has just started is waited for.
void cluster_meet(ServerCall& call, Cluster& cluster) {
  const auto port = call.integer(3, 1, 65'535, "ERR Invalid base port specified");
  if (!port) return;
  const Result<std::string> host = numeric_address(std::string(call.word(2)));
  if (!host) return call.fail("ERR Invalid node address specified: " + std::string(call.word(2)));
  const std::string self = cluster.id();
  cluster.changes().run(call, [self, host = *host, port = *port](const ClusterView& view) {
    const std::string other = node_at(view, host, port);
    if (other.empty()) {
      return Changed(Error{
          Code::busy,  // it may have just started
          fmt::format("ERR no node is registered at {}:{} (start it with cluster-enabled yes and "
                      "the same cluster-etcd and cluster-name)",
                      host, port)});
    }
    Changed both = join_node(view, other);
    const Changed own = join_node(view, self);
    if (!both || !own || !own->has_value()) return both;
    if (!both->has_value() || other == self) return own;
    RegisterCommit& commit = **both;
    for (const auto& compare : (*own)->compares) commit.compares.push_back(compare);
    for (const auto& put : (*own)->puts) commit.puts.push_back(put);
    return both;
  });
}

void cluster_addslots(ServerCall& call, Cluster& cluster) { add_slots_of(call, cluster, false); }

void cluster_addslotsrange(ServerCall& call, Cluster& cluster) {
  add_slots_of(call, cluster, true);
}

void cluster_replicate(ServerCall& call, Cluster& cluster) {
  const std::string primary(call.word(2));
  if (call.keyspace()[0].stored() > 0 && cluster.node().machine() == nullptr) {
    return call.fail("ERR To set a master the node must be empty and without assigned slots.");
  }
  cluster.changes().run(call, [self = cluster.id(), primary](const ClusterView& view) {
    return join_shard(view, self, primary);
  });
}

void cluster_forget(ServerCall& call, Cluster& cluster) {
  const std::string id(call.word(2));
  if (id == cluster.id()) return call.fail("ERR I tried hard but I can't forget myself...");
  cluster.changes().run(call, [id](const ClusterView& view) -> Changed {
    // redis-cli asks every node to forget it: it may be gone after the first.
    if (view.node(id) == nullptr) return std::optional<RegisterCommit>();
    return forget_node(view, id);
  });
}

void cluster_reset(ServerCall& call, Cluster& cluster) {
  if (call.count() > 3 || (call.count() == 3 && !call.is(2, "hard") && !call.is(2, "soft"))) {
    return call.fail_syntax();
  }
  const ShardMachine* const machine = cluster.node().machine();
  if (machine != nullptr && machine->is_leading() && call.keyspace()[0].stored() > 0) {
    return call.fail("ERR CLUSTER RESET can't be called with master nodes containing keys");
  }
  const NodeRecord fresh = cluster.own_record();
  cluster.changes().run(call, [id = cluster.id(), fresh](const ClusterView& view) -> Changed {
    if (view.node(id) == nullptr) return std::optional<RegisterCommit>();  // it registers again
    Changed commit = forget_node(view, id);
    if (!commit || !commit->has_value()) return commit;
    NodeRecord node = fresh;  // registered, but in nobody's cluster
    node.shard.clear();
    node.state = NodeState::fresh;
    (*commit)->puts.back() = {node_key(id), to_text(node)};
    return commit;
  });
}

void cluster_failover(ServerCall& call, Cluster& cluster) {
  const bool is_forced = call.count() == 3 && call.is(2, "force");
  const bool takes_over = call.count() == 3 && call.is(2, "takeover");
  if (call.count() > 3 || (call.count() == 3 && !is_forced && !takes_over)) {
    return call.fail_syntax();
  }
  ShardMachine* const machine = cluster.node().machine();
  if (machine == nullptr || machine->is_leading()) {
    return call.fail("ERR You should send CLUSTER FAILOVER to a replica");
  }
  if (takes_over) {
    // A node that has sent its commit is silent until etcd answers: so ask whether it does, first.
    const Clock& clock = call.server.host.lease_clock();
    return cluster.changes().after_read(call, [&cluster, &clock]() -> Status {
      ShardMachine* const now_there = cluster.node().machine();
      if (now_there == nullptr) return Error{Code::denied, "ERR this node belongs to no shard"};
      const Status status = now_there->take_by_force(clock.now());
      if (!status) return Error{status.error().code, "ERR " + status.error().message};
      return Done{};
    });
  }
  if (is_forced) {
    const Status status = machine->take_when_safe(call.server.host.lease_clock().now());
    if (!status) return call.fail("ERR " + status.error().message);
    // One that is well takes a silent replica out of the set before its promise has ended: it had
    // better hand over. Nobody waits for its answer.
    ask_for_handover(cluster, *machine);
    return call.reply().ok();
  }
  if (!machine->in_record()) {
    return call.fail("ERR this replica is not in sync, so it may lack writes (see CLUSTER INFO)");
  }
  if (!ask_for_handover(cluster, *machine)) {
    return call.fail("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
  }
  call.reply().ok();
}

void cluster_handover(ServerCall& call, Cluster& cluster) {
  constexpr Millis kLongest{10'000};
  ShardMachine* const machine = cluster.node().machine();
  const Time now = call.server.host.lease_clock().now();
  if (machine == nullptr) return call.fail("ERR this node belongs to no shard");
  const Status status = machine->hand_over(std::string(call.word(2)), now + kLongest, now);
  if (!status) return call.fail("ERR " + status.error().message);
  call.reply().ok();
}

void cluster_no_setslot(ServerCall& call, Cluster&) {
  call.fail(
      "ERR slots do not move key by key here (use: mayfly cluster reshard, or CLUSTER "
      "MIGRATESLOTS)");
}

void cluster_no_delslots(ServerCall& call, Cluster&) {
  call.fail("ERR slots always have an owner (move them: mayfly cluster reshard)");
}

}  // namespace mayfly
