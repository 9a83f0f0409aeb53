// SPDX-License-Identifier: Apache-2.0
// StreamBlock: some consecutive entries of a stream in one listpack (listpack_entry.h), in the
// layout of Redis and Valkey.
//
//   a block    | live | deleted | n | field 1 ... field n | 0 | entry | entry ...
//   an entry   | flags | ms | seq | value 1 ... value n | pieces |                    same fields
//              | flags | ms | seq | m | field 1 | value 1 ... field m | value m | pieces |
//
// The fields at the begin are those of the first entry; an entry that has the same ones keeps only
// its values. `ms` and `seq` are what is to be added to the id of the block, which is that of its
// first entry, modulo 2^64. `pieces` is of how many listpack entries the entry consists without
// this one, for walks from the end to the begin; the 0 ends them. `live` and `deleted` count the
// entries.
//
// A deleted entry is marked, and its bytes stay until the whole block goes.
//
// Who adds many entries with the same fields encodes these once (EncodedStreamEntry).
//
//   append     O(fields); moves bytes only if the block has no spare room
//   look-up    O(entries)

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keyspace/stream/stream_id.h"

namespace mayfly {

// No block grows beyond it with a second entry, and the texts of one entry must not be longer.
inline constexpr std::size_t kStreamBlockBytesMax = std::size_t{1} << 30;

// The flags of an entry.
inline constexpr unsigned char kStreamEntryDeleted = 1;
inline constexpr unsigned char kStreamEntrySameFields = 2;
inline constexpr unsigned char kStreamEntryFlags = 3;  // all of them

// Up to which size a block gets more entries: stream-node-max-bytes and -entries. 0: no limit.
struct StreamLimits {
  std::size_t block_bytes = 4096;
  std::size_t block_entries = 100;
};

// An entry whose fields and values are listpack entries already, `count` each.
struct EncodedStreamEntry {
  std::string_view fields;
  std::string_view values;
  std::size_t count;
  std::size_t text_bytes;  // of all of them as texts, for the limits
};

class StreamBlock {
 public:
  using Words = std::span<const std::string_view>;  // field, value, field, value ...

  // A block with a first entry, and `room` bytes for it and for more.
  StreamBlock(StreamId id, Words words, std::size_t room);
  StreamBlock(StreamId id, const EncodedStreamEntry& entry, std::size_t room);
  // A copy of these bytes. REQUIRES: they are a block; check_stream_block() tells.
  StreamBlock(StreamId first, std::string_view listpack);
  ~StreamBlock();
  StreamBlock(StreamBlock&& other) noexcept
      : first_(other.first_),
        listpack_(std::exchange(other.listpack_, nullptr)),
        room_(other.room_) {}
  StreamBlock& operator=(StreamBlock&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(listpack_, other.listpack_);
    std::swap(room_, other.room_);
    return *this;
  }

  StreamId first() const { return first_; }  // the id of the block
  StreamId last() const;                     // of the last entry, which may be deleted
  std::size_t live() const;
  std::size_t deleted() const;
  std::string_view listpack() const;
  std::size_t allocated() const { return room_; }

  // Whether an entry whose texts have so many bytes is to be added here.
  bool takes(std::size_t text_bytes, const StreamLimits& limits) const;

  // REQUIRES: id > last().
  void append(StreamId id, Words words);
  std::size_t append(StreamId id, const EncodedStreamEntry& entry);  // returns where it begins
  // Marks the entry as deleted; false if it is not there.
  bool erase(StreamId id);
  // The same with the first live entries: at most `most`, and only those below `end`. Before
  // `skipped` there is none.
  std::size_t erase_front(std::size_t most, StreamId end, std::size_t skipped);
  // Removes the deleted entries at the end that are behind this id.
  void drop_deleted_after(StreamId id);
  void shrink_to_fit();

 private:
  void reallocate(std::size_t bytes);
  void count_one();  // more that is live
  void set_counts(std::size_t live, std::size_t deleted);
  void set_number(std::size_t offset, std::size_t number);

  StreamId first_;
  char* listpack_;
  std::size_t room_ = 0;  // that is allocated
};

// What is wrong with these bytes as a block with that id; empty if nothing is. Safe for any bytes.
std::string check_stream_block(StreamId first, std::string_view listpack);

}  // namespace mayfly
