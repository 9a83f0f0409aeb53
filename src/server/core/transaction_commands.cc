// SPDX-License-Identifier: Apache-2.0
// MULTI, EXEC, DISCARD, WATCH and UNWATCH.

#include <array>

#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

void multi(Call& call) {
  Client& client = client_call(call).client;
  if (client.is_in_multi) return call.fail("ERR MULTI calls can not be nested");
  client.is_in_multi = true;
  call.reply().ok();
}

void discard(Call& call) {
  if (!client_call(call).client.is_in_multi) return call.fail("ERR DISCARD without MULTI");
  client_call(call).server.leave_multi(client_call(call).client);
  call.reply().ok();
}

void run_queue(ClientCall& call, const std::vector<Queued>& queue) {
  call.reply().array(queue.size());
  const std::uint64_t changes = call.server.stats().dirty;
  call.server.begin_transaction();
  std::vector<std::string_view> words;
  for (const Queued& queued : queue) {
    words.assign(queued.begin(), queued.end());
    const Command* const found = call.server.commands().find(words[0]);
    call.server.run(call.client, *call.server.commands().resolve(*found, words), words);
  }
  call.server.end_transaction();
  if (call.server.stats().dirty == changes) return;
  // It was propagated only now, as one: this is what WAIT is about, and `appendfsync always`.
  call.client.written_to = call.server.replication().log().end();
  call.client.written_to_aof = call.server.persistence().appended_offset();
}

void exec(Call& call) {
  ClientCall& here = client_call(call);
  Client& client = here.client;
  if (!client.is_in_multi) return call.fail("ERR EXEC without MULTI");
  if (client.is_multi_broken) {
    here.server.leave_multi(client);
    return call.fail("EXECABORT Transaction discarded because of previous errors.");
  }
  const bool is_broken = client.is_watch_broken ||
                         here.server.watches().has_expired(call.context(), client, call.keyspace());
  const std::vector<Queued> queue = std::move(client.queue);
  here.server.leave_multi(client);
  if (is_broken) return call.reply().null_array();
  run_queue(here, queue);
}

void watch(Call& call) {
  ClientCall& here = client_call(call);
  if (here.client.is_in_multi) return call.fail("ERR WATCH inside MULTI is not allowed");
  for (std::size_t i = 1; i < call.count(); ++i) {
    here.server.watches().watch(call.context(), here.client, call.database(), call.word(i));
  }
  call.reply().ok();
}

void unwatch(Call& call) {
  ClientCall& here = client_call(call);
  here.server.watches().unwatch_all(here.client);
  call.reply().ok();
}

constexpr std::uint32_t kFlags =
    flag::noscript | flag::loading | flag::stale | flag::fast | flag::allow_busy;

constexpr std::array kRows = {
    Command{.name = "multi",
            .handler = multi,
            .arity = 1,
            .flags = kFlags | flag::unqueued | flag::from_primary,
            .group = "transactions",
            .since = "1.2.0",
            .summary = "Begins a transaction."},
    Command{.name = "exec",
            .handler = exec,
            .arity = 1,
            .flags = flag::noscript | flag::loading | flag::stale | flag::skip_slowlog |
                     flag::unqueued | flag::runs_queue | flag::from_primary,
            .group = "transactions",
            .since = "1.2.0",
            .summary = "Runs what was queued since MULTI, all at once."},
    Command{.name = "discard",
            .handler = discard,
            .arity = 1,
            .flags = kFlags | flag::unqueued,
            .group = "transactions",
            .since = "2.0.0",
            .summary = "Forgets what was queued since MULTI."},
    Command{.name = "watch",
            .handler = watch,
            .arity = -2,
            .flags = kFlags | flag::unqueued,
            .keys = {1, -1, 1, access::ro},
            .group = "transactions",
            .since = "2.2.0",
            .syntax = "key...",
            .summary = "Makes the next EXEC do nothing if a key is changed before."},
    Command{.name = "unwatch",
            .handler = unwatch,
            .arity = 1,
            .flags = kFlags,
            .group = "transactions",
            .since = "2.2.0",
            .summary = "Watches no key any more."},
};

}  // namespace

std::span<const Command> transaction_commands() { return kRows; }

}  // namespace mayfly
