// SPDX-License-Identifier: Apache-2.0
// ExecContext: what a request, a sweep or a load knows about the moment at which it runs. Every
// function of the keyspace that depends on the time or on the role of the server takes one.
//
//   const ExecContext context{.now = clock.now()};
//   const Slot slot = database.find(context, "key");
//
// It is made once for a request, so that the time is the same throughout.

#pragma once

#include "mayfly/time.h"

namespace mayfly {

// What happens to a key or a member that is found due.
enum class Policy : unsigned char {
  reclaim,  // it is removed, reported and counted: a primary
  hide,     // it is invisible, and stays: clients of a replica, or while writes are paused
  show,     // it is visible like any other: commands from the primary, and loading
};

// How an expired key or member was discovered. `past`: a command gave it a deadline in the past.
enum class FoundBy : unsigned char { access, sweep, past };

struct ExecContext {
  Time now{};
  Policy policy = Policy::reclaim;
  bool records_use = true;     // uses count for eviction; CLIENT NO-TOUCH turns it off
  bool keeps_expired = false;  // import-mode: a past deadline is stored, and what is due is counted

  bool wants_order = false;  // for a script: no reply depends on the order of a hash table

  // Whether an entry with this deadline is invisible.
  bool hides(Time deadline) const { return is_due(deadline, now) && policy != Policy::show; }

  // Whether an entry that is given this deadline is removed at once. Only a primary decides that;
  // replicas and loaders store the deadline as it is.
  bool expires_at_once(Time deadline) const {
    return policy == Policy::reclaim && !keeps_expired && is_due(deadline, now);
  }
};

}  // namespace mayfly
