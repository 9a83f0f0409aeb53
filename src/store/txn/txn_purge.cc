// SPDX-License-Identifier: Apache-2.0
// Removing what is due. The expiry index has it at its front, so the cost is that of what is
// removed.

#include <memory>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/purge_plan.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// How often the stopwatch is asked. Some dozens of removals take a fraction of a millisecond.
constexpr std::size_t kRowsAtOnce = 64;

struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { ::mdb_cursor_close(cursor); }
};
using TableCursor = std::unique_ptr<MDB_cursor, CloseCursor>;

int open_cursor(MDB_txn* txn, MDB_dbi table, TableCursor& cursor) {
  MDB_cursor* opened = nullptr;
  const int code = ::mdb_cursor_open(txn, table, &opened);
  cursor.reset(opened);
  return code;
}

// Unlike mdb_del, a cursor that stands on the page already does not go down from the root.
int remove_row(const TableCursor& cursor, std::string_view name) {
  MDB_val key = to_val(name);
  MDB_val value{};
  const int code = ::mdb_cursor_get(cursor.get(), &key, &value, MDB_SET);
  return code == 0 ? ::mdb_cursor_del(cursor.get(), 0) : code;
}

}  // namespace

int Txn::plan_purge(FamilyView& view, std::uint64_t limit, PurgePlan& plan) {
  bool due = false;
  if (view.has_ttl) {
    TableCursor cursor;
    int code = open_cursor(lmdb_, view.deadlines, cursor);
    if (code != 0) return code;
    MDB_val key{};
    MDB_val value{};
    const auto step = [&](MDB_cursor_op move) {
      code = ::mdb_cursor_get(cursor.get(), &key, &value, move);
      due = code == 0 && is_due(decode_deadline(to_view(key)), now());
    };
    for (step(MDB_FIRST); due && plan.size() < limit && plan.has_room(); step(MDB_NEXT)) {
      plan.add(to_view(key));
    }
    if (code != 0 && code != MDB_NOTFOUND) return code;
  }
  plan.close(!due);
  return 0;
}

// A row that is gone, or due no more because the clock was put back, was dealt with by others.
int Txn::sweep(FamilyView& view, PurgePlan& plan, std::uint64_t limit, std::int64_t budget_ns,
               std::uint64_t& removed) {
  removed = 0;
  if (!view.has_ttl) plan.finish();
  if (plan.done()) return 0;
  const std::int64_t start = monotonic_ns();
  TableCursor deadlines;
  TableCursor keys;
  TableCursor data;
  int code = open_cursor(lmdb_, view.deadlines, deadlines);
  if (code == 0) code = open_cursor(lmdb_, view.keys, keys);
  if (code == 0) code = open_cursor(lmdb_, view.data, data);
  for (std::size_t looked_at = 0; code == 0 && !plan.done() && removed < limit; plan.advance()) {
    if (++looked_at % kRowsAtOnce == 0 && monotonic_ns() - start >= budget_ns) return 0;
    const std::string_view row = plan.row();
    if (!is_due(decode_deadline(row), now())) continue;
    code = remove_row(deadlines, row);
    if (code == MDB_NOTFOUND) {
      code = 0;
      continue;
    }
    const std::string_view stored = row.substr(kDeadlineBytes);
    if (code == 0) code = remove_row(keys, stored);
    if (code == 0) code = remove_row(data, stored);
    if (code == MDB_NOTFOUND) code = MDB_CORRUPTED;
    if (code == 0) ++removed;
  }
  return code;
}

int Txn::purge(FamilyView& view, std::uint64_t limit, std::uint64_t& removed) {
  removed = 0;
  for (;;) {
    PurgePlan plan;
    int code = plan_purge(view, limit - removed, plan);
    if (code != 0) return code;
    std::uint64_t swept = 0;
    code = sweep(view, plan, plan.size(), INT64_MAX, swept);
    if (code != 0) return code;
    removed += swept;
    if (plan.complete() || removed == limit) return 0;
  }
}

// Between meeting an entry and removing it, it may have got another deadline, or none.
int Txn::remove_met(const std::vector<Met>& met, std::int64_t budget_ns, std::uint64_t& removed) {
  const std::int64_t start = monotonic_ns();
  std::size_t looked_at = 0;
  for (const Met& each : met) {
    if (++looked_at % kRowsAtOnce == 0 && monotonic_ns() - start >= budget_ns) return 0;
    FamilyView* const there = view(each.family);
    if (there == nullptr) continue;
    Time deadline = kNever;
    int code = deadline_row(*there, each.stored, deadline);
    if (code != 0) return code;
    if (deadline == kNever || !is_due(deadline, now())) continue;
    code = remove(*there, each.stored, deadline);
    if (code != 0) return code;
    ++removed;
  }
  return 0;
}

}  // namespace mayfly
