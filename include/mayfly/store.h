// SPDX-License-Identifier: Apache-2.0
// Store: an embedded, transactional key-value store in a file, in which any key may have a
// deadline.
//
//   SystemClock clock;
//   auto store = Store::open("/var/lib/app/sessions.db", clock);
//   if (!store) return report(store.error());
//
//   store->put("session:42", token, 30min);             // a transaction of its own
//   auto token = store->get("session:42");              // absent from its deadline on
//
//   auto txn = store->write();                          // or many writes in one
//   if (!txn) return report(txn.error());
//   txn->put("session:43", token, 30min);
//   txn->erase("session:41");
//   return txn->commit();
//
// Time: a transaction reads the clock once. A key is gone from its deadline on, whether or not it
// has been removed. What expires before it is written to the tree never gets there; the rest is
// removed by checkpoints, by purge_expired(), and by commits, which remove what reads of the same
// process have found. A read writes nothing. See docs/time.md. The clock is to be the wall clock,
// since deadlines outlive the process.
//
// Threads and processes: a Store may be shared by threads, several may be open on one path, and
// several processes may use one file. There is one write transaction at a time; readers never wait
// for it, nor it for them. A write transaction is ended by the thread that began it. A process that
// dies leaves no lock behind. In the child of a fork(), a Store of the parent refuses everything
// (Code::invalid), and closing or destroying it does nothing; the child can open the file itself.
//
// Files: `path` and path-lock; while it is open, path-shm, and from the second commit on path-wal,
// the redo log, which has the last commits.
// Not for network file systems. The format is in docs/store_format.md.

#pragma once

#include "mayfly/internal/language.h"  // first: it says what is wrong with an older language
//
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/store_options.h"
#include "mayfly/store_stats.h"
#include "mayfly/store_txn.h"

namespace mayfly {

// As Entry, but with a copy of the value.
struct OwnedEntry {
  std::string value;
  Time deadline = kNever;
  std::optional<Millis> ttl{};
};

class Store {
 public:
  // Opens the file at `path`, or makes it. With an empty path it makes a store that is gone when it
  // is closed. `clock` must outlive the store.
  //
  // Code::not_found: there is no such file, or no such directory. Code::denied: permissions, or a
  // read-only file system. Code::corrupt: it is not a store, or damaged. Code::unsupported: it was
  // written by a newer Mayfly. Code::invalid: a directory, say, or an option that makes no sense.
  // Code::busy: another process recovers or compacts it, and does not end within busy_timeout.
  static Result<Store> open(const std::filesystem::path& path, const Clock& clock,
                            const StoreOptions& options = {});

  // A temporary clock would be gone at once.
  static Result<Store> open(const std::filesystem::path& path, const Clock&& clock,
                            const StoreOptions& options = {}) = delete;

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  // closes it. All transactions and cursors must have ended.

  // Closes the store as the destructor does, and tells whether all of it went well.
  Status close();

  Result<ReadTxn> read() const;

  // Code::busy if another writer does not end in time; Code::denied if the store is read-only.
  Result<WriteTxn> write();
  Result<WriteTxn> write(Millis busy_timeout);

  // Each of these is a transaction of its own. See store_txn.h for what they do.
  Result<std::optional<std::string>> get(std::string_view key, Family family = {}) const;
  Result<std::optional<OwnedEntry>> get_entry(std::string_view key, Family family = {}) const;
  Result<std::optional<Time>> deadline(std::string_view key, Family family = {}) const;
  Result<bool> contains(std::string_view key, Family family = {}) const;
  Result<std::vector<std::optional<std::string>>> get_many(std::span<const std::string_view> keys,
                                                           Family family = {}) const;

  // The value goes into `out`, whose memory is reused. Returns whether there is one.
  Result<bool> get_into(std::string& out, std::string_view key, Family family = {}) const;

  Status put(std::string_view key, std::string_view value, const Expiry& expiry = {},
             Family family = {});
  Result<bool> put_if_absent(std::string_view key, std::string_view value,
                             const Expiry& expiry = {}, Family family = {});
  Result<bool> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                               std::string_view desired, const Expiry& expiry = Expiry::unchanged(),
                               Family family = {});
  Result<std::int64_t> increment(std::string_view key, std::int64_t delta = 1,
                                 const Expiry& expiry = {}, Family family = {});
  Result<bool> erase(std::string_view key, Family family = {});
  Result<std::size_t> erase_many(std::span<const std::string_view> keys, Family family = {});
  Result<bool> expire(std::string_view key, const Expiry& expiry, When when = When::always,
                      Family family = {});
  Result<bool> persist(std::string_view key, Family family = {});
  Result<bool> touch(std::string_view key, const Expiry& expiry, Family family = {});
  Status clear(Family family = {});

  Result<Cursor> cursor(CursorOptions options = {}, Family family = {}) const;
  Result<std::vector<Expiring>> expiring(Time from, Time to, std::size_t limit = SIZE_MAX,
                                         Family family = {}) const;
  Result<Time> next_deadline(Family family = {}) const;
  Result<FamilyCounts> count(Family family = {}) const;
  Result<TtlHistogram> ttl_histogram(TtlHistogramOptions options = {}, Family family = {}) const;
  Result<TtlHistogram> ttl_histogram_all(TtlHistogramOptions options = {}) const;

  Result<Family> create_family(std::string_view name);
  Result<Family> family(std::string_view name) const;
  Result<Family> open_family(std::string_view name);  // creates it if it is not there
  Status drop_family(std::string_view name);
  Result<std::vector<std::string>> families() const;
  Status set_default_ttl(std::optional<Millis> ttl, Family family = {});
  Result<std::optional<Millis>> default_ttl(Family family = {}) const;

  // Removes expired entries (the oldest ones, if there is a limit on entries) in transactions of
  // options.purge_batch entries that hold the write lock for some milliseconds each. Cost: O(log n)
  // for each entry removed, and O(log n) when there are none.
  Purged purge_expired(PurgeLimits limits = {}, Family family = {});
  Purged purge_expired_all(PurgeLimits limits = {});  // of all families

  // Returns when all that was committed is on disk, whatever the durability.
  Status sync();

  // Writes what the log has to the tree, and returns when that is on disk; then the log can be
  // reused. It happens by itself whenever a segment of the log is full. What has expired is left
  // out. Code::busy if another writer does not end in time.
  Status checkpoint();
  Result<Checkpointed> checkpoint(CheckpointMode mode);

  // Rewrites the file without its free pages. Needs the store for itself: Code::busy if a
  // transaction or another process is using it.
  Status compact();

  // Makes a compact copy of one moment at `path`, which must not exist, while others read and
  // write.
  Status backup(const std::filesystem::path& path) const;

  // Reads all of the file: is the tree sound, and do data, key index and expiry index agree?
  Result<CheckReport> check() const;

  Result<StoreStats> stats() const;
  void reset_stats();

  const std::filesystem::path& path() const;
  const StoreOptions& options() const;

  class State;  // not for users

 private:
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mayfly
