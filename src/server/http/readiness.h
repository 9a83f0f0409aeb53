// SPDX-License-Identifier: Apache-2.0
// Whether a server can serve data: for GET /ready.

#pragma once

#include <optional>
#include <string>

namespace mayfly {

struct ServerParts;

// Why all writes, or those that take memory, are refused on a primary: "MISCONF ...",
// "NOREPLICAS ...", "OOM ..."; nothing if they are not.
std::optional<std::string> why_writes_refused(const ServerParts& parts);

// Why it can't; nothing if it can. A replica without its primary can, unless
// replica-serve-stale-data is off. A server that must refuse writes, since they can't be saved
// or there is no room for them, can't. A script that runs for long makes everything else wait.
std::optional<std::string> why_not_ready(const ServerParts& parts);

}  // namespace mayfly
