// SPDX-License-Identifier: Apache-2.0
// Expired entries: where walks over deadlines begin, the keys that reads have noted, and the purge
// of LMDB by the thread of the log before each checkpoint. By the latter a store whose entries all
// expire does not grow, even if it is never purged.

#include <algorithm>
#include <iterator>
#include <new>

#include "store/lmdb/environment.h"
#include "store/log/redo_log.h"
#include "store/rows/stored_key.h"
#include "store/txn/expiry_walk.h"

namespace mayfly::internal {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::size_t kNotedMost = 4096;
constexpr std::size_t kLookedAtMost = 16'384;              // versions, by raise_floor()
constexpr std::size_t kBytesMost = std::size_t{32} << 20;  // of keys, in a run of the thread

FamilyTables tables_of(const Environment& environment, const FamilyRecord& record) {
  const auto handle = [&](std::uint32_t number) {
    return number == 0 ? MDB_dbi{0} : environment.table(number);
  };
  return {handle(record.data), handle(record.keys), handle(record.deadlines)};
}

// The thread does not pass again what a purge has erased.
ExpiryFloor floor_of(Environment& environment, const Snapshot& snapshot, Family family) {
  if (!rule_on(Rule::logged) || snapshot.window.empty()) return {};
  return environment.log().floor_of(Catalog::id_of(family), snapshot.window.tail());
}

// In the order of keys, so that neighbours are looked up one after the other. `damaged`: the rows
// that were passed.
Status list_due(Environment& environment, const Snapshot& snapshot, Time moment,
                std::vector<ExpiredKey>& due, std::uint64_t& damaged) {
  const Catalog& catalog = snapshot.catalog->catalog();
  std::size_t bytes = 0;
  for (const Family family : catalog.families()) {
    TreeDeadlines walk(snapshot.txn, tables_of(environment, *catalog.find(family)),
                       rule_on(Rule::logged) ? snapshot.window : Window(), Catalog::id_of(family),
                       true);
    const std::size_t first = due.size();
    walk.seek(floor_of(environment, snapshot, family));
    for (; walk.valid() && is_due(walk.deadline(), moment) && bytes < kBytesMost; walk.next()) {
      due.push_back({family, std::string(walk.key()), walk.deadline()});
      bytes += walk.key().size() + sizeof(ExpiredKey);
    }
    damaged += walk.damaged();
    if (!walk.status()) return walk.status();
    std::sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end(),
              [](const ExpiredKey& a, const ExpiredKey& b) { return a.key < b.key; });
  }
  return Done{};
}

enum class Found { due, other, damaged };

// Whether LMDB still has the entry, and it is due still. Damaged: it has the row of `deadlines`
// without that entry.
Result<Found> look_at(const Environment& environment, const Snapshot& snapshot,
                      const ExpiredKey& key, Time moment) {
  const Catalog& catalog = snapshot.catalog->catalog();
  const FamilyRecord* const record = catalog.find(key.family);
  if (record == nullptr || record->keys == 0) return Found::other;
  const InTables seen = snapshot.window.find(record->id, key.key);
  if (seen.state != InTables::State::unknown && rule_on(Rule::logged)) return Found::other;
  const StoredKey stored(key.key, catalog.hash_seed());
  const auto row = get_row(snapshot.txn, environment.table(record->keys), stored.bytes());
  if (!row) return row.error();
  const bool is_sound = *row && (*row)->size() == kDeadlineBytes;
  if (is_sound && is_due(decode_deadline(**row), moment)) return Found::due;
  const auto filed = get_row(snapshot.txn, environment.table(record->deadlines),
                             ExpiryKey(key.deadline, stored.bytes()).bytes());
  if (!filed) return filed.error();
  return *filed ? Found::damaged : Found::other;
}

}  // namespace

