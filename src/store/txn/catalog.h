// SPDX-License-Identifier: Apache-2.0
// Catalog: which families a store has, and in which tables each keeps its things.
//
// It is one record in the file's main table, so that it changes with the transaction that changes
// it: a rollback undoes it, and each snapshot has the one that belongs to it. Tables (LMDB's named
// databases) are only numbered. A family that is dropped leaves its tables empty for the next one;
// no table is ever removed, so that handles of tables stay good for the whole life of a process.
//
// Handles of families say slot and id. Slots are used again, ids never are.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ref.h"
#include "mayfly/family.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly::internal {

inline constexpr std::string_view kDefaultFamilyName = "default";
inline constexpr std::string_view kCatalogKey = "mayfly";  // in the main table

struct FamilyRecord {
  std::uint32_t id = 0;         // 0: the slot is free
  std::uint32_t data = 0;       // key -> value
  std::uint32_t keys = 0;       // key -> deadline; 0: the family never had one
  std::uint32_t deadlines = 0;  // [deadline][key] -> nothing; 0 together with `keys`
  Millis default_ttl = Millis::max();
  std::string name;

  bool operator==(const FamilyRecord&) const = default;
};

class Catalog {
 public:
  static constexpr std::uint16_t kVersion = 2;  // 1: without a redo log

  // Of a new file: the default family, in table 1.
  static Catalog fresh(std::uint64_t hash_seed);

  // Code::corrupt, or Code::unsupported for a later version.
  static Result<Catalog> decode(std::string_view bytes);
  std::string encode() const;

  // The generation that encoded bytes have, without decoding them; 0 if they are too short.
  static std::uint64_t generation_in(std::string_view bytes);

  std::uint64_t generation() const { return generation_; }
  std::uint64_t hash_seed() const { return hash_seed_; }

  // Null if it was dropped.
  const FamilyRecord* find(Family family) const {
    if (family.slot_ >= slots_.size()) return nullptr;
    const FamilyRecord& record = slots_[family.slot_];
    return record.id == family.id_ ? &record : nullptr;
  }
  std::optional<Family> find(std::string_view name) const;
  std::vector<Family> families() const;
  static std::uint32_t slot_of(Family family) { return family.slot_; }
  static std::uint32_t id_of(Family family) { return family.id_; }

  // All tables in use or waiting for use are numbered from 1 to this.
  std::uint32_t tables() const { return next_table_ - 1; }

  // Changes. Each makes a new generation. REQUIRES: the family exists; the name is good and new.
  // The family gets a number that is not less than `least_id`.
  Family create(std::string_view name, std::uint32_t least_id = 1);
  void drop(Family family);
  void add_ttl_tables(Family family);
  void set_default_ttl(Family family, Millis ttl);

  bool operator==(const Catalog&) const = default;

 private:
  std::uint32_t take_table();

  std::uint64_t generation_ = 1;
  std::uint64_t hash_seed_ = 0;
  std::uint32_t next_id_ = 1;
  std::uint32_t next_table_ = 1;
  std::vector<FamilyRecord> slots_;
  std::vector<std::uint32_t> free_tables_;
};

// Code::invalid if no family can have that name.
Status check_family_name(std::string_view name);

// What LMDB calls a table.
std::string table_name(std::uint32_t number);

// A catalog that several transactions of a process share. It never changes. It is known to be that
// of the snapshots `first` to `last`; each that is found to have it, too, widens the range.
class PublishedCatalog {
 public:
  PublishedCatalog(Catalog catalog, std::uint64_t snapshot)
      : catalog_(std::move(catalog)), first_(snapshot), last_(snapshot) {}

  const Catalog& catalog() const { return catalog_; }

  bool covers(std::uint64_t snapshot) const {
    return snapshot >= first_.load(std::memory_order_acquire) &&
           snapshot <= last_.load(std::memory_order_acquire);
  }

  // `snapshot` is known to have this catalog. Since no other can stand between two snapshots of
  // the same generation, those between have it as well.
  void widen(std::uint64_t snapshot) {
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    while (last < snapshot && !last_.compare_exchange_weak(last, snapshot)) {
    }
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    while (first > snapshot && !first_.compare_exchange_weak(first, snapshot)) {
    }
  }

 private:
  const Catalog catalog_;
  std::atomic<std::uint64_t> first_;
  std::atomic<std::uint64_t> last_;
};

// Transactions keep their reference from one use to the next, so that beginning one usually changes
// no reference count.
using CatalogRef = Ref<PublishedCatalog>;

}  // namespace mayfly::internal
