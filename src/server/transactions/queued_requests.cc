// SPDX-License-Identifier: Apache-2.0
// Requests between MULTI and EXEC: queueing them, and running the queue as one unit.

#include <utility>

#include "resp/reply.h"
#include "server/core/requests.h"
#include "server/monitoring/stats.h"
#include "server/replication/propagation.h"
#include "server/transactions/watches.h"

namespace mayfly {

void Requests::queue(Client& client, std::uint64_t flags, Words words) {
  Client::Transaction& transaction = client.transaction;
  transaction.queue.emplace_back(words.begin(), words.end());
  transaction.queued_flags |= flags;
  transaction.queued_lacks |= ~flags;
  transaction.queued_bytes += allocated_for(words.size() * sizeof(std::string));
  for (const std::string_view word : words) {
    transaction.queued_bytes += allocated_for_text(word.size());
  }
  if (transaction.queued_bytes > config_.client_query_buffer_limit) {
    ++stats_.query_limit_disconnections;
    return client.link().close_now("transaction exceeds client-query-buffer-limit");
  }
  if (client.options.reply_mode == ReplyMode::on) {
    Reply(client.output(), client.protocol()).simple("QUEUED");
  }
}

void Requests::leave_multi(Client& client) {
  client.transaction.is_open = false;
  client.transaction.is_broken = false;
  client.transaction.clear_queue();
  parts_.watches.unwatch_all(client);
}

bool Requests::begin_unit() {
  if (std::exchange(is_in_transaction_, true)) return false;
  changes_before_unit_ = stats_.dirty;
  return true;
}

bool Requests::has_open_changes() const {
  return is_in_transaction_ && stats_.dirty != changes_before_unit_;
}

bool Requests::close_at_end(Client& client) {
  client.link().close_now("the server stops in the middle of a script");
  return true;
}

void Requests::end_unit(Client& client, bool is_outermost, bool has_written) {
  if (!is_outermost) return;
  is_in_transaction_ = false;
  if (is_unit_abandoned_) {
    parts_.propagation.discard();
    return (void)close_at_end(client);
  }
  parts_.propagation.flush();
  if (has_written) set_written(client);
}

void Requests::run_queue(Client& client, const std::vector<Queued>& queue) {
  const std::uint64_t changes = stats_.dirty;
  begin_unit();
  std::vector<std::string_view> words;
  for (const Queued& queued : queue) {
    words.assign(queued.begin(), queued.end());
    const Command* const found = parts_.commands.find(words[0]);
    run(client, *parts_.commands.resolve(*found, words), words);
    if (is_unit_abandoned_) break;
  }
  end_unit(client, true, stats_.dirty != changes);
}

}  // namespace mayfly
