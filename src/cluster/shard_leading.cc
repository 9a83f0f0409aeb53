// SPDX-License-Identifier: Apache-2.0
// ShardMachine as the primary: its active set, what is safe, and the right to serve. A member that
// the record names leaves the set only by a commit that is done: until then it could take over.

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "cluster/shard_machine.h"

namespace mayfly {

namespace {

std::string short_name(const NodeMemory& memory) { return memory.node.substr(0, 8); }

std::string clock_text(Millis ahead, Millis most) {
  return "its clock is " + std::to_string(std::chrono::abs(ahead).count()) + " ms " +
         (ahead > Millis(0) ? "ahead of" : "behind") + " the primary's, and " +
         std::to_string(most.count()) + " are allowed (cluster-max-clock-difference)";
}

}  // namespace

// ---- To be primary, and to be it no more ----

void ShardMachine::become_primary(const ShardRecord& before, CommitKind kind, Time now) {
  const bool is_handed = kind != CommitKind::take && kind != CommitKind::recover;
  epoch_ = record_.epoch;
  if (before.epoch > 0) ++stats_.takeovers;
  led_since_ = now;
  members_.clear();
  for (const NodeMemory& memory : record_.insync) {
    Member& member = members_[memory];
    member.phase = MemberPhase::in;
    // It promised when it was canvassed. A primary that has handed over to us answers no more since
    // it committed that, and promised to follow after it had answered our pulse.
    const auto grant = grants_.find(memory);
    if (grant != grants_.end()) member.token = grant->second;
    const bool is_before = memory == before.primary && before.epoch + 1 == record_.epoch;
    if (is_handed && is_before) member.token = std::max(member.token, echo_);
  }
  asking_.reset();
  grant_.reset();
  grants_.clear();
  waits_ = 0;
  is_offered_ = false;
  settled_ = 0;
  leaves_ = false;
  forced_until_ = Time::min();
  handover_.reset();
  safe_ = 0;
  was_serving_ = false;
  change_role(ShardRole::leading, is_handed ? "the record names this node" : "the commit is done");
  const Time floor = limited(record_.since, record_.since - own_wall());
  host_.lead(record_, faults_.no_floor ? Time{} : floor);
  inherited_ = host_.log_end();
  log_ends_.assign(1, {now, inherited_});
}

void ShardMachine::stop_leading() {
  if (handover_) end_handover("");
  members_.clear();
  log_ends_.clear();
  led_since_ = Time{};
  safe_ = 0;
}

// Of our own epoch: those named are in, and whoever was named and is not any more is out. An
// addition that was sent on an older version can only fail now, and is sent again.
void ShardMachine::adopt_set(const ShardRecord& before) {
  for (const NodeMemory& memory : record_.insync) {
    Member& member = members_[memory];
    if (member.phase != MemberPhase::in && !before.has(memory)) {
      ++stats_.additions;
      log("in sync: " + short_name(memory));
    }
    member.phase = MemberPhase::in;
  }
  for (auto it = members_.begin(); it != members_.end();) {
    Member& member = it->second;
    if (!record_.has(it->first)) {
      if (member.phase == MemberPhase::adding) member.phase = MemberPhase::joining;
      if (member.phase == MemberPhase::in || member.phase == MemberPhase::removing) {
        ++stats_.removals;
        log("not in sync any more: " + short_name(it->first));
        it = members_.erase(it);
        continue;
      }
    }
    ++it;
  }
  raise_safe();
}

// ---- Pulses and acknowledgements ----

std::optional<PulseReply> ShardMachine::pulsed(const Pulse& pulse, Time now) {
  if (role_ != ShardRole::leading || pulse.epoch != epoch_ || pulse.from == self_) {
    return std::nullopt;
  }
  Member& member = members_[pulse.from];
  member.pulsed = now;
  if (pulse.token != Time{} && pulse.token <= now) {
    member.token = std::max(member.token, pulse.token);
  }
  if (pulse.own > member.own) note_pulse(pulse, member, now);
  raise_safe();
  wake(now);
  const bool is_out =
      member.phase == MemberPhase::candidate || member.phase == MemberPhase::joining;
  return reply_to(pulse, !is_out, now);
}

// The newest pulse of a member. One that has not our history has nothing of our log that counts.
void ShardMachine::note_pulse(const Pulse& pulse, Member& member, Time now) {
  member.own = pulse.own;
  member.wall = pulse.wall;
  member.clock_ahead = pulse.wall - host_.wall();
  const bool differs = std::chrono::abs(member.clock_ahead) > clock_difference_max_;
  member.wrong_clock = differs ? std::min(member.wrong_clock, now) : Time::max();
  if (!differs) member.is_clock_told = false;
  member.leaves = pulse.leaves || pulse.history.empty();
  member.has_history = !pulse.history.empty() && pulse.history == host_.history();
  if (member.has_history) {
    member.had_history = true;
    member.other_history = Time::max();
    member.acked = std::max(member.acked, pulse.offset);
  } else {
    member.other_history = std::min(member.other_history, now);
  }
  if (member.has_history && !member.leaves) return;
  if (member.phase == MemberPhase::joining) member.phase = MemberPhase::candidate;
  if (member.phase == MemberPhase::candidate) member.acked = 0;
}

void ShardMachine::acknowledged(const NodeMemory& from, std::uint64_t offset) {
  if (role_ != ShardRole::leading) return;
  const auto found = members_.find(from);
  if (found == members_.end() || !found->second.has_history) return;
  found->second.acked = std::max(found->second.acked, offset);
  raise_safe();
  if (handover_) next_tick_ = Time::min();
}

void ShardMachine::raise_safe() {
  if (!has_active()) return;
  std::uint64_t least = UINT64_MAX;
  for (const auto& [memory, member] : members_) {
    if (is_active(member)) least = std::min(least, member.acked);
  }
  safe_ = std::max(safe_, least);
}

bool ShardMachine::has_active() const {
  return std::any_of(members_.begin(), members_.end(),
                     [this](const auto& entry) { return is_active(entry.second); });
}

std::size_t ShardMachine::set_size() const {
  const auto is_named = [](const auto& entry) {
    return entry.second.phase == MemberPhase::in || entry.second.phase == MemberPhase::removing;
  };
  return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), is_named));
}

