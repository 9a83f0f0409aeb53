// SPDX-License-Identifier: Apache-2.0

#include "cluster/shard_machine.h"

#include <algorithm>

namespace mayfly {

using namespace std::chrono_literals;

namespace {

// Before a commit without an answer is sent again; the register itself waits longer as a rule.
constexpr Millis kAgain = 50ms;

constexpr Millis kShortest = 10ms;  // between ticks while something is pending

}  // namespace

std::string_view name_of(ShardRole role) {
  switch (role) {
    case ShardRole::outside:
      return "outside";
    case ShardRole::following:
      return "following";
    case ShardRole::canvassing:
      return "canvassing";
    case ShardRole::taking:
      return "taking";
    case ShardRole::leading:
      return "leading";
  }
  return "";
}

ShardTimes::ShardTimes(Millis the_lease)
    : lease(the_lease),
      grace(the_lease + std::max(Millis(500), the_lease / 4)),
      pulse(the_lease / 8),
      removal(the_lease * 2 / 3),
      canvass(200),
      canvass_wait(500) {}

ShardMachine::ShardMachine(NodeMemory self, const ShardTimes& times, Millis clock_difference_max,
                           ShardHost& host, const ShardFaults& faults)
    : self_(std::move(self)),
      times_(times),
      clock_difference_max_(clock_difference_max),
      host_(host),
      faults_(faults) {
  if (faults_.short_grace) times_.grace = times_.lease / 2;
}

// ---- The record ----

void ShardMachine::record_seen(std::uint64_t version, const ShardRecord& record, Time now) {
  adopt(version, record, now);
}

// The epoch is raised by every change of the primary, so no later record has a lower one, nor the
// same with another node. (Of one node only one process runs at a time.)
bool ShardMachine::goes_back(const ShardRecord& record) const {
  if (version_ == 0 || faults_.takes_older) return false;
  if (record.epoch != record_.epoch) return record.epoch < record_.epoch;
  return record.primary.node != record_.primary.node;
}

// A version above the one we knew. Whatever we have sent on the older one has happened, and then
// this is it or a later one, or it can only fail: so nothing is in flight any more.
void ShardMachine::adopt(std::uint64_t version, const ShardRecord& record, Time now) {
  if (version <= version_) return;
  if (goes_back(record)) {
    log("does not take the record of version " + std::to_string(version) + ", epoch " +
        std::to_string(record.epoch) + ": it is older than the known one");
    return;
  }
  const ShardRecord before = std::exchange(record_, record);
  version_ = version;
  const std::optional<Commit> commit = std::exchange(commit_, std::nullopt);
  const bool was_silent = role_ == ShardRole::taking;
  note_deaths();
  wake(now);

  if (record_.primary != self_) {
    follow(before, was_silent, now);
    return;
  }
  const bool goes_on = epoch_ == record_.epoch && led_since_ != Time{};
  if (!goes_on) {
    become_primary(before, commit ? commit->kind : CommitKind::set, now);
    return;
  }
  if (was_silent) {  // our handover was refused, for the record has changed otherwise
    change_role(ShardRole::leading, "the handover was refused");
    host_.lead(record_, host_.wall());
    end_handover("the record has changed");
  }
  adopt_set(before);
}

// ---- Commits ----

void ShardMachine::send_commit(CommitKind kind, ShardRecord record, Time now,
                               std::map<std::string, std::uint64_t> lives) {
  // A wrong clock of an earlier primary, or of this one when it began.
  const bool is_wrong = record.since > own_wall() + clock_difference_max_ && !faults_.any_floor;
  if (kind == CommitKind::set && is_wrong) record.since = host_.wall();
  commit_ = Commit{kind, std::move(record), std::move(lives), true, now};
  host_.commit(version_, commit_->record, commit_->lives);
}

void ShardMachine::committed(const CommitAnswer& answer, Time now) {
  if (!commit_ || !commit_->is_sent) return;
  commit_->is_sent = false;
  wake(now);
  switch (answer.outcome) {
    case CommitOutcome::unknown:
      commit_->again = now + kAgain;
      if (faults_.gives_up && role_ == ShardRole::taking &&
          commit_->kind != CommitKind::hand_over) {
        commit_.reset();
        promised_until_ = now + times_.grace;
        change_role(ShardRole::following, "a fault of the test: no answer");
        host_.follow(record_);
      }
      return;
    case CommitOutcome::done: {
      const ShardRecord record = commit_->record;
      adopt(answer.version, record, now);
      return;
    }
    case CommitOutcome::refused:
      take_refusal(answer, now);
      return;
  }
}

void ShardMachine::take_refusal(const CommitAnswer& answer, Time now) {
  bool is_same = false;  // the shard's record: another record differs
  for (const RegisterEntry& entry : answer.current) {
    if (entry.key.starts_with("live/")) {
      const std::string node = entry.key.substr(5);
      const auto live = entry.value ? parse_live_record(*entry.value)
                                    : Result<LiveRecord>(Error{Code::not_found, ""});
      if (live) {
        live_seen(node, entry.version, *live, now);
      } else {
        lives_.erase(node);
      }
    }
  }
  for (const RegisterEntry& entry : answer.current) {
    if (!entry.key.starts_with("shards/") || !entry.value) continue;
    if (entry.version == version_) is_same = true;
    const auto record = parse_shard_record(*entry.value);
    if (record) {
      adopt(entry.version, *record, now);
    } else {
      log("cannot read the record of the shard: " + record.error().message);
    }
  }
  if (!commit_) return;  // a newer record has been adopted
  if (is_same) {
    const bool was_silent = role_ == ShardRole::taking;
    commit_.reset();
    if (was_silent) follow(record_, true, now);
  } else {
    commit_->again = now + times_.canvass_wait;  // nothing to learn from: ask again
  }
}

// ---- Lives ----

void ShardMachine::live_seen(const std::string& node, std::uint64_t version, const LiveRecord& live,
                             Time now) {
  Live& known = lives_[node];
  if (version <= known.version) return;
  known = Live{version, live};
  if (node == self_.node && live.incarnation == self_.incarnation) is_announced_ = true;
  note_deaths();
  wake(now);
}

void ShardMachine::live_gone(const std::string& node, std::uint64_t version, Time now) {
  const auto known = lives_.find(node);
  if (known == lives_.end() || known->second.version > version) return;
  lives_.erase(known);
  wake(now);
}

std::vector<std::string> ShardMachine::live_nodes() const {
  std::vector<std::string> nodes;
  for (const auto& [node, live] : lives_) nodes.push_back(node);
  return nodes;
}

bool ShardMachine::names(const std::string& node) const {
  const std::vector<NodeMemory> memories = named();
  return std::any_of(memories.begin(), memories.end(),
                     [&](const NodeMemory& memory) { return memory.node == node; });
}

std::vector<NodeMemory> ShardMachine::named() const {
  std::vector<NodeMemory> memories = record_.insync;
  memories.push_back(record_.primary);
  std::sort(memories.begin(), memories.end());
  return memories;
}

// A process announces itself after it has locked the directory of its node, so all earlier ones
// have ended; and before it offers itself to a primary. So a live record that is younger than the
// record is of the memory that is named, or that one has ended, for ever. An older one may be of a
// process before it, and proves nothing.
void ShardMachine::note_deaths() {
  std::set<NodeMemory> dead;
  for (const NodeMemory& memory : named()) {
    if (memory == self_) continue;
    const auto live = lives_.find(memory.node);
    const bool is_replaced = live != lives_.end() &&
                             live->second.record.incarnation != memory.incarnation &&
                             (live->second.version > version_ || faults_.any_version);
    if (is_replaced || dead_.contains(memory)) dead.insert(memory);
  }
  dead_ = std::move(dead);
}

// ---- Time ----

void ShardMachine::tick(Time now) {
  next_tick_ = now + times_.pulse;
  limit_wall();
  if (version_ == 0) return;
  if (commit_ && !commit_->is_sent) {
    if (now >= commit_->again) {
      commit_->is_sent = true;
      host_.commit(version_, commit_->record, commit_->lives);
    } else {
      wake(std::max(commit_->again, now + kShortest));
    }
  }
  if (role_ == ShardRole::leading) {
    tick_leading(now);
  } else {
    tick_following(now);
  }
}

Time ShardMachine::next_tick() const { return next_tick_; }

// ---- Out ----

bool ShardMachine::in_record() const {
  return record_.primary == self_ || record_.has(self_) || is_offered_;
}

void ShardMachine::change_role(ShardRole role, const std::string& why) {
  if (role == role_) return;
  role_ = role;
  log(std::string(name_of(role)) + ": " + why);
}

void ShardMachine::log(const std::string& line) const {
  host_.log("epoch " + std::to_string(epoch_) + ", version " + std::to_string(version_) + ": " +
            line);
}

// ---- Answers to pulses ----

PulseReply ShardMachine::reply_to(const Pulse& pulse, bool is_in_sync, Time now) const {
  return {.epoch = epoch_,
          .version = version_,
          .token = now,
          .echo = pulse.own,
          .wall = host_.wall(),
          .is_serving = is_serving(now),
          .is_in_sync = is_in_sync};
}

std::optional<PulseReply> ShardMachine::pulsed_by_stranger(const Pulse& pulse, Time now) const {
  const bool is_ours = role_ == ShardRole::leading && pulse.epoch == epoch_;
  if (!is_ours || !pulse.leaves || members_.contains(pulse.from)) return std::nullopt;
  return reply_to(pulse, false, now);
}

}  // namespace mayfly
