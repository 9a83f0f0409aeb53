// SPDX-License-Identifier: Apache-2.0
// How a transaction writes and purges: into its own table.

#include "mayfly/internal/stopwatch.h"
#include "store/rows/tree_writer.h"
#include "store/txn/expiry_walk.h"
#include "store/txn/purge_plan.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

// How often the stopwatch is asked. Some dozens of removals take a fraction of a millisecond.
constexpr std::size_t kRowsAtOnce = 64;

// The expired entries, found by reads, that a commit removes.
constexpr std::size_t kRemovedByCommit = 64;

}  // namespace

Status Txn::add(FamilyView& view, Operation operation, const Old& old) {
  operation.family = view.id;
  operation.was_there = old.has_value();
  operation.had_deadline = old && old->deadline != kNever;
  operation.deadline = std::max(operation.deadline, Time());  // as it is stored
  view.least_put = std::min(view.least_put, operation.deadline);
  turn_.own->add(operation, ++changes_);
  own_bytes_ += operation_bytes(operation);
  return owner_.environment.log().takes(own_bytes_) ? Status(Done{}) : go_direct();
}

Status Txn::put(FamilyView& view, std::string_view key, std::string_view value, Time deadline,
                const Old& old) {
  tally_.add(Count::puts);
  tally_.add(Count::bytes_written, key.size() + value.size());
  return add(view, {.kind = OperationKind::put, .deadline = deadline, .key = key, .value = value},
             old);
}

Status Txn::set_deadline(FamilyView& view, std::string_view key, Time deadline, const Old& old) {
  if (deadline == old->deadline) return Done{};
  return add(view, {.kind = OperationKind::deadline, .deadline = deadline, .key = key}, old);
}

Status Txn::erase(FamilyView& view, std::string_view key, const Old& old) {
  return add(view, {.kind = OperationKind::erase, .key = key}, old);
}

Status Txn::clear(FamilyView& view) {
  if (Status direct = go_direct(); !direct) return direct;
  Steps steps(*this);
  Status cleared = TreeWriter(*turn_.tree, view.family).clear();
  forget_views();
  steps.done();
  return cleared;
}

Status Txn::plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan,
                       const ExpiryFloor& from, std::size_t block) {
  ExpiryWalk walk(*this, view, deadline_after(now(), Millis(1)));
  walk.seek(from);
  for (; walk.valid() && plan.size() < limit && plan.has_room(); walk.next()) plan.add(walk.key());
  if (!walk.status()) return walk.status();
  plan.close(!walk.valid(), walk.place(), window_.tail(), block);
  return Done{};
}

// While it writes directly into LMDB, nothing is erased in tables only.
const ExpiryFloor& Txn::floor_of(FamilyView& view) {
  if (!view.floor) {
    const bool has_window = turn_.tree == nullptr && !window_.empty();
    view.floor =
        has_window ? owner_.environment.log().floor_of(view.id, window_.tail()) : ExpiryFloor();
  }
  if (view.floor->is_beyond(view.least_put)) view.floor = ExpiryFloor{view.least_put};
  view.least_put = kNever;
  return *view.floor;
}

// What a transaction has erased itself is dead to it only, until it commits.
void Txn::raise_floor(FamilyView& view, ExpiryFloor floor) {
  view.floor = std::move(floor);
  if (!writes_) owner_.environment.log().raise_floor(view.id, *view.floor, window_.tail());
}

// `end`: the end of the record of its changes; 0: no record. The changes are in the log by then,
// and a lack of memory is no failure: the next walk passes the same rows.
void Txn::share_floors(Position end) noexcept try {
  if (turn_.tree != nullptr || (end == 0 && !turn_.own->empty())) return;
  const auto share = [&](FamilyView& view) {
    if (!view.resolved || !view.floor || *view.floor == ExpiryFloor()) return;
    const Position since = end == 0 ? window_.tail() : end;
    owner_.environment.log().raise_floor(view.id, floor_of(view), since);
  };
  share(first_);
  for (const auto& view : others_) share(*view);
} catch (const std::bad_alloc&) {
}

// The result of look() for an entry with a deadline: the data of a short key, which need not be
// read, exists if its deadline does. Without a deadline it may be absent.
Result<Txn::Old> Txn::look_deadline(FamilyView& view, std::string_view key) {
  const bool is_told =
      !window_.is_blank() && window_.find(view.id, key).state != InTables::State::unknown;
  if (is_told || key.size() > kShortKeyMax) return look(view, key, Need::deadline);
  const auto deadline = tree_deadline(view, key);
  if (!deadline) return deadline.error();
  return *deadline == kNever ? Old() : Old(StoredEntry{{}, *deadline});
}

// Since the plan was made, an entry may have got another deadline, or none, or be gone.
Result<std::uint64_t> Txn::sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit,
                                 std::int64_t budget_ns) {
  std::uint64_t removed = 0;
  const std::int64_t start = monotonic_ns();
  for (std::size_t looked_at = 0; !plan.done() && removed < limit; plan.advance()) {
    if (++looked_at % kRowsAtOnce == 0 && monotonic_ns() - start >= budget_ns) break;
    const auto old = look_deadline(view, plan.key());
    if (!old) return old.error();
    if (!*old || (*old)->deadline == kNever) continue;
    if (!is_due((*old)->deadline, now())) {
      plan.leave_entry();
      continue;
    }
    if (const Status erased = erase(view, plan.key(), *old); !erased) return erased.error();
    ++removed;
  }
  return removed;
}

Result<std::uint64_t> Txn::purge(FamilyView& view, std::uint64_t limit) {
  std::uint64_t removed = 0;
  for (ExpiryFloor from;;) {
    PurgePlan plan;
    if (const Status planned = plan_purge(view, limit - removed, plan, from); !planned) {
      return planned.error();
    }
    const auto swept = sweep(view, plan, plan.size(), INT64_MAX);
    if (!swept) return swept;
    removed += *swept;
    const bool is_stuck = *swept == 0 && plan.end() == from;
    if (plan.complete() || removed == limit || is_stuck) return removed;
    if (*swept == 0) from = plan.end();  // damaged rows
  }
}

// Since the read that found it, an entry may have changed. What this transaction has put itself
// stays, whatever its deadline; of an entry written directly into LMDB it is not known any more.
void Txn::remove_expired() {
  if (failed()) return;
  RedoLog& log = owner_.environment.log();
  if (!expired_seen_.empty()) log.note_expired(expired_seen_);
  if (is_direct()) return;
  for (const ExpiredKey& key : log.take_noted(kRemovedByCommit)) {
    FamilyView* const there = view(key.family);
    if (there == nullptr || turn_.own->find(there->id, key.key, UINT64_MAX) != nullptr) continue;
    if (!log.takes(own_bytes_ + kOperationBytes + key.key.size())) return;
    const auto old = look(*there, key.key, Need::deadline);
    if (!old) return fail(old.error());
    const bool due = *old && (*old)->deadline != kNever && is_due((*old)->deadline, now());
    if (!due && rule_on(Rule::recheck)) continue;
    if (const Status erased = erase(*there, key.key, *old); !erased) return fail(erased.error());
    tally_.add(Count::expired_lazily);
  }
}

}  // namespace mayfly::internal
