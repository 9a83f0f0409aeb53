// SPDX-License-Identifier: Apache-2.0
// Tracking: client-side caching. Clients are told when a key that they have read changes, expires,
// or is evicted, so that they can keep replies of their own.
//
//   default   the server remembers which client read which key, until it was told of a change
//   BCAST     it remembers nothing; a client is told of each change of keys with its prefixes
//
// A message is a push to a client with RESP3, or a message of the channel __redis__:invalidate to
// another client (REDIRECT). It comes behind the reply of a request under way. Those of BCAST are
// collected, and sent at the end of a turn.
//
// A key expires when its deadline has passed, or that of one of its members: the sweep removes
// either on time, so its readers are told on time, too. With NOLOOP, too, since it is not a change
// that the client made.
//
// The table has at most tracking-table-max-keys keys. Above, random keys are dropped, and their
// readers are told that they have changed: by a request as many as it has added, and a few more,
// and by each turn of the loop more than by the one before. Ids of clients that are gone stay in
// the table.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "resp/request.h"
#include "server/config/config.h"
#include "server/tracking/broadcasts.h"
#include "server/tracking/client_tracking.h"
#include "server/tracking/tracked_keys.h"

namespace mayfly {

class Client;
class Clients;
struct Command;

class Tracking {
 public:
  Tracking(const Config& config, Clients& clients);

  // ---- Clients ----

  // Switches it on, or changes it. The prefixes are added to those that are there.
  void enable(Client& client, ClientTracking tracking, std::span<const std::string_view> prefixes);
  void disable(Client& client);

  bool any() const { return !trackers_.empty(); }
  std::size_t clients() const { return trackers_.size(); }
  std::size_t prefixes() const { return broadcasts_.prefixes(); }
  const TrackedKeys& table() const { return table_; }

  // ---- What happens ----

  // The client has read the keys of this request, itself or by a script. REQUIRES: it tracks.
  void remember(Client& client, const Command& command, Words words);

  // A request of the client has ended, or was refused (null: it is no command): CLIENT CACHING was
  // for it. REQUIRES: it tracks.
  void request_ended(Client& client, const Command* command);

  // A key was changed by the client whose request runs.
  void key_changed(std::string_view key) { invalidate(key, current_); }

  // A key or a member of it has expired.
  void key_expired(std::string_view key) { invalidate(key, 0); }

  // A key was evicted. Its readers are told by send_evicted(), at the end of the turn at the
  // latest: messages take memory, and while keys are evicted they would make more keys go.
  void key_evicted(std::string_view key);
  void send_evicted();

  // All keys are gone, or were replaced. Several calls within a request send one message.
  void invalidate_all();

  // The id of the client whose request runs now; 0: none. Returns the one before.
  std::uint64_t set_current(std::uint64_t id) {
    has_sent_all_ = false;
    return std::exchange(current_, id);
  }

  // At the end of a turn: sends what BCAST has collected, and drops keys above the limit.
  void before_sleep();

 private:
  bool remembers(const Client& client) const;
  void clear_table();
  void invalidate(std::string_view key, std::uint64_t by);
  void tell_readers(const TrackedKey& key, std::uint64_t except);
  void send_changes(const Broadcasts::Prefix& prefix);
  std::size_t excess() const;
  void drop_keys(std::size_t most);

  const Config& config_;
  Clients& clients_;
  std::unordered_map<std::uint64_t, Client*> trackers_;  // clients that track, by id
  TrackedKeys table_;
  Broadcasts broadcasts_;
  std::vector<TrackedKey> evicted_;  // keys whose readers are still to be told
  std::uint64_t current_ = 0;
  bool has_sent_all_ = false;          // and no request has begun, and nothing was read, since then
  std::size_t turns_above_limit_ = 0;  // in a row
};

}  // namespace mayfly
