// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/slot_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "resp/reply.h"
#include "server/cluster/cluster.h"
#include "server/cluster/moves/slot_moves.h"
#include "server/core/clients.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr Millis kAckSoon{5};  // if there is something new
constexpr Millis kAckInterval{100};
constexpr std::size_t kMarksMost = 4096;

}  // namespace

SlotImport::SlotImport(const ServerParts& parts, Begin begin, Client& client, std::uint64_t number)
    : parts_(parts),
      begin_(std::move(begin)),
      client_(client.id()),
      number_(number),
      machine_(*this) {
  client.is_import = true;
  client.select(SlotStaging::kDatabase);
  client.options.reply_mode = ReplyMode::off;
  last_received_ = steady_now();
  machine_.begin(parts.cluster.node().machine()->version());
  Reply(client.messages(), client.protocol()).simple("BEGUN");
}

Time SlotImport::steady_now() const { return parts_.host.lease_clock().now(); }

void SlotImport::last(Time now) {
  // A successor inherits it, and may be the one to show the keys.
  const Millis most(parts_.config.cluster_max_clock_difference);
  parts_.host.raise_clock(std::min(now, parts_.clock.now() - parts_.host.clock_ahead() + most));
  needed_ = parts_.replication.stream().log().end();
  awaits_safety_ = true;
}

// ---- Acknowledging ----

void SlotImport::before_sleep() {
  const Time now = steady_now();
  machine_.tick(now);
  Client* const client = parts_.clients.find(client_);
  if (is_over() || client == nullptr || client->link().closing()) return;
  acknowledge(*client);
  if (awaits_safety_ && is_safe()) {
    awaits_safety_ = false;
    machine_.safe();
  }
  const Millis timeout = std::chrono::seconds(parts_.config.repl_timeout);
  if (is_due(last_received_ + timeout, now)) {
    client->link().close_now("the move has been silent for too long");
  }
}

// Whether all that came is held by the in-sync set.
bool SlotImport::is_safe() const {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (machine == nullptr || !parts_.cluster.is_serving()) return false;
  // What was safe at the source must be safe here: it waits for a set that was lost meanwhile.
  if (!machine->has_set()) return !begin_.needs_set;
  return machine->safe_offset() >= needed_;
}

void SlotImport::acknowledge(Client& client) {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (machine == nullptr) return;
  const std::uint64_t applied = client.import_bytes;
  const std::uint64_t log_end = parts_.replication.stream().log().end();
  const Time now = steady_now();
  if (applied != (marks_.empty() ? safe_ : marks_.back().applied)) {
    last_received_ = now;
    if (marks_.size() >= kMarksMost) marks_.pop_back();
    marks_.push_back({applied, log_end});
  }
  while (!marks_.empty() &&
         (!machine->has_set() || marks_.front().log_end <= machine->safe_offset())) {
    safe_ = marks_.front().applied;
    marks_.pop_front();
  }
  const bool is_new = applied != told_applied_ || safe_ != told_safe_;
  if (!is_due(next_ack_ - (is_new ? kAckInterval - kAckSoon : Millis(0)), now)) return;
  told_applied_ = applied;
  told_safe_ = safe_;
  next_ack_ = now + kAckInterval;
  Reply(client.messages(), client.protocol()).simple(fmt::format("ACK {} {}", applied, safe_));
}

// A set that has changed may not have all of it: then it is said when it has.
void SlotImport::send_ready(std::uint64_t version) {
  Client* const client = parts_.clients.find(client_);
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (client == nullptr || machine == nullptr) return;
  awaits_safety_ = !is_safe() || machine->version() != version;
  if (awaits_safety_) return;
  ready_since_ = steady_now();
  Reply reply(client->messages(), client->protocol());
  reply.array(4);
  reply.bulk("READY");
  reply.bulk(begin_.job);
  reply.bulk(std::to_string(version));
  reply.bulk(to_text(machine->record()));
}

// ---- The end ----

// REQUIRES: this server is the primary, by its record.
void SlotImport::record_changed() {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (machine == nullptr || machine->record().primary != parts_.cluster.node().self()) return;
  machine_.record_seen(machine->version(), machine->record().slots.contains(begin_.slots));
}

void SlotImport::closed() {
  if (!is_over() && !machine_.state().is_told) {
    parts_.log.warning("Cluster: move {}: the connection of the source has ended", begin_.job);
  }
  machine_.broken(steady_now());
}

void SlotImport::raise(std::uint64_t version) {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  Cluster& cluster = parts_.cluster;
  const std::string key = shard_key(cluster.node().shard());
  const std::string text = to_text(machine->record());
  cluster.reg()->commit({.compares = {{key, version}}, .puts = {{key, text}}},
                        [&cluster, key, text, number = number_](const CommitAnswer& answer) {
                          if (answer.outcome == CommitOutcome::done) {
                            (void)cluster.view().apply(RegisterEntry{key, text, answer.version});
                          } else if (answer.outcome == CommitOutcome::refused) {
                            (void)cluster.view().apply(answer.current);
                          }
                          SlotImport* const self = cluster.moves().find_import(number);
                          if (self != nullptr) self->raised(answer);
                          cluster.records_changed();
                        });
}

void SlotImport::raised(const CommitAnswer& answer) {
  const ClusterShard* const own = parts_.cluster.view().shard(parts_.cluster.node().shard());
  if (own == nullptr || own->record.primary != parts_.cluster.node().self()) return;
  machine_.committed(answer.outcome, own->version, own->record.slots.contains(begin_.slots),
                     steady_now());
}

void SlotImport::fail(std::string_view error) {
  parts_.log.warning("Cluster: move {}: a command of the source failed: {}", begin_.job, error);
  Client* const client = parts_.clients.find(client_);
  if (client == nullptr) return;
  Reply(client->messages(), client->protocol())
      .error(fmt::format("ERR the import failed: {}", error));
  client->close_after_reply();
}

}  // namespace mayfly
