// SPDX-License-Identifier: Apache-2.0
// Commands about replicas and primaries: REPLICAOF, PSYNC, REPLCONF, ROLE, WAIT, FAILOVER.

#include <fmt/format.h>

#include "commands/words.h"
#include "resp/numbers.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/replication/primary_link.h"
#include "server/replication/replconf/replica_options.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

ReplicaState& replica_state(Client& client) {
  if (!client.replica) client.replica = std::make_unique<ReplicaState>();
  return *client.replica;
}

void replicaof(Call& call) {
  ServerCall& here = server_call(call);
  Replication& replication = here.server.replication;
  if (replication.failover().state() != Failover::State::none) {
    return call.fail("ERR REPLICAOF not allowed while failing over.");
  }
  if (call.is(1, "no") && call.is(2, "one")) {
    replication.follow_nobody();
    replication.last_role().note();
    return call.reply().ok();
  }
  if (here.client.is_attached_replica()) {
    return call.fail("ERR Command is not valid when client is a replica.");
  }
  const auto port = parse_integer(call.word(2));
  if (!port || *port < 0 || *port > 65'535) return call.fail("ERR Invalid master port");
  const std::string host(call.word(1));
  const PrimaryLink* const primary = replication.primary();
  if (primary != nullptr && primary->host() == host && primary->port() == *port) {
    return call.reply().simple("OK Already connected to specified master");
  }
  replication.follow(host, static_cast<int>(*port));
  replication.last_role().note();
  call.reply().ok();
}

// Whether a replica can be served; if not, the reply is an error. Messages to such a client would
// come into the middle of the stream.
bool can_serve(ServerCall& call) {
  Replication& replication = call.server.replication;
  const PrimaryLink* const primary = replication.primary();
  const bool can_relay = primary != nullptr && primary->is_up() && replication.cluster() == nullptr;
  if (replication.is_replica() && !can_relay) {
    call.fail("NOMASTERLINK Can't SYNC while not connected with my master");
    return false;
  }
  if (call.client.transaction.is_open || call.client.is_subscriber() ||
      call.client.options.is_monitor || call.client.tracking) {
    call.fail("ERR SYNC or PSYNC cannot be used here");
    return false;
  }
  return true;
}

// PSYNC ... FAILOVER: the primary asks this replica to take over.
bool take_over(ServerCall& call) {
  Replication& replication = call.server.replication;
  if (!replication.is_replica()) {
    call.fail("ERR PSYNC FAILOVER can't be sent to a master.");
    return false;
  }
  if (call.word(1) != replication.stream().ids().id) {
    call.fail("ERR PSYNC FAILOVER replid must match my replid.");
    return false;
  }
  replication.follow_nobody();
  replication.last_role().note();
  return true;
}

void psync(Call& call) {
  ServerCall& here = server_call(call);
  Client& client = here.client;
  if (client.is_attached_replica()) return;
  if (call.count() > 3 && call.is(3, "failover")) {  // other words are ignored
    if (!take_over(here)) return;
  } else if (here.server.replication.failover().state() != Failover::State::none) {
    return call.fail("NOMASTERLINK Can't SYNC while failing over");
  }
  if (!can_serve(here)) return;
  const auto offset = call.integer(2);
  if (!offset) return;
  replica_state(client);
  here.server.replication.replicas().synchronise(client, call.word(1), *offset);
}

// SYNC: of replicas that do not know replication ids.
void sync(Call& call) {
  ServerCall& here = server_call(call);
  if (here.client.is_attached_replica()) return;
  if (!can_serve(here)) return;
  replica_state(here.client).is_old = true;
  here.server.replication.replicas().synchronise_fully(here.client);
}

// REPLCONF ACK offset [FACK offset]: there is no reply.
void replconf_ack(ServerCall& call) {
  if (!call.client.is_attached_replica()) return;
  const auto offset = parse_integer(call.word(2));
  const bool has_aof = call.count() == 5 && call.is(3, "fack");
  const auto aof_offset = has_aof ? parse_integer(call.word(4)) : std::nullopt;
  if (!offset || *offset < 0) return;
  call.server.replication.replicas().acknowledged(
      call.client, static_cast<std::uint64_t>(*offset),
      static_cast<std::uint64_t>(std::max<std::int64_t>(aof_offset.value_or(0), 0)),
      call.server.clock.now());
}

void replconf(Call& call) {
  ServerCall& here = server_call(call);
  if (call.is(1, "ack") && call.count() >= 3) return replconf_ack(here);
  if (call.is(1, "getack")) {
    if (here.client.is_primary) here.server.replication.primary()->ask_for_ack();
    return;
  }
  if (call.count() % 2 == 0) return call.fail_syntax();
  ReplicaState& replica = replica_state(here.client);
  for (std::size_t i = 1; i + 1 < call.count(); i += 2) {
    const Status set = set_replica_option(replica, call.word(i), call.word(i + 1));
    if (!set) return call.fail(set.error().message);
  }
  call.reply().ok();
}

void role(Call& call) {
  Replication& replication = parts_of(call).replication;
  if (const PrimaryLink* const primary = replication.primary()) {
    static constexpr std::string_view kStates[] = {"connect", "connecting", "handshake",
                                                   "sync",    "sync",       "connected"};
    call.reply().array(5);
    call.reply().bulk("slave");
    call.reply().bulk(primary->host());
    call.reply().integer(primary->port());
    call.reply().bulk(kStates[static_cast<std::size_t>(primary->state())]);
    call.reply().integer(primary->is_up() || replication.stream().is_open()
                             ? static_cast<std::int64_t>(replication.stream().log().end())
                             : -1);
    return;
  }
  std::vector<const Client*> online;
  for (const Client* const one : replication.replicas().all()) {
    if (one->replica->is_online()) online.push_back(one);
  }
  call.reply().array(3);
  call.reply().bulk("master");
  call.reply().integer(static_cast<std::int64_t>(replication.stream().log().end()));
  call.reply().array(online.size());
  for (const Client* const one : online) {
    call.reply().array(3);
    call.reply().bulk(replica_host(*one));
    call.reply().bulk_integer(one->replica->port);
    call.reply().bulk_integer(static_cast<std::int64_t>(one->replica->acked));
  }
}

// When to stop waiting; 0 milliseconds: no limit.
std::optional<Time> end_of_wait(Call& call, std::size_t word) {
  const auto timeout =
      call.integer(word, INT64_MIN, INT64_MAX, "ERR timeout is not an integer or out of range");
  if (!timeout) return std::nullopt;
  if (*timeout < 0) {
    call.fail("ERR timeout is negative");
    return std::nullopt;
  }
  if (*timeout == 0) return kNever;
  const Time until = deadline_after(parts_of(call).clock.now(), Millis(*timeout));
  if (until == kNever) {
    call.fail("ERR timeout is out of range");
    return std::nullopt;
  }
  return until;
}

void wait(Call& call) {
  ServerCall& here = server_call(call);
  if (here.server.replication.is_replica()) {
    return call.fail(
        "ERR WAIT cannot be used with replica instances. Please also note that since "
        "Redis 4.0 if a replica is configured to be writable (which is not the "
        "default) writes to replicas are just local and are not propagated.");
  }
  const auto replicas = call.integer(1);
  if (!replicas) return;
  const auto until = end_of_wait(call, 2);
  if (!until) return;
  Wait wait;
  wait.offset = here.client.written.log;
  wait.replicas = std::max<std::int64_t>(*replicas, 0);
  wait.until = *until;
  here.server.replication.waiters().add(here.client, wait,
                                        !here.server.requests.is_in_transaction());
}

void waitaof(Call& call) {
  ServerCall& here = server_call(call);
  const auto local = call.integer(1, 0, 1, "ERR value is out of range, value must between 0 and 1");
  if (!local) return;
  const auto replicas =
      call.integer(2, 0, INT64_MAX, "ERR value is out of range, must be positive");
  if (!replicas) return;
  const auto until = end_of_wait(call, 3);
  if (!until) return;
  if (here.server.replication.is_replica()) {
    return call.fail(
        "ERR WAITAOF cannot be used with replica instances. Please also note that "
        "writes to replicas are just local and are not propagated.");
  }
  if (*local > 0 && !here.server.config.appendonly) {
    return call.fail("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
  }
  Wait wait;
  wait.offset = here.client.written.log;
  wait.aof_offset = here.client.written.aof;
  wait.replicas = *replicas;
  wait.local = *local;
  wait.is_aof = true;
  wait.until = *until;
  here.server.replication.waiters().add(here.client, wait,
                                        !here.server.requests.is_in_transaction());
}

// Reads the options of FAILOVER; false after an error reply.
bool read_plan(Call& call, FailoverPlan& plan, bool& aborts) {
  for (std::size_t i = 1; i < call.count(); ++i) {
    if (call.is(i, "abort")) {
      aborts = true;
    } else if (call.is(i, "force")) {
      plan.is_forced = true;
    } else if (call.is(i, "timeout") && i + 1 < call.count()) {
      const auto timeout = call.integer(++i);
      if (!timeout) return false;
      if (*timeout <= 0) {
        call.fail("ERR FAILOVER timeout must be greater than 0");
        return false;
      }
      plan.until = deadline_after(call.now(), Millis(*timeout));
    } else if (call.is(i, "to") && i + 2 < call.count()) {
      plan.host = call.word(i + 1);
      const auto port = call.integer(i + 2);
      if (!port) return false;
      plan.port = *port;
      i += 2;
    } else {
      call.fail_syntax();
      return false;
    }
  }
  return true;
}

void failover(Call& call) {
  FailoverPlan plan;
  bool aborts = false;
  if (!read_plan(call, plan, aborts)) return;
  Failover& failover = parts_of(call).replication.failover();
  if (aborts && call.count() > 2) return call.fail_syntax();
  if (plan.is_forced && (plan.until == kNever || plan.host.empty())) {
    return call.fail(
        "ERR FAILOVER with force option requires both a timeout and target HOST and "
        "IP options.");
  }
  const Status status = aborts ? failover.abort() : failover.begin(plan);
  if (!status) return call.fail(status.error().message);
  call.reply().ok();
}

constexpr std::uint64_t kReplicationFlags = flag::loading | flag::stale;
constexpr std::uint64_t kReplicationAdmin = flag::admin | flag::noscript;
constexpr std::uint64_t kSyncFlags = kReplicationAdmin | flag::no_async_loading;
constexpr std::uint64_t kRoleFlags = kSyncFlags | flag::stale | flag::not_in_cluster;

// clang-format off
constexpr Command kReplicationCommands[] = {
    {"replicaof", replicaof, 3, kRoleFlags, {}, "server", "5.0.0",
     "primary:((host port:int) | (NO ONE))",
     "Makes the server a replica of another one, or a primary."},
    {"slaveof", replicaof, 3, kRoleFlags, {}, "server", "1.0.0",
     "primary:((host port:int) | (NO ONE))", "REPLICAOF by its old name."},
    {"psync", psync, -3, kSyncFlags | flag::no_multi, {}, "server", "2.8.0",
     "replicationid offset:int [FAILOVER]",
     "Sent by replicas: asks for the stream of writes from an offset on, or for all data."},
    {"sync", sync, 1, kSyncFlags | flag::no_multi, {}, "server", "1.0.0", "",
     "PSYNC of old replicas."},
    {"replconf", replconf, -1, kReplicationAdmin | kReplicationFlags | flag::allow_busy |
     flag::from_primary, {}, "server", "3.0.0", "[(option value)...]",
     "Sent by replicas: their address, what they support, and their offset."},
    {"role", role, 1, kReplicationFlags | flag::fast | flag::noscript | flag::dangerous, {},
     "server", "2.8.12", "", "Returns the role of the server in replication."},
    {"wait", wait, 3, flag::blocking, {}, "generic", "3.0.0",
     "numreplicas:int timeout:int", "Waits until replicas have all writes of this client."},
    {"waitaof", waitaof, 4, flag::blocking, {}, "generic", "7.2.0",
     "numlocal:int numreplicas:int timeout:int",
     "Waits until all writes of this client are on disk, here or at replicas."},
    {"failover", failover, -1, kReplicationAdmin | flag::stale | flag::not_in_cluster,
     {}, "server", "6.2.0",
     "[TO host port:int [FORCE]] [ABORT] [TIMEOUT milliseconds:int]",
     "Hands over to a replica without losing a write."},
};
// clang-format on

}  // namespace

std::span<const Command> replication_commands() { return kReplicationCommands; }

}  // namespace mayfly
