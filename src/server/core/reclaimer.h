// SPDX-License-Identifier: Apache-2.0
// Reclaimer: removes what is due, frees memory in the background, and evicts keys at maxmemory. All
// of it runs in slices between requests, except that a write waits for eviction.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "keyspace/keyspace.h"
#include "server/core/pauses.h"
#include "server/core/server_host.h"
#include "server/monitoring/stats.h"

namespace mayfly {

class Client;
class Cluster;
class ExpiryLog;
class Latency;
class Loading;
class Persistence;
class Replication;
class ReplicationStream;
class SlotSet;

class Reclaimer {
 public:
  Reclaimer(const ServerContext& context, Keyspace& keyspace, Stats& stats, Latency& latency,
            const Pauses& pauses, const Loading& loading, const ReplicationStream& stream,
            ExpiryLog& expiry_log, const Cluster& cluster, const Persistence& persistence,
            const Replication& replication)
      : config_(context.config),
        log_(context.log),
        clock_(context.clock),
        now_(context.now),
        keyspace_(keyspace),
        stats_(stats),
        latency_(latency),
        pauses_(pauses),
        loading_(loading),
        stream_(stream),
        expiry_log_(expiry_log),
        cluster_(cluster),
        persistence_(persistence),
        replication_(replication) {}

  // A slice of sweeping and of freeing. REQUIRES: no data is being loaded.
  void run_slice();

  // A longer slice of freeing, while data is loaded and no client is served.
  void free_for_loading();

  // Whether more is due than the last slice removed, or memory waits to be freed.
  bool has_backlog() const;

  // When the next key or field is due; kNever if this server does not sweep.
  Time next_deadline() const;

  // Frees memory until it is below maxmemory. False if that is impossible. Does nothing and returns
  // true while the server is paused.
  bool make_room() { return config_.maxmemory == 0 || note_room(evict_keys()); }

  // Whether writes that take memory are refused (OOM) as far as is known without trying.
  bool lacks_room() const;

  // Whether more memory is used than maxmemory. Nothing is evicted for it.
  bool is_full() const;

  // Memory that does not count towards maxmemory, since evicting keys would only make it grow: what
  // waits for slow replicas, beyond the backlog, and for the append-only file. Cost: a look at each
  // replica.
  std::size_t uncounted_memory() const;

  // For a request of this client; null: for what the server does itself.
  ExecContext context(const Client* client = nullptr) const {
    return {.now = now_, .policy = policy_for(client), .keeps_expired = config_.import_mode};
  }

  bool is_sweeping() const { return is_sweeping_; }  // DEBUG SET-ACTIVE-EXPIRE
  void set_sweeping(bool sweeps) { is_sweeping_ = sweeps; }

 private:
  Policy policy_for(const Client* client) const;
  bool sweeps() const;
  bool is_fenced() const;
  void sweep_slice();
  bool evict_until_room(const ExecContext& context);
  std::size_t sweep_batch(const ExecContext& context, std::size_t limit);
  const SlotSet* paused_slots() const;  // null if none is
  std::size_t sweep_others(const ExecContext& context, std::size_t limit, const SlotSet& paused);
  void free_slice(std::int64_t micros);
  std::size_t free_some();
  bool evict_keys();
  bool note_room(bool has_room);
  void note_eviction();
  bool is_above_limit() const;

  const Config& config_;
  Log& log_;
  const Clock& clock_;
  Time& now_;
  Keyspace& keyspace_;
  Stats& stats_;
  Latency& latency_;
  const Pauses& pauses_;
  const Loading& loading_;
  const ReplicationStream& stream_;
  ExpiryLog& expiry_log_;
  const Cluster& cluster_;
  const Persistence& persistence_;
  const Replication& replication_;
  bool is_sweeping_ = true;
  bool is_behind_ = false;       // the last slice ended before all that is due was removed
  Time swept_to_ = Time::min();  // all that was due before is of paused slots
  int slice_growth_ = 0;         // how many slices in a row did
  bool was_refused_ = false;     // the last attempt to make room failed
  bool is_warned_ = false;       // the log has the warning
  std::optional<Time> warned_at_;
  std::optional<Time> eviction_told_at_;
};

// LocalExpiries: keys with deadlines that clients of a writable replica have written. The primary
// does not know of them, so the replica removes them itself.
class LocalExpiries {
 public:
  explicit LocalExpiries(Keyspace& keyspace) : keyspace_(keyspace) {}

  // A client of this server changed a key.
  void record(int database, std::string_view key) { changed_.emplace(database, key); }
  void clear();
  std::size_t size() const { return deadlines_.size(); }

  // Sorts the changed keys by their next deadline, and removes what is due.
  void sweep(Time now);

 private:
  using Key = std::pair<int, std::string>;

  void refresh(const Key& key);

  Keyspace& keyspace_;
  std::set<Key> changed_;
  std::map<Key, Time> deadlines_;
  std::set<std::pair<Time, Key>> order_;  // the same, soonest first
};

}  // namespace mayfly
