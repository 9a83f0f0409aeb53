// SPDX-License-Identifier: Apache-2.0
// ExpiryLog: writes each expiry of a key or a member into a stream of its database, `__expired__`,
// and shows it to RecentExpiries.
//
//   db 0 key session:7 type string deadline 1700000000000 at 1700000000003 how sweep
//   db 0 key cart:7 member milk type hash deadline ... at ... how access value 2
//
// An entry and the removal that it is about are one unit of propagation, so replicas and the
// append-only file have both or none. A sweep is propagated by XEXPIRED (log_batch.h), which adds
// entries and removes what they are about. Other expiries, and all while a replica is not Mayfly,
// are XADD and the removal. Only a primary writes entries; a replica has the same ids. Clients
// cannot change the stream (log_protection.h).
//
// Threads: that of the server.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/keyspace.h"
#include "keyspace/stream/stream.h"
#include "server/core/server_host.h"
#include "server/expiry/log_batch.h"
#include "server/expiry/log_entry.h"
#include "server/expiry/log_key.h"
#include "server/expiry/recent_expiries.h"

namespace mayfly {

class KeyEvents;
class Loading;
class Propagation;
class ReplicationStream;
struct Stats;

class ExpiryLog final : public ExpiryObserver {
 public:
  ExpiryLog(const ServerContext& context, Keyspace& keyspace, Stats& stats, KeyEvents& events,
            Propagation& propagation, const Loading& loading, const ReplicationStream& stream)
      : context_(context),
        config_(context.config),
        keyspace_(keyspace),
        stats_(stats),
        events_(events),
        propagation_(propagation),
        loading_(loading),
        stream_(stream) {}

  // Whether expiries are logged now: not on a replica, and not while data is loaded.
  bool is_active() const;

  // Whether a configuration can come into force: not if a key of another type has the name of the
  // log. The message says what to do.
  Status check_config(const Config& changed) const;
  void apply_config();

  void expiring(Database& database, const ExpiringEntry& entry) override;
  void removing(Database& database, Slot slot) override;

  // A command or a batch of a sweep is complete: limits are enforced, and those who wait for
  // entries or watch the key are told. Returns whether there were new entries. The caller ends the
  // unit of propagation.
  bool end_batch() { return (batch_database_ != nullptr || has_new_) && finish_batch(); }

  // The same after a batch of a sweep; ends the unit, too.
  void end_sweep();

  // Whether all expiries by a sweep since the last call were put into an XEXPIRED: then their
  // removal must not be propagated again.
  bool take_removal() {
    const bool is_whole = !std::exchange(has_other_removals_, false);
    return std::exchange(has_removals_, false) && is_whole;
  }

  // For the web console: see RecentExpiries::read_since().
  std::vector<RecentExpiry> read_recent(std::uint64_t sequence, std::size_t limit);
  std::uint64_t last_recent() const { return recent_.last_sequence(); }
  void run_periodic() { update_observer(); }

  // Of all databases.
  struct Totals {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    StreamId last_id;  // the greatest
  };
  Totals totals() const;
  std::uint64_t added() const { return added_; }
  std::uint64_t trimmed() const { return trimmed_; }
  std::uint64_t dropped() const { return dropped_; }  // could not be logged; a warning says why

 private:
  Stream* find_or_make(Database& database, Time now);
  void write(Database& database, Stream& stream, const ExpiringEntry& entry);
  void propagate(int database, const Stream::Place& place, StreamId id,
                 const EncodedStreamEntry& encoded, FoundBy by);
  void propagate_batch();
  void drop(int database, FoundBy by, std::string_view why);
  bool finish_batch();
  void trim(int database, Stream& stream);
  void update_observer();

  const ServerContext& context_;
  const Config& config_;
  Keyspace& keyspace_;
  Stats& stats_;
  KeyEvents& events_;
  Propagation& propagation_;
  const Loading& loading_;
  const ReplicationStream& stream_;
  RecentExpiries recent_;
  bool has_new_ = false;
  Database* batch_database_ = nullptr;  // of the last entry of this batch, and its stream, which is
  Stream* batch_stream_ = nullptr;      // null if a key of another type has its name
  std::vector<char> changed_;           // not 0: the database has new entries
  LogEntryEncoder encoder_;
  LogBatch batch_;
  bool has_removals_ = false;  // see take_removal()
  bool has_other_removals_ = false;
  std::uint64_t added_ = 0;
  std::uint64_t trimmed_ = 0;
  std::uint64_t dropped_ = 0;
  bool has_warned_ = false;
};

}  // namespace mayfly
