// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster check`: every promise that can be looked at.

#pragma once

#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cli/cluster/watch/picture.h"

namespace mayfly {

struct ClusterCheckArgs {
  PictureOptions picture;
};

// Exit::problems if anything is a risk or a fault.
Result<Exit> run_cluster_check(const ClusterCheckArgs& args, ClusterSession& session);

// One thing that was looked at: fine if there are no problems.
struct CheckResult {
  std::string what;    // "slots"
  std::string detail;  // "16384 of 16384 have an owner"
  std::vector<ClusterProblem> problems;
};

// All but the maps of the nodes and their functions: see check_map() and check_functions().
std::vector<CheckResult> check_picture(const ClusterPicture& picture);

// Asks the primaries for their functions.
CheckResult check_functions(ClusterSession& session, const ClusterPicture& picture);

// Whether a node tells its clients what etcd has. `slots` is its reply to CLUSTER SLOTS.
std::vector<ClusterProblem> check_map(const ClusterView& view, const std::string& node,
                                      const ReplyValue& slots);

}  // namespace mayfly
