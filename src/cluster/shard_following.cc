// SPDX-License-Identifier: Apache-2.0
// ShardMachine as a replica: it follows the primary that the record names, and promises it again
// and again not to take over. One that has promised to a canvasser has left the epoch of the
// record, and goes back to it only when a newer version shows that the canvasser's commit can only
// fail.

#include <algorithm>

#include "cluster/shard_machine.h"

namespace mayfly {

// The record names another primary, or it is the one we know and a commit on it has failed.
void ShardMachine::follow(const ShardRecord& before, bool was_silent, Time now) {
  const bool is_new = record_.epoch > before.epoch;
  const bool had_left = epoch_ != record_.epoch;
  if (is_new) {
    // What we know of its clock when it served first, if it may serve by a promise of ours.
    WallSeen wall{record_.since, now, Millis(0)};
    if (grant_ && grant_->to == record_.primary) wall.at = grant_->at;
    const auto successor = members_.find(record_.primary);
    if (handover_ && successor != members_.end()) {
      wall = {std::max(record_.since, successor->second.wall), successor->second.pulsed};
    }
    wall.ahead = wall.wall - own_wall();
    primary_wall_ = wall;
    promised_until_ = now + times_.grace;
    token_ = Time{};
    echo_ = Time::min();
    primary_serves_ = false;
    is_offered_ = false;
    next_pulse_ = now;
  } else if (had_left) {
    ++stats_.returns;
  }
  epoch_ = record_.epoch;
  if (is_new || !record_.has(self_)) forced_until_ = Time::min();
  grant_.reset();
  grants_.clear();
  asking_.reset();
  waits_ = 0;
  const bool led = led_since_ != Time{};
  const bool is_settled = settled_ == version_;
  const std::string why = "primary " + record_.primary.node.substr(0, 8) + ", " +
                          (record_.has(self_) ? "in sync" : "not in sync");
  change_role(record_.has(self_) ? ShardRole::following : ShardRole::outside, why);
  const bool was_settled = settled_ != 0 && !is_settled;
  if (!is_new && !had_left && !was_silent && !led && !was_settled) return;
  if (!is_settled) {
    log("follows " + record_.primary.node.substr(0, 8));
    host_.follow(record_);
  }
  stop_leading();
}

void ShardMachine::tick_following(Time now) {
  const bool is_silent = role_ == ShardRole::taking && !faults_.grants_taking;
  if (is_silent) return;
  if (!grant_ && !is_forced(now)) send_pulse(now);
  if (role_ == ShardRole::taking) return;
  for (const Time end : {promised_until_, canvass_from_, grant_ ? grant_->until : now}) {
    if (end > now) wake(end);
  }
  if (role_ == ShardRole::canvassing) {
    end_canvass(now);
  } else if (may_take_over(now)) {
    start_canvass(now);
  } else if (!commit_ && !recover(now)) {
    // Another process of this node is named, and nobody can know yet that it has ended.
    const auto live = lives_.find(self_.node);
    if (names(self_.node) && !record_.has(self_) && is_announced_ && live != lives_.end() &&
        live->second.version < version_ && announced_for_ != version_) {
      announced_for_ = version_;
      host_.announce_again();
    }
  }
}

void ShardMachine::send_pulse(Time now) {
  if (now < next_pulse_) {
    wake(next_pulse_);
    return;
  }
  if (now == pulsed_) {  // each has its own reading of our clock
    wake(now + Millis(1));
    return;
  }
  pulsed_ = now;
  next_pulse_ = now + times_.pulse;
  Pulse pulse{.epoch = epoch_,
              .from = self_,
              .history = {},
              .offset = host_.log_end(),
              .token = token_,
              .own = now,
              .wall = host_.wall(),
              .leaves = leaves_};
  // A process that starts without data must know of ours before writes can be safe by it.
  const auto live = lives_.find(self_.node);
  const bool is_known = live != lives_.end() && live->second.record.held > 0;
  const bool may_offer = record_.has(self_) || (is_announced_ && is_known);
  if (host_.is_data_complete() && may_offer) pulse.history = host_.history();
  if (!pulse.history.empty() && !leaves_ && !faults_.drops_early) {
    is_offered_ = true;
    offered_ = now;
  }
  host_.send_pulse(record_.primary, pulse);
}

void ShardMachine::pulse_answered(const NodeMemory& primary, const PulseReply& reply, Time now) {
  const bool is_silent =
      role_ == ShardRole::leading || (role_ == ShardRole::taking && !faults_.grants_taking);
  if (is_silent || primary != record_.primary || reply.epoch != epoch_) return;
  // Its token is never echoed, so the primary gets no lease by it.
  if (is_forced(now)) return;
  promised_until_ = std::max(promised_until_, now + times_.grace);
  waits_ = 0;
  canvass_from_ = Time::min();
  if (reply.token > token_) {
    if (token_ == Time{}) next_pulse_ = now;  // so that the primary has one of us soon
    token_ = reply.token;
    primary_serves_ = reply.is_serving;
    primary_wall_ = {reply.wall, reply.echo, reply.wall - own_wall()};
    primary_ahead_ = reply.wall - host_.wall();
  }
  echo_ = std::max(echo_, reply.echo);
  if (is_offered_ && !reply.is_in_sync && reply.echo > offered_) is_offered_ = false;
  if (role_ == ShardRole::canvassing) {
    stop_canvass("the primary has answered");
  } else if (role_ == ShardRole::outside) {
    change_role(ShardRole::following, "the primary answers");
  }
  wake(now);
}

bool ShardMachine::hears_primary(Time now) const {
  return now < promised_until_ && primary_serves_ && epoch_ == record_.epoch &&
         !is_proven_dead(record_.primary);
}

std::optional<CanvassReply> ShardMachine::canvassed(const Canvass& canvass, Time now) {
  const bool may_promise = role_ == ShardRole::following || role_ == ShardRole::canvassing ||
                           (role_ == ShardRole::taking && faults_.grants_taking);
  if (!may_promise || leaves_ || !host_.is_data_complete()) return std::nullopt;
  if (canvass.version != version_ || canvass.epoch != record_.epoch) return std::nullopt;
  if (!record_.has(self_) || !record_.has(canvass.from) || canvass.from == self_) {
    return std::nullopt;
  }
  CanvassReply reply{.version = version_,
                     .from = self_,
                     .is_granted = false,
                     .offset = host_.log_end(),
                     .token = canvass.token};
  if (hears_primary(now)) return reply;
  const bool is_another = grant_ && grant_->to != canvass.from && now < grant_->until;
  if (is_another) return std::nullopt;
  const bool is_rival = role_ == ShardRole::canvassing && self_.node < canvass.from.node;
  if (reply.offset > canvass.offset || (reply.offset == canvass.offset && is_rival)) return reply;

  asking_.reset();
  if (role_ == ShardRole::canvassing) role_ = ShardRole::following;
  if (epoch_ == record_.epoch) {
    epoch_ = record_.epoch + 1;
    log("promises to follow " + canvass.from.node.substr(0, 8) + ", which hears no primary");
    host_.detach();
  }
  forced_until_ = Time::min();
  grant_ = Grant{canvass.from, now, now + times_.grace};
  reply.is_granted = true;
  wake(now);
  return reply;
}

void ShardMachine::leave() {
  leaves_ = true;
  forced_until_ = Time::min();
  if (role_ == ShardRole::canvassing) stop_canvass("this node leaves");
  next_pulse_ = next_tick_ = Time::min();
}

void ShardMachine::stay() {
  leaves_ = false;
  next_pulse_ = next_tick_ = Time::min();
}

}  // namespace mayfly
