// SPDX-License-Identifier: Apache-2.0
// MemTable: the operations of a part of the redo log, by key. LMDB does not have them yet.
//
// Each operation is a version of its key, in an arena. A hash table finds the newest version of a
// key, which leads to the older ones. Order is made when somebody asks for it: keys that came since
// are sorted into a run, and runs are merged when one is no smaller than a quarter of the next.
//
// Threads: one thread at a time adds. Any thread may read meanwhile, without a lock; order is made
// under a mutex. What a version says never changes. All versions live until clear() or as long as
// the table.
//
// A write transaction keeps its own changes in one, too, and counts them as positions.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ref.h"
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
using Runs = std::vector<Ref<const Run>>;  // the largest first

// The change of counts by a part of a table.
struct CountChange {
  std::int64_t entries = 0;
  std::int64_t with_deadline = 0;
};

// VersionSlots: an open hash table of versions. It asks its user which one is looked for.
//
// A slot holds the address of a version and the upper 16 bits of its hash, so that another key is
// passed without being read. Eight slots are a cache line; they are tried in a circle, from the one
// that the hash names on, before those of the next line are. At most half of all are taken, so a
// miss is one cache line mostly. The first 16 slots need no allocation.
class VersionSlots {
 public:
  using Slot = std::atomic<std::uint64_t>;
  using HashOf = std::uint32_t(const Version&);  // the lower 32 bits

  struct Found {
    Slot* slot;              // where it is, or has to go
    const Version* version;  // null: it is not there
  };

  VersionSlots() : table_(packed(few_, 1)) {}

  template <class Is>
  Found find(std::uint64_t hash, Is is) const {
    const Version* found = nullptr;
    Slot& slot = probe(table_.load(std::memory_order_acquire), hash, [&](std::uint64_t value) {
      if (value == 0) return true;
      if (value >> kPointerBits != hash >> kPointerBits) return false;
      const auto* version = pointer_in<const Version>(value);
      if (!is(*version)) return false;
      found = version;
      return true;
    });
    return {&slot, found};
  }

  // Fills or replaces. REQUIRES: find() returned `slot` for this hash, and reserve() made room.
  static void set(Slot& slot, std::uint64_t hash, const Version& version) {
    slot.store(packed(&version, hash >> kPointerBits), std::memory_order_release);
  }

  // Makes room for `count` versions in all. Returns the bytes that it took.
  std::size_t reserve(std::size_t count, HashOf hash_of);

  // Returns the bytes that it keeps. REQUIRES: nobody reads.
  std::size_t clear();

  std::size_t size() const;   // slots
  std::size_t taken() const;  // for tests

 private:
  static constexpr std::size_t kInLine = 8;
  static constexpr std::size_t kLineBytes = kInLine * sizeof(Slot);
  static constexpr std::size_t kLinesKept = 32;  // by clear(), 2 KiB
  static constexpr unsigned kPointerBits = 48;

  struct Line {
    Slot slots[kInLine];
  };
  struct FreeLines {
    void operator()(Line* lines) const { ::operator delete (lines, std::align_val_t{kLineBytes}); }
  };

  template <class T>
  static T* pointer_in(std::uint64_t value) {
    return reinterpret_cast<T*>(value & ((std::uint64_t{1} << kPointerBits) - 1));
  }
  static std::uint64_t packed(const void* pointer, std::uint64_t tag) {
    return reinterpret_cast<std::uintptr_t>(pointer) | tag << kPointerBits;
  }

  // The first slot of a hash at whose content `stops` says so.
  template <class Stops>
  static Slot& probe(std::uint64_t table, std::uint64_t hash, Stops stops) {
    Line* const lines = pointer_in<Line>(table);
    const std::size_t mask = (std::size_t{1} << (table >> kPointerBits)) - 1;
    for (std::size_t line = static_cast<std::uint32_t>(hash) / kInLine;; ++line) {
      for (std::size_t i = 0; i < kInLine; ++i) {
        Slot& slot = lines[line & mask].slots[(hash + i) % kInLine];
        if (stops(slot.load(std::memory_order_acquire))) return slot;
      }
    }
  }

  std::atomic<std::uint64_t> table_;  // the lines, and the logarithm of their number
  Line few_[2];
  std::vector<std::unique_ptr<Line[], FreeLines>>
      arrays_;  // readers may still be in the older ones
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

  // Makes it empty, and keeps a little memory for the next use. REQUIRES: nobody reads, and nobody
  // has a run or a version.
  void clear();

