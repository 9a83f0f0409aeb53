// SPDX-License-Identifier: Apache-2.0
// How a transaction writes: each function leaves the three tables in agreement. Puts are gathered
// and written together; see gathered_puts.h for why.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

// A row that is put changes a path of pages in each of three trees, and may split some.
constexpr std::uint64_t kPagesOfPut = 20;

constexpr std::size_t kPageBytesLeast = 4096;

// A deadline that has to be filed, with its put, which is prefetched some steps ahead.
struct Filing {
  Time deadline;
  const GatheredPut* put;
};

// Inlined: g++ 12 drops calls of functions that only prefetch.
[[gnu::always_inline]] inline void prefetch(const std::vector<Filing>& filings, std::size_t i) {
  constexpr std::size_t kAhead = 8;
  if (i + 2 * kAhead < filings.size()) __builtin_prefetch(filings[i + 2 * kAhead].put);
  if (i + kAhead < filings.size()) __builtin_prefetch(filings[i + kAhead].put->key.data());
}

}  // namespace

std::uint64_t Txn::pages_of(std::size_t bytes) { return kPagesOfPut + bytes / kPageBytesLeast; }

// Whether there is room for one more row of the family, and then for removals: a put is refused
// before it takes the last pages, since without any nothing could be removed either. No more pages
// can have been taken than the tables have now.
Status Txn::charge(FamilyView& view, std::size_t bytes) {
  const std::uint64_t reserved = owner_.environment.reserved_pages();
  charged_ += pages_of(bytes);
  if (charged_ + reserved <= room_) return Done{};
  if (!is_room_exact_) {
    room_ = owner_.environment.room(lmdb_, false);
    if (charged_ + reserved <= room_) return Done{};
    room_ = owner_.environment.room(lmdb_, true);
    is_room_exact_ = true;
  }
  const std::uint64_t taken = std::min(charged_, table_pages(view) + kPagesOfPut);
  const bool fits = taken + bytes / kPageBytesLeast + reserved <= room_;
  return to_write_status(fits ? 0 : MDB_MAP_FULL);
}

// Of the family that is put to; a transaction that fills several to the brim is rare.
std::uint64_t Txn::table_pages(FamilyView& view) const {
  std::uint64_t pages = 0;
  for (const MDB_dbi table : {view.data, view.keys, view.deadlines}) {
    MDB_stat stat{};
    if (table == 0 || ::mdb_stat(lmdb_, table, &stat) != 0) continue;
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  }
  return pages;
}

// Fails if the row of a long key belongs to another key. Two keys with the same hash cannot both be
// stored; that is one chance in 2^64 when there are 2^32 long keys.
Status Txn::check_owner(FamilyView& view, const StoredKey& key) {
  const auto row = get_row(lmdb_, view.data, key.bytes());
  if (!row) return row.error();
  if (!*row) return Done{};
  const LongValueResult split = split_long_value(**row);
  if (!split.ok) return damaged_rows();
  return to_write_status(split.parts.key == key.key() ? 0 : MDB_KEYEXIST);
}

// A cursor that is on the right page does not search from the root. It is worth its memory from the
// second row on. Returns LMDB's code, since MDB_KEYEXIST is an answer here.
int Txn::put_through(MDB_cursor*& cursor, MDB_dbi table, bool is_first, MDB_val& name,
                     MDB_val& value, unsigned flags) {
  if (is_first) return ::mdb_put(lmdb_, table, &name, &value, flags);
  if (cursor == nullptr) {
    const int code = ::mdb_cursor_open(lmdb_, table, &cursor);
    if (code != 0) return code;
  }
  return ::mdb_cursor_put(cursor, &name, &value, flags);
}

int Txn::put_data(FamilyView& view, MDB_val& name, MDB_val& value, unsigned flags) {
  const bool is_first = !std::exchange(view.has_put, true);
  return put_through(view.writer, view.data, is_first, name, value, flags);
}

void Txn::count_put(std::size_t bytes) {
  tally_.add(Count::puts);
  tally_.add(Count::bytes_written, bytes);
}

Status Txn::put_value(FamilyView& view, const StoredKey& key, std::string_view value) {
  MDB_val name = to_val(key.bytes());
  if (!key.long_form()) {
    MDB_val bytes = to_val(value);
    return to_write_status(put_data(view, name, bytes, 0));
  }
  if (Status owned = check_owner(view, key); !owned) return owned;
  MDB_val space{long_value_bytes(key.key().size(), value.size()), nullptr};
  if (const int code = put_data(view, name, space, MDB_RESERVE); code != 0) {
    return write_error(code);
  }
  char* const at = begin_long_value(static_cast<char*>(space.mv_data), key.key());
  if (!value.empty()) std::memcpy(at, value.data(), value.size());
  return Done{};
}

