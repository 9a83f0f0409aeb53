// SPDX-License-Identifier: Apache-2.0
// ShardMachine on its way to be the primary: the canvass, the commit, and recovery when all
// memories that the record names are gone. Safety rests on the promise that has ended and on the
// version that the commit compares; the canvass finds the best successor and its set.

#include <algorithm>
#include <utility>

#include "cluster/plan/recovery.h"
#include "cluster/shard_machine.h"

namespace mayfly {

namespace {

constexpr int kWaitsMax = 2;

}  // namespace

bool ShardMachine::may_take_over(Time now) const {
  if (commit_ || leaves_ || !record_.has(self_) || !host_.is_data_complete()) return false;
  if (role_ != ShardRole::following || now < canvass_from_) return false;
  if (grant_ && now < grant_->until && !is_proven_dead(grant_->to)) return false;
  if (faults_.forced_early && is_forced(now)) return true;
  return now >= promised_until_ || is_proven_dead(record_.primary);
}

void ShardMachine::start_canvass(Time now) {
  asking_ = Asking{{.version = version_,
                    .epoch = record_.epoch,
                    .from = self_,
                    .offset = host_.log_end(),
                    .token = now},
                   0,
                   {}};
  change_role(ShardRole::canvassing, is_proven_dead(record_.primary)
                                         ? "the primary's process has been replaced"
                                         : "the primary is silent");
  for (const NodeMemory& member : record_.insync) {
    if (member == self_ || is_proven_dead(member)) continue;
    ++asking_->asked;
    host_.send_canvass(member, asking_->question);
  }
  end_canvass(now);
}

void ShardMachine::canvass_answered(const CanvassReply& reply, Time now) {
  if (!asking_ || role_ != ShardRole::canvassing) return;
  if (reply.version != version_ || reply.token != asking_->question.token) return;
  asking_->replies[reply.from] = reply;
  wake(now);
}

void ShardMachine::end_canvass(Time now) {
  const Time end = asking_->question.token + times_.canvass;
  if (asking_->replies.size() < asking_->asked && now < end) {
    wake(end);
    return;
  }
  std::map<NodeMemory, Time> grants;
  bool is_refused = false;
  for (const auto& [member, reply] : asking_->replies) {
    // One that is ahead of what we said has promised nothing.
    const bool is_granted = reply.is_granted && reply.offset <= asking_->question.offset;
    if (is_granted) grants[member] = reply.token;
    if (!is_granted) is_refused = true;
  }
  asking_.reset();
  if (is_refused && waits_ < kWaitsMax && !is_forced(now)) {
    ++waits_;
    canvass_from_ = now + times_.canvass_wait;
    change_role(ShardRole::following, "another one hears the primary, or is ahead");
    wake(canvass_from_);
    return;
  }
  ShardRecord record = record_;
  record.epoch = record_.epoch + 1;
  record.primary = self_;
  record.insync.clear();
  for (const auto& [member, token] : grants) record.insync.push_back(member);
  record.since = floor(now);
  grants_ = std::move(grants);
  take(record, CommitKind::take, now);
}

void ShardMachine::stop_canvass(const std::string& why) {
  asking_.reset();
  change_role(ShardRole::following, why);
}

// From now on nothing is promised or acknowledged to anybody until version_ is history.
void ShardMachine::take(const ShardRecord& record, CommitKind kind, Time now,
                        std::map<std::string, std::uint64_t> lives) {
  const Time since = is_proven_dead(record_.primary) ? now : promised_until_;
  stats_.last_takeover = promised_until_ == Time::min() ? Millis(0) : now - std::min(since, now);
  change_role(ShardRole::taking, "commits epoch " + std::to_string(record.epoch) + " with " +
                                     std::to_string(record.insync.size()) + " in sync");
  if (!faults_.grants_taking) host_.detach();
  send_commit(kind, record, now, std::move(lives));
}

// All memories that the record names have been replaced. Each of their nodes has announced which
// data it has loaded; the one with the most leads, unless another process of the shard may have
// more. The commit compares the announcements of all.
bool ShardMachine::recover(Time now) {
  if (record_.has(self_)) return false;
  for (const NodeMemory& memory : named()) {
    if (!is_proven_dead(memory)) return false;
  }
  if (settled_ != version_) {
    settled_ = version_;
    host_.settle(version_);
  }
  if (leaves_ || !host_.is_data_complete()) return false;
  const auto own = lives_.find(self_.node);
  if (own == lives_.end() || own->second.record.incarnation != self_.incarnation) return false;
  if (waits_for_holder(own->second.record)) return false;
  std::map<std::string, std::uint64_t> lives;
  for (const auto& [node, live] : lives_) lives[node] = live.version;
  ShardRecord record = record_;
  // The data may be of a later epoch than the record of a register that was restored.
  record.epoch = std::max(record_.epoch, data_of(own->second.record).first) + 1;
  record.primary = self_;
  record.insync.clear();
  record.since = floor(now);
  if (faults_.any_lives) lives.clear();
  log("all processes that the record names have ended, and this node has the most data");
  take(record, CommitKind::recover, now, std::move(lives));
  return true;
}

// Also for a better one of the named nodes.
bool ShardMachine::waits_for_holder(const LiveRecord& own) {
  LiveProcesses all;
  for (const auto& [node, live] : lives_) {
    all[node] = live.record;
    if (faults_.is_never_asked) all[node].settled = version_;
  }
  const RecoveryChoice choice = choose_recovery(record_, version_, all);
  waits_at_ = 0;
  if (choice.best != self_.node) return true;
  if (faults_.empty_recovers) return false;
  if (faults_.epoch_is_enough && own.epoch >= record_.epoch) return false;
  if (choice.holder.empty()) return false;
  const std::string holder = choice.holder.substr(0, 8);
  const std::string why =
      choice.is_asked
          ? holder + " has data of the shard in memory, and has not announced how much"
          : "this process has loaded less than the shard had, and " + holder +
                " lives with data of it (start nodes that have files; to decide: mayfly cluster "
                "recover)";
  if (choice.holder == self_.node) return true;
  waits_at_ = version_;
  if (why != std::exchange(waits_for_, why)) log("waits: " + why);
  return true;
}

Status ShardMachine::take_when_safe(Time now) {
  const std::string failed = "cannot take over: ";
  if (version_ == 0) return Error{Code::busy, failed + "the record is not known yet (try again)"};
  if (role_ == ShardRole::leading) {
    return Error{Code::invalid, failed + "this node is the primary already"};
  }
  if (leaves_) return Error{Code::invalid, failed + "this node is leaving the set"};
  if (!record_.has(self_)) {
    return Error{Code::invalid,
                 failed + "this node is not in sync, so it may lack writes (see CLUSTER INFO)"};
  }
  if (!host_.is_data_complete()) {
    return Error{Code::busy, failed + "its data is not complete (wait for the synchronisation)"};
  }
  if (role_ == ShardRole::taking) return Done{};  // it does already
  Time promised = std::max(now, promised_until_);
  if (grant_) promised = std::max(promised, grant_->until);
  forced_until_ = promised + times_.grace;
  canvass_from_ = Time::min();
  log("takes over as soon as its promise to the primary ends");
  wake(now);
  return Done{};
}

Status ShardMachine::take_by_force(Time now) {
  const std::string failed = "cannot take over: ";
  if (version_ == 0) return Error{Code::busy, failed + "the record is not known yet (try again)"};
  if (role_ == ShardRole::leading) {
    return Error{Code::invalid, failed + "this node is the primary already"};
  }
  if (commit_) return Error{Code::busy, failed + "a change is under way (try again)"};
  if (!host_.is_data_complete()) {
    return Error{Code::busy, failed + "its data is not complete (wait for the synchronisation)"};
  }
  ShardRecord record = record_;
  record.epoch = record_.epoch + 1;
  record.primary = self_;
  record.insync.clear();
  record.since = floor(now);
  asking_.reset();
  grants_.clear();
  log("takes over by force: writes that were safe may be lost");
  take(record, CommitKind::take, now);
  return Done{};
}

// No less than any time by which the last primary may have served. After a reading of its wall
// clock (which came with a token) it serves for L at most, and not longer than it has had. Our
// clock may be slower than its own by a tenth.
Time ShardMachine::floor(Time now) const {
  const Time since = limited(record_.since, record_.since - own_wall());
  const Time least = std::max(host_.wall(), since);
  if (primary_wall_.at == Time::min()) return least;
  const Millis passed = now - primary_wall_.at;
  const Millis may_have = (std::min(passed, times_.lease) * 11 + Millis(9)) / 10;
  return std::max(least, limited(primary_wall_.wall + may_have, primary_wall_.ahead));
}

// One of two clocks that are further apart than is allowed is wrong. A wrong time of the other
// machine must not become ours, which would be slow until it is reached. `ahead`: how far the other
// clock is ahead at least.
Time ShardMachine::limited(Time floor, Millis ahead) const {
  const Time most = own_wall() + clock_difference_max_;
  if (floor <= most || faults_.any_floor) return floor;
  if (ahead > clock_difference_max_) {
    log("does not take over a time that is " + std::to_string(ahead.count()) +
        " ms ahead of the clock of this machine, but " +
        std::to_string(clock_difference_max_.count()) + " ms of it (cluster-max-clock-difference)");
  }
  return most;
}

// Its floor was set while the clock of this machine was wrong.
void ShardMachine::limit_wall() {
  if (faults_.any_floor || host_.wall_ahead() <= clock_difference_max_) return;
  log("the clock of this machine has been set back: its time goes back by " +
      std::to_string((host_.wall_ahead() - clock_difference_max_).count()) + " ms");
  host_.limit_wall(clock_difference_max_);
}

}  // namespace mayfly
