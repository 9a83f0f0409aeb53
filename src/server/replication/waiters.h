// SPDX-License-Identifier: Apache-2.0
// Waiters: clients that said WAIT or WAITAOF, until enough replicas have what they wrote.

#pragma once

#include <cstdint>
#include <string_view>
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
  bool is_silent = false;  // CLIENT REPLY was off or skip when it began: there is no reply
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

  // CLIENT UNBLOCK: ends the wait of a client, as if it had lasted long enough or with an error.
  // False if it does not wait.
  bool unblock(Client& client, bool with_error);

  std::size_t size() const { return clients_.size(); }
  std::size_t with_timeout() const;
  Time next_timeout() const;

 private:
  bool is_met(const Wait& wait) const;
  bool is_safe_here(const Wait& wait) const;
  bool has_lost_its_file(const Wait& wait) const;
  void reply(Client& client, const Wait& wait);
  void release(Client& client, std::string_view error);  // empty: an ordinary reply

  Server& server_;
  std::vector<Client*> clients_;
};

}  // namespace mayfly