// Puts the row and removes the old deadline, which it returns. The caller files the new one.
Result<Time> Txn::replace(FamilyView& view, const StoredKey& key, std::string_view value,
                          Time deadline) {
  const std::string_view stored = key.bytes();
  const auto old =
      deadline == kNever ? deadline_of(view, stored) : claim_deadline(view, stored, deadline);
  if (!old) return old;
  Status status = put_value(view, key, value);
  const bool is_claimed = deadline != kNever && *old == kNever;
  if (status && !is_claimed) status = change_deadline(view, stored, *old, deadline);
  if (!status) return status.error();
  return *old;
}

Status Txn::put(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline) {
  const std::size_t bytes = key.key().size() + value.size();
  count_put(bytes);
  if (Status charged = charge(view, bytes); !charged) return charged;
  const auto old = replace(view, key, value, deadline);
  if (!old) return old.error();
  if (deadline == kNever || deadline == *old) return Done{};
  return file_deadline(view, key.bytes(), deadline);
}

Status Txn::set_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline) {
  Status changed = change_deadline(view, stored, old, deadline);
  if (!changed || deadline == kNever || deadline == old) return changed;
  return file_deadline(view, stored, deadline);
}

// All of set_deadline() but filing the new one.
Status Txn::change_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline) {
  if (old == deadline) return Done{};
  if (old != kNever) {
    Status removed = remove_row(lmdb_, view.deadlines, ExpiryKey(old, stored).bytes());
    if (!removed) return removed;
  }
  if (deadline == kNever) return remove_row(lmdb_, view.keys, stored);
  return put_row(lmdb_, view.keys, stored, encode_deadline(deadline).view());
}

// change_deadline() for a key that may have none yet, without a read before the write. If the key
// has a deadline, it returns that and changes nothing; else kNever.
Result<Time> Txn::claim_deadline(FamilyView& view, std::string_view stored, Time deadline) {
  MDB_val key = to_val(stored);
  const DeadlineBytes bytes = encode_deadline(deadline);
  MDB_val value = to_val(bytes.view());
  const int code =
      put_through(view.key_writer, view.keys, !view.has_put, key, value, MDB_NOOVERWRITE);
  if (code == 0) return kNever;
  if (code != MDB_KEYEXIST) return write_error(code);
  if (value.mv_size != kDeadlineBytes) return damaged_rows();
  return decode_deadline(to_view(value));
}

Status Txn::file_deadline(FamilyView& view, std::string_view stored, Time deadline) {
  const ExpiryKey row(deadline, stored);
  MDB_val name = to_val(row.bytes());
  MDB_val nothing{0, nullptr};
  view.has_ttl = true;
  if (is_due(deadline, now())) view.has_expired = true;
  return to_write_status(
      put_through(view.deadline_writer, view.deadlines, !view.has_put, name, nothing, 0));
}

Status Txn::remove(FamilyView& view, std::string_view stored, Time old) {
  Status removed = remove_row(lmdb_, view.data, stored);
  return removed ? set_deadline(view, stored, old, kNever) : removed;
}

Status Txn::clear(FamilyView& view) {
  Status cleared = clear_table(lmdb_, view.data);
  if (cleared && view.keys != 0) cleared = clear_table(lmdb_, view.keys);
  if (cleared && view.deadlines != 0) cleared = clear_table(lmdb_, view.deadlines);
  view.has_ttl = view.has_expired = false;
  return cleared;
}

bool Txn::gather(const GatheredPut& put) {
  const std::uint64_t pages = pages_of(put.key.size() + put.value.size());
  const bool has_room = charged_ + pages + owner_.environment.reserved_pages() <= room_;
  // The first put is written at once, and has found out how much room there is.
  const bool may_gather = gathers_ && put.view->has_put && has_room;
  if (may_gather && gathered_ == nullptr) gathered_ = std::make_unique<GatheredPuts>();
  if (!may_gather || !gathered_->takes(put.key, put.value)) {
    write_gathered();
    return false;
  }
  gathered_->add(put);
  charged_ += pages;
  count_put(put.key.size() + put.value.size());
  return true;
}

void Txn::write_gathered() {
  if (gathered_ == nullptr || gathered_->empty()) return;
  const Status written = failed() ? Status(Done{}) : write_in_order();
  gathered_->clear();
  if (!written) fail(written.error());
}

// The rows in the order of the keys, then the deadlines in the order of time, so that both tables
// are walked through once.
Status Txn::write_in_order() {
  std::vector<Filing> filings;
  Status status = gathered_->visit([&](const GatheredPut& put) -> Status {
    const StoredKey key(put.key, catalog().hash_seed());
    const auto old = replace(*put.view, key, put.value, put.deadline);
    if (!old) return old.error();
    if (put.deadline != kNever && put.deadline != *old) filings.push_back({put.deadline, &put});
    return Done{};
  });
  std::ranges::stable_sort(filings, {}, &Filing::deadline);
  for (std::size_t i = 0; status && i < filings.size(); ++i) {
    prefetch(filings, i);
    const GatheredPut& put = *filings[i].put;
    const StoredKey key(put.key, catalog().hash_seed());
    status = file_deadline(*put.view, key.bytes(), put.deadline);
  }
  return status;
}

}  // namespace mayfly::internal
