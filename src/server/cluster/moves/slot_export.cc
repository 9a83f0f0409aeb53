// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/slot_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "persist/aof/aof_rewrite.h"
#include "server/cluster/cluster.h"
#include "server/cluster/moves/slot_moves.h"
#include "server/core/requests.h"
#include "server/expiry/expiry_log.h"
#include "server/persistence/background.h"
#include "server/replication/propagation.h"
#include "server/replication/socket_sink.h"

namespace mayfly {
namespace {

constexpr Millis kPingInterval{1000};

}  // namespace

SlotExport::SlotExport(const ServerParts& parts, std::string job, const MoveRecord& move,
                       std::uint64_t number)
    : parts_(parts), job_(std::move(job)), move_(move), number_(number), machine_(*this) {}

SlotExport::~SlotExport() { disconnect(); }

Time SlotExport::steady_now() const { return parts_.host.lease_clock().now(); }

void SlotExport::start() {
  records_changed();
  machine_.start();
}

void SlotExport::records_changed() {
  const ClusterView& view = parts_.cluster.view();
  const auto job = view.moves().find(job_);
  const bool is_there = job != view.moves().end();
  machine_.job_seen(is_there ? job->second.version : 0,
                    is_there && is_active(job->second.record.state));
  const ClusterShard* const own = view.shard(move_.source);
  if (own == nullptr || own->version <= own_.version) return;
  own_ = {own->record, own->version};
  machine_.record_seen(own_.version, own_.record.slots.contains(move_.slots),
                       own_.record.primary == parts_.cluster.node().self());
}

// ---- Snapshot and stream ----

std::uint64_t SlotExport::remaining_bytes() const {
  const std::uint64_t waiting = filter_ ? filter_->size() : 0;
  return sent_ - std::min(safe_, sent_) + waiting;
}

// How many bytes may wait for the target.
std::size_t SlotExport::output_limit() const {
  const std::uint64_t hard = parts_.config.output_replica.hard_bytes;
  return hard == 0 ? SIZE_MAX : hard;
}

void SlotExport::before_sleep() {
  const Time now = steady_now();
  machine_.tick(now);
  if (is_over() || state() == MoveState::commit) return;
  const Millis timeout = std::chrono::seconds(parts_.config.repl_timeout);
  // A target that takes in the snapshot acknowledges it, too.
  if (is_due(last_ack_ + timeout, now)) {
    return machine_.broken("the target has not answered for too long");
  }
  if (filter_ && !filter_->failure().empty()) return machine_.broken(filter_->failure());
  if (is_snapshot_due_) return start_snapshot();
  if (state() == MoveState::stream) stream();
}

void SlotExport::start_snapshot() {
  link_->flush();
  ping();  // a child of another kind may take long, and the target waits
  if (parts_.background.is_busy() || link_->pending() > 0 || link_->closing()) return;
  filter_.emplace(parts_.commands, move_.slots, output_limit(), kExpiryLogKey);
  parts_.propagation.add_sink(*filter_);
  const int socket = link_->fd();
  const Millis timeout = std::chrono::seconds(parts_.config.repl_timeout);
  Database& database = parts_.keyspace[0];
  const SlotFilter& filter = *filter_;
  Cluster& cluster = parts_.cluster;
  const Time now = parts_.clock.now();
  const Status started = parts_.background.start(
      Job::move, now,
      [socket, timeout, now, &database, &filter](const OnChildProgress& progress) -> Status {
        SocketSink sink({socket}, timeout);
        const auto report = [&](const SaveProgress& at) { progress({at.keys, at.bytes, 0}); };
        const Result<SaveProgress> done = write_keys(
            database, sink, now, [&](std::string_view key) { return filter.wants(key); }, report);
        if (!done) return done.error();
        report(*done);
        return Done{};
      },
      [&cluster, number = number_](const Status& ended, const ChildProgress& progress) {
        SlotExport* const self = cluster.moves().find_export(number);
        if (self != nullptr) self->snapshot_ended(ended, progress.keys, progress.bytes);
      },
      {socket});
  is_snapshot_due_ = false;
  if (!started) machine_.broken("cannot start a child: " + started.error().message);
}

void SlotExport::snapshot_ended(const Status& status, std::uint64_t keys, std::uint64_t bytes) {
  if (state() != MoveState::snapshot) return;
  if (!status) return machine_.broken("the snapshot failed: " + status.error().message);
  keys_ = keys;
  sent_ += bytes;
  machine_.sent();
  last_ack_ = steady_now();
  parts_.log.notice("Cluster: move {}: {} keys, {} bytes have been sent", job_, keys, bytes);
  stream();
}

void SlotExport::ping() {
  if (is_due(last_sent_ + kPingInterval, steady_now())) send({"CLUSTER", "IMPORT", "PING", job_});
}

void SlotExport::stream() {
  const std::string bytes = filter_->take_bytes();
  if (!bytes.empty()) {
    sent_ += bytes.size();
    last_sent_ = steady_now();
    link_->send(bytes);
  }
  if (link_->pending() > output_limit()) {
    return machine_.broken(
        "more is written than the target takes (see client-output-buffer-limit, class "
        "replica)");
  }
  ping();
  // Without the register the slots would stand still until it is back.
  const bool can_commit = parts_.cluster.is_serving() && parts_.cluster.reg()->stats().is_connected;
  if (safe_ > 0 && can_commit && !parts_.requests.is_in_transaction()) {
    machine_.streamed(remaining_bytes(), steady_now());
  }
}

// ---- The end ----

// From now on nothing is written to the slots.
void SlotExport::pause_slots() {
  paused_since_ = steady_now();
  parts_.propagation.remove_sink(*filter_);
}

void SlotExport::send_last() {
  send({"CLUSTER", "IMPORT", "LAST", job_,
        std::to_string(parts_.clock.now().time_since_epoch().count())});
  link_->flush();
}

// One that is repeated is the same to the last byte.
void SlotExport::commit(const MoveVersions& versions) {
  if (versions != committed_) {
    const auto& moves = parts_.cluster.view().moves();
    const auto job = moves.find(job_);
    commit_ = move_commit(job_, job == moves.end() ? move_ : job->second.record, own_.record,
                          target_.record, versions);
    committed_ = versions;
  }
  Cluster& cluster = parts_.cluster;
  const std::uint64_t commit = ++commits_;
  cluster.reg()->commit(commit_, [&cluster, commit, number = number_](const CommitAnswer& answer) {
    SlotExport* const self = cluster.moves().find_export(number);
    if (self != nullptr && self->commits_ == commit) self->committed(answer);
  });
}

void SlotExport::committed(const CommitAnswer& answer) {
  Cluster& cluster = parts_.cluster;
  if (answer.outcome == CommitOutcome::unknown) {
    parts_.log.warning("Cluster: move {}: no answer to the commit, which is repeated: {}", job_,
                       answer.error);
  } else if (answer.outcome == CommitOutcome::done) {
    for (const auto& [key, value] : commit_.puts) {
      (void)cluster.view().apply(RegisterEntry{key, value, answer.version});
    }
  } else {
    (void)cluster.view().apply(answer.current);
    const ClusterShard* const own = cluster.view().shard(move_.source);
    if (own != nullptr) own_ = {own->record, own->version};
  }
  machine_.committed(answer.outcome, move_current(job_, move_, cluster.node().self(), answer),
                     steady_now());
  if (answer.outcome != CommitOutcome::unknown) cluster.records_changed();
}

void SlotExport::send_yours() {
  send({"CLUSTER", "IMPORT", "YOURS", job_});
  link_->flush();
  link_->close_after_flush();
}

}  // namespace mayfly
