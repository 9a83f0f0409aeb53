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
//
// Functions that return an int return LMDB's codes: 0, MDB_NOTFOUND, or what went wrong.

#pragma once

#include <lmdb.h>

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
#include "store/txn/tally.h"

namespace mayfly {

class PurgePlan;

// The tables of a family, as a transaction sees them.
struct FamilyView {
  Family family{};
  bool resolved = false;
  MDB_dbi data = 0;
  MDB_dbi keys = 0;
  MDB_dbi deadlines = 0;
  bool has_ttl = false;      // whether any key has a deadline; if not, nobody looks for one
  bool has_expired = false;  // whether any is due; if not, only who wants to know a deadline looks
  Millis default_ttl = Millis::max();

  // Of a write transaction that puts more than once: where the last row was put, since the next one
  // often belongs beside it. LMDB closes it when the transaction ends.
  MDB_cursor* writer = nullptr;
  MDB_cursor* key_writer = nullptr;
  MDB_cursor* deadline_writer = nullptr;
  bool has_put = false;
};

// A row of the data table, with its deadline.
struct Found {
  std::string_view value;
  Time deadline = kNever;
};

// What a read is for. Whether a key is there can often be told without its deadline: the first row
// of the expiry index says whether anything in the family is due.
enum class Want { value, deadline };

// An expired entry that a read has met.
struct Met {
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

  // `timed` reads the clock now; otherwise it is read when somebody asks.
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
    return is_first && gathered_ == nullptr ? &first_ : settled_view(family);
  }

  // The same for who only puts, and does not look at the tables.
  FamilyView* view_to_put(Family family) {
    if (first_.resolved && first_.family == family && !ended()) return &first_;
    return find_view(family);
  }
  Error missing_family() const;

  // Reading. find() gives what a user may see; an expired row counts as absent and is noted. Who
  // does not want the deadline may get kNever for it.
  int find(FamilyView& view, const StoredKey& key, Found& found, Want want = Want::deadline);
  int deadline_row(FamilyView& view, std::string_view stored, Time& deadline);  // kNever: no row

  // Writing. These keep the invariant; `old` is what deadline_row() says.
  int put(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline);
  int set_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline);
  int remove(FamilyView& view, std::string_view stored, Time old);

  // Keeps a put in mind, to be written with others. False if it has to be put at once.
  bool gather(const GatheredPut& put);
  void write_gathered();

  // From now on puts are written at once: a cursor may look at the tables at any time.
  void stop_gathering() { gathers_ = false; }
  int clear(FamilyView& view);

  // Takes down the entries that are due, nearest deadline first: `limit` at most.
  int plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan);

  // Removes what the plan has, as far as it is still due: `limit` entries at most, and no more than
  // fit into `budget_ns`. `removed` counts them.
  int sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit, std::int64_t budget_ns,
            std::uint64_t& removed);

  // The two together, for all that is due, or the `limit` nearest deadlines.
  int purge(FamilyView& view, std::uint64_t limit, std::uint64_t& removed);
  int remove_met(const std::vector<Met>& met, std::int64_t budget_ns, std::uint64_t& removed);

  int count(FamilyView& view, FamilyCounts& counts);

  // Families.
  Result<Family> create_family(std::string_view name);
  Status drop_family(std::string_view name);
  Status set_default_ttl(Family family, Millis ttl);
  Status make_ttl_tables(FamilyView& view);

  // The first failure stays; all writes after it do nothing.
  bool failed() const { return failure_.has_value(); }
  void fail(Error error);
  void fail(int code, std::string_view doing);
  const std::optional<Error>& failure() const { return failure_; }

  // Both are for the thread that began it. On another one, commit() is Code::invalid, and both
  // leave the transaction as it is.
  Status commit();
  void abort();

  bool ended() const { return lmdb_ == nullptr || is_foreign(); }

  // Whether it is the parent's, in the child of a fork.
  bool is_foreign() const { return owner_.environment.is_foreign(); }

  // Expired entries that reads have met, to be removed by whoever can.
  std::vector<Met>& met() { return met_; }
  void note(Family family, std::string_view stored);

 private:
  Txn(const Owner& owner, MDB_txn* lmdb, CatalogRef catalog);

  void read_clock();
  void end();
  Error ended_error() const;
  FamilyView* settled_view(Family family);
  FamilyView* find_view(Family family);
  bool resolve(FamilyView& view, Family family);
  void look_ahead(FamilyView& view);
  void forget_views();
  int owned_by(FamilyView& view, const StoredKey& key);
  static std::uint64_t pages_of(std::size_t bytes);  // that a put takes, at most
  int charge(FamilyView& view, std::size_t bytes);
  void count_put(std::size_t bytes);
  int put_row(FamilyView& view, const StoredKey& key, std::string_view value);
  int replace(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline,
              Time& old);
  int claim_deadline(FamilyView& view, std::string_view stored, Time deadline, Time& old);
  int change_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline);
  int file_deadline(FamilyView& view, std::string_view stored, Time deadline);
  int write_in_order();
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
  std::vector<Met> met_;

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

}  // namespace mayfly
