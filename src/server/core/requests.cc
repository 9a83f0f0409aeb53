// SPDX-License-Identifier: Apache-2.0
// Handling requests: running them, and what follows. refusals.cc refuses them, and
// transactions/queued_requests.cc queues them.

#include "server/core/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "commands/words.h"
#include "mayfly/internal/stopwatch.h"
#include "resp/request_peek.h"
#include "server/blocking/key_waiters.h"
#include "server/cluster/cluster.h"
#include "server/cluster/cluster_refusals.h"
#include "server/core/reclaimer.h"
#include "server/expiry/expiry_log.h"
#include "server/expiry/log_protection.h"
#include "server/monitoring/command_log.h"
#include "server/monitoring/latency.h"
#include "server/monitoring/secrets.h"
#include "server/persistence/persistence.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/primary_link.h"
#include "server/replication/propagation.h"
#include "server/replication/replication.h"
#include "server/tracking/tracking.h"
#include "server/transactions/watches.h"
#include "server/ttl/ttl_guard.h"

namespace mayfly {
namespace {

// If a client sends no requests that can be looked at, it is tried again after so many.
constexpr std::size_t kLookAheadAgain = 64;

// Also HELLO 3 AUTH user password.
bool is_login(const Command& command, Words words) {
  if (command.name == "auth") return true;
  return command.name == "hello" && words.size() > 2 &&
         std::ranges::any_of(words.subspan(2),
                             [](std::string_view word) { return equals(word, "auth"); });
}

// A browser can be made to send a request whose lines are commands.
bool is_http(std::string_view word) { return equals(word, "post") || equals(word, "host:"); }

}  // namespace

// The time of the request that runs next.
inline Time Requests::read_clock() {
  const Time now = parts_.clock.now();
  parts_.now = now;
  has_read_clock_ = true;
  return now;
}

// In a cluster: nearly every request is about one key, and nothing stands in its way.
inline bool Requests::is_answered_at_once(const Client& client, const Command& command,
                                          Words words) {
  if (client.transaction.is_open || is_in_transaction_ || !has_one_key(command) ||
      (command.flags & kLimitedInCluster) != 0) {
    return false;
  }
  return parts_.cluster.answers_at_once(words[1], read_clock());
}

bool Requests::handle(Client& client, Words words) {
  if (is_unit_abandoned_) return close_at_end(client);
  has_read_clock_ = false;
  if (client.is_attached_replica() && handle_of_replica(client, words)) return true;
  const Command* const found = parts_.commands.find(words[0]);
  if (found == nullptr && is_http(words[0])) {
    parts_.log.warning(
        "Closing client {}: it sends HTTP. A web page may try to send commands to this server",
        client.link().address());
    client.link().close_now("it sends HTTP");
    return true;
  }
  const Command* const command =
      found == nullptr ? nullptr : parts_.commands.resolve(*found, words);
  if (command == nullptr || !fits(*command, words.size())) {
    refuse_unknown(client, found, command, words);
    return true;
  }
  clients_.update_pauses();
  serve_waiters();  // a pause is over
  const std::uint64_t flags = flags_of(*command, words);
  if (parts_.cluster.is_enabled() && !is_answered_at_once(client, *command, words) &&
      !client.is_primary && client.is_authenticated() && !client.is_import) {
    if (const Status here = check_cluster(client, *command, flags, words); !here) {
      if (here.error().code == Code::busy) return false;  // its slot is moving
      ++stats_.by_command[command].rejected;
      refuse(client, command, words, here.error().message);
      return true;
    }
  }
  Status allowed = check_redirect(client, *command, flags);
  if (!allowed && allowed.error().code == Code::busy) return false;  // while failing over
  if (allowed) allowed = check_allowed(client, *command, flags);
  if (!allowed) {
    ++stats_.by_command[command].rejected;
    refuse(client, command, words, allowed.error().message);
    return true;
  }
  if (must_wait(client, *command, flags)) return false;
  if ((command->flags & flag::no_auth) != 0 && is_login(*command, words) &&
      clients_.delays_login(client)) {
    return false;
  }
  if (client.transaction.is_open && (command->flags & flag::unqueued) == 0) {
    if (queues_log_write(config_, parts_.reclaimer.context(&client), keyspace_, *command, words)) {
      ++stats_.by_command[command].rejected;
      refuse(client, command, words, kLogProtectedReply);
      return true;
    }
    queue(client, flags, words);
  } else {
    run(client, *command, words);
  }
  return true;
}

// Whether this node of a cluster answers. A transaction has one slot: that of all its commands.
Status Requests::check_cluster(Client& client, const Command& command, std::uint64_t flags,
                               Words words) {
  if ((command.flags & kLimitedInCluster) != 0) {
    if (Status status = check_for_cluster(command, words); !status) return status;
  }
  RequestSlot slot = request_slot(command, words);
  Client::Transaction& transaction = client.transaction;
  if (transaction.is_open && (command.flags & flag::runs_queue) != 0) {
    slot = transaction.slot;
    flags |= transaction.queued_flags;
  }
  // Another server may have taken over, and have other libraries.
  if (uses_functions(command) && parts_.cluster.is_fenced()) flags |= flag::readonly;
  if (!is_in_transaction_ && !has_read_clock_) read_clock();
  Status here = parts_.cluster.check_request(client, flags, slot, parts_.now);
  if (!here || !transaction.is_open) return here;
  if ((command.flags & flag::runs_queue) != 0) {
    if (!transaction.sees_all || slot.kind == RequestSlot::none) return here;
    return parts_.cluster.check_request(client, flags, RequestSlot{}, parts_.now);
  }
  transaction.slot.join(slot);
  if (uses_functions(command)) transaction.queued_flags |= flag::readonly;
  const bool uses_keys = (flags & (flag::readonly | flag::write)) != 0;
  if (slot.kind == RequestSlot::none && uses_keys) transaction.sees_all = true;
  return here;
}

// Keys that have come with their slots are still being merged into database 0.
void Requests::prepare_keys(const Client& client, const Command& command, Words words) {
  if (client.database() == 0) parts_.cluster.moves().prepare(command, words);
}

std::size_t Requests::look_ahead(const Client& client, std::string_view bytes) const {
  if (!looks_ahead_) return kLookAheadAgain;
  std::array<PeekedRequest, Database::kHintsMost> requests;
  const std::size_t count = peek_requests(bytes, requests);
  if (count < 2) return kLookAheadAgain;
  std::array<LookupHint, Database::kHintsMost> hints;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& words = requests[i].words;
    hints[i] = {words[0], {words[1], words[2]}};
  }
  keyspace_[client.database()].prefetch(std::span(hints).first(count));
  return count;
}

