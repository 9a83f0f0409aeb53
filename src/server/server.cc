// SPDX-License-Identifier: Apache-2.0
// A request's way: whether it may run, running it, and what follows from it.

#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "commands/words.h"
#include "mayfly/stopwatch.h"
#include "server/command_times.h"
#include "server/primary_link.h"
#include "server/replication.h"

namespace mayfly {
namespace {

constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

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

bool is_one_of(const Command& command, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, command.name) != names.end();
}

// A browser can be made to send a request whose lines are commands of ours.
bool is_http(std::string_view word) { return equals(word, "post") || equals(word, "host:"); }

// What a subscriber may still do when it speaks RESP2, where messages look like replies.
bool suits_subscribers(const Command& command) {
  return is_one_of(command, {"subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe",
                             "sunsubscribe", "ping", "quit", "reset"});
}

// What runs at once even after MULTI.
bool suits_multi(const Command& command) {
  return command.parent.empty() &&
         is_one_of(command, {"exec", "discard", "multi", "watch", "quit", "reset"});
}

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
  for (const auto rows :
       {string_commands(), key_commands(), expire_commands(), hash_commands(),
        hash_expire_commands(), sort_commands(), connection_commands(), client_commands(),
        transaction_commands(), pubsub_commands(), server_commands(), persistence_commands(),
        dump_commands(), replication_commands(), config_commands(), command_commands(),
        monitoring_commands(), debug_commands(), compatibility_commands()}) {
    commands_.add(rows);
  }
  stats_.started = clock_.now();
  keyspace_.set_now(stats_.started);
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
  if (const std::string error = why_not(client, *command); !error.empty()) {
    ++stats_.by_command[command].rejected;
    refuse(client, error);
    return true;
  }
  if (must_wait(client, *command)) return false;
  if (client.is_in_multi && !suits_multi(*command)) {
    queue(client, words);
  } else {
    run(client, *command, words);
  }
  return true;
}

void Server::refuse_unknown(Client& client, const Command* found, const Command* command,
                            Words words) {
  if (!client.is_authenticated()) return refuse(client, "NOAUTH Authentication required.");
  if (found == nullptr) return refuse(client, unknown_command(words));
  if (command == nullptr) return refuse(client, unknown_subcommand(*found, words));
  ++stats_.by_command[command].rejected;
  const std::string error =
      fmt::format("ERR wrong number of arguments for '{}' command", full_name(*command));
  if (command->name != "exec") return refuse(client, error);
  refuse(client, fmt::format("EXECABORT Transaction discarded because of: {}", error.substr(4)));
  leave_multi(client);
}

void Server::leave_multi(Client& client) {
  client.is_in_multi = false;
  client.is_multi_broken = false;
  client.queue.clear();
  client.queued_bytes = 0;
  watches_.unwatch_all(client);
}

std::string Server::why_not(Client& client, const Command& command) {
  if (client.is_primary) return {};  // it has decided already
  if (!client.is_authenticated() && (command.flags & flag::no_auth) == 0) {
    return "NOAUTH Authentication required.";
  }
  if (client.is_in_multi && (command.flags & flag::no_multi) != 0) {
    return "ERR Command not allowed inside a transaction";
  }
  if ((command.flags & flag::denyoom) != 0 && !make_room()) return std::string(kOutOfMemory);
  if (client.is_subscriber() && client.protocol() == 2 && !suits_subscribers(command)) {
    return fmt::format(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
        "allowed in this context",
        command.name);
  }
  if (std::string why = why_no_data(command); !why.empty()) return why;
  return why_no_write(client, command);
}

std::string Server::why_no_data(const Command& command) const {
  if (loading_.is_active() && (command.flags & flag::loading) == 0) {
    return "LOADING Mayfly is loading the dataset in memory";
  }
  const PrimaryLink* const primary = replication_->primary();
  if (primary != nullptr && !primary->is_up() && !config_.replica_serve_stale_data &&
      (command.flags & flag::stale) == 0) {
    return "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
  }
  return {};
}

std::string Server::why_no_write(const Client& client, const Command& command) {
  const bool writes = (command.flags & flag::write) != 0 ||
                      (command.name == "exec" && client.is_in_multi && queues_writes(client));
  const bool counts = writes || command.name == "ping";  // so that health checks notice
  if (!counts) return {};
  if (!is_replica()) {
    if (std::string why = persistence_.why_no_writes(); !why.empty()) return why;
  }
  return writes ? replication_->why_no_writes(clock_.now()) : std::string();
}

