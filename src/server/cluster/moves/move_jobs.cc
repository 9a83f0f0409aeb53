// SPDX-License-Identifier: Apache-2.0
// Picking up moves from the records, writing down how they go, and taking in those of others.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "commands/words.h"
#include "resp/numbers.h"
#include "server/cluster/cluster.h"
#include "server/cluster/moves/slot_moves.h"
#include "server/core/reclaimer.h"

namespace mayfly {
namespace {

constexpr Millis kAgainAfter{2000};
constexpr std::size_t kOldMovesKept = 16;

}  // namespace

// ---- Jobs of this shard ----

// The oldest job that is not over.
void SlotMoves::pick_up() {
  if (export_ || failure_ || is_recording_ || !parts_.cluster.is_serving() || staging_.is_merging())
    return;
  if (!is_due(next_attempt_, steady_now())) return;
  const ClusterView& view = parts_.cluster.view();
  const std::string* job = nullptr;
  const MoveRecord* move = nullptr;
  for (const auto& [id, versioned] : view.moves()) {
    const MoveRecord& record = versioned.record;
    if (record.source != parts_.cluster.node().shard() || !mayfly::is_active(record.state)) {
      continue;
    }
    if (move == nullptr || record.created < move->created) job = &id, move = &record;
  }
  if (move == nullptr) return;
  MoveRecord next = *move;
  if (own_.contains(move->slots) && move->source != move->target) {
    export_ = std::make_unique<SlotExport>(parts_, *job, *move, ++numbers_);
    export_->start();
    next.state = MoveState::snapshot;
    has_recorded_stream_ = false;
    parts_.log.notice("Cluster: move {}: slots {} to shard {}, attempt {}", *job,
                      move->slots.text(), move->target, move->attempts + 1);
  } else {
    const ClusterShard* const target = view.shard(move->target);
    const bool is_there = target != nullptr && target->record.slots.contains(move->slots);
    next.state = is_there ? MoveState::done : MoveState::failed;
    next.error = is_there ? "" : "the source does not have all of these slots";
  }
  put_move(std::string(*job), next);
}

// For people who look at the records.
void SlotMoves::record_stream() {
  if (has_recorded_stream_ || is_recording_) return;
  has_recorded_stream_ = true;
  const auto& moves = parts_.cluster.view().moves();
  const auto found = moves.find(export_->job());
  if (found == moves.end() || !mayfly::is_active(found->second.record.state)) return;
  MoveRecord record = found->second.record;
  record.state = MoveState::stream;
  record.busy_since = {};
  put_move(export_->job(), record);
}

// Again until it is written: an attempt that ends at once may be faster than the record of its
// beginning. Twice is as good as once.
void SlotMoves::record_failure() {
  if (!failure_ || is_recording_ || !is_due(next_attempt_, steady_now())) return;
  const auto& moves = parts_.cluster.view().moves();
  const auto found = moves.find(failure_->job);
  const bool is_known = found != moves.end() &&
                        found->second.record.attempts >= failure_->attempts &&
                        found->second.record.error == failure_->why &&
                        found->second.record.state == MoveState::waiting;
  if (found == moves.end() || !mayfly::is_active(found->second.record.state) || is_known) {
    failure_.reset();
    next_attempt_ = steady_now() + kAgainAfter;
    return;
  }
  MoveRecord record = found->second.record;
  record.attempts = std::max(record.attempts, failure_->attempts);
  record.error = failure_->why;
  const Time first = record.busy_since == Time{} ? parts_.clock.now() : record.busy_since;
  record.busy_since = failure_->is_busy ? first : Time{};
  record.state = record.attempts < kAttempts ? MoveState::waiting : MoveState::failed;
  put_move(failure_->job, record);
}

void SlotMoves::put_move(const std::string& job, const MoveRecord& record) {
  Cluster& cluster = parts_.cluster;
  const std::string key = move_key(job);
  const std::string text = to_text(record);
  is_recording_ = true;
  RegisterCommit commit{.compares = {{key, cluster.view().version_of(key)}}, .puts = {{key, text}}};
  if (!mayfly::is_active(record.state)) forget_old_moves(commit);
  cluster.reg()->commit(commit, [this, &cluster, commit](const CommitAnswer& answer) {
    is_recording_ = false;
    if (answer.outcome == CommitOutcome::done) {
      for (const auto& [put, value] : commit.puts) {
        (void)cluster.view().apply(RegisterEntry{put, value, answer.version});
      }
    } else if (answer.outcome == CommitOutcome::refused) {
      (void)cluster.view().apply(answer.current);
    } else {
      next_attempt_ = steady_now() + kAgainAfter;
    }
    cluster.records_changed();
  });
}

// Of the moves of this shard that are over, the oldest go.
void SlotMoves::forget_old_moves(RegisterCommit& commit) const {
  std::vector<std::pair<Time, std::string>> old;
  for (const auto& [id, versioned] : parts_.cluster.view().moves()) {
    const MoveRecord& record = versioned.record;
    if (record.source != parts_.cluster.node().shard() || mayfly::is_active(record.state)) continue;
    old.emplace_back(record.created, id);
  }
  if (old.size() <= kOldMovesKept) return;
  std::ranges::sort(old);
  commit.puts.push_back({move_key(old.front().second), std::nullopt});
}

// ---- Imports ----

// CLUSTER IMPORT BEGIN job source source-epoch target-epoch now has-set slots
Status SlotMoves::check_begin(ServerCall& call, SlotImport::Begin& begin) const {
  const auto wrong = [](std::string text) { return Error{Code::denied, std::move(text)}; };
  const Cluster& cluster = parts_.cluster;
  const ShardMachine* const machine = cluster.node().machine();
  if (machine == nullptr || !cluster.is_serving()) return wrong("ERR this node does not serve");
  const auto source_epoch = parse_integer(call.word(5));
  const auto target_epoch = parse_integer(call.word(6));
  const auto now = parse_integer(call.word(7));
  Result<SlotSet> slots = parse_slots(call.word(9));
  if (!source_epoch || !target_epoch || !now || !slots || slots->empty()) {
    return wrong("ERR wrong CLUSTER IMPORT");
  }
  begin = {std::string(call.word(3)), std::string(call.word(4)), *slots, call.word(8) == "1"};
  if (import_ || staging_.is_merging())
    return wrong("BUSY another move to this shard is under way");
  if (static_cast<std::uint64_t>(*target_epoch) != machine->epoch()) {
    return wrong("BUSY this shard has another primary than the source knows");
  }
  const ClusterShard* const source = cluster.view().shard(begin.source);
  if (source == nullptr || !source->record.slots.contains(begin.slots) ||
      source->record.epoch != static_cast<std::uint64_t>(*source_epoch)) {
    return wrong("BUSY the slots do not belong to the source, as far as this node knows");
  }
  if (call.word(8) == "1" && machine->record().insync.empty()) {
    return wrong("ERR this shard has no in-sync replica, but the source has one");
  }
  if (!parts_.reclaimer.make_room()) {
    return wrong("ERR this shard has no room: it uses more than 'maxmemory'");
  }
  return check_clock(*now);
}

// What one primary calls expired, the other must not show: deadlines go by the later clock.
Status SlotMoves::check_clock(std::int64_t now) const {
  constexpr std::int64_t kTimeMost = std::int64_t{1} << 53;
  const std::int64_t own = parts_.clock.now().time_since_epoch().count();
  const bool is_time = now >= 0 && now <= kTimeMost;
  const std::int64_t difference = is_time ? now - own : kTimeMost;
  if (std::abs(difference) <= parts_.config.cluster_max_clock_difference) return Done{};
  return Error{Code::denied, fmt::format("ERR the clocks of both primaries differ by {} ms (see "
                                         "cluster-max-clock-difference)",
                                         difference)};
}

void SlotMoves::import_begin(ServerCall& call) {
  SlotImport::Begin begin;
  if (Status status = check_begin(call, begin); !status) return call.fail(status.error().message);
  if (foreign_.count_removable(begin.slots) > 0) {
    return call.fail("BUSY keys of these slots, which have gone, are still being removed here");
  }
  staging_.drop();  // there should be none
  parts_.log.notice("Cluster: move {}: slots {} come from shard {}", begin.job, begin.slots.text(),
                    begin.source);
  import_ = std::make_unique<SlotImport>(parts_, std::move(begin), call.client, ++numbers_);
}

void SlotMoves::import_last(ServerCall& call) {
  const auto now = parse_integer(call.word(4));
  if (!import_ || import_->client() != call.client.id() || !now) {
    return call.fail("ERR no such import");
  }
  if (Status status = check_clock(*now); !status) return import_->fail(status.error().message);
  import_->last(Time(Millis(*now)));
}

// The record is there: if no notice of it has come yet, it is read.
void SlotMoves::import_yours(ServerCall& call) {
  if (!import_ || import_->client() != call.client.id()) return;
  import_->yours();
  parts_.cluster.read_soon();
}

void SlotMoves::import_closed(const Client& client) {
  if (!import_ || import_->client() != client.id()) return;
  import_->closed();
  if (import_->is_over()) end_import();
}

void SlotMoves::import_failed(const Client& client, std::string_view error) {
  if (import_ && import_->client() == client.id()) import_->fail(error);
}

}  // namespace mayfly
