// SPDX-License-Identifier: Apache-2.0
// A request's way: whether it may run, running it, and what follows from it.

#include "server/core/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "commands/words.h"
#include "mayfly/internal/stopwatch.h"
#include "server/admin/missing_types.h"
#include "server/core/memory.h"
#include "server/monitoring/command_times.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

KeyspaceOptions keyspace_options(const Config& config) {
  std::random_device device;
  KeyspaceOptions options;
  options.databases = static_cast<int>(config.databases);
  options.seed = std::uint64_t{device()} << 32 | device();
  return options;
}

std::string unknown_command(Words words) {
  constexpr std::size_t kMost = 128;
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < kMost; ++i) {
    arguments += fmt::format("'{:.{}}' ", words[i], kMost - arguments.size());
  }
  return fmt::format("ERR unknown command '{:.{}}', with args beginning with: {}", words[0], kMost,
                     arguments);
}

std::string unknown_subcommand(const Command& command, Words words) {
  std::string name(command.name);
  for (char& c : name) c = static_cast<char>(std::toupper(c));
  return fmt::format("ERR unknown subcommand '{:.128}'. Try {} HELP.", words[1], name);
}

// A browser can be made to send a request whose lines are commands of ours.
bool is_http(std::string_view word) { return equals(word, "post") || equals(word, "host:"); }

}  // namespace

Server::Server(const Clock& clock, Config config, Log& log, Surroundings& surroundings)
    : clock_(clock),
      config_(std::move(config)),
      log_(log),
      surroundings_(surroundings),
      keyspace_(keyspace_options(config_), *this),
      background_([this](const ChildWork& work, const std::vector<int>& kept) {
        return surroundings_.start_child(work, kept);
      }),
      persistence_(*this),
      replication_(std::make_unique<Replication>(*this)),
      run_id_(random_id()) {
  for (const auto rows : data_commands()) commands_.add(rows);
  for (const auto rows :
       {connection_commands(), client_commands(), transaction_commands(), pubsub_commands(),
        server_commands(), persistence_commands(), dump_commands(), replication_commands(),
        config_commands(), command_commands(), monitoring_commands(), debug_commands(),
        compatibility_commands()}) {
    commands_.add(rows);
  }
  stats_.started = clock_.now();
  stats_.memory_startup = used_memory();
  now_ = stats_.started;
  apply_config();
}

Server::~Server() = default;

bool Server::handle(Client& client, Words words) {
  const Command* const found = commands_.find(words[0]);
  if (found == nullptr && is_http(words[0])) {
    log_.write(Level::warning, fmt::format("Closing client {}: it speaks HTTP. A web page may have "
                                           "been made to send commands to this server",
                                           client.link().address()));
    client.link().close_now("it speaks HTTP");
    return true;
  }
  const Command* const command = found == nullptr ? nullptr : commands_.resolve(*found, words);
  if (command == nullptr || !fits(*command, words.size())) {
    refuse_unknown(client, found, command, words);
    return true;
  }
  Verdict verdict = judge(client, *command);
  switch (verdict.kind) {
    case Verdict::Kind::wait:
      return false;
    case Verdict::Kind::refuse:
      ++stats_.by_command[command].rejected;
      refuse(client, command, words, verdict.error);
      return true;
    case Verdict::Kind::queue:
      queue(client, *command, words);
      return true;
    case Verdict::Kind::run:
      run(client, *command, words);
      return true;
  }
  return true;
}

void Server::refuse_unknown(Client& client, const Command* found, const Command* command,
                            Words words) {
  if (!client.is_authenticated()) {
    return refuse(client, command, words, "NOAUTH Authentication required.");
  }
  if (found == nullptr) {
    const std::string error = unknown_command(words) + missing_type_note(words[0]);
    return refuse(client, nullptr, words, error);
  }
  if (command == nullptr) return refuse(client, nullptr, words, unknown_subcommand(*found, words));
  ++stats_.by_command[command].rejected;
  refuse(client, command, words,
         fmt::format("ERR wrong number of arguments for '{}' command", full_name(*command)));
}

void Server::leave_multi(Client& client) {
  client.is_in_multi = false;
  client.is_multi_broken = false;
  client.clear_queue();
  watches_.unwatch_all(client);
}

bool Server::is_replica() const { return replication_->is_replica(); }

Policy Server::policy_for(const Client* client) const {
  if (loading_.is_active() || (client != nullptr && client->is_primary)) return Policy::show;
  if (config_.import_mode && !is_replica()) {
    if (client != nullptr && client->is_import_source) return Policy::show;
    // Others do not see what is due. It goes only when somebody writes there: replicas, which would
    // find the old value, must be told before.
    const bool writes =
        client != nullptr && client->last != nullptr && (client->last->flags & flag::write) != 0;
    if (!writes) return Policy::hide;
  }
  return is_replica() || is_paused() ? Policy::hide : Policy::reclaim;
}

ExecContext Server::context(const Client* client) const {
  return {.now = now_, .policy = policy_for(client), .keeps_expired = config_.import_mode};
}

// An EXEC that is refused ends its transaction. Any other command breaks the one it belongs to.
void Server::refuse(Client& client, const Command* command, Words words, std::string_view error) {
  std::string text(error);
  if (command != nullptr && (command->flags & flag::runs_queue) != 0) {
    if (text.starts_with("ERR ")) text.erase(0, 4);
    text.insert(0, "EXECABORT Transaction discarded because of: ");
    leave_multi(client);
  } else if (client.is_in_multi) {
    client.is_multi_broken = true;
  }
  count_error(text);
  note_peer_error(client, words, text);
  if (client.reply_mode == ReplyMode::on) Reply(client.output(), client.protocol()).error(text);
  if (client.reply_mode == ReplyMode::skip) client.reply_mode = ReplyMode::on;
}

