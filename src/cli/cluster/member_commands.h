// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster add` and `remove`: nodes come in and leave.

#pragma once

#include <string>

#include "cli/cluster/session/cluster_session.h"

namespace mayfly {

struct AddArgs {
  std::string node;   // HOST:PORT
  std::string shard;  // --replica-of; empty: a shard of its own
};

struct RemoveArgs {
  std::string node;
};

Result<Exit> run_add(const AddArgs& args, ClusterSession& session);
Result<Exit> run_remove(const RemoveArgs& args, ClusterSession& session);

}  // namespace mayfly
