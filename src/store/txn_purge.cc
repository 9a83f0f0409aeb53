// SPDX-License-Identifier: Apache-2.0
// Removing what is due. The expiry index has it at its front, so the cost is that of what is
// removed.

#include <algorithm>

#include "mayfly/stopwatch.h"
#include "store/lmdb.h"
#include "store/txn.h"

namespace mayfly {
namespace {

// How often the stopwatch is asked. Some dozens of removals take a fraction of a millisecond.
constexpr std::size_t kRowsAtOnce = 64;

}  // namespace

// Removes the rows of the three tables. `rows` are keys of the expiry index, in its order. The
// other two tables are gone through in the order of keys, so that neighbours on a page are removed
// together.
int Txn::sweep_batch(FamilyView& view, const std::vector<std::string>& rows) {
  for (const std::string& row : rows) {
    MDB_val name = to_val(row);
    const int code = ::mdb_del(lmdb_, view.deadlines, &name, nullptr);
    if (code != 0) return code;
  }
  std::vector<std::string_view> keys;
  keys.reserve(rows.size());
  for (const std::string& row : rows) {
    keys.push_back(std::string_view(row).substr(kDeadlineBytes));
  }
  std::ranges::sort(keys);
  for (const MDB_dbi table : {view.keys, view.data}) {
    for (const std::string_view key : keys) {
      MDB_val name = to_val(key);
      const int code = ::mdb_del(lmdb_, table, &name, nullptr);
      if (code != 0) return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
    }
  }
  return 0;
}

int Txn::purge(FamilyView& view, std::uint64_t limit, std::int64_t budget_ns, Swept& swept) {
  swept = {};
  if (!view.has_ttl) return 0;
  const std::int64_t start = monotonic_ns();
  std::vector<std::string> rows;
  rows.reserve(kRowsAtOnce);
  for (;;) {
    rows.clear();
    MDB_cursor* cursor = nullptr;
    int code = ::mdb_cursor_open(lmdb_, view.deadlines, &cursor);
    if (code != 0) return code;
    MDB_val key{};
    MDB_val value{};
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    bool due = code == 0 && is_due(decode_deadline(to_view(key)), now());
    while (due && rows.size() < kRowsAtOnce && swept.removed + rows.size() < limit) {
      rows.emplace_back(to_view(key));
      code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
      due = code == 0 && is_due(decode_deadline(to_view(key)), now());
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) return code;
    code = sweep_batch(view, rows);
    if (code != 0) return code;
    swept.removed += rows.size();
    swept.done = !due;
    if (!due || swept.removed >= limit || monotonic_ns() - start >= budget_ns) return 0;
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