// ---- The right to serve ----

bool ShardMachine::is_serving(Time now) const { return now < serves_until(); }

Time ShardMachine::serves_until() const {
  if (role_ != ShardRole::leading) return Time::min();
  Time until = kNever;
  for (const auto& [memory, member] : members_) {
    if (is_active(member)) until = std::min(until, member.token + times_.lease);
  }
  return until;
}

std::vector<ShardMachine::MemberState> ShardMachine::members() const {
  std::vector<MemberState> result;
  for (const auto& [memory, member] : members_) {
    if (is_active(member) || member.is_clock_told) {
      result.push_back(
          {memory, member.acked, member.clock_ahead, record_.has(memory), member.is_clock_told});
    }
  }
  return result;
}

Millis ShardMachine::peer_clock_ahead() const {
  if (role_ != ShardRole::leading) return primary_ahead_;
  Millis most{0};
  for (const auto& [memory, member] : members_) {
    if (std::chrono::abs(member.clock_ahead) > std::chrono::abs(most)) most = member.clock_ahead;
  }
  return most;
}

// ---- Changes of the set ----

void ShardMachine::tick_leading(Time now) {
  note_log_end(now);
  const bool serves = is_serving(now);
  if (serves != was_serving_) {
    log(serves ? "serves"
               : "fenced: nothing is served, as these members of the set are silent: " +
                     silent_members(now) +
                     " (until they answer, or etcd has taken the change that they are out of it)");
    was_serving_ = serves;
  }
  forget_silent(now);
  if (handover_) tick_handover(now);
  if (commit_ || role_ != ShardRole::leading) return;
  if (!remove_members(now) && !handover_) add_members(now);
}