// The walk may have been behind: entries put meanwhile are looked at. Without memory the
// floor stays where it is, and the next walk passes the same rows.
void RedoLog::raise_floor(std::uint32_t family, const ExpiryFloor& floor, Position tail,
                          bool is_purged) noexcept try {
  const std::scoped_lock lock(follow_mutex_);
  const std::vector<TableEntry>& tables = set_->tables;
  if (followed_place_.position < tail || tables.front().begin > tail) return;
  Time least = kNever;
  for (auto entry = tables.rbegin(); entry != tables.rend(); ++entry) {
    const auto given = entry->table->least_deadline(family, tail, kLookedAtMost);
    if (!given) return;
    least = std::min(least, *given);
    if (entry->begin <= tail) break;
  }
  const Position since = is_purged ? followed_place_.position : tail;
  floors_.raise(family, floor.is_beyond(least) ? ExpiryFloor{least} : floor, since);
} catch (const std::bad_alloc&) {
}

void RedoLog::note_expired(ExpiredKeys& keys) noexcept {
  const std::scoped_lock lock(noted_mutex_);
  while (!keys.empty() && noted_.size() < kNotedMost) {
    noted_.splice(noted_.end(), keys, keys.begin());
  }
  has_noted_.store(!noted_.empty(), std::memory_order_relaxed);
  keys.clear();
}

ExpiredKeys RedoLog::take_noted(std::size_t most) noexcept {
  ExpiredKeys taken;
  if (!has_noted_.load(std::memory_order_relaxed)) return taken;
  const std::scoped_lock lock(noted_mutex_);
  while (taken.size() < most && !noted_.empty()) {
    taken.splice(taken.end(), noted_, std::prev(noted_.end()));
  }
  has_noted_.store(!noted_.empty(), std::memory_order_relaxed);
  return taken;
}

Status RedoLog::purge_tree(Time moment) {
  const Working working(*this);
  std::vector<ExpiredKey> due;
  auto snapshot = environment_.begin_internal_read();
  if (!snapshot) return snapshot.error();
  std::uint64_t damaged = 0;
  Status status = list_due(environment_, **snapshot, moment, due, damaged);
  counts_.damaged.fetch_add(damaged, std::memory_order_relaxed);
  snapshot->reset();
  for (std::span<const ExpiredKey> rest(due); status && !rest.empty();) {
    status = purge_batch(rest, moment);
  }
  return status;
}

// Erases the first of them, as many as fit into a record. A key that fits into none is left to a
// purge by the user.
Status RedoLog::purge_batch(std::span<const ExpiredKey>& keys, Time moment) {
  auto turn = environment_.begin_write(Session::kLeastWait, true);
  if (!turn) return turn.error();
  const Snapshot& snapshot = *turn->snapshot;
  Status status = Done{};
  MemTable own(0);
  std::size_t bytes = 0;
  for (std::size_t taken = 0; taken < kBatch && !keys.empty(); keys = keys.subspan(1), ++taken) {
    const ExpiredKey& key = keys.front();
    if (!takes(key.key.size() + kOperationBytes)) continue;
    bytes += key.key.size() + kOperationBytes;
    if (!takes(bytes)) break;
    const auto found = look_at(environment_, snapshot, key, moment);
    if (!found) status = found.error();
    if (found && *found == Found::damaged) counts_.damaged.fetch_add(1, std::memory_order_relaxed);
    if (!found || *found != Found::due) continue;
    own.add({.family = Catalog::id_of(key.family),
             .kind = OperationKind::erase,
             .was_there = true,
             .had_deadline = true,
             .key = key.key},
            0);
  }
  if (!rule_on(Rule::logged)) {
    Window unlogged;
    unlogged.set_own(&own);
    status = apply_to_tree(unlogged, snapshot.state);
  } else if (status && !own.empty()) {
    const auto end = commit(snapshot.state, own, moment, turn->patience());
    if (!end) status = end.error();
    if (end) counts_.purged.fetch_add(own.keys(), std::memory_order_relaxed);
  }
  return status;
}

}  // namespace mayfly::internal
