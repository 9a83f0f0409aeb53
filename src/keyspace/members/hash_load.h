// SPDX-License-Identifier: Apache-2.0
// HashLoad: makes hashes out of many fields at once, as files bring them.
//
//   HashLoad load;                                  // one for many hashes: it keeps its scratch
//   load.begin(database, "user:1");
//   if (!load.add(fields)) ...                      // some field is there twice
//   Slot slot = load.end();
//
// The result is what HashRef::put() would have made of the same fields. But put() walks a small
// hash for each field; here a small hash is looked at once for fields that are there twice, written
// into one allocation of the right size, and filed once. Large hashes come in several batches, and
// between them the database is sound.
//
//   add   O(fields)

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/hash_field.h"
#include "mayfly/slot.h"

namespace mayfly {

class Database;

class HashLoad {
 public:
  // A hash of about `expected` fields: room for them may be taken at once, some 9 bytes each.
  // REQUIRES: no key of this name is stored, and the hash before has ended.
  void begin(Database& database, std::string_view key, std::size_t expected = 0);

  // Returns false if a field is there twice, here or in a batch before. Then end() gives a hash
  // with some of this batch's fields, or none. REQUIRES: the texts are not part of the database.
  bool add(std::span<const HashField> fields);

  // Where the hash is; kNoSlot if it has no field, and so was not made.
  Slot end();

 private:
  bool has_twins(std::span<const HashField> fields);
  bool fits_packed(std::span<const HashField> fields) const;
  bool make_packed(std::span<const HashField> fields);
  bool fill_table(std::span<const HashField> fields);

  Database* database_ = nullptr;
  std::string key_;
  std::size_t expected_ = 0;
  Slot slot_ = kNoSlot;

  // Of has_twins(): which field stands where, by hash; 1 + its number, 0 if none.
  struct Cell {
    std::uint32_t tag = 0;
    std::uint32_t number = 0;
  };
  std::vector<Cell> cells_;
};

}  // namespace mayfly
