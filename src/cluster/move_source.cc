// SPDX-License-Identifier: Apache-2.0
// MoveSource, and the commit of a move.

#include <algorithm>
#include <utility>

#include "cluster/move_machine.h"

namespace mayfly {

RegisterCommit move_commit(const std::string& job_id, const MoveRecord& job,
                           const ShardRecord& source, const ShardRecord& target,
                           const MoveVersions& versions) {
  ShardRecord from = source;
  ShardRecord to = target;
  MoveRecord done = job;
  from.slots -= job.slots;
  to.slots |= job.slots;
  done.state = MoveState::done;
  done.error.clear();
  RegisterCommit commit;
  const auto compare = [&](std::string key, std::uint64_t version) {
    if (version != 0) commit.compares.push_back({std::move(key), version});
  };
  compare(shard_key(job.source), versions.source);
  compare(shard_key(job.target), versions.target);
  compare(move_key(job_id), versions.job);
  commit.puts = {{shard_key(job.source), to_text(from)},
                 {shard_key(job.target), to_text(to)},
                 {move_key(job_id), to_text(done)}};
  return commit;
}

MoveCurrent move_current(const std::string& job_id, const MoveRecord& job, const NodeMemory& self,
                         const CommitAnswer& answer) {
  MoveCurrent current;
  for (const RegisterEntry& entry : answer.current) {
    if (entry.key == shard_key(job.source)) {
      current.versions.source = entry.version;
      const auto record = entry.value ? parse_shard_record(*entry.value)
                                      : Result<ShardRecord>(Error{Code::not_found, ""});
      current.source_has_slots = record && record->slots.contains(job.slots);
      current.source_leads = record && record->primary == self;
    } else if (entry.key == shard_key(job.target)) {
      current.versions.target = entry.version;
    } else if (entry.key == move_key(job_id)) {
      current.versions.job = entry.version;
      const auto record = entry.value ? parse_move_record(*entry.value)
                                      : Result<MoveRecord>(Error{Code::not_found, ""});
      current.is_wanted = record && is_active(record->state);
    }
  }
  return current;
}

// ---- Records ----

// In `commit` a newer version means that the one sent has happened or can only fail.
void MoveSource::record_seen(std::uint64_t version, bool has_slots, bool leads) {
  if (version <= state_.source_version) return;
  state_.source_version = version;
  if (is_over()) return;
  if (!has_slots) {
    is_paused() ? moved() : give_up("the slots are not here any more");
  } else if (!leads) {
    give_up("this server is no primary any more");
  } else if (is() == MoveState::commit && !faults_.any_source_version) {
    state_.is_connected ? send_commit() : give_up("the connection has ended");
  }
}

// While a commit is out, its answer tells which of the two was first: a version that is not wanted
// is not taken, so that whatever is sent compares an older one.
void MoveSource::job_seen(std::uint64_t version, bool is_wanted) {
  if (is_wanted) {
    state_.job_version = std::max(state_.job_version, version);
  } else if (!is_over() && is() != MoveState::commit) {
    give_up("it was cancelled");
  }
}

// ---- The steps ----

void MoveSource::start() {
  if (is() != MoveState::waiting || state_.is_connected) return;
  state_.is_connected = true;
  host_.connect();
}

void MoveSource::begun() {
  if (is() != MoveState::waiting || !state_.is_connected) return;
  state_.state = MoveState::snapshot;
  host_.send_snapshot();
}

void MoveSource::sent() {
  if (is() == MoveState::snapshot) state_.state = MoveState::stream;
}

void MoveSource::streamed(std::uint64_t bytes_behind, Time now) {
  if (is() != MoveState::stream || bytes_behind > kNear) return;
  state_.ready_version = 0;
  state_.again = now + kReadyWithin;
  state_.state = MoveState::pause;
  host_.pause_slots();
  host_.send_last();
}

void MoveSource::ready(std::uint64_t target_version) {
  if (!is_paused() || !state_.is_connected || target_version <= state_.ready_version) return;
  state_.ready_version = target_version;
  if (is() != MoveState::pause) return;  // heeded when the commit that is out has been refused
  state_.state = MoveState::commit;
  send_commit();
}

// Slots stay paused from here until it is known that this commit has failed for ever.
void MoveSource::send_commit() {
  state_.sent = {state_.source_version, state_.ready_version, state_.job_version};
  if (faults_.any_source_version) state_.sent.source = 0;
  if (faults_.any_target_version) state_.sent.target = 0;
  if (faults_.any_job_version) state_.sent.job = 0;
  state_.is_asked = true;
  host_.commit(state_.sent);
}

void MoveSource::tick(Time now) {
  if (now < state_.again) return;
  if (is() == MoveState::pause) {
    give_up("the target has not taken in the last writes in time");
  } else if (is() == MoveState::commit && !state_.is_asked) {
    if (faults_.resumes) return give_up("a fault of the test");
    state_.is_asked = true;
    host_.commit(state_.sent);
  }
}

void MoveSource::committed(CommitOutcome outcome, const MoveCurrent& current, Time now) {
  if (is() != MoveState::commit || !state_.is_asked) return;
  state_.is_asked = false;
  if (outcome == CommitOutcome::unknown) {
    state_.again = now + kCommitAgain;
    return;
  }
  if (outcome == CommitOutcome::done || !current.source_has_slots) return moved();
  // Refused: one of the records has another version, for ever.
  const MoveVersions& is_now = current.versions;
  state_.source_version = std::max(state_.source_version, is_now.source);
  state_.job_version = std::max(state_.job_version, is_now.job);
  if (!current.source_leads) return give_up("this server is no primary any more");
  if (!current.is_wanted) return give_up("it was cancelled");
  if (!state_.is_connected) return give_up("the connection has ended");
  const bool is_ready = state_.ready_version != state_.sent.target;  // said so again meanwhile
  if (is_ready || is_now.target == state_.sent.target) return send_commit();
  state_.again = now + kReadyWithin;
  state_.state = MoveState::pause;
  host_.send_last();
}

void MoveSource::moved() {
  state_.state = MoveState::done;
  if (state_.is_connected) host_.send_yours();
  host_.disconnect();
  state_.is_connected = false;
}

// ---- What breaks ----

// In `commit` the outcome decides.
void MoveSource::broken(std::string why) {
  if (is_over() || !std::exchange(state_.is_connected, false)) return;
  if (is() != MoveState::commit) give_up(std::move(why));
}

// REQUIRES: no commit is out, or it has failed for ever.
void MoveSource::give_up(std::string why) {
  why_ = std::move(why);
  state_.state = MoveState::failed;
  host_.disconnect();
  state_.is_connected = false;
  state_.is_asked = false;
}

}  // namespace mayfly
