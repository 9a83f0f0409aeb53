// SPDX-License-Identifier: Apache-2.0
// Jobs that move slots: writing their records, and how far they have come.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cluster/plan/rebalance.h"

namespace mayfly {

// What the source says about a job.
struct MoveProgress {
  std::optional<double> share;  // 0 to 1
  std::optional<double> keys;   // that have moved
};

// Asks the primaries of the sources; by job. Those that do not answer are left out.
std::map<std::string, MoveProgress> ask_progress(ClusterSession& session, const ClusterView& view);

// The reply of CLUSTER GETSLOTMIGRATIONS, by job.
std::map<std::string, MoveProgress> read_migrations(const ReplyValue& reply);

// How fast keys move, from one look to the next.
class MoveRates {
 public:
  struct Rate {
    std::optional<double> keys_per_s;
    std::optional<double> seconds_left;
  };
  // Call it once for each look.
  std::map<std::string, Rate> update(const std::map<std::string, MoveProgress>& progress,
                                     std::int64_t now_ns);

 private:
  struct Sample {
    std::int64_t ns = 0;
    double share = 0;
    double keys = 0;
  };
  std::map<std::string, Sample> first_;
};

// Writes a record for each move; the sources begin at once. Returns their ids. Fails if a source
// does not have the slots (any more), or if they are moving already.
Result<std::vector<std::string>> start_moves(ClusterSession& session, const MovePlan& plan);

// Draws how far the jobs are, until all have ended. An error says which failed, and why. Ctrl-C
// ends the watching, not the moves.
Status watch_moves(ClusterSession& session, const std::vector<std::string>& jobs);

// "  a -> b  1365 slots  4096-5460", one line each.
std::string plan_text(const MovePlan& plan);
std::string plan_json(const MovePlan& plan, const std::vector<std::string>& jobs);

// "0-99 200-299 and 3 more ranges".
std::string short_slots(const SlotSet& slots);

}  // namespace mayfly
