// SPDX-License-Identifier: Apache-2.0
// The upkeep of a store: purging, syncing, compacting, copies and statistics.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"
#include "store/api/store_state.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/purge_plan.h"

namespace mayfly {
namespace {

constexpr std::int64_t kNanosInMilli = 1'000'000;

// Of the 10 ms for which a purge may keep others from writing; the rest is for the commit.
constexpr std::int64_t kBatchNs = 4 * kNanosInMilli;

// How many entries are taken down for each millisecond that a purge may take: more than it removes.
constexpr std::uint64_t kPlannedInMilli = 256;

// The limits of a whole purge, as they get used up.
class Budget {
 public:
  explicit Budget(PurgeLimits limits)
      : entries_(limits.entries),
        until_(limits.time >= Millis::max() / kNanosInMilli
                   ? INT64_MAX
                   : monotonic_ns() +
                         std::max(limits.time, Millis::zero()).count() * kNanosInMilli) {}

  std::uint64_t entries() const { return entries_; }
  std::int64_t time_ns() const { return until_ == INT64_MAX ? until_ : until_ - monotonic_ns(); }
  bool spent() const { return entries_ == 0 || time_ns() <= 0; }
  void use(std::uint64_t entries) { entries_ -= entries; }

 private:
  std::uint64_t entries_;
  std::int64_t until_;
};

// What is due, taken down without a lock: a purge with nothing to do takes none. If time is short,
// it must not be spent on plans.
Status make_plan(Store::State& state, Family family, const Budget& budget, PurgePlan& plan) {
  if (state.environment == nullptr) return Error{Code::invalid, "the store is closed"};
  auto txn = Txn::begin_read(state.owner());
  if (!txn) return txn.error();
  FamilyView* const view = (*txn)->view(family);
  if (view == nullptr) return (*txn)->missing_family();
  const auto time_ms = static_cast<std::uint64_t>(budget.time_ns() / kNanosInMilli) + 1;
  const std::uint64_t limit =
      budget.spent() ? 0 : std::min(budget.entries(), time_ms * kPlannedInMilli);
  const int code = (*txn)->plan_purge(*view, limit, plan);
  if (code != 0) return lmdb_error(code, "purge");
  return Done{};
}

// One transaction of a purge, of `most` entries.
Status purge_batch(Store::State& state, Family family, const Budget& budget, std::uint64_t most,
                   PurgePlan& plan, std::uint64_t& removed) {
  auto txn = Txn::begin_write(state.owner(), state.options.busy_timeout);
  if (!txn) return txn.error();
  FamilyView* const view = (*txn)->view(family);
  if (view == nullptr) return (*txn)->missing_family();
  const std::uint64_t limit = std::min(budget.entries(), most);
  const int code = (*txn)->sweep(*view, plan, limit, std::min(kBatchNs, budget.time_ns()), removed);
  if (code != 0) return lmdb_error(code, "purge");
  if (removed == 0) return Done{};
  return (*txn)->commit();
}

// Where the map is full, a whole batch may find no room for its pages, but a few entries do.
void purge_family(Store::State& state, Family family, Budget& budget, Purged& purged) {
  std::uint64_t most = state.options.purge_batch;
  for (;;) {
    PurgePlan plan;
    purged.status = make_plan(state, family, budget, plan);
    if (!purged.status) return;
    if (plan.done() && !plan.complete()) purged.done = false;
    if (plan.done()) return;
    while (!plan.done()) {
      if (budget.spent()) {
        purged.done = false;
        return;
      }
      std::uint64_t removed = 0;
      const std::size_t before = plan.position();
      purged.status = purge_batch(state, family, budget, most, plan, removed);
      if (!purged.status && purged.status.error().code == Code::full && most > 1) {
        most = 1;
        plan.go_back(before);
        continue;
      }
      if (!purged.status) return;
      most = std::min<std::uint64_t>(2 * most, state.options.purge_batch);
      purged.removed += removed;
      state.tally.add(Count::purged, removed);
      budget.use(removed);
    }
    if (plan.complete()) return;
  }
}

Purged finish(Store::State& state, Purged purged) {
  if (!purged.status) {
    purged.done = false;
    state.tally.add(Count::errors);
  }
  return purged;
}

// One line of LMDB's table of readers: process, thread, transaction. Idle ones have no transaction.
int read_line(const char* line, void* context) {
  auto& readers = *static_cast<std::vector<StoreReader>*>(context);
  long process = 0;
  unsigned long long thread = 0;
  unsigned long long txn = 0;
  if (std::sscanf(line, "%ld %llx %llu", &process, &thread, &txn) == 3) {
    readers.push_back({process, txn, 0});
  }
  return 0;
}

std::uint64_t free_pages(MDB_txn* txn) {
  MDB_cursor* cursor = nullptr;
  if (::mdb_cursor_open(txn, kFreeTable, &cursor) != 0) return 0;
  std::uint64_t pages = 0;
  MDB_val key{};
  MDB_val value{};
  while (::mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    pages += *static_cast<const std::size_t*>(value.mv_data);  // the list begins with its length
  }
  ::mdb_cursor_close(cursor);
  return pages;
}

}  // namespace

Purged Store::purge_expired(PurgeLimits limits, Family family) {
  Purged purged;
  Budget budget(limits);
  purge_family(*state_, family, budget, purged);
  return finish(*state_, std::move(purged));
}

Purged Store::purge_expired_all(PurgeLimits limits) {
  Purged purged;
  Budget budget(limits);
  std::vector<Family> families;
  {
    auto txn = read();
    if (!txn) {
      purged.status = txn.error();
      return finish(*state_, std::move(purged));
    }
    families = txn->all_families();
  }
  for (const Family family : families) {
    purge_family(*state_, family, budget, purged);
    // One that was dropped meanwhile has nothing left to purge.
    if (!purged.status && purged.status.error().code == Code::not_found) purged.status = Done{};
    if (!purged.status) break;
  }
  return finish(*state_, std::move(purged));
}

Status Store::sync() {
  if (state_->environment == nullptr) return Error{Code::invalid, "the store is closed"};
  state_->tally.add(Count::syncs);
  return state_->environment->sync();
}

Status Store::compact() {
  if (state_->environment == nullptr) return Error{Code::invalid, "the store is closed"};
  if (state_->options.read_only) return Error{Code::denied, "the store was opened read-only"};
  return state_->environment->compact();
}

Status Store::backup(const std::filesystem::path& path) const {
  if (state_->environment == nullptr) return Error{Code::invalid, "the store is closed"};
  std::error_code problem;
  const std::string target = std::filesystem::absolute(path, problem).string();
  if (problem || path.empty()) return Error{Code::invalid, "the path of the backup is bad"};
  return state_->environment->copy_to(target);
}

void Store::reset_stats() { state_->tally.reset(); }

Result<StoreStats> Store::stats() const {
  if (state_->environment == nullptr) return Error{Code::invalid, "the store is closed"};
  const SharedTally& tally = state_->tally;
  StoreStats stats;
  stats.puts = tally[Count::puts];
  stats.gets = tally[Count::gets];
  stats.erases = tally[Count::erases];
  stats.cursors = tally[Count::cursors];
  stats.commits = tally[Count::commits];
  stats.syncs = tally[Count::syncs];
  stats.errors = tally[Count::errors];
  stats.bytes_read = tally[Count::bytes_read];
  stats.bytes_written = tally[Count::bytes_written];
  stats.expired_lazily = tally[Count::expired_lazily];
  stats.purged = tally[Count::purged];

  auto txn = Txn::begin_read(state_->owner(), false);
  if (!txn) return txn.error();
  MDB_env* const env = state_->environment->lmdb();
  MDB_envinfo info{};
  MDB_stat stat{};
  ::mdb_env_info(env, &info);
  ::mdb_env_stat(env, &stat);
  stats.page_bytes = stat.ms_psize;
  stats.pages = info.me_last_pgno + 1;
  stats.free_pages = free_pages((*txn)->lmdb());
  stats.map_bytes = info.me_mapsize;
  stats.last_transaction = info.me_last_txnid;
  std::error_code problem;
  stats.file_bytes = std::filesystem::file_size(state_->environment->path(), problem);
  if (problem) stats.file_bytes = 0;
  ::mdb_reader_list(env, read_line, &stats.readers);
  // This very snapshot is none of the user's business.
  const auto own = std::ranges::find_if(stats.readers, [&](const StoreReader& reader) {
    return reader.process == ::getpid() && reader.snapshot == ::mdb_txn_id((*txn)->lmdb());
  });
  if (own != stats.readers.end()) stats.readers.erase(own);
  for (StoreReader& reader : stats.readers) {
    reader.behind = stats.last_transaction - std::min(stats.last_transaction, reader.snapshot);
  }
  return stats;
}

}  // namespace mayfly
