// SPDX-License-Identifier: Apache-2.0
// Keyspace: all databases, and what they share: options, statistics, lazy freeing.
//
//   Keyspace keyspace(options, listener);
//   Database& database = keyspace[0];
//   const ExecContext context{.now = clock.now()};      // once a command
//   while (keyspace.sweep(context, 100) > 0) ...        // in slices, until nothing is due
//
// The listener is told of every key and member that expired or was evicted, after it is gone. It
// must not change the keyspace.
//
// Threads: a keyspace belongs to one thread.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/database.h"
#include "keyspace/exec_context.h"
#include "keyspace/lateness.h"
#include "keyspace/lazy_free.h"
#include "keyspace/stale/refresh_leases.h"
#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

// Up to which size members are packed: hash-max-listpack-entries and -value, and so on.
struct PackedLimits {
  std::size_t members = 0;
  std::size_t text_bytes = 64;  // of a name or a value
};

struct KeyspaceOptions {
  int databases = 16;
  PackedLimits packed_hash = {.members = 512};
  PackedLimits packed_set = {.members = 128};
  PackedLimits packed_zset = {.members = 128};
  std::size_t intset_members = 512;                       // set-max-intset-entries
  ListLimits list_limits = {};                            // list-max-listpack-size
  StreamLimits stream_limits = {};                        // stream-node-max-bytes and -entries
  std::size_t string_bytes_max = std::size_t{512} << 20;  // proto-max-bulk-len, for growing strings
  std::size_t hll_sparse_max_bytes = 3000;                // of a HyperLogLog until it is dense
  std::uint64_t seed = 0;                                 // of the hash functions
  Millis stale_lease = std::chrono::seconds(10);          // stale-lease-ms
  bool uses_lfu = false;                                  // access words count frequency, not time
  std::string_view kept_key = {};                         // a key that is never evicted

  // Of a cluster: keys are counted by hash slot, if this is given. Keys of the database `staging`
  // belong to another server yet: they are neither swept nor evicted here. -1: there is none.
  HashSlotOf hash_slot_of = nullptr;
  int staging = -1;

  const PackedLimits& packed(ValueType type) const {
    if (type == ValueType::set) return packed_set;
    return type == ValueType::zset ? packed_zset : packed_hash;
  }
};

// The most members of one key in one event and in one propagated command.
inline constexpr std::size_t kMembersAtOnce = 128;

// Members of one key that expired.
struct ExpiredMembers {
  ValueType type;
  std::string_view key;
  std::span<const std::string> names;  // empty if all were due, and nobody wants their names
  bool emptied = false;                // the key is gone
  bool is_whole = false;               // it was removed at once, as all members were due
  FoundBy by = FoundBy::access;
};

class KeyspaceListener {
 public:
  virtual ~KeyspaceListener() = default;
  virtual void key_expired(Database& database, std::string_view key, FoundBy by) = 0;

  virtual void members_expired(Database& database, const ExpiredMembers& expired) = 0;
  // Whether it wants the names of members of a key that is removed as a whole.
  virtual bool wants_expired_names() const { return false; }
  virtual void key_evicted(Database& database, std::string_view key) = 0;
};

// A key or a member that is about to be removed because its deadline has passed. The views are
// valid during the call.
struct ExpiringEntry {
  ValueType type;
  std::string_view key;
  std::optional<std::string_view> member = {};  // nothing: the whole key
  std::string_view value = {};  // of a string or a field; of a score its eight bytes
  Time deadline;
  Time at;
  FoundBy by;
};

// Is told of each expiry, one by one, before the entry goes. It may add other keys to the database,
// but must leave this one alone.
class ExpiryObserver {
 public:
  virtual ~ExpiryObserver() = default;
  virtual void expiring(Database& database, const ExpiringEntry& entry) = 0;

  // A command removes a key, some of whose members may be due; Database::report_overdue() tells
  // which.
  virtual void removing(Database& database, Slot slot) = 0;
};

struct KeyspaceStats {
  std::uint64_t expired_keys = 0;
  std::uint64_t expired_members = 0;
  // Of these, by FoundBy.
  std::array<std::uint64_t, 3> expired_keys_by{};
  std::array<std::uint64_t, 3> expired_members_by{};

  // A command gave a key or a member a deadline in the past.
  void count_past_key() {
    ++expired_keys;
    ++expired_keys_by[static_cast<std::size_t>(FoundBy::past)];
  }
  void count_past_member() {
    ++expired_members;
    ++expired_members_by[static_cast<std::size_t>(FoundBy::past)];
  }
  std::uint64_t expired_past() const {
    constexpr auto kPast = static_cast<std::size_t>(FoundBy::past);
    return expired_keys_by[kPast] + expired_members_by[kPast];
  }
  std::uint64_t evicted_keys = 0;
  Lateness late_on_access;
  Lateness late_by_sweep;
};

class Keyspace {
 public:
  Keyspace(const KeyspaceOptions& options, KeyspaceListener& listener);
  ~Keyspace();

  Database& operator[](int number) { return *databases_[static_cast<std::size_t>(number)]; }
  int count() const { return static_cast<int>(databases_.size()); }

  KeyspaceOptions& options() { return options_; }
  const KeyspaceOptions& options() const { return options_; }
  KeyspaceListener& listener() { return listener_; }
  KeyspaceStats& stats() { return stats_; }

  // Null: nobody wants to know, and it costs nothing.
  ExpiryObserver* observer() { return observer_; }
  void set_observer(ExpiryObserver* observer) { observer_ = observer; }

  LazyFree& lazy_free() { return lazy_free_; }
  Random& random() { return random_; }
  RefreshLeases& leases() { return leases_; }
  std::vector<Due>& scratch() { return scratch_; }  // for the sweep

  // Removes keys and members that are due, at most `limit`, in all databases in turn, whatever the
  // policy is. Returns how many; fewer than `limit` means that nothing is due any more.
  std::size_t sweep(const ExecContext& context, std::size_t limit);

  // The same without spared keys, and only with deadlines from `from` on. Cost: also a look at each
  // spared key that is due since then.
  std::size_t sweep_others(const ExecContext& context, std::size_t limit, Time from,
                           const Database::IsSpared& is_spared);

  // Nothing is due before this moment.
  Time next_deadline() const;

  // Counts keys and members that expired, and how late they were removed.
  void record_expired(const ExecContext& context, FoundBy by, Time deadline, std::size_t keys,
                      std::size_t members);

  // Exchanges what two databases hold.
  void swap(int a, int b) { (*this)[a].swap_contents((*this)[b]); }

 private:
  template <class Sweep>
  std::size_t sweep_each(std::size_t limit, const Sweep& sweep);

  KeyspaceOptions options_;
  KeyspaceListener& listener_;
  KeyspaceStats stats_;
  ExpiryObserver* observer_ = nullptr;
  LazyFree lazy_free_;
  Random random_;
  RefreshLeases leases_;
  std::vector<Due> scratch_;
  std::size_t turn_ = 0;  // the database whose turn it is to be swept
  std::vector<std::unique_ptr<Database>> databases_;
};

}  // namespace mayfly
