// SPDX-License-Identifier: Apache-2.0
// Waiters: clients that said WAIT or WAITAOF, until enough replicas have what they wrote.

#pragma once

#include <cstdint>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

class Client;
class Server;

// What a client waits for.
struct Wait {
  std::uint64_t offset = 0;      // of the log: what it has written ends here
  std::uint64_t aof_offset = 0;  // likewise, of our append-only file
  std::int64_t replicas = 0;
  std::int64_t local = 0;  // 1: our own disk, too
  bool is_aof = false;
  Time until = kNever;
};

class Waiters {
 public:
  explicit Waiters(Server& server) : server_(server) {}

  // Replies at once if there is nothing to wait for; else the client reads no more until it is so.
  void add(Client& client, const Wait& wait, bool may_block);
  void forget(Client& client);

  // Replies to those who have what they waited for, or waited long enough. The others hear that
  // they are woken with what there is (`everybody`): the server changes its part.
  void check(Time now, bool everybody = false);

  std::size_t size() const { return clients_.size(); }
  Time next_timeout() const;

 private:
  bool is_met(const Wait& wait) const;
  bool is_safe_here(const Wait& wait) const;
  bool has_lost_its_file(const Wait& wait) const;
  void reply(Client& client, const Wait& wait);

  Server& server_;
  std::vector<Client*> clients_;
};

}  // namespace mayfly
