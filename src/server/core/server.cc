// SPDX-License-Identifier: Apache-2.0
// Making the parts of a server, and calling them in every turn of the loop.

#include "server/core/server.h"

#include <algorithm>
#include <random>

#include "keyspace/members/packed_view.h"
#include "server/blocking/key_waiters.h"
#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/core/key_events.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/expiry/expiry_log.h"
#include "server/http/http_server.h"
#include "server/migration/migration_targets.h"
#include "server/monitoring/command_log.h"
#include "server/monitoring/info.h"
#include "server/monitoring/latency.h"
#include "server/monitoring/memory.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/propagation.h"
#include "server/replication/replication.h"
#include "server/replication/replication_stream.h"
#include "server/scripting/scripting.h"
#include "server/tracking/tracking.h"
#include "server/transactions/watches.h"

namespace mayfly {
namespace {

constexpr Millis kPeriod{100};                      // of periodic tasks
constexpr Millis kInfoPeriod{10'000};               // of the INFO in a crash report
constexpr std::size_t kLookAheadMemory = 16 << 20;  // less data is in the processor's cache

KeyspaceOptions keyspace_options(const Config& config) {
  std::random_device device;
  KeyspaceOptions options;
  // In a cluster clients use database 0 only; the second one has keys of slots that are imported.
  options.databases = config.cluster_enabled ? 2 : static_cast<int>(config.databases);
  if (config.cluster_enabled) {
    options.hash_slot_of = &hash_slot;
    options.staging = kStagingDatabase;
  }
  options.seed = std::uint64_t{device()} << 32 | device();
  return options;
}

CommandTable all_commands() {
  CommandTable table;
  for (const auto rows : data_commands()) table.add(rows);
  for (const auto rows : {connection_commands(), client_commands(),  transaction_commands(),
                          pubsub_commands(),     server_commands(),  persistence_commands(),
                          dump_commands(),       migrate_commands(), replication_commands(),
                          config_commands(),     command_commands(), command_log_commands(),
                          latency_commands(),    memory_commands(),  debug_commands(),
                          ttl_commands(),        acl_commands(),     script_commands(),
                          function_commands(),   cluster_commands(), ttlpolicy_commands()}) {
    table.add(rows);
  }
  return table;
}

}  // namespace

// A part may refer to parts that are made later, as it uses them only when all are there. In the
// order of destruction, from the last to the first, no part uses one that is gone.
struct Server::State {
  State(Server& server, const Clock& clock, Config given, Log& log, ServerHost& host)
      : config(std::move(given)),
        context{clock, now, config, log, host},
        storage{context, keyspace, stats, background, loading, stream, scripting},
        parts{context,
              commands,
              keyspace,
              events,
              stats,
              command_logs,
              latency,
              pubsub,
              watches,
              pauses,
              propagation,
              background,
              loading,
              clients,
              blocked,
              key_waiters,
              expiry_log,
              reclaimer,
              requests,
              persistence,
              replication,
              cluster,
              migration_targets,
              scripting,
              tracking,
              http,
              run_id,
              [&server] { server.apply_config(); }},
        tracking(config, clients),
        background(context, latency),
        stream(propagation),
        local_expiries(keyspace),
        events(context, keyspace, stats, watches, key_waiters, pubsub, tracking, propagation,
               loading, stream, local_expiries, expiry_log),
        keyspace(keyspace_options(config), events),
        expiry_log(context, keyspace, stats, events, propagation, loading, stream),
        reclaimer(context, keyspace, stats, latency, pauses, loading, stream, expiry_log, cluster,
                  persistence, replication),
        requests(parts, events, pauses),
        blocked(requests),
        key_waiters(keyspace, pauses, loading, reclaimer, requests, blocked),
        clients(context, stats, pauses, stream, requests,
                [this] {  // maxmemory may have been lowered. In a transaction time stands still:
                          // the next write makes room.
                  if (!requests.is_in_transaction()) reclaimer.make_room();
                }),
        persistence(storage, propagation, clients, events, replication, requests,
                    [this] { return std::make_unique<AofReplay>(parts, events); }),
        replication(storage, pauses, clients, blocked, events, local_expiries, persistence.aof()),
        cluster(parts),
        scripting(parts),
        http(parts) {}

  Time now{};
  Config config;
  const ServerContext context;
  const StorageContext storage;
  const ServerParts parts;
  const std::string run_id = random_id();
  const CommandTable commands = all_commands();
  Stats stats;
  CommandLogs command_logs;
  Latency latency;
  Pauses pauses;
  PubSub pubsub;
  Tracking tracking;
  Watches watches;
  Propagation propagation;
  Loading loading;
  Background background;
  ReplicationStream stream;
  LocalExpiries local_expiries;
  KeyEvents events;
  Keyspace keyspace;
  ExpiryLog expiry_log;
  Reclaimer reclaimer;
  Requests requests;
  BlockedClients blocked;
  KeyWaiters key_waiters;
  Clients clients;
  Persistence persistence;
  Replication replication;
  Cluster cluster;
  MigrationTargets migration_targets{context.host};
  Scripting scripting;
  HttpServer http;

  Time next_periodic = Time::min();
  Time next_info = Time::min();  // that is kept for a crash report
  bool is_woken = false;         // under a script: notices of the register wait

