// SPDX-License-Identifier: Apache-2.0
// KeyWaiters: clients that wait for a change of a key, as BZPOPMIN does, in order of arrival.
//
//   handler calls Call::wait_for()  -> add: the request is kept, and the client waits
//   a command changes the key       -> key_changed: the key is ready
//   at the end of that command      -> serve: the requests that wait for it run again, one by one,
//                                      each with a time of its own
//
// A request that runs again is checked, counted and propagated like any other. It replies, or waits
// on and keeps its place. Nobody is served while the server is paused or loads data; the keys stay
// ready.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "commands/call.h"
#include "server/blocking/blocked_clients.h"
#include "server/core/pauses.h"

namespace mayfly {

class Loading;
class Reclaimer;

class KeyWaiters final : public WaitReason {
 public:
  KeyWaiters(Keyspace& keyspace, const Pauses& pauses, const Loading& loading,
             const Reclaimer& reclaimer, Requests& requests, BlockedClients& blocked)
      : keyspace_(keyspace),
        pauses_(pauses),
        loading_(loading),
        reclaimer_(reclaimer),
        requests_(requests),
        blocked_(blocked) {}

  // Lets the client of this call wait, or wait on. False if it must not. See Call::wait_for().
  bool add(Call& call, const KeyWait& wait);

  void key_changed(int database, std::string_view key);
  void database_changed(int database);

  // Runs the requests again that wait for a key for which this is true, though it has not changed:
  // they are not answered here any more.
  void recheck(const std::function<bool(std::string_view key)>& is_affected);

  // Serves the clients that wait for ready keys, until no key is ready. Does nothing if a request
  // that is served calls it.
  void serve();
  bool can_serve() const;
  bool any_ready() const { return !ready_.empty(); }

  bool is_empty() const { return queues_.empty(); }
  std::size_t keys() const { return queues_.size(); }
  std::size_t keys_without_key() const { return without_key_; }  // XREADGROUP's

  // ---- WaitReason ----
  void reply_at_end(Client& client, Reply& reply) override;
  void forget(Client& client) override;

 private:
  struct KeyView {
    int database;
    std::string_view key;
    bool operator==(const KeyView&) const = default;
  };
  struct Key {
    int database;
    std::string key;
    operator KeyView() const { return {database, key}; }  // NOLINT: as std::string has it
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& view) const {
      return std::hash<std::string_view>()(view.key) + static_cast<std::size_t>(view.database);
    }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const KeyView& a, const KeyView& b) const { return a == b; }
  };
  struct Queue {
    std::map<std::uint64_t, Client*> clients;  // by arrival
    std::size_t without_key = 0;               // of them wake without the key
    bool is_ready = false;
  };
  struct Request {
    const Command* command;
    std::vector<std::string> words;
    ValueType type;
    bool wakes_without_key;
    int database;
    std::vector<std::string> keys;  // without repetitions
    std::uint64_t arrival;
  };

  static std::size_t memory_of(const Request& request);
  void set_ready(const Key& key, Queue& queue);
  void serve_key(const Key& key);
  void run_again(Client& client, const Request& request);
  // Nothing if there is no key, or it is due.
  std::optional<ValueType> type_of(const Key& key) const;

  Keyspace& keyspace_;
  const Pauses& pauses_;
  const Loading& loading_;
  const Reclaimer& reclaimer_;
  Requests& requests_;
  BlockedClients& blocked_;

  std::unordered_map<Key, Queue, KeyHash, KeyEqual> queues_;
  std::unordered_map<const Client*, Request> waiting_;
  std::vector<Key> ready_;  // in the order of their changes
  std::uint64_t arrivals_ = 0;
  std::size_t without_key_ = 0;  // queues with a client that wakes without the key
  bool is_serving_ = false;
};

}  // namespace mayfly
