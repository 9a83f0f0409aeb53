// SPDX-License-Identifier: Apache-2.0
// The maintenance of a store: purging, syncing, compacting, copies and statistics.

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"
#include "store/api/state.h"
#include "store/txn/purge_plan.h"

namespace mayfly {
namespace {

using internal::ExpiryFloor;
using internal::kNanosInMilli;
using internal::PurgePlan;

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
  bool is_timed() const { return until_ != INT64_MAX; }
  bool spent() const { return entries_ == 0 || time_ns() <= 0; }
  void use(std::uint64_t entries) { entries_ -= entries; }

 private:
  std::uint64_t entries_;
  std::int64_t until_;
};

// What is due, taken down without a lock: a purge with nothing to do takes none. If time is short,
// it must not be spent on plans.
Status make_plan(Store::State& state, Family family, const Budget& budget, const ExpiryFloor& from,
                 PurgePlan& plan) {
  if (state.environment == nullptr) return closed_error();
  auto txn = Txn::begin_read(state.owner());
  if (!txn) return txn.error();
  FamilyView* const view = (*txn)->view(family);
  if (view == nullptr) return (*txn)->missing_family();
  const auto time_ms = static_cast<std::uint64_t>(budget.time_ns() / kNanosInMilli) + 1;
  const std::uint64_t limit =
      budget.spent() ? 0 : std::min(budget.entries(), time_ms * kPlannedInMilli);
  const std::size_t block = budget.is_timed() ? state.options.purge_batch : SIZE_MAX;
  return (*txn)->plan_purge(*view, limit, plan, from, block);
}

// One transaction of a purge. Returns how many it removed.
Result<std::uint64_t> purge_batch(Store::State& state, Family family, const Budget& budget,
                                  PurgePlan& plan) {
  auto txn = Txn::begin_write(state.owner(), state.options.busy_timeout);
  if (!txn) return txn.error();
  FamilyView* const view = (*txn)->view(family);
  if (view == nullptr) return (*txn)->missing_family();
  const std::uint64_t limit = std::min<std::uint64_t>(budget.entries(), state.options.purge_batch);
  auto removed = (*txn)->sweep(*view, plan, limit, std::min(kBatchNs, budget.time_ns()));
  if (!removed || *removed == 0) return removed;
  const std::uint32_t id = view->id;
  if (const Status committed = (*txn)->commit(); !committed) return committed.error();
  if (plan.done() && !plan.leaves_any()) {  // the next walk begins behind it
    state.environment->log().raise_floor(id, plan.end(), plan.tail(), true);
  }
  return removed;
}

// A plan of which nothing could be removed (others were faster, or rows are damaged) is not made
// again: the next one begins behind it.
void purge_family(Store::State& state, Family family, Budget& budget, Purged& purged) {
  for (ExpiryFloor from;;) {
    PurgePlan plan;
    purged.status = make_plan(state, family, budget, from, plan);
    if (!purged.status) return;
    if (plan.done() && !plan.complete()) purged.done = false;
    if (plan.done()) return;
    const std::uint64_t before = purged.removed;
    while (!plan.done()) {
      if (budget.spent()) {
        purged.done = false;
        return;
      }
      const auto removed = purge_batch(state, family, budget, plan);
      if (!removed) {
        purged.status = removed.error();
        return;
      }
      purged.removed += *removed;
      state.tally.add(Count::purged, *removed);
      budget.use(*removed);
    }
    if (plan.complete()) return;
    if (purged.removed != before) continue;
    if (plan.end() == from) {
      purged.done = false;
      return;
    }
    from = plan.end();
  }
}

Purged finish(Store::State& state, Purged purged) {
  if (!purged.status) {
    purged.done = false;
    state.tally.add(Count::errors);
  }
  return purged;
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
  if (state_->environment == nullptr) return closed_error();
  state_->tally.add(Count::syncs);
  return state_->environment->sync();
}

Status Store::checkpoint() {
  const auto done = checkpoint(CheckpointMode::full);
  return done ? Status(Done{}) : done.error();
}

Result<Checkpointed> Store::checkpoint(CheckpointMode mode) {
  if (state_->environment == nullptr) return closed_error();
  if (state_->options.read_only || !state_->environment->writable()) {
    return Error{Code::denied, "cannot checkpoint: the store was opened read-only"};
  }
  const Millis patience =
      mode == CheckpointMode::passive ? Millis::zero() : state_->options.busy_timeout;
  return state_->environment->log().checkpoint(state_->clock.now(), mode, patience);
}

Status Store::compact() {
  if (state_->environment == nullptr) return closed_error();
  if (state_->options.read_only)
    return Error{Code::denied, "cannot compact: the store was opened read-only"};
  return state_->environment->compact(state_->clock.now());
}

Status Store::backup(const std::filesystem::path& path) const {
  if (state_->environment == nullptr) return closed_error();
  std::error_code problem;
  const std::string target = std::filesystem::absolute(path, problem).string();
  if (problem || path.empty()) return Error{Code::invalid, "the path of the backup is bad"};
  return state_->environment->copy_to(target);
}

void Store::reset_stats() { state_->tally.reset(); }

Result<StoreStats> Store::stats() const {
  if (state_->environment == nullptr) return closed_error();
  const internal::SharedTally& tally = state_->tally;
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

  internal::RedoLog& log = state_->environment->log();
  const internal::LogCounts& counts = log.counts();
  stats.logged_bytes = counts.logged_bytes;
  stats.tree_bytes = counts.tree_bytes;
  stats.tree_entries = counts.tree_entries;
  stats.expired_unwritten = counts.unwritten;
  stats.expired_removed = counts.purged;
  stats.damaged_rows = counts.damaged;
  stats.checkpoints = counts.checkpoints;
  stats.stalls = counts.stalls;
  stats.stalled_ms = counts.stalled_ns / kNanosInMilli;
  stats.log_syncs = counts.log_syncs;
  stats.log_position = log.position();
  stats.log_bytes = log.file_bytes();
  stats.pending_bytes = log.pending_bytes();
  stats.table_bytes = log.table_bytes();

  auto txn = Txn::begin_read(state_->owner(), false);
  if (!txn) return txn.error();
  const MDB_envinfo info = state_->environment->info();
  stats.page_bytes = state_->environment->page_bytes();
  stats.pages = info.me_last_pgno + 1;
  const Status counted = internal::for_each_free_list(
      (*txn)->lmdb(), 0, UINT64_MAX,
      [&](const internal::FreeList& list) { stats.free_pages += list.count(); });
  if (!counted) return counted.error();
  stats.map_bytes = info.me_mapsize;
  stats.last_transaction = info.me_last_txnid;
  std::error_code problem;
  stats.file_bytes = std::filesystem::file_size(state_->environment->path(), problem);
  if (problem) stats.file_bytes = 0;
  stats.readers = state_->environment->readers();
  // Without the snapshot of this call.
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
