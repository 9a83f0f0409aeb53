// SPDX-License-Identifier: Apache-2.0
#include "server/http/readiness.h"

#include "server/core/server_call.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"

namespace mayfly {

std::optional<std::string> why_not_ready(const ServerParts& parts) {
  if (parts.loading.is_active()) return "loading: the data is read from disk or from the primary";
  if (parts.replication.is_stale()) {
    return "stale: the primary is not connected, and replica-serve-stale-data is 'no'";
  }
  if (!parts.replication.is_replica()) {
    if (const Status status = parts.persistence.check_writable(); !status) {
      return status.error().message;
    }
  }
  if (parts.scripting.is_busy()) return "busy: a script runs for long";
  if (parts.persistence.shutdown().is_waiting()) return "stopping: the server shuts down";
  return std::nullopt;
}

}  // namespace mayfly
