// SPDX-License-Identifier: Apache-2.0
// Replicas: those who follow us. They get the data set once (full_sync.h), then the log.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "server/replication/full_sync.h"
#include "server/replication/propagation.h"
#include "server/replication/replica_state.h"

namespace mayfly {

class Client;
class ClientCall;
class Server;

// Where a replica can be reached: as it announces itself, or the address it came from.
std::string replica_host(const Client& client);

class Replicas final : public PropagationSink {
 public:
  explicit Replicas(Server& server) : server_(server), full_sync_(server) {}

  // ---- For commands ----

  // PSYNC id offset: goes on with the client from there if we can, else gives it all.
  void synchronise(Client& client, std::string_view id, std::int64_t offset);
  void synchronise_fully(Client& client);  // also SYNC
  void acknowledged(Client& client, std::uint64_t offset, std::uint64_t aof_offset, Time now);

  // What it has to apply, all that is attached to us; those that are being given all included.
  const std::vector<Client*>& all() const { return all_; }
  std::size_t online() const;
  std::size_t good(Time now) const;  // online, and heard of within min-replicas-max-lag seconds
  std::size_t acked(std::uint64_t offset) const;
  std::size_t acked_aof(std::uint64_t offset) const;
  FullSync& full_sync() { return full_sync_; }

  void forget(Client& client);
  void disconnect_all(std::string_view why);

  // Puts more of the log, or of its file, into the client's output if there is room.
  void pump(Client& client);

  // How much waits for it: in its output, and in the log.
  std::uint64_t pending(const Client& client) const;

  // A command of ours goes to the log. While we follow somebody, only his do.
  void take(int database, std::string_view command) override;

  // The next command says which database it is about, whichever it is.
  void select_anew() { selected_ = -1; }
  int selected() const { return selected_; }

  void ask_for_acks();  // at the end of this turn
  void before_sleep(Time now);

  // It has the data set: the log follows.
  void enter_online(Client& client, Time now);

 private:
  void keep_alive(Time now);
  void drop_silent(Time now);
  void trim();

  Server& server_;
  FullSync full_sync_;
  std::vector<Client*> all_;
  int selected_ = -1;  // database of the last command in the log
  bool asks_for_acks_ = false;
  Time next_ping_ = Time::min();
  Time next_newline_ = Time::min();
  Time alone_since_ = Time::min();  // no replica since then
};

}  // namespace mayfly
