// SPDX-License-Identifier: Apache-2.0
// Sending the replication log to replicas.

#include "server/replication/replicas.h"

#include <fmt/format.h>

#include <algorithm>

#include "resp/encode.h"
#include "server/core/client.h"
#include "server/monitoring/stats.h"
#include "server/replication/cluster_role.h"
#include "server/replication/failover.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr std::size_t kLogRoom = 1 << 20;  // of a connection's output; the rest stays in the log
constexpr Millis kNewlineInterval{1000};

void append_words(ReplicationLog& log, std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_request(bytes, words);
  log.append(bytes);
}

}  // namespace

std::string replica_host(const Client& client) {
  if (!client.replica->ip.empty()) return client.replica->ip;
  const std::string& address = client.link().address();
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

void Replicas::synchronise(Client& client, std::string_view id, std::int64_t offset) {
  ReplicationStream& stream = context_.stream;
  const ReplicationIds& ids = stream.ids();
  // Replicas count from 1. What is less is never in the log.
  const std::uint64_t from = offset < 1 ? 0 : static_cast<std::uint64_t>(offset - 1);
  const bool is_ours =
      id == ids.id || (!ids.former.empty() && id == ids.former && from <= ids.former_end);
  const bool is_readable =
      client.replica->known_deadlines() == KnownDeadlines::all || from >= stream.mayfly_only().end;
  if (!stream.is_open() || client.replica->ends_with_file() || offset < 1 || !is_ours ||
      !is_readable || !stream.log().contains(from)) {
    if (id != "?") ++context_.stats.refused_partial_syncs;
    return synchronise_fully(client);
  }
  context_.log.notice("Partial synchronisation of replica {} from offset {}, {} bytes",
                      client.link().address(), offset, stream.log().end() - from);
  client.output() +=
      client.replica->knows_ids ? fmt::format("+CONTINUE {}\r\n", ids.id) : "+CONTINUE\r\n";
  attach(client);
  client.replica->cursor = from;
  ++context_.stats.partial_syncs;
  enter_online(client, context_.clock.now());
  pump(client);
}

bool Replicas::refuse_foreign(Client& client) {
  const KnownDeadlines known = client.replica->known_deadlines();
  if (known == KnownDeadlines::all) return false;
  const std::string about = unknown_deadlines(context_.keyspace, known);
  if (about.empty()) return false;
  context_.log.warning("Refusing to synchronise replica {}, which is not Mayfly: {}",
                       client.link().address(), about);
  client.output() += fmt::format("-ERR Only a replica that is Mayfly can follow: {}\r\n", about);
  client.link().close_after_flush();
  return true;
}

void Replicas::synchronise_fully(Client& client) {
  if (refuse_foreign(client)) return;
  context_.stream.open();
  attach(client);
  ++context_.stats.full_syncs;
  context_.log.notice("Replica {} asks for a full synchronisation", client.link().address());
  full_sync_.add(client, context_.clock.now());
}

void Replicas::enter_online(Client& client, Time now) {
  if (client.replica->ends_with_file()) {
    context_.log.notice("Client {} has the file that it asked for", client.link().address());
    client.replica->phase = ReplicaPhase::done;
    client.replica->file = nullptr;
    return client.link().close_after_flush();
  }
  client.replica->phase = ReplicaPhase::online;
  client.replica->since = now;
  client.replica->acked_at = now;
  client.replica->file = nullptr;
  context_.log.notice("Replica {} is online", client.link().address());
}

void Replicas::acknowledged(Client& client, std::uint64_t offset, std::uint64_t aof_offset,
                            Time now) {
  const std::uint64_t end = context_.stream.log().end();
  if (std::max(offset, aof_offset) > end) {
    context_.log.warning(
        "Closing replica {}: it acknowledges offset {}, which is beyond the end of the log ({})",
        client.link().address(), std::max(offset, aof_offset), end);
    return client.link().close_now("an offset beyond the end of the log");
  }
  ReplicaState& replica = *client.replica;
  replica.acked = std::max(replica.acked, offset);
  replica.acked_aof = std::max(replica.acked_aof, aof_offset);
  replica.acked_at = now;
  if (replica.phase == ReplicaPhase::streaming) replica.has_loaded = true;
  if (replica.phase == ReplicaPhase::loading) {
    enter_online(client, now);
    pump(client);
  }
  if (cluster_ != nullptr) cluster_->acknowledged(replica);
}

std::size_t Replicas::online() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all_, [](const Client* one) { return one->replica->is_online(); }));
}

std::size_t Replicas::good(Time now) const {
  const auto lag = std::chrono::seconds(context_.config.min_replicas_max_lag);
  return static_cast<std::size_t>(std::ranges::count_if(all_, [&](const Client* one) {
    return one->replica->is_online() && now - one->replica->acked_at <= lag;
  }));
}

std::size_t Replicas::acked(std::uint64_t offset) const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [&](const Client* one) {
    return one->replica->is_online() && one->replica->acked >= offset;
  }));
}

std::size_t Replicas::acked_aof(std::uint64_t offset) const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [&](const Client* one) {
    return one->replica->is_online() && one->replica->acked_aof >= offset;
  }));
}

