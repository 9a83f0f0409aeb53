// SPDX-License-Identifier: Apache-2.0
// Whether a server can serve data: for GET /ready.

#pragma once

#include <optional>
#include <string>

namespace mayfly {

struct ServerParts;

// Why it can't; nothing if it can. A replica without its primary can, unless
// replica-serve-stale-data is off. A server that must refuse writes, since they can't be saved,
// can't. A script that runs for long makes everything else wait.
std::optional<std::string> why_not_ready(const ServerParts& parts);

}  // namespace mayfly
