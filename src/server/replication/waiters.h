// SPDX-License-Identifier: Apache-2.0
// Waiters: clients in WAIT or WAITAOF, until enough replicas have what they wrote.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

class AofWriter;
class Client;
class Replicas;
struct Config;

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
  Waiters(const Config& config, Replicas& replicas, const AofWriter& aof)
      : config_(config), replicas_(replicas), aof_(aof) {}

  // Replies at once if there is nothing to wait for; else no more requests of the client are read
  // until then.
  void add(Client& client, const Wait& wait, bool may_block);
  void forget(Client& client);

  // Replies to clients that have waited long enough, or whose condition is met. `everybody`: the
  // role of the server changes, so all others get an error.
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

  const Config& config_;
  Replicas& replicas_;
  const AofWriter& aof_;
  std::vector<Client*> clients_;
};

}  // namespace mayfly