void Requests::end_batch(Client& client, std::size_t taken, std::size_t waiting) {
  client.info.bytes_in += taken;
  stats_.bytes_in += taken;
  if (client.is_primary) stats_.replication_bytes_in += taken;
  clients_.check_input(client, waiting);
  clients_.count_memory(client);
}

void Requests::applied(std::string_view bytes) {
  if (PrimaryLink* const primary = parts_.replication.primary()) primary->applied(bytes);
}

void Requests::feed_replica(Client& client) { parts_.replication.replicas().pump(client); }

void Requests::closed(Client& client) {
  stats_.bytes_out += client.link().sent();
  if (client.is_attached_replica()) stats_.replication_bytes_out += client.link().sent();
  forget(client);
}

void Requests::forget(Client& client) {
  if (client.is_import) parts_.cluster.moves().import_closed(client);
  parts_.pubsub.unsubscribe_all(client);
  parts_.watches.unwatch_all(client);
  parts_.tracking.disable(client);
  parts_.replication.replicas().forget(client);
  parts_.blocked.forget(client);
  parts_.cluster.forget(client);
  clients_.remove(client);
}

// ---- Running ----

void Requests::run(Client& client, const Command& command, Words words) {
  // In a batch the end of one request is the beginning of the next: one reading of the clock less.
  const std::int64_t begin = batch_ns_ != 0 ? batch_ns_ : monotonic_ns();
  const bool is_outermost = client.begin_request();
  set_last_command(client, command);
  if (!is_in_transaction_ && !std::exchange(has_read_clock_, false)) {
    parts_.now = parts_.clock.now();
  }
  ExecContext context = parts_.reclaimer.context(&client);
  context.records_use = !client.options.no_touch || (command.flags & flag::records_use) != 0;
  const bool is_shown = !client.blocked;  // else it has been

  const auto outer_seen = begin_held(client, command, words, is_outermost);
  std::string& out = client.output();
  const std::size_t start = out.size();
  Reply reply(out, client.protocol());
  ServerCall call(events_, parts_, client, context, command, words, reply);
  Tracking& tracking = parts_.tracking;
  const std::uint64_t outer = is_outermost ? tracking.set_current(client.id()) : 0;
  const RunningRequest outer_request =
      std::exchange(running_, {&client, &command, nullptr, words.size()});
  if (parts_.cluster.moves().is_active()) prepare_keys(client, command, words);
  run_handler(call);
  if (client.tracking) tracking.remember(client, command, words);
  if (is_outermost) tracking.set_current(outer);
  if (is_outermost && client.tracking) tracking.request_ended(client, &command);

  // Now, so that an EXEC is shown behind what it ran.
  if (is_shown && !clients_.monitors().empty() &&
      (command.flags & (flag::skip_monitor | flag::admin)) == 0) {
    feed_monitors(client, words);
  }
  set_last_command(client, command);  // again: EXEC has run others meanwhile
  running_ = outer_request;
  batch_ns_ = monotonic_ns();
  if (is_outermost) stats_.command_ns += static_cast<std::uint64_t>(batch_ns_ - begin);
  finish(client, command, words, call, start, (batch_ns_ - begin) / 1000);
  finish_output(client, start, is_outermost);
  if (outer_seen) parts_.cluster.held().resume(*outer_seen);
  if (is_outermost) serve_waiters();
}

