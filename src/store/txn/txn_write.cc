// SPDX-License-Identifier: Apache-2.0
// How a transaction writes: each function leaves the three tables in agreement.

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// A row that is put changes a path of pages in each of three trees, and may split some.
constexpr std::uint64_t kPagesOfPut = 20;

constexpr std::size_t kPageBytesLeast = 4096;

}  // namespace

std::uint64_t Txn::pages_of(std::size_t bytes) { return kPagesOfPut + bytes / kPageBytesLeast; }

// Whether there is room for one more row of the family, and then for removals: a put is refused
// before it takes the last pages, since without any nothing could be removed either. No more pages
// can have been taken than the tables have now.
int Txn::charge(FamilyView& view, std::size_t bytes) {
  const std::uint64_t reserved = owner_.environment.reserved_pages();
  charged_ += pages_of(bytes);
  if (charged_ + reserved <= room_) return 0;
  if (!is_room_exact_) {
    room_ = owner_.environment.room(lmdb_, false);
    if (charged_ + reserved <= room_) return 0;
    room_ = owner_.environment.room(lmdb_, true);
    is_room_exact_ = true;
  }
  const std::uint64_t taken = std::min(charged_, table_pages(view) + kPagesOfPut);
  return taken + bytes / kPageBytesLeast + reserved <= room_ ? 0 : MDB_MAP_FULL;
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

// Whether the row of a long key is that key's own: 0 if it is, or if there is none. Two keys with
// the same hash cannot both be stored; that is one chance in 2^64 when there are 2^32 long keys.
int Txn::owned_by(FamilyView& view, const StoredKey& key) {
  MDB_val name = to_val(key.bytes());
  MDB_val value{};
  const int code = ::mdb_get(lmdb_, view.data, &name, &value);
  if (code == MDB_NOTFOUND) return 0;
  if (code != 0) return code;
  const LongValueResult split = split_long_value(to_view(value));
  if (!split.ok) return MDB_CORRUPTED;
  return split.parts.key == key.key() ? 0 : MDB_KEYEXIST;
}

// A cursor that stands on the right page does not go down from the root. It is worth its memory
// from the second row on.
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

int Txn::put_row(FamilyView& view, const StoredKey& key, std::string_view value) {
  MDB_val name = to_val(key.bytes());
  if (!key.long_form()) {
    MDB_val bytes = to_val(value);
    return put_data(view, name, bytes, 0);
  }
  if (const int code = owned_by(view, key); code != 0) return code;
  MDB_val space{long_value_bytes(key.key().size(), value.size()), nullptr};
  const int code = put_data(view, name, space, MDB_RESERVE);
  if (code != 0) return code;
  char* const at = begin_long_value(static_cast<char*>(space.mv_data), key.key());
  if (!value.empty()) std::memcpy(at, value.data(), value.size());
  return 0;
}

// All of a put but that a new deadline has to be filed, which is for the caller to do; `old` is
// what the key had.
int Txn::replace(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline,
                 Time& old) {
  const std::string_view stored = key.bytes();
  int code = deadline == kNever ? deadline_row(view, stored, old)
                                : claim_deadline(view, stored, deadline, old);
  if (code == 0) code = put_row(view, key, value);
  const bool is_claimed = deadline != kNever && old == kNever;
  return code != 0 || is_claimed ? code : change_deadline(view, stored, old, deadline);
}

int Txn::put(FamilyView& view, const StoredKey& key, std::string_view value, Time deadline) {
  const std::size_t bytes = key.key().size() + value.size();
  count_put(bytes);
  Time old = kNever;
  int code = charge(view, bytes);
  if (code == 0) code = replace(view, key, value, deadline, old);
  if (code != 0 || deadline == kNever || deadline == old) return code;
  return file_deadline(view, key.bytes(), deadline);
}

int Txn::set_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline) {
  const int code = change_deadline(view, stored, old, deadline);
  if (code != 0 || deadline == kNever || deadline == old) return code;
  return file_deadline(view, stored, deadline);
}

// All of set_deadline() but filing the new one.
int Txn::change_deadline(FamilyView& view, std::string_view stored, Time old, Time deadline) {
  if (old == deadline) return 0;
  int code = 0;
  MDB_val key = to_val(stored);
  if (old != kNever) {
    const ExpiryKey row(old, stored);
    MDB_val name = to_val(row.bytes());
    code = ::mdb_del(lmdb_, view.deadlines, &name, nullptr);
    if (code != 0) return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
  }
  if (deadline == kNever) {
    code = ::mdb_del(lmdb_, view.keys, &key, nullptr);
    return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
  }
  const DeadlineBytes bytes = encode_deadline(deadline);
  MDB_val value = to_val(bytes.view());
  return ::mdb_put(lmdb_, view.keys, &key, &value, 0);
}

// change_deadline() for a key that may have none yet, without asking for it first. If it has one,
// that is `old`, and nothing is changed.
int Txn::claim_deadline(FamilyView& view, std::string_view stored, Time deadline, Time& old) {
  MDB_val key = to_val(stored);
  const DeadlineBytes bytes = encode_deadline(deadline);
  MDB_val value = to_val(bytes.view());
  old = kNever;
  const int code =
      put_through(view.key_writer, view.keys, !view.has_put, key, value, MDB_NOOVERWRITE);
  if (code != MDB_KEYEXIST) return code;
  if (value.mv_size != kDeadlineBytes) return MDB_CORRUPTED;
  old = decode_deadline(to_view(value));
  return 0;
}

int Txn::file_deadline(FamilyView& view, std::string_view stored, Time deadline) {
  const ExpiryKey row(deadline, stored);
  MDB_val name = to_val(row.bytes());
  MDB_val nothing{0, nullptr};
  view.has_ttl = true;
  if (is_due(deadline, now())) view.has_expired = true;
  return put_through(view.deadline_writer, view.deadlines, !view.has_put, name, nothing, 0);
}

int Txn::remove(FamilyView& view, std::string_view stored, Time old) {
  MDB_val key = to_val(stored);
  const int code = ::mdb_del(lmdb_, view.data, &key, nullptr);
  if (code != 0) return code;
  return set_deadline(view, stored, old, kNever);
}

int Txn::clear(FamilyView& view) {
  int code = ::mdb_drop(lmdb_, view.data, 0);
  if (code == 0 && view.keys != 0) code = ::mdb_drop(lmdb_, view.keys, 0);
  if (code == 0 && view.deadlines != 0) code = ::mdb_drop(lmdb_, view.deadlines, 0);
  view.has_ttl = view.has_expired = false;
  return code;
}

}  // namespace mayfly
