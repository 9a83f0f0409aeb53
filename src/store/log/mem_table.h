// SPDX-License-Identifier: Apache-2.0
// MemTable: the operations of a part of the redo log, by key. LMDB does not have them yet.
//
// Each operation is a version of its key, in an arena. A hash table finds the newest version of a
// key, which leads to the older ones. Order is made when somebody asks for it: keys that came since
// are sorted into a run, and runs are merged when one is no smaller than a quarter of the next.
//
// Threads: one thread at a time adds. Any thread may read meanwhile, without a lock; order is made
// under a mutex. What a version says never changes. All versions live as long as the table.
//
// A write transaction keeps its own changes in one, too, and counts them as positions.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "store/log/record.h"

namespace mayfly::internal {

struct Version {
  const Version* older;            // of the same key in this table; null: none
  const Version* older_in_family;  // of any key of the family in this table; null: none
  Position position;               // of its record
  Time deadline;
  std::uint32_t family;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
  std::uint32_t hash;
  // How many entries, and entries with a deadline, the versions of the family in this table up to
  // this one have added. What expires is not counted: an entry is one until it is erased.
  std::int32_t entries;
  std::int32_t with_deadline;
  OperationKind kind;
  bool was_there;
  bool had_deadline;

  std::string_view key() const { return {bytes(), key_bytes}; }
  std::string_view value() const { return {bytes() + key_bytes, value_bytes}; }

 private:
  friend class MemTable;
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
};

// Versions in an order. Never changes.
using Run = std::vector<const Version*>;
using Runs = std::vector<std::shared_ptr<const Run>>;  // the largest first

// The change of counts by a part of a table.
struct CountChange {
  std::int64_t entries = 0;
  std::int64_t with_deadline = 0;
};

class MemTable {
 public:
  // `seed` keys the hash. `expected` entries fit without growing.
  explicit MemTable(std::uint64_t seed, std::size_t expected = 0);
  ~MemTable();

  MemTable(const MemTable&) = delete;
  MemTable& operator=(const MemTable&) = delete;

  // Adds a version. Positions never go down. Copies key and value. If there is no memory it throws
  // std::bad_alloc and nothing has changed; not if reserve() was called before.
  const Version& add(const Operation& operation, Position position);

  // Makes room for operations of so many bytes of keys and values, so that adding them cannot fail.
  void reserve(std::size_t operations, std::size_t bytes);

  // The newest version of a key that has a position less than `end`; null if there is none.
  const Version* find(std::uint32_t family, std::string_view key, Position end) const;

  // The counts of a family that the versions before `end` have changed.
  CountChange count(std::uint32_t family, Position end) const;

  // All keys that were added before this call: the oldest version of each, sorted by family and
  // key. A key is in one run only.
  Runs by_key();

  // All versions that have a deadline, sorted by family, deadline and key.
  Runs by_deadline();

  // All versions, in the order in which they were added.
  template <class Visit>
  void each(Visit visit) const;

  std::size_t versions() const { return versions_.load(std::memory_order_acquire); }
  std::size_t keys() const { return keys_.load(std::memory_order_acquire); }
  std::size_t memory_bytes() const;  // about
  bool empty() const { return versions() == 0; }

  // Whether what it says of itself agrees with what it holds. For tests; nobody adds meanwhile.
  bool check_invariants() const;

 private:
  std::atomic<std::size_t> versions_{0};
  std::atomic<std::size_t> keys_{0};
  // ... by its author
};

}  // namespace mayfly::internal