// With `cluster-replies in-sync`: notes what the request reads. Returns what the one has seen that
// it interrupts, if any.
std::optional<HeldReplies::Seen> Requests::begin_held(Client& client, const Command& command,
                                                      Words words, bool is_outermost) {
  if (!parts_.cluster.holds_replies()) return std::nullopt;
  HeldReplies& held = parts_.cluster.held();
  std::optional<HeldReplies::Seen> outer;
  if (is_outermost) outer = held.begin_request();
  held.reads(client, command, words);
  return outer;
}

// Not while a script runs, which may have made them ready.
void Requests::serve_waiters() {
  if (!is_in_transaction_ && parts_.key_waiters.any_ready()) parts_.key_waiters.serve();
}

void Requests::run_again(Client& client, const Command& command, Words words) {
  begin_batch();
  has_read_clock_ = false;
  if (parts_.cluster.is_enabled()) {
    if (const Status here = check_cluster(client, command, command.flags, words); !here) {
      if (here.error().code == Code::busy) {  // it waits on
        client.blocked->is_answered = false;
        return;
      }
      return refuse(client, &command, words, here.error().message);
    }
  }
  if (const Status allowed = check_allowed(client, command, command.flags); !allowed) {
    ++stats_.by_command[&command].rejected;
    return refuse(client, &command, words, allowed.error().message);
  }
  run(client, command, words);
}

void Requests::answer(Client& client, const std::function<void(Reply&)>& write) {
  const bool holds = parts_.cluster.holds_replies();
  HeldReplies& held = parts_.cluster.held();
  const HeldReplies::Seen outer = holds ? held.begin_request() : HeldReplies::Seen{};
  if (holds) held.reads_of_wait(client);
  const std::size_t start = client.output().size();
  Reply reply(client.output(), client.protocol());
  write(reply);
  client.blocked->is_answered = true;
  count_call(client, {}, start, 0);
  finish_output(client, start, true);
  if (holds) held.resume(outer);
}

void Requests::set_last_command(Client& client, const Command& command) {
  if (client.info.last == &command) return;
  client.info.last = &command;
  client.info.last_stats = &stats_.by_command[&command];
}

