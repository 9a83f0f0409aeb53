// SPDX-License-Identifier: Apache-2.0
// Txn: what a transaction is inside: an LMDB transaction, a moment, the catalog of its snapshot,
// and the rules of the dual index.
//
//   data        key -> value
//   keys        key -> deadline                     made with the first deadline of a family
//   deadlines   [deadline][key] -> nothing          "
//
// Invariant: a key has a row in `keys` if and only if it has one, with the same deadline, in
// `deadlines`, and then it has one in `data`.

#pragma once

#include <lmdb.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/family.h"
#include "mayfly/result.h"
#include "mayfly/store_stats.h"
#include "store/lmdb/environment.h"
#include "store/rows/stored_key.h"
#include "store/txn/catalog.h"
#include "store/txn/gathered_puts.h"

namespace mayfly::internal {

class PurgePlan;

// What a handle counts. A transaction counts for itself and adds its counts to those of the handle
// when it ends, so that a get costs a plain increment and not an atomic one.
enum class Count : std::size_t {
  puts,
  gets,
  erases,
  cursors,
  commits,
  syncs,
  errors,
  bytes_read,
  bytes_written,
  expired_lazily,
  purged,
};
inline constexpr std::size_t kCounts = 11;
static_assert(static_cast<std::size_t>(Count::purged) + 1 == kCounts);

class Tally {
 public:
  void add(Count what, std::uint64_t number = 1) {
    counts_[static_cast<std::size_t>(what)] += number;
  }
  std::uint64_t operator[](Count what) const { return counts_[static_cast<std::size_t>(what)]; }

 private:
  friend class SharedTally;
  std::array<std::uint64_t, kCounts> counts_{};
};

class SharedTally {
 public:
  void add(const Tally& tally) {
    for (std::size_t i = 0; i < kCounts; ++i) {
      if (tally.counts_[i] != 0) counts_[i].fetch_add(tally.counts_[i], std::memory_order_relaxed);
    }
  }
  void add(Count what, std::uint64_t number = 1) {
    counts_[static_cast<std::size_t>(what)].fetch_add(number, std::memory_order_relaxed);
  }
  std::uint64_t operator[](Count what) const {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  void reset() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
};

// The tables of a family, as a transaction sees them.
struct FamilyView {
  Family family{};
  bool resolved = false;
  MDB_dbi data = 0;
  MDB_dbi keys = 0;
  MDB_dbi deadlines = 0;
  bool has_ttl = false;      // whether any key has a deadline; if not, reads look for none
  bool has_expired = false;  // whether any is due; if not, only a read of a deadline looks
  Millis default_ttl = Millis::max();

  // Of a write transaction that puts more than once: where the last row was put, since the next one
  // often belongs beside it. LMDB closes it when the transaction ends.
  MDB_cursor* writer = nullptr;
  MDB_cursor* key_writer = nullptr;
  MDB_cursor* deadline_writer = nullptr;
  bool has_put = false;
};

// A row of the data table, with its deadline.
struct StoredEntry {
  std::string_view value;
  Time deadline = kNever;
};

// What a read needs. Whether a key is there can often be told without its deadline: the first row
// of the expiry index says whether anything in the family is due.
enum class Need { value, deadline };

// An expired entry that a read has found, to be removed later.
struct ExpiredKey {
  Family family;
  std::string stored;
};

class Txn {
 public:
  // What a handle gives to its transactions. All of it outlives them.
  struct Owner {
    Environment& environment;
    const Clock& clock;
    const StoreOptions& options;
    SharedTally& tally;
  };

  // `timed` reads the clock now; otherwise it is read when it is needed.
  static Result<std::unique_ptr<Txn>> begin_read(const Owner& owner, bool timed = true);
  static Result<std::unique_ptr<Txn>> begin_write(const Owner& owner, Millis busy_timeout);

  // For a get of its own, which needs no memory but the stack.
  Txn(const Owner& owner, std::unique_ptr<Snapshot> snapshot);
  ~Txn();  // undoes what was not committed

  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  MDB_txn* lmdb() const { return lmdb_; }
  const Catalog& catalog() const { return changed_ ? *changed_ : catalog_->catalog(); }
  const Owner& owner() const { return owner_; }
  bool writes() const { return snapshot_ == nullptr; }
  Tally& tally() { return tally_; }

  Time now() {
    if (!timed_) read_clock();
    return now_;
  }

  // Null if there is no such family. What was gathered is written first, so that the tables tell
  // all; if that fails, so does the transaction.
  FamilyView* view(Family family) {
    const bool is_first = first_.resolved && first_.family == family && !ended();
    return is_first && gathered_ == nullptr ? &first_ : view_after_gathered(family);
  }

  // The same for a put that does not read the tables.
  FamilyView* view_to_put(Family family) {
    if (first_.resolved && first_.family == family && !ended()) return &first_;
    return find_view(family);
  }
  Error missing_family() const;

