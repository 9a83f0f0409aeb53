// SPDX-License-Identifier: Apache-2.0
// RdbValues: reads the values of an RDB file, of every type, and passes them to the handler.
//
// Members of hashes, sets and sorted sets come in batches, so that a large key takes no more memory
// than a small one:
//
//   type                   as the file has it
//   4 hash                 count, then field and value, each a string
//   2 set, 3 and 5 zset    count, then members; after each its score: 8 bytes of a double, or in
//                          type 3 its text, with its size in a byte
//   9, 13, 16 hash         one string: a zipmap, a ziplist or a listpack of fields and values
//   11, 20 set             one string: an intset or a listpack of members
//   12, 17 zset            one string: a ziplist or a listpack of members and scores
//   22 hash (Valkey's)     count, then field, value and deadline, 8 bytes of ms; -1 is none
//   24 hash (Redis's)      least deadline, 8 bytes; count, then a length, field and value; the
//                          length is 0, or 1 + the ms after the least deadline
//   25 hash (Redis's)      least deadline, 8 bytes; a listpack of fields, values and deadlines; 0
//                          is none
//   200 set, 201 zset      ours: as 2 and 5, after each member its deadline as in type 22
//
// The rest (rdb_skip.cc) is read over and counted.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_arena.h"
#include "keyspace/key_node.h"
#include "keyspace/members/member.h"
#include "mayfly/result.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_reader.h"

namespace mayfly {

class RdbHandler;
struct RdbKey;

class RdbValues {
 public:
  // Both must outlive it.
  RdbValues(RdbReader& reader, RdbHandler& handler) : reader_(reader), handler_(handler) {}

  // Begins the value of a key, and reads all of it, or the first members of a large one. An error
  // is the handler's, or Code::unsupported; what is wrong with the bytes is latched in the reader,
  // which has to be asked first. The key must stay where it is until the value has ended.
  Status begin(const RdbKey& key, int version);

  // Whether there is more of the value, and the next batch of it.
  bool has_more() const { return members_left_ > 0; }
  Status go_on();

 private:
  Status begin_members(const RdbKey& key);
  Member read_member();
  std::string_view read_score();
  std::string_view score_of(double score);
  std::string_view score_in(std::string_view text);
  Time deadline_after_least(std::uint64_t distance);
  template <class Blob>
  Status read_blob(const RdbKey& key);
  template <class Blob>
  std::optional<Member> blob_member(Blob& blob);
  Status hand_over();
  void damaged(std::string_view what);
  void damaged_if_empty(std::uint64_t members);

  // rdb_skip.cc
  Status skip(const RdbKey& key);
  std::uint64_t skip_strings(std::uint64_t a_piece);
  std::uint64_t skip_quicklist(bool has_containers);
  std::uint64_t skip_stream(rdb::Type type);
  void skip_group(rdb::Type type);
  template <class Blob>
  std::uint64_t count_texts();

  RdbReader& reader_;
  RdbHandler& handler_;

  // The key with members under way.
  rdb::Type type_ = rdb::Type::string;
  ValueType value_type_ = ValueType::string;
  std::uint64_t members_left_ = 0;
  std::int64_t least_deadline_ = 0;
  std::vector<Member> batch_;
  TextArena numbers_;  // integers and scores of the batch
};

// Nothing for modules and unknown types.
std::optional<ValueType> value_type_of(rdb::Type type);

// "hash", "list" and so on; a module's type is "module", an unknown one "unknown".
std::string_view name_of(rdb::Type type);

// "field" for a hash, else "member".
std::string_view member_word(ValueType type);

// "duplicate field in a hash" and so on.
Error duplicate_member(ValueType type);

}  // namespace mayfly
