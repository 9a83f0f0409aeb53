// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster status`: the picture, once or every second.

#pragma once

#include "cli/cluster/session/cluster_session.h"

namespace mayfly {

struct StatusArgs {
  bool is_watching = false;
};

Result<Exit> run_status(const StatusArgs& args, ClusterSession& session);

}  // namespace mayfly