void Replicas::attach(Client& client) {
  if (std::ranges::find(all_, &client) == all_.end()) all_.push_back(&client);
  find_foreign();
}

std::size_t Replicas::output_bytes() const {
  std::size_t bytes = 0;
  for (const Client* const client : all_) bytes += client->link().output_capacity();
  return bytes;
}

void Replicas::forget(Client& client) {
  if (std::erase(all_, &client) == 0) return;
  if (all_.empty()) alone_since_ = context_.clock.now();
  find_foreign();
}

void Replicas::find_foreign() {
  context_.stream.set_foreign(std::ranges::any_of(all_, [](const Client* one) {
    return one->replica->known_deadlines() != KnownDeadlines::all;
  }));
}

void Replicas::disconnect_all(std::string_view why) {
  for (Client* const client : std::vector<Client*>(all_)) client->link().close_now(why);
}

// Whether the log goes on with a request that the replica does not know.
bool Replicas::is_beyond(const Client& client) const {
  const ReplicaState& replica = *client.replica;
  return replica.known_deadlines() != KnownDeadlines::all &&
         replica.phase > ReplicaPhase::waiting &&
         replica.cursor < context_.stream.mayfly_only().end;
}

void Replicas::pump(Client& client) {
  ReplicaState& replica = *client.replica;
  if (client.link().closing()) return;
  if (is_beyond(client)) {
    context_.log.warning("Closing replica {}, which is not Mayfly and does not know {}",
                         client.link().address(), context_.stream.mayfly_only().what);
    return client.link().close_now("a request that it does not know");
  }
  if (replica.phase == ReplicaPhase::sending && full_sync_.send_file(client)) {
    enter_online(client, context_.clock.now());
  }
  if (!replica.is_online()) return;
  const ReplicationLog& log = context_.stream.log();
  while (client.link().pending() < kLogRoom && replica.cursor < log.end()) {
    const std::string_view bytes = log.read(replica.cursor);
    client.output() += bytes;
    replica.cursor += bytes.size();
  }
}

void Replicas::before_sleep(Time now) {
  full_sync_.before_sleep(now);
  if (all_.empty()) {
    const std::int64_t ttl = context_.config.repl_backlog_ttl;
    const bool is_forgotten = ttl > 0 && alone_since_ != Time::min() &&
                              is_due(alone_since_ + std::chrono::seconds(ttl), now);
    if (is_forgotten && !context_.stream.is_replica()) context_.stream.close();
    return trim();
  }
  alone_since_ = Time::min();
  // Replicas of a cluster acknowledge without being asked.
  if (asks_for_acks_ && !context_.stream.is_replica() && cluster_ == nullptr) {
    append_words(context_.stream.log(), {"REPLCONF", "GETACK", "*"});
  }
  asks_for_acks_ = false;
  keep_alive(now);
  drop_silent(now);
  for (Client* const client : std::vector<Client*>(all_)) {
    pump(*client);
    client->check_output();
  }
  trim();
}

// So that replicas know that this server is alive. Those that wait for the data set get an empty
// line.
void Replicas::keep_alive(Time now) {
  // The period may have been changed, and the clock set back.
  const auto period = std::chrono::seconds(context_.config.repl_ping_replica_period);
  last_ping_ = std::min(last_ping_.value_or(now), now);
  if (is_due(*last_ping_ + period, now) && !context_.stream.is_replica()) {
    // While we hand over or end, the replica must be able to get to the end of the log.
    const bool is_handing_over = failover_.state() != Failover::State::none ||
                                 (cluster_ != nullptr && cluster_->is_handing_over());
    if (online() > 0 && !is_handing_over && !is_ending_) {
      append_words(context_.stream.log(), {"PING"});
    }
    last_ping_ = now;
  }
  if (!is_due(next_newline_, now)) return;
  next_newline_ = now + kNewlineInterval;
  for (Client* const client : all_) {
    const ReplicaPhase phase = client->replica->phase;
    if (phase == ReplicaPhase::waiting || phase == ReplicaPhase::saving) client->output() += '\n';
  }
}

void Replicas::drop_silent(Time now) {
  const auto longest = std::chrono::seconds(context_.config.repl_timeout);
  for (Client* const client : std::vector<Client*>(all_)) {
    const ReplicaState& replica = *client->replica;
    const bool must_answer = replica.is_online() && !replica.is_old;
    if (!must_answer || !is_due(replica.acked_at + longest, now)) continue;
    context_.log.warning("Closing replica {}: no acknowledgement for {} seconds",
                         client->link().address(), longest.count());
    client->link().close_now("no acknowledgement for longer than repl-timeout");
  }
}

void Replicas::trim() {
  std::uint64_t needed = context_.stream.log().end();
  for (const Client* const client : all_) {
    if (client->replica->phase <= ReplicaPhase::waiting || client->link().closing()) continue;
    needed = std::min(needed, client->replica->cursor);
  }
  context_.stream.log().trim(
      std::max(context_.config.repl_backlog_size, ReplicationLog::kKeptLeast), needed);
}

}  // namespace mayfly
