// SPDX-License-Identifier: Apache-2.0
// MoveTarget: see move_machine.h.

#include <algorithm>

#include "cluster/move_machine.h"

namespace mayfly {

void MoveTarget::begin(std::uint64_t version) {
  state_ = {};
  state_.phase = MoveTargetPhase::staging;
  state_.version = version;
  state_.is_connected = true;
}

// The predecessor's READY was for a version that is history now, so no commit can follow any more.
void MoveTarget::inherit(std::uint64_t version, bool has_slots) {
  state_ = {};
  state_.phase = MoveTargetPhase::staging;
  state_.version = version;
  end(has_slots);
}

void MoveTarget::record_seen(std::uint64_t version, bool has_slots) {
  if (version <= state_.version) return;
  state_.version = version;
  if (phase() == MoveTargetPhase::none || is_over()) return;
  if (has_slots) {
    end(true);
  } else if (phase() == MoveTargetPhase::ready) {
    say_ready();
  } else if (phase() == MoveTargetPhase::raising && version > state_.ready_version) {
    end(false);  // the version that was said is history
  }
}

void MoveTarget::safe() {
  if (phase() == MoveTargetPhase::ready) return say_ready();  // LAST has come again
  if (phase() != MoveTargetPhase::staging || !state_.is_connected) return;
  state_.phase = MoveTargetPhase::ready;
  say_ready();
}

void MoveTarget::say_ready() {
  state_.ready_version = state_.version;
  host_.send_ready(state_.ready_version);
}

void MoveTarget::yours() { state_.is_told = true; }

void MoveTarget::broken(Time now) {
  if (!state_.is_connected) return;
  state_.is_connected = false;
  if (phase() == MoveTargetPhase::staging) {
    end(false);
  } else if (phase() == MoveTargetPhase::ready) {
    if (faults_.drops_ready) return end(false);
    state_.phase = MoveTargetPhase::raising;
    state_.again = state_.is_told ? now + kRecordWithin : Time::min();
    tick(now);
  }
}

void MoveTarget::committed(CommitOutcome outcome, std::uint64_t version, bool has_slots, Time now) {
  if (phase() != MoveTargetPhase::raising || !state_.is_asked) return;
  state_.is_asked = false;
  if (outcome == CommitOutcome::unknown) {
    state_.again = now + kRaiseAgain;
    return;
  }
  state_.version = std::max(state_.version, version);
  end(outcome == CommitOutcome::refused && has_slots);
}

void MoveTarget::tick(Time now) {
  if (phase() != MoveTargetPhase::raising || state_.is_asked || now < state_.again) return;
  state_.is_asked = true;
  host_.raise(state_.ready_version);
}

void MoveTarget::end(bool has_slots) {
  state_.phase = has_slots ? MoveTargetPhase::serving : MoveTargetPhase::dropped;
  has_slots ? host_.show_staging() : host_.drop_staging();
}

}  // namespace mayfly