// Errors that nobody reads: what a primary sends was fine there, and what a replica says is a
// matter of the protocol between us.
void Server::note_peer_error(const Client& client, Words words, std::string_view error) {
  if (!client.is_primary && !client.is_attached_replica()) return;
  ++stats_.unexpected_errors;
  stream_errors_.add(log_, clock_.now(),
                     {client.is_primary ? "primary" : "replica", client.link().address(),
                      words.empty() ? std::string_view() : words[0], error});
}

void Server::refuse_protocol(Client& client, std::string_view error) {
  count_error("ERR");
  if (client.is_primary) {  // it does not read replies, and would take one for a request
    note_peer_error(client, {}, error);
    return client.link().close_now("its stream breaks the protocol");
  }
  log_.write(Level::verbose, fmt::format("{} from client {}", error, client.link().address()));
  Reply(client.output(), client.protocol()).error(fmt::format("ERR {}", error));
  client.close_after_reply();
}

void Server::count_error(std::string_view error) {
  ++stats_.errors;
  const std::string_view code = error.substr(0, error.find_first_of(" \r"));
  const auto found = stats_.by_error.find(code);
  if (found != stats_.by_error.end()) {
    ++found->second;
  } else if (constexpr std::size_t kCodes = 128; stats_.by_error.size() < kCodes) {
    stats_.by_error.emplace(code, 1);
  }
}

void Server::queue(Client& client, const Command& command, Words words) {
  client.queue.emplace_back(words.begin(), words.end());
  client.queued_flags |= command.flags;
  client.queued_lacks |= ~command.flags;
  for (const std::string_view word : words)
    client.queued_bytes += word.size() + sizeof(std::string);
  if (client.queued_bytes > config_.client_query_buffer_limit) {
    ++stats_.query_limit_disconnections;
    return client.link().close_now("its transaction is larger than client-query-buffer-limit");
  }
  if (client.reply_mode == ReplyMode::on) {
    Reply(client.output(), client.protocol()).simple("QUEUED");
  }
}

void Server::run(Client& client, const Command& command, Words words) {
  const std::int64_t begin = monotonic_ns();
  const bool is_outermost = client.begin_request();
  note_command(client, command);
  if (!is_in_transaction_) now_ = clock_.now();
  ExecContext context = this->context(&client);
  context.records_use = !client.no_touch || (command.flags & flag::records_use) != 0;
  if (!monitors_.empty() && (command.flags & (flag::skip_monitor | flag::admin)) == 0) {
    feed_monitors(client, words);
  }

  std::string& out = client.output();
  const std::size_t start = out.size();
  Reply reply(out, client.protocol());
  ClientCall call(*this, client, context, command, words, reply);
  command.handler(call);

  note_command(client, command);  // again: of EXEC, what it ran came between
  finish(client, command, words, call, start, (monotonic_ns() - begin) / 1000);
  finish_output(client, start, is_outermost);
}

// The reply is complete: it is dropped if it is not wanted, and counts towards the output limit.
void Server::finish_output(Client& client, std::size_t start, bool is_outermost) {
  if (is_outermost) {
    if (client.reply_mode != ReplyMode::on) client.output().resize(start);
    if (client.reply_mode == ReplyMode::skip) client.reply_mode = ReplyMode::on;
    if (client.reply_mode == ReplyMode::skip_next) client.reply_mode = ReplyMode::skip;
    client.end_request();
  }
  check_output(client);
  if (client.drops_output && client.output().size() > start) client.output().resize(start);
}

void Server::note_command(Client& client, const Command& command) {
  if (client.last == &command) return;
  client.last = &command;
  client.last_stats = &stats_.by_command[&command];
}

void Server::finish(Client& client, const Command& command, Words words, const Call& call,
                    std::size_t start, std::int64_t micros) {
  ++stats_.commands;
  ++client.commands;
  client.used = now_;
  CommandStats& stats = *client.last_stats;
  ++stats.calls;
  stats.micros += static_cast<std::uint64_t>(micros);
  ++stats.micros_log2[std::min<std::size_t>(
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(micros))), 31)];

  std::string& out = client.output();
  if (out.size() > start && out[start] == '-') {
    ++stats.failed;
    const std::string_view error = std::string_view(out).substr(start + 1);
    count_error(error.substr(0, 64));
    note_peer_error(client, words, error.substr(0, error.find('\r')));
  }

  if (call.changes() > 0) stats_.dirty += static_cast<std::uint64_t>(call.changes());
  if (propagation_.is_wanted()) propagate(client, command, words, call);
  if ((command.flags & flag::skip_slowlog) == 0) {
    log_command(client, words, micros, std::max(out.size(), start) - start);
  }
  if (config_.latency_monitor_threshold > 0) {
    latency_.add((command.flags & flag::fast) != 0 ? "fast-command" : "command", micros / 1000,
                 config_.latency_monitor_threshold, now_);
  }
}

void Server::propagate(Client& client, const Command& command, Words words, const Call& call) {
  const int database = client.database();
  if (call.is_replaced()) {
    for (const Propagated& one : call.propagated()) propagation_.add(database, one);
  } else if (call.changes() > 0 && (command.flags & (flag::write | flag::may_replicate)) != 0) {
    propagation_.add(database, words);
  }
  if (is_in_transaction_) return;
  propagation_.flush((command.flags & flag::arbitrary_keys) == 0);
  if (call.changes() == 0) return;
  client.written_to = replication_->log().end();
  client.written_to_aof = persistence_.appended_offset();
}

void Server::end_transaction() {
  is_in_transaction_ = false;
  propagation_.flush();
}

}  // namespace mayfly
