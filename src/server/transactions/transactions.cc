// SPDX-License-Identifier: Apache-2.0
// MULTI, EXEC, DISCARD, WATCH and UNWATCH.

#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/stats.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/transactions/watches.h"

namespace mayfly {

namespace {

// For the stream of a primary: requests of clients are refused before.
constexpr std::string_view kNested = "ERR Command 'multi' not allowed inside a transaction";

void multi(Call& call) {
  Client& client = client_of(call);
  if (client.transaction.is_open) return call.fail(kNested);
  client.transaction.is_open = true;
  call.reply().ok();
}

void discard(Call& call) {
  if (!client_of(call).transaction.is_open) return call.fail("ERR DISCARD without MULTI");
  parts_of(call).requests.leave_multi(client_of(call));
  call.reply().ok();
}

void exec(Call& call) {
  ServerCall& here = server_call(call);
  Client& client = here.client;
  if (!client.transaction.is_open) return call.fail("ERR EXEC without MULTI");
  if (client.transaction.is_broken) {
    here.server.requests.leave_multi(client);
    return call.fail("EXECABORT Transaction discarded because of previous errors.");
  }
  const bool is_broken =
      client.transaction.is_watch_broken ||
      here.server.watches.has_expired(call.context(), client, here.server.keyspace);
  const std::vector<Queued> queue = std::move(client.transaction.queue);
  here.server.requests.leave_multi(client);
  if (is_broken) return call.reply().null_array();
  call.reply().array(queue.size());
  here.server.requests.run_queue(client, queue);
}

void watch(Call& call) {
  ServerCall& here = server_call(call);
  for (std::size_t i = 1; i < call.count(); ++i) {
    here.server.watches.watch(call.context(), here.client, call.database(), call.word(i));
  }
  call.reply().ok();
}

void unwatch(Call& call) {
  ServerCall& here = server_call(call);
  here.server.watches.unwatch_all(here.client);
  call.reply().ok();
}

constexpr std::uint64_t kTransactionFlags =
    flag::noscript | flag::loading | flag::stale | flag::fast | flag::allow_busy;

// clang-format off
constexpr Command kTransactionCommands[] = {
    {"multi", multi, 1, kTransactionFlags | flag::no_multi | flag::unqueued | flag::from_primary,
     {}, "transactions", "1.2.0", "", "Begins a transaction."},
    {"exec", exec, 1, flag::noscript | flag::loading | flag::stale | flag::skip_slowlog |
     flag::unqueued | flag::runs_queue | flag::from_primary, {}, "transactions", "1.2.0", "",
     "Runs the queued commands, all at once."},
    {"discard", discard, 1, kTransactionFlags | flag::unqueued, {}, "transactions", "2.0.0", "",
     "Drops the queued commands."},
    {"watch", watch, -2, kTransactionFlags | flag::no_multi | flag::unqueued,
     {1, -1, 1, access::ro}, "transactions", "2.2.0", "key...",
     "Makes the next EXEC do nothing if a key changes before."},
    {"unwatch", unwatch, 1, kTransactionFlags, {}, "transactions", "2.2.0", "",
     "Ends the watch of all keys."},
};
// clang-format on

}  // namespace

std::span<const Command> transaction_commands() { return kTransactionCommands; }

}  // namespace mayfly
