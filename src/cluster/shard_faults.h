// SPDX-License-Identifier: Apache-2.0
// ShardFaults: rules of ShardMachine that a test can take out, to see that the model finds it. The
// product has none of them; each costs a comparison on a rare path.

#pragma once

namespace mayfly {

struct ShardFaults {
  bool short_grace = false;      // a promise lasts L/2
  bool need_nothing = false;     // a taker does not inherit: what it found may be missing elsewhere
  bool early_removal = false;    // a member is out when its removal is sent
  bool early_addition = false;   // a member is in before it has what is safe
  bool joins_without = false;    // one that joins an empty set may lack what was answered before
  bool gives_up = false;         // a taker that has no answer follows again
  bool grants_taking = false;    // a taker goes on promising and acknowledging
  bool any_lives = false;        // recovery does not compare the lives it was decided by
  bool any_version = false;      // an older live record is a proof, too
  bool handover_serves = false;  // a primary that has sent the handover serves on
  bool drops_early = false;      // a replica drops its data without asking the primary
  bool forced_early = false;     // CLUSTER FAILOVER FORCE does not wait for the end of a promise
  bool no_floor = false;         // a taker starts with its own wall clock
  bool any_floor = false;        // it starts with the last one's clock, however wrong that is
  bool takes_older = false;      // a record with an older epoch is adopted
  bool empty_recovers = false;   // recovery does not ask who else has the data in memory
  bool epoch_is_enough = false;  // nor how much, if the file has the epoch of the record
  bool is_never_asked = false;   // others need not announce their data after the end of the primary
};

}  // namespace mayfly
