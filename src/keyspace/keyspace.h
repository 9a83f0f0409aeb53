// SPDX-License-Identifier: Apache-2.0
// Keyspace: all databases, what time it is for them, and what happens to what is due.
//
//   Keyspace keyspace(options, listener);
//   keyspace.set_now(clock.now());                // once a command
//   Database& database = keyspace[0];
//   while (keyspace.sweep(100) > 0) ...           // in slices, until nothing is due
//
// The listener hears of every key and field that expired or was evicted, after it is gone. It must
// not change the keyspace.
//
// Threads: a keyspace belongs to one thread.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/database.h"
#include "keyspace/graveyard.h"
#include "keyspace/lateness.h"
#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

// What happens to a key or a field that is found due.
enum class Policy {
  reclaim,  // it is removed, told and counted: a primary
  hide,     // it is invisible, and stays: a replica's clients, or while writes are paused
  show,     // it is there like any other: commands from the primary, and loading
};

struct KeyspaceOptions {
  int databases = 16;
  std::size_t packed_entries_max = 512;  // hash-max-listpack-entries
  std::size_t packed_value_max = 64;     // hash-max-listpack-value, for fields and values
  std::size_t string_bytes_max = std::size_t{512} << 20;  // proto-max-bulk-len, for growing strings
  std::uint64_t seed = 0;                                 // of the hash functions
  bool uses_lfu = false;                                  // access words count frequency, not time

  // import-mode: a deadline in the past is given as any other, and what is due counts.
  bool keeps_expired = false;
};

class KeyspaceListener {
 public:
  virtual ~KeyspaceListener() = default;
  virtual void key_expired(Database& database, std::string_view key, Found found) = 0;

  // `fields` is empty if the whole hash was dead and went at once.
  virtual void fields_expired(Database& database, std::string_view key,
                              std::span<const std::string> fields, bool emptied, Found found) = 0;
  virtual void key_evicted(Database& database, std::string_view key) = 0;
};

struct KeyspaceStats {
  std::uint64_t expired_keys = 0;
  std::uint64_t expired_fields = 0;
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

  Time now() const { return now_; }
  void set_now(Time now) { now_ = now; }
  Policy policy() const { return policy_; }
  void set_policy(Policy policy) { policy_ = policy; }

  // Whether a use of a key is noted for eviction; CLIENT NO-TOUCH turns it off.
  bool notes_use() const { return notes_use_; }
  void set_notes_use(bool notes) { notes_use_ = notes; }

  KeyspaceOptions& options() { return options_; }
  const KeyspaceOptions& options() const { return options_; }
  KeyspaceListener& listener() { return listener_; }
  KeyspaceStats& stats() { return stats_; }
  Graveyard& graveyard() { return graveyard_; }
  Random& random() { return random_; }
  std::vector<Due>& scratch() { return scratch_; }  // of the sweep

  // Removes keys and fields that are due, at most `limit`, in all databases in turn. Returns how
  // many; fewer than `limit` means that nothing is due any more. Whatever the policy is.
  std::size_t sweep(std::size_t limit);

  // Nothing is due before this moment.
  Time next_deadline() const;

  // Counts something that expired, and how late it was removed.
  void note_expired(Found found, Time deadline, std::size_t keys, std::size_t fields);

  // Exchanges what two databases hold.
  void swap(int a, int b);

 private:
  KeyspaceOptions options_;
  KeyspaceListener& listener_;
  KeyspaceStats stats_;
  Graveyard graveyard_;
  Random random_;
  Time now_{};
  Policy policy_ = Policy::reclaim;
  bool notes_use_ = true;
  std::vector<Due> scratch_;
  std::size_t turn_ = 0;  // the database whose turn it is to be swept
  std::vector<std::unique_ptr<Database>> databases_;
};

}  // namespace mayfly
