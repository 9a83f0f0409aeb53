// SPDX-License-Identifier: Apache-2.0
// Window: what a snapshot sees of the redo log that its LMDB snapshot does not have: the records from
// `applied` to `tail`, in memory tables.
//
// A table holds the records from one cut to the next. Whoever is behind a cut sees the entries that
// it erased as gone: those that are due at its moment and have their newest version in its range.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "store/log/mem_table.h"
#include "store/log/record.h"

namespace mayfly::internal {

struct Cut {
  Position position = 0;  // of its record: what the table holds lies before
  Position since = 0;     // where its range begins
  Time moment{};
};

struct TableEntry {
  std::shared_ptr<MemTable> table;
  Position begin = 0;
  std::optional<Cut> cut{};  // that ended it; the last of a set has none
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
  const Version* value = nullptr;    // null although it is there: LMDB has the value
  const Version* newest = nullptr;   // the version that told; null: unknown
};

class Window {
 public:
  Window() = default;
  Window(std::shared_ptr<const TableSet> tables, Position applied, Position tail)
      : tables_(std::move(tables)), applied_(applied), tail_(tail) {}

  Position applied() const { return applied_; }
  Position tail() const { return tail_; }
  bool empty() const { return applied_ >= tail_ || tables_ == nullptr; }

  // The changes of a write transaction, which come after everything. Null: none.
  void set_own(MemTable* own) { own_ = own; }
  MemTable* own() const { return own_; }

  InTables find(std::uint32_t family, std::string_view key) const;

  // The change of the counts of a family against LMDB's. Cost: that of what the cuts dropped is
  // found once for each table.
  CountChange count(std::uint32_t family) const;

  const std::shared_ptr<const TableSet>& tables() const { return tables_; }

 private:
  std::shared_ptr<const TableSet> tables_;
  Position applied_ = 0;
  Position tail_ = 0;
  MemTable* own_ = nullptr;
};

}  // namespace mayfly::internal
