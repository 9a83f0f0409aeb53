// SPDX-License-Identifier: Apache-2.0
// RdbWriter: the parts of an RDB file, one after the other, as Redis and Valkey would write them.
//
//   RdbWriter writer(sink, {});
//   writer.header(rdb::kPlainVersion);
//   writer.aux("ctime", "1700000000");
//   writer.select(0, database.stored(), database.deadline_count());
//   writer.entry(database, slot);                     // for each key
//   if (Status status = writer.finish(); !status) ... // the first error, if there was any
//
//   | REDIS0010 | aux ... | select | resize | entry | entry ... | select ... | eof | crc64 |
//
// How members are written, so that as many servers as possible read them:
//
//                    small              else   if a member has a deadline, in files of version 80
//   hash             listpack (16)      4      22, as Valkey does it
//   set              integers (11)      2      200, our own
//   sorted set       listpack (17)      5      201, our own
//
// Redis 7.0 does not read listpacks of sets (20), and whoever reads them makes one of a small set
// of type 2. Lists are type 18, a chunk a node. Streams are type 19; or, if that would lose when a
// consumer was active last, and options.streams allows it, type 21, which Redis 7.0 does not read.
// Keys and members that are due are written like any other.
//
// After the first error nothing more is written; finish() returns the error.
//
// It only reads the keyspace, takes no lock and allocates about 64 KiB, and for values longer than
// that as much as the longest one: a child process after fork() may use it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/database.h"
#include "keyspace/listpack/listpack_writer.h"
#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_format.h"

namespace mayfly {

struct RdbOptions {
  bool compresses = true;  // strings of more than 20 bytes by LZF, where it saves 4 bytes or more
  bool checksums = true;   // else the checksum is 0, which readers take for none
  Time now{};              // the moment of saving: idle times are counted until then
  // The newest type of streams that is used: 15 of Redis 5, 19 of Redis 7.0 or 21 of Redis 7.2.
  rdb::Type streams = rdb::Type::stream3;
};

// Names and values of what a file says about itself.
using RdbAux = std::vector<std::pair<std::string, std::string>>;

class RdbWriter {
 public:
  // The sink must outlive it. What is not flushed when it is destroyed is lost.
  RdbWriter(ByteSink& sink, const RdbOptions& options);

  void header(int version);  // REDIS0010 for 10, VALKEY080 for 80
  void aux(std::string_view name, std::string_view value);
  void function(std::string_view code);  // a library of functions

  // How many keys there will be, and how many of them have deadlines, is advice for the reader.
  void select(int database, std::size_t keys, std::size_t deadlines);

  // The key's deadline if it has one, its type, name and value; with `access` also how long it was
  // idle, or how often used, whichever the keyspace counts.
  void entry(Database& database, Slot slot, bool access = false);

  // As what the value is written. The value does not begin with it.
  static rdb::Type type_of(const Database& database, Slot slot, const RdbOptions& options);
  void type(rdb::Type type) { put_byte(static_cast<unsigned>(type)); }
  void value(Database& database, Slot slot);

  // The end of the file, its checksum, and a flush.
  Status finish();

  // Hands to the sink what is still here, and tells the first error.
  Status flush();

  // Nothing that is written from now on will be.
  bool has_failed() const { return !status_.ok(); }

  // So far, whether the sink has them or not.
  std::uint64_t bytes() const { return handed_ + used(); }

 private:
  std::size_t used() const { return static_cast<std::size_t>(at_ - buffer_.get()); }
  std::size_t room() const { return static_cast<std::size_t>(end_ - at_); }

  void hand_over(std::string_view bytes);
  void hand_over_buffer();
  void reserve(std::size_t bytes) {
    if (room() < bytes) hand_over_buffer();
  }

  void put_byte(unsigned byte);
  void put_length(std::uint64_t length);
  void put_int64(std::int64_t value);
  void put_deadline(Time deadline);
  void put_bytes(std::string_view bytes);
  void put_string(std::string_view text);
  bool put_as_integer(std::string_view text);
  bool put_compressed(std::string_view text);
  void put_access(Database& database, Slot slot);

  // rdb_write_value.cc
  void put_members_as(const KeyNode& node, rdb::Type type);
  void put_members(const KeyNode& node, rdb::Type type);
  void put_member(const Member& member, rdb::Type type);
  void put_listpack(const KeyNode& node);
  void put_intset(const KeyNode& node);
  void put_sorted_listpack(const KeyNode& node);

  template <class List>
  void put_list(const List& list);
  void put_chunk(const ListEntries& chunk);

  // rdb_write_stream.cc
  void put_id(StreamId id);
  void put_id_key(StreamId id);
  void put_time(Time moment);
  void put_stream(const Stream& stream, rdb::Type type);
  void put_group(const StreamGroup& group, rdb::Type type);
  void put_consumer(const StreamConsumer& consumer, rdb::Type type);

  ByteSink& sink_;
  const RdbOptions options_;
  std::unique_ptr<char[]> buffer_;
  char* at_;   // where the next byte goes
  char* end_;  // of the buffer
  std::uint64_t handed_ = 0;
  std::uint64_t crc_ = 0;  // of what was handed over
  Status status_ = Done{};
  ListpackWriter listpack_;
  std::vector<Member> sorted_;
  std::unique_ptr<char[]> compressed_;  // room for LZF, kept for the next string
  std::size_t compressed_room_ = 0;
};

}  // namespace mayfly
