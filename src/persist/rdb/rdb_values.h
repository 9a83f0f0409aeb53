// SPDX-License-Identifier: Apache-2.0
// RdbValues: reads the values of an RDB file, of every type, and passes them to the handler.
//
// Hashes come in batches, so that a large one takes no more memory than a small one:
//
//   type            as the file has it
//   4               count, then field and value, each a string
//   9, 13, 16       one string: a zipmap, a ziplist or a listpack of fields and values
//   22 (Valkey's)   count, then field, value and deadline, 8 bytes of ms; -1 is none
//   24 (Redis's)    least deadline, 8 bytes; count, then a length, field and value; the length is
//                   0, or 1 + the ms after the least deadline
//   25 (Redis's)    least deadline, 8 bytes; a listpack of fields, values and deadlines; 0 is none
//
// The rest (rdb_skip.cc) is read over and counted.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/member.h"
#include "mayfly/result.h"
#include "persist/encodings/text_arena.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_reader.h"

namespace mayfly {

class RdbHandler;
struct RdbKey;

class RdbValues {
 public:
  // Both must outlive it.
  RdbValues(RdbReader& reader, RdbHandler& handler) : reader_(reader), handler_(handler) {}

  // Begins the value of a key, and reads all of it, or the beginning of a large hash. An error is
  // the handler's, or Code::unsupported; what is wrong with the bytes is latched in the reader,
  // which has to be asked first. The key must stay where it is until the value has ended.
  Status begin(const RdbKey& key, int version);

  // Whether there is more of the value, and the next batch of it.
  bool has_more() const { return fields_left_ > 0; }
  Status go_on();

 private:
  Status begin_hash(const RdbKey& key);
  Member read_field();
  template <class Blob>
  Status read_blob(const RdbKey& key, std::size_t texts_a_field);
  template <class Blob>
  std::optional<Member> blob_field(Blob& blob, std::size_t texts);
  Status hand_over();
  Status end_hash();
  void damaged(std::string_view what);
  Time deadline_after_least(std::uint64_t distance);

  // rdb_skip.cc
  Status skip(const RdbKey& key);
  std::uint64_t skip_strings(std::uint64_t a_piece, std::uint64_t bytes_a_piece);
  std::uint64_t skip_scored();
  std::uint64_t skip_intset();
  std::uint64_t skip_quicklist(bool has_containers);
  std::uint64_t skip_stream(rdb::Type type);
  void skip_group(rdb::Type type);
  template <class Blob>
  std::uint64_t count_texts();

  RdbReader& reader_;
  RdbHandler& handler_;

  // The hash under way.
  rdb::Type type_ = rdb::Type::string;
  std::uint64_t fields_left_ = 0;
  std::int64_t least_deadline_ = 0;
  std::vector<Member> batch_;
  TextArena numbers_;
};

// "hash", "list" and so on; a module's type is "module", an unknown one "unknown".
std::string_view name_of(rdb::Type type);

}  // namespace mayfly
