// SPDX-License-Identifier: Apache-2.0
// ServerCall: what a handler of this module gets, a Call of commands/ and the parts of the server.
// A handler includes the headers of the parts that it uses.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "commands/call.h"
#include "commands/command.h"
#include "server/core/client.h"
#include "server/core/server_host.h"

namespace mayfly {

class Background;
class BlockedClients;
class Clients;
class Cluster;
class CommandLogs;
class ExpiryLog;
class HttpServer;
class KeyEvents;
class KeyWaiters;
class Latency;
class Loading;
class MigrationTargets;
class Pauses;
class Persistence;
class Propagation;
class PubSub;
class Reclaimer;
class Replication;
class Requests;
class Scripting;
class Tracking;
class Watches;
struct Stats;

// References only. Parts do not get this: they get what they need when they are made.
struct ServerParts : ServerContext {
  const CommandTable& commands;
  Keyspace& keyspace;
  KeyEvents& events;
  Stats& stats;
  CommandLogs& command_logs;
  Latency& latency;
  PubSub& pubsub;
  Watches& watches;
  const Pauses& pauses;
  Propagation& propagation;
  Background& background;
  Loading& loading;
  Clients& clients;
  BlockedClients& blocked;
  KeyWaiters& key_waiters;
  ExpiryLog& expiry_log;
  Reclaimer& reclaimer;
  Requests& requests;
  Persistence& persistence;
  Replication& replication;
  Cluster& cluster;
  MigrationTargets& migration_targets;
  Scripting& scripting;
  Tracking& tracking;
  HttpServer& http;
  const std::string& run_id;
  std::function<void()> apply_config;  // after a change of the configuration
};

class ServerCall final : public Call {
 public:
  ServerCall(Host& host, const ServerParts& parts, Client& its_client,
             const ExecContext& its_context, const Command& its_command, Words its_words,
             Reply& its_reply)
      : Call(host, parts.keyspace, its_context, its_client.database(), its_command, its_words,
             its_reply),
        server(parts),
        client(its_client) {}

  const ServerParts& server;
  Client& client;
};

inline ServerCall& server_call(Call& call) { return static_cast<ServerCall&>(call); }
inline const ServerParts& parts_of(Call& call) { return server_call(call).server; }
inline Client& client_of(Call& call) { return server_call(call).client; }

// The handler of HELP subcommands: lists the rows of the container.
void reply_help(Call& call);

struct HelpEntry {
  std::string_view name;
  std::string arguments;
  std::string_view summary;
};
void reply_help(Call& call, std::string_view name, std::span<const HelpEntry> entries);

// Rows of the commands of this module, each family in its own file.
std::span<const Command> acl_commands();
std::span<const Command> client_commands();
std::span<const Command> cluster_commands();
std::span<const Command> command_commands();
std::span<const Command> command_log_commands();  // SLOWLOG COMMANDLOG
std::span<const Command> config_commands();
std::span<const Command> connection_commands();  // PING ECHO AUTH HELLO SELECT QUIT RESET
std::span<const Command> debug_commands();
std::span<const Command> dump_commands();  // DUMP RESTORE
std::span<const Command> latency_commands();
std::span<const Command> memory_commands();
std::span<const Command> migrate_commands();
std::span<const Command> persistence_commands();  // SAVE BGSAVE LASTSAVE BGREWRITEAOF
std::span<const Command> pubsub_commands();       // SUBSCRIBE ... PUBSUB ...
std::span<const Command> replication_commands();  // REPLICAOF PSYNC REPLCONF ROLE WAIT FAILOVER
std::span<const Command> script_commands();       // EVAL SCRIPT MODULE
std::span<const Command> function_commands();     // FCALL FUNCTION
std::span<const Command> server_commands();       // INFO TIME SHUTDOWN MONITOR LOLWUT
std::span<const Command> ttl_commands();          // TTLSTATS
std::span<const Command> ttlpolicy_commands();
std::span<const Command> transaction_commands();  // MULTI EXEC DISCARD WATCH UNWATCH

}  // namespace mayfly