// Those whose promises have run out.
std::string ShardMachine::silent_members(Time now) const {
  std::string names;
  for (const auto& [memory, member] : members_) {
    if (!is_active(member) || now < member.token + times_.lease) continue;
    names += (names.empty() ? "" : ", ") + short_name(memory);
  }
  return names;
}

// The log's end in the last L, about every L/8.
void ShardMachine::note_log_end(Time now) {
  if (!log_ends_.empty() && now < log_ends_.back().first + times_.pulse) return;
  log_ends_.emplace_back(now, host_.log_end());
  while (log_ends_.size() > 1 && log_ends_[1].first <= now - times_.lease) log_ends_.pop_front();
}

// Where the log ended then, or somewhat before; 0 if we did not lead.
std::uint64_t ShardMachine::log_end_at(Time when) const {
  std::uint64_t end = 0;
  for (const auto& [time, log_end] : log_ends_) {
    if (time <= when) end = log_end;
  }
  return end;
}

// Members that are not named need no commit to be out.
void ShardMachine::forget_silent(Time now) {
  for (auto it = members_.begin(); it != members_.end();) {
    Member& member = it->second;
    const bool is_silent = now > std::max(member.token, led_since_) + times_.removal;
    if (member.phase == MemberPhase::joining && (is_silent || is_replaced(it->first))) {
      member.phase = MemberPhase::candidate;
    }
    const bool is_gone = now > member.pulsed + times_.lease * 4;
    const bool is_old = member.phase == MemberPhase::candidate && is_gone;
    it = is_old ? members_.erase(it) : std::next(it);
  }
}

// Another process of its node has announced itself since, or pulses us: its memory is gone.
bool ShardMachine::is_replaced(const NodeMemory& memory) const {
  if (is_proven_dead(memory)) return true;
  const Member& member = members_.at(memory);
  return std::any_of(members_.begin(), members_.end(), [&](const auto& other) {
    return other.first.node == memory.node && other.first != memory &&
           other.second.pulsed > member.pulsed;
  });
}

// All its pulses have said so for a while. A single one may just have been late.
bool ShardMachine::has_wrong_clock(const Member& member, Time now) const {
  return member.wrong_clock != Time::max() && now > member.wrong_clock + times_.lease;
}

// "" if there is no reason.
std::string ShardMachine::why_remove(const NodeMemory& memory, const Member& member,
                                     Time now) const {
  if (member.leaves) return "it leaves";
  if (is_replaced(memory)) return "another process of its node has started";
  const bool differs = member.other_history != Time::max();
  // After a takeover a member may need a moment to hear of the new history.
  if (differs && (member.had_history || now > member.other_history + times_.removal)) {
    return "its data has another history";
  }
  if (now > std::max(member.token, led_since_) + times_.removal) return "it is silent";
  if (member.acked < log_end_at(now - times_.lease)) return "it is too far behind";
  if (has_wrong_clock(member, now)) return clock_text(member.clock_ahead, clock_difference_max_);
  return "";
}

bool ShardMachine::remove_members(Time now) {
  ShardRecord record = record_;
  record.insync.clear();
  for (const NodeMemory& memory : record_.insync) {
    Member& member = members_[memory];
    const std::string why = why_remove(memory, member, now);
    if (why.empty()) {
      record.insync.push_back(memory);
      continue;
    }
    log("removes " + short_name(memory) + " from the set: " + why);
    member.phase = MemberPhase::removing;
    if (handover_ && handover_->node == memory.node) end_handover(why);
    if (faults_.early_removal) members_.erase(memory);
  }
  if (record.insync.size() == record_.insync.size()) return false;
  send_commit(CommitKind::set, std::move(record), now);
  return true;
}

