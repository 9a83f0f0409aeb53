// SPDX-License-Identifier: Apache-2.0
// The options of REPLCONF: the address of a replica, and its capabilities.

#pragma once

#include <string_view>

#include "mayfly/result.h"
#include "server/replication/replica_state.h"

namespace mayfly {

// The error is the reply. Unknown capabilities are ignored, as later versions have more of them.
Status set_replica_option(ReplicaState& replica, std::string_view name, std::string_view value);

}  // namespace mayfly
