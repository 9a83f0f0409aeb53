// SPDX-License-Identifier: Apache-2.0
// LMDB's tables and cursors. LMDB's numbers end here: a call returns a Status or a Result, and a
// row that is absent is not an error.

#pragma once

#include <lmdb.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/result.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {

// A transaction of LMDB, aborted by its owner.
struct AbortTxn {
  void operator()(MDB_txn* txn) const noexcept { ::mdb_txn_abort(txn); }
};
using OwnTxn = std::unique_ptr<MDB_txn, AbortTxn>;

// A file that is open for as long as this stands.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }  // negative: it could not be opened
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

inline constexpr MDB_dbi kFreeTable = 0;  // LMDB's table of free pages
inline constexpr MDB_dbi kMainTable = 1;  // its main table, once that is open

inline MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not write through it
}

inline std::string_view to_view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// What an error code of LMDB, or an errno that it passed on, means to a user: "cannot DOING PATH:
// why (what to do)". The path may be part of `doing`, or there may be none. ENOMEM is thrown, as
// std::bad_alloc: so memory that has run out is the same wherever it was asked for.
[[gnu::cold]] Error lmdb_error(int code, std::string_view doing, std::string_view path = {});

// The same for an errno of a system call of ours.
[[gnu::cold]] Error system_error(int number, std::string_view doing, std::string_view path = {});

// Makes the names in the directory of a file durable.
Status sync_directory_of(const std::string& path);

// Rows that must agree with each other do not.
[[gnu::cold]] Error damaged_rows();

[[gnu::cold]] inline Error read_error(int code) { return lmdb_error(code, "read the store"); }
[[gnu::cold]] inline Error write_error(int code) { return lmdb_error(code, "write to the store"); }

inline Status to_write_status(int code) {
  if (code != 0) [[unlikely]]
    return write_error(code);
  return Done{};
}

// The value of a row; nothing if there is none.
inline Result<std::optional<std::string_view>> get_row(MDB_txn* txn, MDB_dbi table,
                                                       std::string_view key) {
  MDB_val name = to_val(key);
  MDB_val value{};
  const int code = ::mdb_get(txn, table, &name, &value);
  if (code == 0) [[likely]]
    return std::optional(to_view(value));
  if (code != MDB_NOTFOUND) [[unlikely]]
    return read_error(code);
  return std::optional<std::string_view>();
}

inline Status put_row(MDB_txn* txn, MDB_dbi table, std::string_view key, std::string_view value) {
  MDB_val name = to_val(key);
  MDB_val bytes = to_val(value);
  return to_write_status(::mdb_put(txn, table, &name, &bytes, 0));
}

// Removes a row that must be there: Code::corrupt if it is not.
inline Status remove_row(MDB_txn* txn, MDB_dbi table, std::string_view key) {
  MDB_val name = to_val(key);
  const int code = ::mdb_del(txn, table, &name, nullptr);
  if (code == MDB_NOTFOUND) return damaged_rows();
  return to_write_status(code);
}

inline Status clear_table(MDB_txn* txn, MDB_dbi table) {
  return to_write_status(::mdb_drop(txn, table, 0));
}

inline Result<MDB_stat> table_stat(MDB_txn* txn, MDB_dbi table) {
  MDB_stat stat{};
  const int code = ::mdb_stat(txn, table, &stat);
  if (code != 0) return read_error(code);
  return stat;
}

// A cursor over the rows of one table. It must be closed before a read transaction ends.
class TableCursor {
 public:
  TableCursor() = default;
  ~TableCursor() { close(); }
  TableCursor(TableCursor&& other) noexcept : cursor_(std::exchange(other.cursor_, nullptr)) {}
  TableCursor& operator=(TableCursor&&) = delete;

  Status open(MDB_txn* txn, MDB_dbi table) {
    const int code = ::mdb_cursor_open(txn, table, &cursor_);
    if (code != 0) return read_error(code);
    return Done{};
  }
  void close() {
    if (cursor_ != nullptr) ::mdb_cursor_close(std::exchange(cursor_, nullptr));
  }
  bool is_open() const { return cursor_ != nullptr; }

  // Each moves, and returns whether there is a row. If not, status() is an error or the end of the
  // table was reached. `to` is for MDB_SET and MDB_SET_RANGE.
  bool move(MDB_cursor_op op, std::string_view to = {}) {
    MDB_val key = to_val(to);
    MDB_val value{};
    const int code = ::mdb_cursor_get(cursor_, &key, &value, op);
    if (code != 0) [[unlikely]]
      return stop(code);
    key_ = to_view(key);
    value_ = to_view(value);
    return true;
  }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  const Status& status() const { return status_; }

  Status put(std::string_view key, std::string_view value) {
    MDB_val name = to_val(key);
    MDB_val bytes = to_val(value);
    return to_write_status(::mdb_cursor_put(cursor_, &name, &bytes, 0));
  }

  // Puts a row whose value the caller writes into the place that is returned.
  Result<char*> reserve(std::string_view key, std::size_t bytes) {
    MDB_val name = to_val(key);
    MDB_val space{bytes, nullptr};
    if (const int code = ::mdb_cursor_put(cursor_, &name, &space, MDB_RESERVE); code != 0) {
      return write_error(code);
    }
    return static_cast<char*>(space.mv_data);
  }

  // Removes the row that it is on.
  Status remove_here() { return to_write_status(::mdb_cursor_del(cursor_, 0)); }

  // Removes the row with this key, and returns whether it was there. A cursor that is on the row's
  // page already does not search from the root, as mdb_del does.
  Result<bool> remove(std::string_view key) {
    if (!move(MDB_SET, key)) {
      if (!status_) return status_.error();
      return false;
    }
    if (const int code = ::mdb_cursor_del(cursor_, 0); code != 0) return write_error(code);
    return true;
  }

 private:
  [[gnu::cold, gnu::noinline]] bool stop(int code) {
    status_ = code == MDB_NOTFOUND ? Status(Done{}) : Status(read_error(code));
    return false;
  }

  MDB_cursor* cursor_ = nullptr;
  std::string_view key_;
  std::string_view value_;
  Status status_ = Done{};
};

// Calls `visit` with the list of pages that each of the transactions `first` to `last` freed, as
// far as `reader` still sees it.
Status for_each_free_list(MDB_txn* reader, std::uint64_t first, std::uint64_t last,
                          const std::function<void(const FreeList&)>& visit);

}  // namespace mayfly::internal