// The reply is complete: it is dropped if it is not wanted, and counts towards the output limit. Of
// a request that waits there is none yet.
void Requests::finish_output(Client& client, std::size_t start, bool is_outermost) {
  if (is_outermost) {
    ReplyMode& mode = client.options.reply_mode;
    if (mode != ReplyMode::on && !client.is_blocked()) {
      client.output().resize(start);
      if (mode == ReplyMode::skip) mode = ReplyMode::on;
      if (mode == ReplyMode::skip_next) mode = ReplyMode::skip;
    }
    client.end_request();
    if (parts_.cluster.holds_replies()) parts_.cluster.reply_added(client, start);
  }
  clients_.check_output(client);
  if (client.limits.drops_output && client.output().size() > start) client.output().resize(start);
}

void Requests::finish(Client& client, const Command& command, Words words, const Call& call,
                      std::size_t start, std::int64_t micros) {
  if (call.changes() > 0) stats_.dirty += static_cast<std::uint64_t>(call.changes());
  const bool has_logged = parts_.expiry_log.end_batch();
  if (parts_.propagation.is_wanted()) propagate(client, command, words, call, has_logged);
  if (client.is_blocked()) {  // it is counted when it is answered
    client.blocked->micros += micros;
    if (parts_.cluster.holds_replies()) parts_.cluster.held().waits(client, command, words);
    return;
  }
  count_call(client, words, start, micros);
  const std::size_t end = client.output().size();
  log_call(client, command, words, std::max(end, start) - start, micros);
}

// For SLOWLOG, COMMANDLOG and LATENCY.
void Requests::log_call(const Client& client, const Command& command, Words words,
                        std::size_t reply_bytes, std::int64_t micros) {
  if ((command.flags & flag::skip_slowlog) == 0) {
    parts_.command_logs.record(config_, {.words = words,
                                         .micros = micros,
                                         .reply_bytes = reply_bytes,
                                         .at = parts_.now,
                                         .client_address = client.link().address(),
                                         .client_name = client.info.name});
  }
  if (config_.latency_monitor_threshold > 0) {
    parts_.latency.add((command.flags & flag::fast) != 0 ? "fast-command" : "command",
                       micros / 1000, config_.latency_monitor_threshold, parts_.now);
  }
}

// For the statistics. The reply, which may be an error, begins at `start`. There are no words if a
// request that waited is not run again: an error then means that it was rejected.
void Requests::count_call(Client& client, Words words, std::size_t start, std::int64_t micros) {
  if (client.blocked) micros += client.blocked->micros;
  ++stats_.commands;
  ++client.info.commands;
  client.info.used = parts_.now;
  CommandStats& stats = *client.info.last_stats;
  stats.add_call(micros);

  const std::string& out = client.output();
  if (out.size() > start && out[start] == '-') {
    ++(words.empty() ? stats.rejected : stats.failed);
    const std::string_view error = std::string_view(out).substr(start + 1);
    const std::uint64_t flags = client.info.last->flags;
    const bool is_own = (flags & flag::skip_monitor) == 0 && client.info.last->name != "debug";
    if (!skips_error_count_) count_error(error.substr(0, 64), is_own);
    record_peer_error(client, words, error.substr(0, error.find('\r')));
  }
  skips_error_count_ = false;
}

// `has_logged`: it has found something expired, and removals and their entries in the expiry log
// belong together.
void Requests::propagate(Client& client, const Command& command, Words words, const Call& call,
                         bool has_logged) {
  const int database = client.database();
  if (call.is_replaced()) {
    for (const Propagated& one : call.propagated()) parts_.propagation.add(database, one);
  } else if (call.changes() > 0 && (command.flags & (flag::write | flag::may_replicate)) != 0) {
    parts_.propagation.add(database, words);
  }
  for (const auto& [number, one] : call.appended()) parts_.propagation.add(number, one);
  if (is_in_transaction_) return;
  parts_.propagation.flush(has_logged || (command.flags & flag::arbitrary_keys) == 0);
  if (call.changes() > 0) set_written(client);
}

// For WAIT, and for clients whose writes must be on disk before their replies (appendfsync always).
void Requests::set_written(Client& client) {
  client.written = {parts_.replication.stream().log().end(),
                    parts_.persistence.aof().appended_offset()};
  if (parts_.cluster.is_enabled()) parts_.cluster.record_write(client);
}

}  // namespace mayfly
