// SPDX-License-Identifier: Apache-2.0
// Server: door 3. It owns the keyspace, the clients and what goes between them; it knows neither
// sockets nor the system's clock, so that tests drive it by hand.
//
//   Server server(clock, config, log);
//   loop.listen_tcp(host, port, {}, [&](Link& link) { return server.accept(link); });
//   loop.on_turn_begin([&] { server.begin_turn(); });
//   loop.before_sleep([&] { return server.before_sleep(); });
//
// A request goes: Client::received -> Server::handle -> Server::judge (verdict.h) -> Server::run
// (the clock is read, the handler called, what it did is counted, logged and propagated).
//
// Threads: one.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"
#include "keyspace/keyspace.h"
#include "mayfly/clock.h"
#include "net/transport.h"
#include "persist/disk/disk.h"
#include "server/config/config.h"
#include "server/core/client.h"
#include "server/core/log.h"
#include "server/core/pauses.h"
#include "server/core/verdict.h"
#include "server/core/watches.h"
#include "server/monitoring/latency.h"
#include "server/monitoring/slowlog.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/propagation.h"
#include "server/replication/stream_errors.h"

namespace mayfly {

class Replication;

// What a server needs of the program around it.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void shut_down() = 0;  // the loop ends after this turn
  virtual void ready() {}        // what there was on disk is loaded: clients are served
  virtual std::int64_t port() const { return 0; }

  // Listens where `config` says instead of where it did; after an error it does so as before.
  virtual Status listen_anew(const Config&) { return Done{}; }
  virtual std::string executable() const { return {}; }
  virtual Disk& disk() = 0;
  virtual Result<std::unique_ptr<Child>> start_child(const ChildWork& work,
                                                     const std::vector<int>& kept) = 0;

  // As Loop::connect(), but `host` may be a name.
  virtual void connect(const std::string& host, int port, Acceptor connected,
                       std::function<void(const Error&)> failed) = 0;
};

class Server final : public Host, public KeyspaceListener {
 public:
  Server(const Clock& clock, Config config, Log& log, Surroundings& surroundings);
  ~Server() override;

  // A client at a new connection; null if it is refused (the reason has been sent).
  std::unique_ptr<Peer> accept(Link& link);

  // A slice of the work that waits: sweeping and freeing. It comes before requests are read, so
  // that a request that arrives meanwhile waits for the rest of one slice, and its reply for none.
  void begin_turn();

  // What is done once in a while. Returns how long the loop may sleep.
  Millis before_sleep();

  // ---- For clients ----

  // Answers one request. False if it must wait (CLIENT PAUSE): the client keeps it.
  bool handle(Client& client, Words words);

  // What becomes of a request of this client. It may evict, to make room for a write.
  Verdict judge(Client& client, const Command& command);

  void refuse_protocol(Client& client, std::string_view error);  // and close
  void forget(Client& client);
  // A client that is no accepted connection: the primary that we follow.
  std::unique_ptr<Client> adopt(Link& link);
  void check_input(Client& client, std::size_t waiting);  // closes one that sends too much
  void check_output(Client& client);                      // closes one that does not read
  const RequestLimits& request_limits() const { return request_limits_; }

  // ---- For handlers ----

  // Runs a request that was let through. Used for EXEC, too.
  void run(Client& client, const Command& command, Words words);

  const Clock& wall() const { return clock_; }
  Time now() const { return now_; }  // when this request, or this turn of the loop, began
  // For a request of the client, or (null) for what the server does itself.
  ExecContext context(const Client* client = nullptr) const;
  Config& config() { return config_; }
  Log& log() { return log_; }
  Keyspace& keyspace() { return keyspace_; }
  const CommandTable& commands() const { return commands_; }
  Stats& stats() { return stats_; }
  Slowlog& slowlog() { return command_log(LogKind::slow); }
  Slowlog& command_log(LogKind kind) { return command_logs_[static_cast<std::size_t>(kind)]; }
  Latency& latency() { return latency_; }
  PubSub& pubsub() { return pubsub_; }
  Watches& watches() { return watches_; }
  Propagation& propagation() { return propagation_; }
  Surroundings& surroundings() { return surroundings_; }
  Background& background() { return background_; }
  Loading& loading() { return loading_; }
  Persistence& persistence() { return persistence_; }
  Replication& replication() { return *replication_; }
  const std::map<std::uint64_t, Client*>& clients() const { return clients_; }
  std::vector<Client*>& monitors() { return monitors_; }
  const std::string& run_id() const { return run_id_; }

  bool is_replica() const;
  bool has_backlog() const { return has_backlog_; }
  bool is_sweeping() const { return is_sweeping_; }  // DEBUG SET-ACTIVE-EXPIRE
  void set_sweeping(bool sweeps) { is_sweeping_ = sweeps; }

  // A server that is paused changes nothing by itself: nothing is evicted, swept or propagated.
  void pause(PauseReason reason, Time until, PauseLevel level);
  void unpause(PauseReason reason);
  bool is_paused() const { return pauses_.level() != PauseLevel::none; }
  const Pauses& pauses() const { return pauses_; }

  // Puts what the configuration says into effect, after a change.
  void apply_config();

  // All keys of all databases go: what is loaded takes their place.
  void clear_all();

  // Frees memory until it is below maxmemory. False if that cannot be done. While the server is
  // paused it does nothing and returns true.
  bool make_room();

  // How much memory clients may take together, replicas not counted; 0: no limit.
  std::size_t client_memory_limit() const;
  // The memory of a client is as it is now: keeps the sum.
  void count_memory(Client& client);

