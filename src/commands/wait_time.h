// SPDX-License-Identifier: Apache-2.0
// How long a blocking command waits.

#pragma once

#include <cstddef>
#include <optional>

#include "commands/call.h"
#include "mayfly/time.h"

namespace mayfly {

// The seconds in word `i`, which may have a fraction, as the end of a wait: 0 means for ever.
// Nothing after an error reply.
std::optional<Time> wait_end(Call& call, std::size_t i);

}  // namespace mayfly