  // The newest version of a key that has a position less than `end`; null if there is none.
  const Version* find(std::uint32_t family, std::string_view key, Position end) const;

  // The counts of a family that the versions before `end` have changed. Cost: the versions of
  // the family from `end` on are passed.
  CountChange count(std::uint32_t family, Position end) const;

  // The least deadline that the versions of a family from `since` on give; kNever if none does one.
  // Nothing if there are more than `most` of them.
  std::optional<Time> least_deadline(std::uint32_t family, Position since, std::size_t most) const;

  // All keys that were added before this call: the oldest version of each, sorted by family and
  // key. A key is in one run only.
  Runs by_key();

  // All versions that have a deadline, sorted by family, deadline and key.
  Runs by_deadline();

  // All versions, in the order in which they were added.
  template <class Visit>
  void each(Visit visit) const {
    for (Place place; const Version* version = next(place);) visit(*version);
  }

  std::size_t versions() const { return versions_.load(std::memory_order_acquire); }
  std::size_t keys() const { return keys_.load(std::memory_order_acquire); }
  std::size_t memory_bytes() const {  // about; without runs
    return memory_.load(std::memory_order_relaxed);
  }
  bool empty() const { return versions() == 0; }

  // Whether what it says of itself agrees with what it holds. For tests; nobody adds meanwhile.
  bool check_invariants() const;

 private:
  // Versions lie in chunks in the order in which they were added, without gaps. What is left of a
  // chunk when the next version is larger stays unused, so at most half is.
  struct Chunk {
    explicit Chunk(std::size_t bytes) : room(bytes) {}
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

    std::atomic<Chunk*> next{nullptr};
    std::atomic<std::size_t> used{0};
    const std::size_t room;
  };

  // Between two versions, or behind the last.
  struct Place {
    const Chunk* chunk = nullptr;  // null: before the first
    std::size_t offset = 0;
  };

  // The runs of all versions before a place.
  struct Order {
    Place place{};
    Runs runs{};
  };

  enum class By { key, deadline };

  static constexpr std::size_t kChunkLeast = 1 << 10;
  static constexpr std::size_t kChunkMost = 1 << 20;  // but for what is larger itself
  static constexpr std::size_t kChunkKept = 64 << 10;

  // A transaction has at most 256 families that are new here. One more, because add() does not know
  // yet that its own is not.
  static constexpr std::size_t kFamiliesMost = 257;

  static constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + alignof(Version) - 1) / alignof(Version) * alignof(Version);
  }
  static std::size_t bytes_of(const Version& version) {
    return padded(sizeof(Version) + version.key_bytes + version.value_bytes);
  }

  std::uint64_t hash_of(std::uint32_t family, std::string_view key) const;
  VersionSlots::Found newest(std::uint64_t hash, std::uint32_t family, std::string_view key) const;
  VersionSlots::Found newest_of(std::uint32_t family) const;
  void add_chunk(std::size_t bytes);
  void took(std::size_t bytes);
  static bool belongs(const Version& version, By by);
  Runs ordered(Order& order, By by);
  bool check_versions() const;
  bool check_order(const Order& order, By by) const;

  // The version behind a place, which moves on; null at the end. `next` is set when a chunk gets no
  // more, so it is read before `used`.
  const Version* next(Place& place) const {
    if (place.chunk == nullptr) place.chunk = first_.load(std::memory_order_acquire);
    while (place.chunk != nullptr) {
      const Chunk* const chunk = place.chunk->next.load(std::memory_order_acquire);
      if (place.offset < place.chunk->used.load(std::memory_order_acquire)) {
        const auto* version = reinterpret_cast<const Version*>(place.chunk->bytes() + place.offset);
        place.offset += bytes_of(*version);
        return version;
      }
      if (chunk == nullptr) break;
      place = {chunk, 0};
    }
    return nullptr;
  }

  // Set by the one who adds, read by all.
  std::atomic<std::size_t> versions_{0};
  std::atomic<std::size_t> keys_{0};
  std::atomic<std::size_t> memory_{0};
  std::atomic<Chunk*> first_{nullptr};
  VersionSlots slots_;     // the newest version of each key
  VersionSlots families_;  // of each family

  // Of the one who adds.
  const std::uint64_t seed_;
  Chunk* last_ = nullptr;
  std::size_t family_count_ = 0;

  mutable std::mutex mutex_;  // of what follows
  Order by_key_;
  Order by_deadline_;
};

}  // namespace mayfly::internal
