// SPDX-License-Identifier: Apache-2.0
// Window: what a snapshot sees of the redo log that its LMDB snapshot does not have: the records
// from `applied` to `tail`, in memory tables.
//
// A table holds the records from one cut to the next. Whoever is behind a cut sees the entries that
// it erased as gone: those that are due at its moment and have their newest version in its range.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ref.h"
#include "mayfly/time.h"
#include "store/log/log_file.h"
#include "store/log/record.h"
#include "store/table/mem_table.h"

namespace mayfly::internal {

struct Cut {
  Position position = 0;  // of its record: what the table holds lies before
  Position since = 0;     // where its range begins
  Time moment{};
  LogPlace end{};  // where the next table begins
};

// Counts of one table that are found by a walk. They never change, so each is found once.
class TableCounts {
 public:
  // How many entries of a family the cut dropped, of those that have their newest version at or
  // after `since`. All of them have a deadline. REQUIRES: `table` ended at the cut.
  std::int64_t dropped(const MemTable& table, Time moment, Position since, std::uint32_t family);

  // table.count(family, end). REQUIRES: no version before `end` will be added.
  CountChange before(const MemTable& table, Position end, std::uint32_t family);

 private:
  std::mutex mutex_;
  std::map<Position, std::map<std::uint32_t, std::int64_t>> dropped_;  // by `since` and family
  std::map<std::pair<Position, std::uint32_t>, CountChange> before_;
};

struct TableEntry {
  Ref<MemTable> table;
  Position begin = 0;
  std::optional<Cut> cut{};  // that ended it; the last of a set has none
  Ref<TableCounts> counts = make_ref<TableCounts>();
};

// Oldest first. Never changes once others see it.
struct TableSet {
  std::vector<TableEntry> tables;
};

// What the tables say of a key.
struct InTables {
  enum class State {
    unknown,  // nothing: LMDB tells
    absent,   // it was erased, or a cut has dropped it
    there,
  };
  State state = State::unknown;
  Time deadline = kNever;
  const Version* value = nullptr;   // null although it is there: LMDB has the value
  const Version* newest = nullptr;  // the version that told; null: unknown
};

class Window {
 public:
  Window() = default;
  Window(Ref<const TableSet> tables, Position applied, Position tail)
      : tables_(std::move(tables)), applied_(applied), tail_(tail) {}

  Position applied() const { return applied_; }
  Position tail() const { return tail_; }
  // The same tables, with other limits.
  void move_to(Position applied, Position tail) {
    applied_ = applied;
    tail_ = tail;
  }
  bool empty() const { return applied_ >= tail_ || tables_ == nullptr; }

  // Whether it says nothing of any key.
  bool is_blank() const { return empty() && (own_ == nullptr || own_->empty()); }

  // The changes of a write transaction, which come after everything. Null: none.
  void set_own(MemTable* own) { own_ = own; }
  MemTable* own() const { return own_; }

  InTables find(std::uint32_t family, std::string_view key) const;

  // The change of the counts of a family against LMDB's. Cost: that of what the cuts dropped is
  // found once for each table.
  CountChange count(std::uint32_t family) const;

  const Ref<const TableSet>& tables() const { return tables_; }

  // The tables that can have records of the window, oldest first.
  std::span<const TableEntry> entries() const;

 private:
  // Calls visit(version, cut) for the versions of a key that count, newest first, until it returns
  // true. The cut is the one that ended its table; null: there is none in the window.
  template <class Visit>
  void each_version(std::uint32_t family, std::string_view key, Visit visit) const;

  Ref<const TableSet> tables_;
  Position applied_ = 0;
  Position tail_ = 0;
  MemTable* own_ = nullptr;
};

}  // namespace mayfly::internal
