// SPDX-License-Identifier: Apache-2.0
// RdbStream: reads a stream of an RDB file, in parts: some blocks at a time, then each group.
//
//   stream.begin(rdb::Type::stream3);
//   do stream.go_on(); while (stream.has_more());
//   if (!reader.failed()) use(stream.take());
//
//   15       19       21
//   count of blocks; each a string of 16 bytes, its first id, and a string, its listpack
//   count of entries, last id
//            first id, greatest id deleted, count of all entries ever added
//   count of groups; each
//     name, last id delivered
//            count of entries read, 2^64-1 if unknown
//     count of pending entries; each an id of 16 bytes, delivered: 8 bytes of ms, deliveries
//     count of consumers; each
//       name, seen: 8 bytes of ms
//                     active: 8 bytes of ms; -1 is never
//       count of its pending entries; each an id of 16 bytes
//
// An id is two lengths, or 16 bytes with the greatest first. Counts are lengths.
//
// What does not fit together is damage, as in Valkey: an entry that is pending for no consumer or
// for two, a group or a consumer that is there twice, a wrong count of entries.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "keyspace/stream/stream.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_reader.h"

namespace mayfly {

class RdbStream {
 public:
  // The reader must outlive it.
  explicit RdbStream(RdbReader& reader) : reader_(reader) {}

  void begin(rdb::Type type);

  // Reads the next part. What is wrong is latched in the reader, and then nothing is left.
  void go_on();
  bool has_more() const { return blocks_left_ > 0 || groups_left_ > 0; }

  // REQUIRES: !has_more(), and nothing was wrong.
  std::unique_ptr<Stream> take() { return std::move(stream_); }

 private:
  struct Delivery {
    StreamId id;
    Time delivered;
    std::uint64_t deliveries;
    bool is_taken = false;  // by a consumer
  };

  void read_blocks();
  void read_numbers();
  void read_group();
  void read_pending();
  void read_consumer(StreamGroup& group);
  StreamId read_id();      // two lengths
  StreamId read_id_key();  // 16 bytes
  Time read_time();
  void damaged(std::string_view what) { reader_.fail(Code::corrupt, what); }

  RdbReader& reader_;
  rdb::Type type_ = rdb::Type::stream3;
  std::unique_ptr<Stream> stream_;
  std::uint64_t blocks_left_ = 0;
  std::uint64_t groups_left_ = 0;
  std::vector<Delivery> pending_;  // of the group under way, in the order of their ids
};

}  // namespace mayfly