bool ShardMachine::may_join(const NodeMemory& memory, const Member& member, Time now) const {
  if (!member.has_history || member.leaves || is_replaced(memory)) return false;
  if (member.wrong_clock != Time::max()) return false;
  const bool is_near = member.acked >= log_end_at(now - times_.lease / 4);
  return now < member.token + times_.lease / 3 &&
         (is_near || faults_.early_addition || faults_.need_nothing);
}

bool ShardMachine::may_be_added(const Member& member, Time now) const {
  if (now >= member.token + times_.lease / 3) return false;
  const std::uint64_t inherited = faults_.need_nothing ? 0 : inherited_;
  return member.acked >= std::max(inherited, safe_) || faults_.early_addition;
}

void ShardMachine::add_members(Time now) {
  ShardRecord record = record_;
  for (auto& [memory, member] : members_) {
    const bool is_wrong = member.has_history && has_wrong_clock(member, now);
    if (is_wrong && !std::exchange(member.is_clock_told, true)) {
      log("does not add " + short_name(memory) +
          " to the set: " + clock_text(member.clock_ahead, clock_difference_max_));
    }
    if (member.phase == MemberPhase::candidate && may_join(memory, member, now)) {
      if (!has_active() && !faults_.joins_without) inherited_ = host_.log_end();
      member.phase = MemberPhase::joining;
    }
    if (member.phase != MemberPhase::joining || !may_be_added(member, now)) continue;
    member.phase = MemberPhase::adding;
    record.insync.push_back(memory);
    log("adds " + short_name(memory) + " to the set");
  }
  if (record.insync.size() == record_.insync.size()) return;
  std::sort(record.insync.begin(), record.insync.end());
  send_commit(CommitKind::set, std::move(record), now);
}

// ---- Planned handover ----

Status ShardMachine::hand_over(const std::string& node, Time until, Time now) {
  const std::string failed = "cannot hand over: ";
  if (role_ != ShardRole::leading) {
    return Error{Code::invalid, failed + "this node is not the primary (ask the primary)"};
  }
  if (handover_) return Error{Code::busy, failed + "a handover is under way (wait for it)"};
  const auto is_it = [&](const NodeMemory& memory) { return memory.node == node; };
  if (std::none_of(record_.insync.begin(), record_.insync.end(), is_it)) {
    return Error{Code::invalid, failed + "that node is not in sync (see CLUSTER INFO)"};
  }
  handover_ = Handover{node, until};
  log("hands over to " + node.substr(0, 8) + ": writes pause");
  host_.pause_writes(true);
  wake(now);
  return Done{};
}

void ShardMachine::tick_handover(Time now) {
  if (now >= handover_->until) {
    end_handover("it did not catch up in time");
    return;
  }
  wake(now + Millis(10));
  if (commit_) return;
  const auto found = std::find_if(record_.insync.begin(), record_.insync.end(),
                                  [&](const NodeMemory& m) { return m.node == handover_->node; });
  if (found == record_.insync.end()) {
    end_handover("it is not in sync any more");
    return;
  }
  const Member& successor = members_[*found];
  if (!successor.has_history || successor.acked < host_.log_end() || !is_serving(now)) return;
  if (!why_remove(*found, successor, now).empty()) return;
  ShardRecord record = record_;
  record.epoch = record_.epoch + 1;
  record.primary = *found;
  record.insync = {self_};
  record.since = host_.wall();
  if (!faults_.handover_serves) {
    change_role(ShardRole::taking, "commits the handover to " + short_name(*found));
    host_.detach();
  }
  send_commit(CommitKind::hand_over, std::move(record), now);
}

void ShardMachine::end_handover(const std::string& why) {
  if (!handover_) return;
  if (!why.empty()) log("hands over no more: " + why);
  handover_.reset();
  host_.pause_writes(false);
}

}  // namespace mayfly
