// SPDX-License-Identifier: Apache-2.0
// CLUSTER, READONLY, READWRITE and ASKING. cluster_admin.cc has those that change the cluster.

#include <cstdint>
#include <optional>

#include "server/cluster/cluster_admin.h"
#include "server/cluster/cluster_replies.h"
#include "server/cluster/moves/move_commands.h"
#include "server/cluster/node/node_messages.h"
#include "server/core/server_call.h"
#include "server/pubsub/pubsub.h"

namespace mayfly {
namespace {

// Whether there is a cluster; if not, the reply is an error.
bool has_cluster(Call& call) {
  if (parts_of(call).cluster.is_enabled()) return true;
  call.fail("ERR This instance has cluster support disabled");
  return false;
}

// A handler that needs a cluster.
template <void (*handler)(ServerCall&, Cluster&)>
void in_cluster(Call& call) {
  if (has_cluster(call)) handler(server_call(call), parts_of(call).cluster);
}

// READONLY, READWRITE
template <bool is>
void set_readonly(Call& call) {
  client_of(call).options.is_readonly = is;
  call.reply().ok();
}

void cluster_keyslot(Call& call) { call.reply().integer(hash_slot(call.word(2))); }

std::optional<HashSlot> read_slot(Call& call, std::size_t word) {
  const auto slot = call.integer(word, 0, kHashSlots - 1, "ERR Invalid or out of range slot");
  if (!slot) return std::nullopt;
  return static_cast<HashSlot>(*slot);
}

// ---- What is known ----

void myid(ServerCall& call, Cluster& cluster) { call.reply().bulk(cluster.id()); }

void myshardid(ServerCall& call, Cluster& cluster) {
  call.reply().bulk(shard_digits(cluster.node().shard()));
}

void info(ServerCall& call, Cluster&) {
  call.reply().verbatim("txt", cluster_info_text(call.server));
}

void nodes(ServerCall& call, Cluster& cluster) {
  call.reply().verbatim("txt", nodes_text(cluster));
}

void slots(ServerCall& call, Cluster& cluster) { reply_slots(call.reply(), cluster); }

void shards(ServerCall& call, Cluster& cluster) { reply_shards(call.reply(), cluster); }

void replicas(ServerCall& call, Cluster& cluster) {
  const std::string id(call.word(2));
  const ClusterView& view = cluster.view();
  if (view.node(id) == nullptr) return call.fail("ERR Unknown node " + id);
  const ClusterShard* const shard = view.led_by(id);
  if (shard == nullptr) return call.fail("ERR The specified node is not a master");
  std::vector<std::string> members = view.members(*shard);
  std::erase(members, id);
  call.reply().array(members.size());
  for (const std::string& member : members) call.reply().bulk(node_line(cluster, member));
}

void links(ServerCall& call, Cluster& cluster) {
  call.reply().array(cluster.links().count());
  for (const std::string& node : cluster.links().nodes()) {
    call.reply().map(2);
    call.reply().bulk("direction");
    call.reply().bulk("to");
    call.reply().bulk("node");
    call.reply().bulk(node);
  }
}

// Where keys of the slot are. Those of slots that have gone do not count, and those of slots that
// have come may not be merged yet. A node of no shard shows what it has.
std::vector<int> databases_with(const Cluster& cluster, HashSlot slot) {
  const ShardMachine* const machine = cluster.node().machine();
  if (machine == nullptr) return {0};
  if (!machine->record().slots.contains(slot)) return {};
  return {0, kStagingDatabase};
}

void countkeysinslot(ServerCall& call, Cluster& cluster) {
  const auto slot = read_slot(call, 2);
  if (!slot) return;
  std::size_t count = 0;
  for (const int database : databases_with(cluster, *slot)) {
    count += call.keyspace()[database].stored_in_hash_slot(*slot);
  }
  call.reply().integer(static_cast<std::int64_t>(count));
}

void getkeysinslot(ServerCall& call, Cluster& cluster) {
  const auto slot = read_slot(call, 2);
  if (!slot) return;
  const auto count = call.integer(3, 0, INT64_MAX, "ERR Invalid number of keys");
  if (!count) return;
  std::vector<std::string_view> keys;
  for (const int database : databases_with(cluster, *slot)) {
    const std::size_t left = static_cast<std::size_t>(*count) - keys.size();
    const auto found = call.keyspace()[database].keys_in_hash_slot(call.context(), *slot, left);
    keys.insert(keys.end(), found.begin(), found.end());
  }
  call.reply().array(keys.size());
  for (const std::string_view key : keys) call.reply().bulk(key);
}

void no_failure_reports(ServerCall& call, Cluster&) { call.reply().integer(0); }

// Records are in etcd, and epochs are raised by takeovers: there is nothing to do.
void accept(ServerCall& call, Cluster&) { call.reply().ok(); }

// ---- Messages between nodes ----

void pulse(ServerCall& call, Cluster& cluster) {
  const auto pulse = read_pulse(call.words());
  if (!pulse) return call.fail("ERR wrong CLUSTER PULSE");
  if (cluster.node().is_beyond_log(*pulse)) {
    call.server.log.warning(
        "Closing {}: its CLUSTER PULSE names offset {}, which is beyond the end of the log ({})",
        call.client.link().address(), pulse->message.offset, cluster.node().log_end());
    return call.client.link().close_now("an offset beyond the end of the log");
  }
  const auto answer = cluster.node().pulsed(*pulse);
  cluster.begin_turn();  // the promise may be the one that was missing
  answer ? write_reply(call.reply(), *answer) : call.reply().null();
}

void canvass(ServerCall& call, Cluster& cluster) {
  const auto canvass = read_canvass(call.words());
  if (!canvass) return call.fail("ERR wrong CLUSTER CANVASS");
  const auto answer = cluster.node().canvassed(*canvass);
  answer ? write_reply(call.reply(), *answer) : call.reply().null();
}

void publish(ServerCall& call, Cluster&) {
  call.reply().integer(
      static_cast<std::int64_t>(call.server.pubsub.publish(call.word(2), call.word(3))));
}

// What asks the records only is answered while data is loaded: a replica is told of its cluster,
// and its clients of the map, before it has the data.
constexpr std::uint64_t kOfRecords = flag::loading | flag::stale;
constexpr std::uint64_t kClusterAdmin = flag::admin | flag::stale | flag::no_async_loading;
constexpr std::uint64_t kRecordsAdmin = kClusterAdmin | flag::loading;
// They wait for etcd and reply later: not within MULTI or a script, whose replies are due at once.
constexpr std::uint64_t kWaits = flag::noscript | flag::no_multi;
constexpr std::uint64_t kNodeMessage =
    kClusterAdmin | flag::noscript | flag::loading | flag::unpaused | flag::allow_busy;

constexpr Command row(std::string_view name, Handler handler, int arity, std::uint64_t flags,
                      std::string_view summary, std::string_view syntax = {}) {
  return {name, handler, arity, flags, {}, "cluster", "3.0.0", syntax, summary, {}, "cluster"};
}

constexpr Command kClusterRows[] = {
    row("keyslot", cluster_keyslot, 3, kOfRecords, "Returns the slot of a key.", "key"),
    row("help", reply_help, 2, kOfRecords, "Prints this help."),
    row("info", in_cluster<info>, 2, kOfRecords,
        "Returns the state of the cluster and of this node."),
    row("nodes", in_cluster<nodes>, 2, kOfRecords, "Returns the nodes of the cluster, one a line."),
    row("slots", in_cluster<slots>, 2, kOfRecords, "Returns which nodes serve which slots."),
    row("shards", in_cluster<shards>, 2, kOfRecords,
        "Returns the shards with their slots and nodes."),
    row("links", in_cluster<links>, 2, kOfRecords, "Returns the connections to other nodes."),
    row("myid", in_cluster<myid>, 2, kOfRecords, "Returns the id of this node."),
    row("myshardid", in_cluster<myshardid>, 2, kOfRecords,
        "Returns the id of the shard of this node."),
    row("countkeysinslot", in_cluster<countkeysinslot>, 3, flag::stale,
        "Returns how many keys a slot has.", "slot:int"),
    row("getkeysinslot", in_cluster<getkeysinslot>, 4, flag::stale, "Returns keys of a slot.",
        "slot:int count:int"),
    row("replicas", in_cluster<replicas>, 3, kRecordsAdmin, "Returns the replicas of a primary.",
        "node-id"),
    row("slaves", in_cluster<replicas>, 3, kRecordsAdmin, "REPLICAS by its old name.", "node-id"),
    row("count-failure-reports", in_cluster<no_failure_reports>, 3, kRecordsAdmin,
        "Returns 0: nodes do not report each other.", "node-id"),
    row("addslots", in_cluster<cluster_addslots>, -3, kClusterAdmin | kWaits,
        "Gives slots to the shard of this node.", "slot:int..."),
    row("addslotsrange", in_cluster<cluster_addslotsrange>, -4, kClusterAdmin | kWaits,
        "Gives ranges of slots to the shard of this node.", "(start-slot:int end-slot:int)..."),
    row("delslots", in_cluster<cluster_no_delslots>, -3, kClusterAdmin,
        "Is refused: slots always have an owner.", "slot:int..."),
    row("delslotsrange", in_cluster<cluster_no_delslots>, -4, kClusterAdmin,
        "Is refused: slots always have an owner.", "(start-slot:int end-slot:int)..."),
    row("flushslots", in_cluster<cluster_no_delslots>, 2, kClusterAdmin,
        "Is refused: slots always have an owner."),
    row("setslot", in_cluster<cluster_no_setslot>, -4, kClusterAdmin,
        "Is refused: slots are moved by `mayfly cluster reshard`.",
        "slot:int state:(IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)"),
    row("bumpepoch", in_cluster<accept>, 2, kRecordsAdmin, "Does nothing: takeovers raise epochs."),
    row("set-config-epoch", in_cluster<accept>, 3, kRecordsAdmin,
        "Does nothing: takeovers raise epochs.", "config-epoch:int"),
    row("meet", in_cluster<cluster_meet>, -4, kRecordsAdmin | kWaits,
        "Takes a node into the cluster.", "ip port:int [cluster-bus-port:int]"),
    row("forget", in_cluster<cluster_forget>, 3, kRecordsAdmin | kWaits,
        "Takes a node out of the cluster.", "node-id"),
    row("replicate", in_cluster<cluster_replicate>, 3, kClusterAdmin | kWaits,
        "Makes this node a replica of a primary.", "node-id"),
    row("failover", in_cluster<cluster_failover>, -2, kClusterAdmin | kWaits,
        "Makes this replica the primary of its shard.", "[mode:(FORCE | TAKEOVER)]"),
    row("reset", in_cluster<cluster_reset>, -2, kClusterAdmin | kWaits,
        "Takes this node out of the cluster.", "[mode:(HARD | SOFT)]"),
    row("saveconfig", in_cluster<accept>, 2, kRecordsAdmin, "Does nothing: records are in etcd."),
    row("pulse", in_cluster<pulse>, 12, kNodeMessage,
        "Sent by replicas: they are there, and promise not to take over.",
        "shard epoch:int node-id incarnation history offset:int token:int own:int wall:int "
        "leaves:int"),
    row("canvass", in_cluster<canvass>, 9, kNodeMessage,
        "Sent by a replica that wants to take over.",
        "shard version:int epoch:int node-id incarnation offset:int token:int"),
    row("migrateslots", in_cluster<cluster_migrateslots>, -7, kClusterAdmin | kWaits,
        "Moves slots of this node to other primaries.",
        "(SLOTSRANGE (start-slot:int end-slot:int)... NODE node-id)..."),
    row("getslotmigrations", in_cluster<cluster_getslotmigrations>, 2, kRecordsAdmin,
        "Returns the moves of slots from and to this shard."),
    row("cancelslotmigrations", in_cluster<cluster_cancelslotmigrations>, 2, kClusterAdmin | kWaits,
        "Cancels the moves of slots from this shard."),
    row("import", in_cluster<cluster_import>, -4, kNodeMessage,
        "Sent by the source of a move of slots.", "message job [argument]..."),
    row("handover", in_cluster<cluster_handover>, 3, kNodeMessage,
        "Sent by a replica: it wants to take over as planned.", "node-id"),
    row("publish", in_cluster<publish>, 4, kNodeMessage | flag::pubsub,
        "Sent by nodes: a message for the subscribers of this one.", "channel message"),
};

// clang-format off
constexpr Command kClusterCommands[] = {
    {"cluster", nullptr, -2, 0, {}, "cluster", "3.0.0", "", "Shows and changes the cluster.",
     kClusterRows},
    {"readonly", set_readonly<true>, 1, flag::loading | flag::stale | flag::fast, {}, "connection",
     "3.0.0", "", "Lets a replica of a cluster answer reads."},
    {"readwrite", set_readonly<false>, 1, flag::loading | flag::stale | flag::fast, {},
     "connection", "3.0.0", "", "Undoes READONLY."},
    {"asking", in_cluster<accept>, 1, flag::fast, {}, "connection", "3.0.0", "",
     "Does nothing: slots move at once, and ASK is never sent."},
};
// clang-format on

}  // namespace

std::span<const Command> cluster_commands() { return kClusterCommands; }

}  // namespace mayfly
