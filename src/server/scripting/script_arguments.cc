// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/script_arguments.h"

#include "resp/numbers.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// The reply if a script may not run; empty if it may. One that declares nothing is refused by what
// it calls.
std::string refusal(const ServerCall& call, std::uint32_t flags, bool is_read_only,
                    bool is_memory_full) {
  const ServerParts& server = call.server;
  const bool obeys = call.client.is_primary || call.client.is_replay;
  const bool is_stale = server.replication.is_stale() && !obeys;
  if ((flags & script_flag::undeclared) != 0) return is_stale ? kStaleReply : "";
  if (server.config.cluster_enabled && (flags & script_flag::no_cluster) != 0) {
    return "ERR Can not run script on cluster, 'no-cluster' flag is set.";
  }
  if (is_stale && (flags & script_flag::allow_stale) == 0) {
    return "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and "
           "'allow-stale' flag is not set on the script.";
  }
  if ((flags & script_flag::no_writes) != 0) return {};
  if (server.replication.is_replica() && server.config.replica_read_only && !obeys) {
    return "READONLY Can not run script with write flag on readonly replica";
  }
  if (!server.replication.is_replica() && !obeys) {
    if (const Status status = server.persistence.check_writable(); !status) {
      return status.error().message;
    }
  }
  if (is_read_only) return "ERR Can not execute a script with write flag using *_ro command.";
  if (const Status status = server.replication.check_writable(server.clock); !status && !obeys) {
    return status.error().message;
  }
  if (is_memory_full && (flags & script_flag::allow_oom) == 0) {
    return "OOM allow-oom flag is not set on the script, can not run it when used memory > "
           "'maxmemory'";
  }
  return {};
}

}  // namespace

std::optional<ScriptArguments> read_script_arguments(Call& call, std::string_view bad_number) {
  const std::optional<std::int64_t> keys = call.integer(2, INT64_MIN, INT64_MAX, bad_number);
  if (!keys) return std::nullopt;
  const std::size_t left = call.count() - 3;
  if (*keys > static_cast<std::int64_t>(left)) {
    call.fail("ERR Number of keys can't be greater than number of args");
    return std::nullopt;
  }
  if (*keys < 0) {
    call.fail("ERR Number of keys can't be negative");
    return std::nullopt;
  }
  const Words words = call.words().subspan(3);
  const auto count = static_cast<std::size_t>(*keys);
  return ScriptArguments{words.first(count), words.subspan(count)};
}

bool prepare_run(Call& call, ScriptRun& run, std::uint32_t flags, bool is_read_only) {
  ServerCall& here = server_call(call);
  // A transaction evicts nothing on its way, nor does a file that is loaded.
  Reclaimer& reclaimer = here.server.reclaimer;
  if (!here.client.is_replay) {
    run.is_memory_full =
        here.server.requests.is_in_transaction() ? reclaimer.is_full() : !reclaimer.make_room();
  }
  const bool is_declared = (flags & script_flag::undeclared) == 0;
  const std::string text = refusal(here, flags, is_read_only, run.is_memory_full);
  if (!text.empty()) {
    call.fail(text);
    return false;
  }
  run.is_read_only = is_read_only || (is_declared && (flags & script_flag::no_writes) != 0);
  run.allows_oom = is_declared && (flags & script_flag::allow_oom) != 0;
  return true;
}

}  // namespace mayfly