  // Ends what MULTI began: for EXEC and DISCARD.
  void leave_multi(Client& client);
  void begin_transaction() { is_in_transaction_ = true; }
  void end_transaction();
  bool is_in_transaction() const { return is_in_transaction_; }

  // ---- Host ----
  void notify(Event event, std::string_view name, std::string_view key, int database) override;
  void key_changed(const ExecContext& context, int database, std::string_view key) override;
  void database_changed(const ExecContext& context, int database) override;
  bool wants_propagation() const override { return propagation_.is_wanted(); }
  std::string_view removal_name() const override {
    return config_.lazyfree_lazy_expire ? "UNLINK" : "DEL";
  }
  void count_lookup(bool hit) override { ++(hit ? stats_.hits : stats_.misses); }

  // ---- KeyspaceListener ----
  void key_expired(Database& database, std::string_view key, FoundBy by) override;
  void members_expired(Database& database, std::string_view key, std::span<const std::string> names,
                       bool emptied, FoundBy by) override;
  void key_evicted(Database& database, std::string_view key) override;

 private:
  // Judging a request (verdict.cc); an empty error is none.
  std::string primary_error(const Command& command) const;
  std::string error_of(Client& client, const Command& command);
  std::string write_error(const Client& client, const Command& command);
  std::string data_error(const Client& client, const Command& command) const;
  bool must_wait(const Client& client, const Command& command) const;

  // The way of a request
  void refuse_unknown(Client& client, const Command* found, const Command* command, Words words);
  Policy policy_for(const Client* client) const;
  void refuse(Client& client, const Command* command, Words words, std::string_view error);
  void queue(Client& client, const Command& command, Words words);
  void finish(Client& client, const Command& command, Words words, const Call& call,
              std::size_t start, std::int64_t micros);
  void note_command(Client& client, const Command& command);
  void finish_output(Client& client, std::size_t start, bool is_outermost);
  void log_command(const Client& client, Words words, std::int64_t micros, std::size_t reply_bytes);
  void propagate(Client& client, const Command& command, Words words, const Call& call);
  void propagate_removal(Database& database, std::string_view key, FoundBy by);
  void count_error(std::string_view error);
  void note_peer_error(const Client& client, Words words, std::string_view error);
  void feed_monitors(const Client& client, Words words);

  OutputLimit replica_limit() const;

  // Between requests
  bool sweeps() const;
  void sweep_slice();
  void free_slice(std::int64_t micros);
  void chores(Time now);
  void update_pauses();
  void enforce_pauses();
  void evict_clients();

  const Clock& clock_;
  Config config_;
  Log& log_;
  Surroundings& surroundings_;
  CommandTable commands_;
  Keyspace keyspace_;
  Stats stats_;
  std::array<Slowlog, kLogKinds> command_logs_;
  Latency latency_;
  PubSub pubsub_;
  Watches watches_;
  Propagation propagation_;
  Background background_;
  Loading loading_;
  Persistence persistence_;
  std::unique_ptr<Replication> replication_;
  RequestLimits request_limits_;
  std::map<std::uint64_t, Client*> clients_;
  std::vector<Client*> monitors_;
  std::uint64_t next_client_id_ = 1;
  std::string run_id_;
  Time now_{};

  bool is_sweeping_ = true;
  bool is_in_transaction_ = false;
  bool has_backlog_ = false;  // the last slice did not get to the end of what is due
  Pauses pauses_;
  PauseLevel enforced_pause_ = PauseLevel::none;  // at which clients were told to wait
  StreamErrors stream_errors_;
  std::size_t client_memory_ = 0;  // of all clients that may be evicted; see count_memory()
  int slice_growth_ = 0;           // how many slices in a row were cut short
  Time next_chores_ = Time::min();
  std::uint64_t counted_commands_ = 0;  // at the last chores
};

// What a handler of this module gets: a Call of commands/, and more.
class ClientCall final : public Call {
 public:
  ClientCall(Server& its_server, Client& its_client, const ExecContext& its_context,
             const Command& its_command, Words its_words, Reply& its_reply)
      : Call(its_server, its_server.keyspace(), its_context, its_client.database(), its_command,
             its_words, its_reply),
        server(its_server),
        client(its_client) {}

  Server& server;
  Client& client;
};

inline ClientCall& client_call(Call& call) { return static_cast<ClientCall&>(call); }

// Rows of the commands that need a server around them, each family in its own file.
std::span<const Command> connection_commands();     // PING ECHO AUTH HELLO SELECT QUIT RESET
std::span<const Command> client_commands();         // CLIENT ...
std::span<const Command> transaction_commands();    // MULTI EXEC DISCARD WATCH UNWATCH
std::span<const Command> pubsub_commands();         // SUBSCRIBE ... PUBSUB ...
std::span<const Command> server_commands();         // INFO TIME SHUTDOWN MONITOR LOLWUT
std::span<const Command> persistence_commands();    // SAVE BGSAVE LASTSAVE BGREWRITEAOF
std::span<const Command> dump_commands();           // DUMP RESTORE
std::span<const Command> replication_commands();    // REPLICAOF PSYNC REPLCONF ROLE WAIT FAILOVER
std::span<const Command> config_commands();         // CONFIG ...
std::span<const Command> command_commands();        // COMMAND ...
std::span<const Command> monitoring_commands();     // SLOWLOG COMMANDLOG LATENCY MEMORY
std::span<const Command> debug_commands();          // DEBUG ...
std::span<const Command> compatibility_commands();  // ACL FUNCTION SCRIPT CLUSTER ... what answers

}  // namespace mayfly