  // Reading. find() returns what a user may see; an expired row counts as absent, and its key is
  // recorded. A read that does not need the deadline may get kNever.
  Result<std::optional<StoredEntry>> find(FamilyView& view, const StoredKey& key, Need need);
  Result<Time> deadline_of(FamilyView& view, std::string_view stored);  // kNever: it has none

  // Writing. These keep the invariant; `old` is what deadline_of() returns.
  Status put(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline);
  Status set_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline);
  Status remove(FamilyView& view, std::string_view stored, Time old);

  // Keeps a put in memory, to be written together with others. False: it has to be put at once.
  bool gather(const GatheredPut& put);
  void write_gathered();

  // From now on puts are written at once: a cursor may look at the tables at any time.
  void stop_gathering() { gathers_ = false; }
  Status clear(FamilyView& view);

  // Adds entries that are due to the plan, nearest deadline first: at most `limit`.
  Status plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan);

  // Removes the entries of the plan that are still due, and returns how many: at most `limit`, and
  // no more than fit into `budget_ns`.
  Result<std::uint64_t> sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit,
                              std::int64_t budget_ns);

  // The two together, for all that is due, or the `limit` nearest deadlines.
  Result<std::uint64_t> purge(FamilyView& view, std::uint64_t limit);
  Result<std::uint64_t> remove_expired(const std::vector<ExpiredKey>& keys, std::int64_t budget_ns);

  Result<FamilyCounts> count(FamilyView& view);

  // Families.
  Result<Family> create_family(std::string_view name);
  Status drop_family(std::string_view name);
  Status set_default_ttl(Family family, Millis ttl);
  Status make_ttl_tables(FamilyView& view);

  // The first failure stays; all writes after it do nothing.
  bool failed() const { return failure_.has_value(); }
  void fail(Error error);
  const std::optional<Error>& failure() const { return failure_; }

  // Both are for the thread that began it. On another one, commit() is Code::invalid, and both
  // leave the transaction as it is.
  Status commit();
  void abort();

  bool ended() const { return lmdb_ == nullptr || is_foreign(); }

  // Whether it is the parent's, in the child of a fork.
  bool is_foreign() const { return owner_.environment.is_foreign(); }

  // Expired entries that reads have found.
  std::vector<ExpiredKey>& expired_seen() { return expired_seen_; }
  void record_expired(Family family, std::string_view stored);

 private:
  Txn(const Owner& owner, MDB_txn* lmdb, CatalogRef catalog);

  void read_clock();
  void end();
  Error ended_error() const;
  FamilyView* view_after_gathered(Family family);
  FamilyView* find_view(Family family);
  bool resolve(FamilyView& view, Family family);
  void look_ahead(FamilyView& view);
  void forget_views();
  Status check_owner(FamilyView& view, const StoredKey& key);
  static std::uint64_t pages_of(std::size_t bytes);  // that a put takes, at most
  Status charge(FamilyView& view, std::size_t bytes);
  void count_put(std::size_t bytes);
  Status put_value(FamilyView& view, const StoredKey& key, std::string_view value);
  Result<Time> replace(FamilyView& view, const StoredKey& key, std::string_view value,
                       Time deadline);
  Result<Time> claim_deadline(FamilyView& view, std::string_view stored, Time deadline);
  Status change_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline);
  Status file_deadline(FamilyView& view, std::string_view stored, Time deadline);
  Status write_in_order();
  std::uint64_t table_pages(FamilyView& view) const;
  int put_through(MDB_cursor*& cursor, MDB_dbi table, bool is_first, MDB_val& name, MDB_val& value,
                  unsigned flags);
  int put_data(FamilyView& view, MDB_val& name, MDB_val& value, unsigned flags);
  Catalog& change_catalog();
  Result<MDB_dbi> table(std::uint32_t number);
  Status write_catalog();

  const Owner owner_;
  std::unique_ptr<Snapshot> snapshot_;  // of a read transaction
  MDB_txn* lmdb_;                       // null once it has ended
  CatalogRef catalog_;
  bool timed_ = false;
  Time now_{};
  FamilyView first_;  // most transactions use one family
  std::vector<std::unique_ptr<FamilyView>> others_;
  Tally tally_;
  std::vector<ExpiredKey> expired_seen_;

  // Of a write transaction.
  std::optional<Catalog> changed_;
  std::vector<NewTable> new_tables_;
  std::unique_lock<std::mutex> tables_lock_;
  std::optional<Error> failure_;
  std::uint64_t charged_ = 0;  // pages that it has taken, at most
  std::uint64_t room_ = 0;     // pages that it could take when it began, at least
  bool is_room_exact_ = false;
  bool gathers_ = true;
  std::unique_ptr<GatheredPuts> gathered_;  // made with the second put
};

}  // namespace mayfly::internal
