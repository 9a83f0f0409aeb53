// SPDX-License-Identifier: Apache-2.0
// RdbValues: reads the values of an RDB file, of every type, and passes them to the handler.
//
// Members of hashes, sets and sorted sets and elements of lists come in batches, so that a large
// key takes no more memory than a small one:
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
//   1 list                 count, then elements, each a string
//   10 list                one string: a ziplist of elements
//   14 list                count of nodes, then ziplists, each a string
//   18 list                count of nodes, then each a length and a string: 1 and an element, or 2
//                          and a listpack of elements
//   15, 19, 21 stream      rdb_stream.h

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
#include "persist/values/rdb_stream.h"

namespace mayfly {

class RdbHandler;
struct RdbKey;

class RdbValues {
 public:
  // Both must outlive it.
  RdbValues(RdbReader& reader, RdbHandler& handler)
      : reader_(reader), handler_(handler), stream_(reader) {}

  // Begins the value of a key, and reads all of it, or the first part of a large one. An error
  // is the handler's, or Code::unsupported; what is wrong with the bytes is latched in the reader,
  // which has to be asked first. The key must stay where it is until the value has ended.
  Status begin(const RdbKey& key, int version);

  // Whether there is more of the value, and the next part of it.
  bool has_more() const { return left_ > 0 || stream_.has_more(); }
  Status go_on();

 private:
  Status begin_members(const RdbKey& key);
  Status read_members();
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

  // rdb_list.cc
  Status begin_list(const RdbKey& key);
  Status read_elements();
  void read_node();
  template <class Blob>
  void read_texts();
  Status hand_over_elements();

  Status read_stream();

  RdbReader& reader_;
  RdbHandler& handler_;

  // The value under way.
  const RdbKey* key_ = nullptr;
  rdb::Type type_ = rdb::Type::string;
  ValueType value_type_ = ValueType::string;
  std::uint64_t left_ = 0;  // members, elements, or nodes of a list
  std::int64_t least_deadline_ = 0;
  std::vector<Member> batch_;
  std::vector<std::string_view> elements_;
  TextArena numbers_;  // integers and scores of the batch
  RdbStream stream_;
};

// Nothing for modules and unknown types.
std::optional<ValueType> value_type_of(rdb::Type type);

// "field" for a hash, else "member".
std::string_view member_word(ValueType type);

// "duplicate field in a hash" and so on.
Error duplicate_member(ValueType type);

}  // namespace mayfly
