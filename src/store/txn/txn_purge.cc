// SPDX-License-Identifier: Apache-2.0
// Removing what is due. The expiry index has it at its front, so the cost is that of what is
// removed.

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/purge_plan.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

// How often the stopwatch is asked. Some dozens of removals take a fraction of a millisecond.
constexpr std::size_t kRowsAtOnce = 64;

}  // namespace

Status Txn::plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan) {
  bool due = false;
  if (view.has_ttl) {
    TableCursor cursor;
    if (Status opened = cursor.open(lmdb_, view.deadlines); !opened) return opened;
    const auto step = [&](MDB_cursor_op move) {
      due = cursor.move(move) && is_due(decode_deadline(cursor.key()), now());
    };
    for (step(MDB_FIRST); due && plan.size() < limit && plan.has_room(); step(MDB_NEXT)) {
      plan.add(cursor.key());
    }
    if (!cursor.status()) return cursor.status();
  }
  plan.close(!due);
  return Done{};
}

// A row that is gone, or no longer due because the clock was set back, was changed by others.
Result<std::uint64_t> Txn::sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit,
                                 std::int64_t budget_ns) {
  std::uint64_t removed = 0;
  if (!view.has_ttl) plan.finish();
  if (plan.done()) return removed;
  const std::int64_t start = monotonic_ns();
  TableCursor deadlines;
  TableCursor keys;
  TableCursor data;
  Status status = deadlines.open(lmdb_, view.deadlines);
  if (status) status = keys.open(lmdb_, view.keys);
  if (status) status = data.open(lmdb_, view.data);
  if (!status) return status.error();
  for (std::size_t looked_at = 0; !plan.done() && removed < limit; plan.advance()) {
    if (++looked_at % kRowsAtOnce == 0 && monotonic_ns() - start >= budget_ns) break;
    const std::string_view row = plan.row();
    if (!is_due(decode_deadline(row), now())) continue;
    Result<bool> was_there = deadlines.remove(row);
    if (!was_there) return was_there.error();
    if (!*was_there) continue;
    const std::string_view stored = row.substr(kDeadlineBytes);
    was_there = keys.remove(stored);
    if (was_there && *was_there) was_there = data.remove(stored);
    if (!was_there) return was_there.error();
    if (!*was_there) return damaged_rows();
    ++removed;
  }
  return removed;
}

Result<std::uint64_t> Txn::purge(FamilyView& view, std::uint64_t limit) {
  std::uint64_t removed = 0;
  for (;;) {
    PurgePlan plan;
    if (const Status planned = plan_purge(view, limit - removed, plan); !planned) {
      return planned.error();
    }
    const auto swept = sweep(view, plan, plan.size(), INT64_MAX);
    if (!swept) return swept;
    removed += *swept;
    if (plan.complete() || removed == limit) return removed;
  }
}

// Since the read that found it, an entry may have got another deadline, or none.
Result<std::uint64_t> Txn::remove_expired(const std::vector<ExpiredKey>& keys,
                                          std::int64_t budget_ns) {
  const std::int64_t start = monotonic_ns();
  std::size_t looked_at = 0;
  std::uint64_t removed = 0;
  for (const ExpiredKey& key : keys) {
    if (++looked_at % kRowsAtOnce == 0 && monotonic_ns() - start >= budget_ns) break;
    FamilyView* const there = view(key.family);
    if (there == nullptr) continue;
    const auto deadline = deadline_of(*there, key.stored);
    if (!deadline) return deadline.error();
    if (*deadline == kNever || !is_due(*deadline, now())) continue;
    if (const Status done = remove(*there, key.stored, *deadline); !done) return done.error();
    ++removed;
  }
  return removed;
}

}  // namespace mayfly::internal
