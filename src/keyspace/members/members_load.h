// SPDX-License-Identifier: Apache-2.0
// MembersLoad: makes keys out of many members at once, as files contain them.
//
//   MembersLoad load;                               // one for many keys: it keeps its buffers
//   load.begin(context, database, ValueType::hash, "user:1");
//   if (!load.add(members)) ...                     // some member occurs twice
//   Slot slot = load.end();
//
// The result is the same as that of MembersRef::put() for each member. But put() walks packed
// members each time; here they are checked once for members that occur twice, and written into one
// allocation of the right size. Large keys come in several batches, and between them the database
// is consistent.
//
//   add   O(members)

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/exec_context.h"
#include "keyspace/key_node.h"
#include "keyspace/members/member.h"
#include "mayfly/slot.h"

namespace mayfly {

class Database;

class MembersLoad {
 public:
  // A key of about `expected` members: room for them may be reserved, some 9 bytes each.
  // REQUIRES: no key of this name is stored, and the last key has ended.
  void begin(const ExecContext& context, Database& database, ValueType type, std::string_view key,
             std::size_t expected = 0);

  // Returns false if a member occurs twice, here or in a batch before. Then end() gives a key with
  // some of this batch's members, or none. REQUIRES: the texts are not part of the database.
  bool add(std::span<const Member> members);

  // The slot of the key; kNoSlot if it has no member, and so was not made.
  Slot end();

 private:
  bool has_duplicates(std::span<const Member> members);
  bool fits_packed(std::span<const Member> members) const;
  bool make_packed(std::span<const Member> members);
  bool fits_int_set(std::span<const Member> members) const;
  bool make_key(std::span<const Member> members);
  bool make_int_set(std::span<const Member> members);
  bool fill_table(std::span<const Member> members);

  ExecContext context_;
  Database* database_ = nullptr;
  ValueType type_ = ValueType::hash;
  std::string key_;
  std::size_t expected_ = 0;
  Slot slot_ = kNoSlot;
  std::vector<Member> sorted_;

  // Of has_duplicates(): an open-addressing table of the members; 1 + the index, 0 if empty.
  struct Cell {
    std::uint32_t tag = 0;
    std::uint32_t number = 0;
  };
  std::vector<Cell> cells_;
};

}  // namespace mayfly
