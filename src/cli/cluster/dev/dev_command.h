// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster dev`: a cluster on this machine, to try it.

#pragma once

#include <string>

#include "cli/cluster/session/cluster_options.h"

namespace mayfly {

struct DevArgs {
  int nodes = 6;
  int replicas = 1;
  int lease_ms = 2000;
  std::string directory;  // empty: one that is removed at the end
};

Result<Exit> run_dev(const DevArgs& args);

}  // namespace mayfly
