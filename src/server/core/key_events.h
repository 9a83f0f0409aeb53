// SPDX-License-Identifier: Apache-2.0
// KeyEvents: passes on what happens to keys, to transactions that watch them, to clients that
// wait for them, to subscribers, and to replicas and the append-only file.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "commands/call.h"
#include "keyspace/keyspace.h"
#include "server/core/server_host.h"
#include "server/monitoring/stats.h"
#include "server/replication/propagation.h"
#include "server/transactions/watches.h"

namespace mayfly {

class ExpiryLog;
class KeyWaiters;
class Loading;
class LocalExpiries;
class PubSub;
class ReplicationStream;
class Tracking;

class KeyEvents final : public Host, public KeyspaceListener {
 public:
  KeyEvents(const ServerContext& context, Keyspace& keyspace, Stats& stats, Watches& watches,
            KeyWaiters& key_waiters, PubSub& pubsub, Tracking& tracking, Propagation& propagation,
            const Loading& loading, const ReplicationStream& stream, LocalExpiries& local_expiries,
            ExpiryLog& expiry_log)
      : config_(context.config),
        now_(context.now),
        keyspace_(keyspace),
        stats_(stats),
        watches_(watches),
        key_waiters_(key_waiters),
        pubsub_(pubsub),
        tracking_(tracking),
        propagation_(propagation),
        loading_(loading),
        stream_(stream),
        local_expiries_(local_expiries),
        expiry_log_(expiry_log) {}

  // Removes all keys of all databases, before others are loaded.
  void clear_all();

  // Whether FLUSHALL was called since this was.
  bool take_flush() { return std::exchange(is_flushed_, false); }

  // ---- Host ----
  void notify(Event event, std::string_view name, std::string_view key, int database) override;
  bool wants_members(Event event) const override;
  void notify_members(Event event, std::string_view name, std::string_view key, int database,
                      const MemberView& members) override;
  void key_changed(const ExecContext& context, int database, std::string_view key) override;
  void database_changed(const ExecContext& context, int database) override;
  void all_flushed() override { is_flushed_ = true; }
  bool wait_for(Call& call, const KeyWait& wait) override;
  const TtlPolicy* ttl_policy() const override {
    return config_.ttl_policy.empty() ? nullptr : &config_.ttl_policy;
  }
  void count_ttl_violation() override { ++stats_.ttl_violations; }
  bool wants_propagation() const override { return propagation_.is_wanted(); }
  std::string_view removal_name() const override {
    return config_.lazyfree_lazy_expire ? "UNLINK" : "DEL";
  }
  std::string_view implied_removal_name() const override {
    return config_.lazyfree_lazy_server_del ? "UNLINK" : "DEL";
  }
  void count_lookup(bool hit) override { ++(hit ? stats_.hits : stats_.misses); }

  // ---- KeyspaceListener ----
  void key_expired(Database& database, std::string_view key, FoundBy by) override;
  void members_expired(Database& database, const ExpiredMembers& expired) override;
  void key_evicted(Database& database, std::string_view key) override;
  bool wants_expired_names() const override { return wants_members(Event::all); }

 private:
  void removed(const Database& database, std::string_view key);
  void propagate_removal(Database& database, std::string_view key, FoundBy by);
  bool is_logged(FoundBy by);
  void end_removal(FoundBy by);

  const Config& config_;
  const Time& now_;
  Keyspace& keyspace_;
  Stats& stats_;
  Watches& watches_;
  KeyWaiters& key_waiters_;
  PubSub& pubsub_;
  Tracking& tracking_;
  Propagation& propagation_;
  const Loading& loading_;
  const ReplicationStream& stream_;
  LocalExpiries& local_expiries_;
  ExpiryLog& expiry_log_;
  bool is_flushed_ = false;
};

}  // namespace mayfly
