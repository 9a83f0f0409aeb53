// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster reset-clock`: clears a time that a wrong clock has left in the record of a shard.

#pragma once

#include <string>

#include "cli/cluster/session/cluster_session.h"

namespace mayfly {

struct ResetClockArgs {
  std::string shard;
};

Result<Exit> run_reset_clock(const ResetClockArgs& args, ClusterSession& session);

}  // namespace mayfly
