// SPDX-License-Identifier: Apache-2.0
// Txn: what a transaction is inside: a snapshot and a moment. One that writes keeps its changes in
// a table of its own, through which it reads; a commit makes them a record of the log. What does
// not fit into a record, and what changes families, goes straight into LMDB (go_direct).

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
#include "mayfly/ttl_histogram.h"
#include "store/lmdb/environment.h"
#include "store/rows/stored_key.h"
#include "store/table/expiry_floors.h"
#include "store/txn/catalog.h"

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

// A family, as a transaction sees it.
struct FamilyView {
  Family family{};
  std::uint32_t id = 0;
  bool resolved = false;
  FamilyTables tables;
  bool has_ttl = false;      // whether LMDB has deadlines; if not, nobody looks for one there
  bool has_expired = false;  // whether any of these is due; if not, only a read of a deadline looks
  Millis default_ttl = Millis::max();
  std::optional<ExpiryFloor> floor{};    // before which no deadline is; nothing: not asked for yet
  Time least_put = kNever;               // that the transaction has put since it was asked for
  std::optional<CountChange> counted{};  // by the tables, to a transaction that only reads
};

// An entry, with its deadline.
struct StoredEntry {
  std::string_view value;
  Time deadline = kNever;
};

// What a read needs. Whether a key is there can often be told without its deadline: the first row
// of the expiry index says whether anything in LMDB is due.
enum class Need { value, deadline };

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

  // The first also serves a single get, which needs no memory but the stack.
  Txn(const Owner& owner, ReadTurn turn);
  Txn(const Owner& owner, WriteTurn turn);
  ~Txn();  // undoes what was not committed; allocates nothing

  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  MDB_txn* lmdb() const { return turn_.tree != nullptr ? turn_.tree->lmdb() : snapshot_->txn; }
  const Snapshot& snapshot() const { return *snapshot_; }
  const Window& window() const { return window_; }
  const Catalog& catalog() const {
    if (turn_.tree != nullptr) return turn_.tree->catalog();
    return snapshot_ != nullptr ? snapshot_->catalog->catalog() : last_catalog_->catalog();
  }
  const Owner& owner() const { return owner_; }
  bool writes() const { return writes_; }
  bool is_direct() const { return turn_.tree != nullptr; }
  std::uint64_t changes() const { return changes_; }  // how often it has written
  Tally& tally() { return tally_; }

  Time now() {
    if (!timed_) read_clock();
    return now_;
  }

  // Null if there is no such family.
  FamilyView* view(Family family) {
    if (first_.resolved && first_.family == family && !ended()) return &first_;
    return find_view(family);
  }
  Error missing_family() const;

  // Reading. find() returns what a user may see; an expired entry counts as absent, and its key is
  // recorded. A read that does not need the deadline may get kNever. look() returns it all the
  // same.
  Result<std::optional<StoredEntry>> find(FamilyView& view, std::string_view key, Need need);
  Result<std::optional<StoredEntry>> look(FamilyView& view, std::string_view key, Need need);

  // Writing. `old` is what look() returns, with its deadline.
  using Old = std::optional<StoredEntry>;
  Status put(FamilyView& view, std::string_view key, std::string_view value, Time deadline,
             const Old& old);
  Status set_deadline(FamilyView& view, std::string_view key, Time deadline, const Old& old);
  Status erase(FamilyView& view, std::string_view key, const Old& old);
  Status clear(FamilyView& view);

  // Where walks over the deadlines of the family begin. A walk that has passed dead rows raises it.
  const ExpiryFloor& floor_of(FamilyView& view);
  void raise_floor(FamilyView& view, ExpiryFloor floor);

  // Adds entries that are due to the plan, nearest deadline first: at most `limit`, none before
  // `from`. `block`: see PurgePlan.
  Status plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan,
                    const ExpiryFloor& from = {}, std::size_t block = SIZE_MAX);

  // Removes the entries of the plan that are still due, and returns how many: at most `limit`, and
  // no more than fit into `budget_ns`.
  Result<std::uint64_t> sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit,
                              std::int64_t budget_ns);

  // The two together, for all that is due, or the `limit` nearest deadlines.
  Result<std::uint64_t> purge(FamilyView& view, std::uint64_t limit);

  Result<FamilyCounts> count(FamilyView& view);

  // Expired ones included. Cost: O(1); the first time also what others have written to the family
  // since the snapshot was taken.
  Result<std::uint64_t> count_stored(FamilyView& view);
  Result<TtlHistogram> ttl_histogram(FamilyView& view, bool with_bytes);

  // Families.
  Result<Family> create_family(std::string_view name);
  Status drop_family(std::string_view name);
  Status set_default_ttl(Family family, Millis ttl);

  // The first failure stays; all writes after it do nothing. A write that runs out of memory throws
  // std::bad_alloc and changes nothing; if it is torn by that, so does commit().
  bool failed() const { return failure_.has_value() || is_torn_ || has_ended_; }
  void fail(Error error);
  Error failure() const;  // REQUIRES: failed()

  // Both are for the thread that began it. On another one, commit() is Code::invalid, and both
  // leave the transaction as it is. A commit() that throws std::bad_alloc has ended it as well.
  Status commit();
  void abort();

  bool ended() const { return snapshot_ == nullptr || is_foreign(); }

  // Whether it is the parent's, in the child of a fork.
  bool is_foreign() const { return owner_.environment.is_foreign(); }

  // Of an expired entry that a read has found. Without memory it is not recorded.
  void record_expired(Family family, std::string_view key) noexcept;

 private:
  // A change of several steps: torn if it is left before done().
  class Steps {
   public:
    explicit Steps(Txn& txn) : is_torn_(txn.is_torn_), before_(txn.is_torn_) { is_torn_ = true; }
    void done() { is_torn_ = before_; }

   private:
    bool& is_torn_;
    const bool before_;
  };

  void read_clock();
  void end() noexcept;
  Error ended_error() const;
  FamilyView* find_view(Family family);
  bool resolve(FamilyView& view, Family family);
  void look_ahead(FamilyView& view);
  void forget_views();
  CountChange counted_in_tables(FamilyView& view) const;
  Result<Old> look_deadline(FamilyView& view, std::string_view key);
  Result<Time> tree_deadline(FamilyView& view, std::string_view stored);
  Result<std::optional<StoredEntry>> look_in_tree(FamilyView& view, std::string_view key,
                                                  Need need);
  Status add(FamilyView& view, Operation operation, const Old& old);
  void remove_expired();
  void share_floors(Position end) noexcept;
  Status go_direct();
  Status move_to_tree();
  Status commit_here();
  Result<Position> write_out();

  const Owner owner_;
  ReadTurn read_turn_;  // of one that only reads
  WriteTurn turn_;      // of one that writes: with its changes, or LMDB's transaction
  Snapshot* snapshot_;  // of either turn; null once it has ended
  Window window_;
  bool timed_ = false;
  Time now_{};
  FamilyView first_;  // most transactions use one family
  std::vector<std::unique_ptr<FamilyView>> others_;
  Tally tally_;
  ExpiredKeys expired_seen_;

  // Of a write transaction.
  const bool writes_ = false;
  std::size_t own_bytes_ = 0;
  std::uint64_t changes_ = 0;
  bool is_torn_ = false;
  bool has_ended_ = false;
  CatalogRef last_catalog_;  // once it has ended
  std::optional<Error> failure_;
};

}  // namespace mayfly::internal
