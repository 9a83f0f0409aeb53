// SPDX-License-Identifier: Apache-2.0
// What a node of a cluster refuses from every client and every script: commands about other
// databases, other servers, or keys of any slot.

#pragma once

#include "commands/command.h"
#include "mayfly/result.h"
#include "resp/request.h"

namespace mayfly {

inline constexpr std::uint64_t kLimitedInCluster = flag::not_in_cluster | flag::names_other_keys;

// The message of the error is the reply. REQUIRES: the command has one of kLimitedInCluster.
Status check_for_cluster(const Command& command, Words words);

}  // namespace mayfly