bool Server::queues_writes(const Client& client) const {
  return std::ranges::any_of(client.queue, [&](const Queued& queued) {
    const Command* const one = commands_.find(queued.front());
    return one != nullptr && (one->flags & (flag::write | flag::may_replicate)) != 0;
  });
}

bool Server::is_replica() const { return replication_->is_replica(); }

Policy Server::policy_for(const Client* client) const {
  if (loading_.is_active() || (client != nullptr && client->is_primary)) return Policy::show;
  return is_replica() || is_paused() ? Policy::hide : Policy::reclaim;
}

void Server::refuse(Client& client, std::string_view error) {
  if (client.is_in_multi) client.is_multi_broken = true;
  count_error(error);
  if (client.reply_mode == ReplyMode::on) Reply(client.output(), client.protocol()).error(error);
  if (client.reply_mode == ReplyMode::skip) client.reply_mode = ReplyMode::on;
}

void Server::refuse_protocol(Client& client, std::string_view error) {
  count_error("ERR");
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

void Server::queue(Client& client, Words words) {
  client.queue.emplace_back(words.begin(), words.end());
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
  if (!is_in_transaction_) keyspace_.set_now(clock_.now());
  keyspace_.set_policy(policy_for(&client));
  keyspace_.set_notes_use(!client.no_touch || command.name == "touch");
  if (!monitors_.empty() && (command.flags & (flag::skip_monitor | flag::admin)) == 0) {
    feed_monitors(client, words);
  }

  std::string& out = client.output();
  const std::size_t start = out.size();
  Reply reply(out, client.protocol());
  ClientCall call(*this, client, command, words, reply);
  command.handler(call);

  note_command(client, command);  // again: of EXEC, what it ran came between
  finish(client, command, words, call, start, (monotonic_ns() - begin) / 1000);
  if (is_outermost) client.end_request();
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
  client.used = keyspace_.now();
  CommandStats& stats = *client.last_stats;
  ++stats.calls;
  stats.micros += static_cast<std::uint64_t>(micros);
  ++stats.micros_log2[std::min<std::size_t>(
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(micros))), 31)];

  std::string& out = client.output();
  if (out.size() > start && out[start] == '-') {
    ++stats.failed;
    count_error(std::string_view(out).substr(start + 1, 64));
  }
  if (client.reply_mode != ReplyMode::on) settle_reply_mode(client, start);

  if (call.changes() > 0) stats_.dirty += static_cast<std::uint64_t>(call.changes());
  if (propagation_.is_wanted()) propagate(client, command, words, call);
  if (micros >= config_.slowlog_log_slower_than && config_.slowlog_log_slower_than >= 0 &&
      (command.flags & flag::skip_slowlog) == 0) {
    slowlog_.add(words, micros, keyspace_.now(), client.link().address(), client.name,
                 static_cast<std::size_t>(config_.slowlog_max_len));
  }
  if (config_.latency_monitor_threshold > 0) {
    latency_.add((command.flags & flag::fast) != 0 ? "fast-command" : "command", micros / 1000,
                 config_.latency_monitor_threshold, keyspace_.now());
  }
}

void Server::settle_reply_mode(Client& client, std::size_t start) {
  client.output().resize(start);
  if (client.reply_mode == ReplyMode::skip) client.reply_mode = ReplyMode::on;
  if (client.reply_mode == ReplyMode::skip_next) client.reply_mode = ReplyMode::skip;
}

void Server::propagate(Client& client, const Command& command, Words words, const Call& call) {
  const int database = client.database();
  if (call.is_replaced()) {
    for (const Propagated& one : call.propagated()) propagation_.add(database, one);
  } else if (call.changes() > 0 && (command.flags & (flag::write | flag::may_replicate)) != 0) {
    propagation_.add(database, words);
  }
  if (is_in_transaction_) return;
  propagation_.flush();
  if (call.changes() == 0) return;
  client.written_to = replication_->log().end();
  client.written_to_aof = persistence_.appended_offset();
}

void Server::end_transaction() {
  is_in_transaction_ = false;
  propagation_.flush();
}

}  // namespace mayfly