  void run_periodic();
  void sample_rates();
};

Server::Server(const Clock& clock, Config config, Log& log, ServerHost& host)
    : state_(std::make_unique<State>(*this, clock, std::move(config), log, host)) {
  state_->stats.started = clock.now();
  state_->stats.memory_startup = used_memory();
  state_->now = state_->stats.started;
  apply_config();
}

Server::~Server() = default;

const ServerParts& Server::parts() const { return state_->parts; }

std::unique_ptr<Peer> Server::accept(Link& link) { return state_->clients.accept(link); }

std::unique_ptr<Peer> Server::accept_http(Link& link) { return state_->http.accept(link); }

void Server::apply_config() {
  const Config& config = state_->config;
  KeyspaceOptions& options = state_->keyspace.options();
  const auto limits = [](std::int64_t members, std::int64_t text_bytes) {
    return PackedLimits{std::min(static_cast<std::size_t>(members), kPackedMembersMax),
                        static_cast<std::size_t>(text_bytes)};
  };
  options.packed_hash = limits(config.hash_max_listpack_entries, config.hash_max_listpack_value);
  options.packed_set = limits(config.set_max_listpack_entries, config.set_max_listpack_value);
  options.packed_zset = limits(config.zset_max_listpack_entries, config.zset_max_listpack_value);
  options.intset_members = static_cast<std::size_t>(config.set_max_intset_entries);
  options.list_limits.fill = static_cast<int>(config.list_max_listpack_size);
  options.stream_limits = {config.stream_node_max_bytes,
                           static_cast<std::size_t>(config.stream_node_max_entries)};
  options.hll_sparse_max_bytes = config.hll_sparse_max_bytes;
  options.stale_lease = Millis(config.stale_lease_ms);
  options.uses_lfu = uses_lfu(config.maxmemory_policy);
  options.string_bytes_max = config.proto_max_bulk_len;
  state_->context.log.set_level(parse_level(config.loglevel));
  // In a transaction time stands still, and it may yet pause the server: room is made later.
  if (!state_->requests.is_in_transaction()) state_->reclaimer.make_room();
  state_->clients.apply_config();
  state_->command_logs.trim(config);
  state_->persistence.apply_config();
  state_->scripting.apply_config();
  state_->cluster.apply_config();
  state_->expiry_log.apply_config();
  state_->context.host.report_crashes(config.crash_log_enabled);
}

// Not under a script that runs for long: its writes are a unit of one role and one history.
void Server::wake() {
  state_->is_woken = state_->requests.is_in_transaction();
  if (!state_->is_woken) state_->cluster.deliver();
}

void Server::begin_turn() {
  state_->now = state_->context.clock.now();
  state_->cluster.begin_turn();
  if (!state_->loading.is_active()) return state_->reclaimer.run_slice();
  // The old data is freed first: else both would be in memory at the same time.
  state_->keyspace.lazy_free().is_empty() ? state_->loading.slice(state_->config.key_load_delay)
                                          : state_->reclaimer.free_for_loading();
}

Millis Server::before_sleep() {
  State& state = *state_;
  if (state.requests.is_unit_abandoned()) return kPeriod;  // the loop ends
  const Time now = state.now = state.context.clock.now();
  if (state.is_woken) wake();
  state.clients.update_pauses();
  state.clients.resume_logins(now);
  state.background.poll();
  state.replication.before_sleep(now);
  state.cluster.before_sleep();
  state.key_waiters.serve();
  state.persistence.before_sleep(now);  // late, since the steps before may have written something
  state.replication.waiters().check();
  state.blocked.end_overdue(now);
  if (is_due(state.next_periodic, now)) {
    if (!state.config.pauses_periodic) state.run_periodic();
    state.next_periodic = now + kPeriod;
  }
  state.tracking.before_sleep();  // the steps before may have changed, expired or evicted something
  state.clients.evict();
  state.cluster.check_replies();
  if (state.loading.is_active() || state.reclaimer.has_backlog() || state.key_waiters.can_serve()) {
    return Millis(0);
  }
  const Time next =
      std::min({state.next_periodic, state.blocked.next_timeout(), state.reclaimer.next_deadline(),
                state.pauses.next_end(), state.clients.next_login()});
  return std::min(remaining(next, now), state.cluster.longest_sleep());
}

void Server::State::run_periodic() {
  const std::size_t memory = used_memory();
  stats.memory_peak = std::max<std::uint64_t>(stats.memory_peak, memory);
  requests.set_looks_ahead(memory > kLookAheadMemory);
  sample_rates();
  if (is_due(next_info, now)) {
    context.host.keep_info(info_text(parts, {}));
    next_info = now + kInfoPeriod;
  }
  clients.run_periodic(now);
  http.run_periodic(now);
  reclaimer.make_room();  // maxmemory may have been lowered during a pause
  migration_targets.close_idle(now);
  expiry_log.run_periodic();
}

void Server::State::sample_rates() {
  const double seconds = std::chrono::duration<double>(kPeriod).count();
  const SentBytes sent = sent_bytes(parts);
  const LoopCounts loop = context.host.loop_counts();
  stats.rates.commands.sample(stats.commands, seconds);
  stats.rates.bytes_in.sample(stats.bytes_in, seconds);
  stats.rates.bytes_out.sample(sent.all, seconds);
  stats.rates.replication_bytes_in.sample(stats.replication_bytes_in, seconds);
  stats.rates.replication_bytes_out.sample(sent.to_replicas, seconds);
  stats.rates.turns.sample(loop.turns, seconds);
  stats.rates.busy_ns.sample(loop.busy_ns, seconds);
}

}  // namespace mayfly
