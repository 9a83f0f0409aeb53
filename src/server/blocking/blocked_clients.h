// SPDX-License-Identifier: Apache-2.0
// BlockedClients: clients whose last request waits, for replicas (replication/waiters.h) or for
// keys (key_waiters.h). No more requests of such a client are read until that one is answered.
//
// A request is answered when what it waits for has come, when its time is over, by CLIENT UNBLOCK,
// or by an error when this server becomes a replica.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "mayfly/time.h"

namespace mayfly {

class Client;
class Reply;
class Requests;

// What clients wait for.
class WaitReason {
 public:
  virtual ~WaitReason() = default;
  // Writes the reply of a request that is not run again: its time is over, for example.
  virtual void reply_at_end(Client& client, Reply& reply) = 0;
  virtual void forget(Client& client) = 0;  // it waits no more

  // Whether it goes on when this server becomes a replica.
  virtual bool is_about_cluster() const { return false; }
};

// The part of a client's state that belongs to its wait.
struct Blocked {
  WaitReason* reason = nullptr;
  Time until = kNever;
  std::size_t bytes = 0;     // of memory, for its request
  std::int64_t micros = 0;   // spent in its handler so far
  bool is_answered = false;  // the request runs again, and has not asked for more time
};

class BlockedClients {
 public:
  explicit BlockedClients(Requests& requests) : requests_(requests) {}

  // REQUIRES: the client does not wait. `bytes`: memory that its request takes meanwhile.
  void add(Client& client, WaitReason& reason, Time until, std::size_t bytes = 0);

  // The request has been answered: those behind it are read.
  void remove(Client& client);
  // The connection is gone.
  void forget(Client& client);

  // Answers with what the reason of the wait replies at its end.
  void end(Client& client);
  void end_overdue(Time now);

  // CLIENT UNBLOCK. False if the client does not wait.
  bool unblock(Client& client, bool with_error);

  // This server becomes a replica: clients that wait for data get an error and are disconnected.
  // Clients that wait for keys and have CLIENT CAPA redirect get `redirect`, unless it is empty.
  void fail_all(std::string_view redirect = {});

  std::size_t size() const { return clients_.size(); }
  std::size_t with_timeout() const { return timeouts_.size(); }
  Time next_timeout() const { return timeouts_.empty() ? kNever : timeouts_.begin()->first; }

 private:
  void fail(Client& client, std::string_view error);

  Requests& requests_;
  std::map<std::uint64_t, Client*> clients_;           // by id
  std::set<std::pair<Time, std::uint64_t>> timeouts_;  // with the ids of their clients
};

}  // namespace mayfly
