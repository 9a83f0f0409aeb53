// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster accept`: this etcd is the right one, though the nodes know another one or a later
// state of it. It was restored from a snapshot.

#pragma once

#include "cli/cluster/session/cluster_session.h"

namespace mayfly {

struct AcceptArgs {
  bool ignores_silent = false;  // nodes that do not answer are switched off
};

Result<Exit> run_accept(const AcceptArgs& args, ClusterSession& session);

}  // namespace mayfly
