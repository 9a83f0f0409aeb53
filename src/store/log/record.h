// SPDX-License-Identifier: Apache-2.0
// The records of the redo log: their bytes, and nothing about files. Numbers are little-endian.
//
//   record     length 4, type 1, flags 3, position 8, moment 8 (ms), chain 8, operations 4,
//              spare 4; then the body, padded with zeros to a multiple of 8. `length` is that of
//              the whole record without the padding.
//   operation  family 4, kind 1, key length 3, value length 4, flags 4; the deadline (8) if the
//              flags say so; key; value. Operations are not padded.
//
// The chain binds a record to the one before it: XXH3-64 of the body, seeded with XXH3-64 of the
// header without its chain field, seeded with the chain before. So a record of an earlier life of
// the log never follows a newer one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly::internal {

// Counts the bytes of records since the store was made. Never reset.
using Position = std::uint64_t;

inline constexpr std::size_t kRecordHeaderBytes = 40;
inline constexpr std::size_t kOperationBytes = 16;

enum class RecordType : std::uint8_t {
  transaction = 1,
  cut = 2,      // body: the position at which its range begins, 8 bytes
  life = 3,     // body: 16 random bytes
  barrier = 4,  // a commit that went straight into LMDB stands here
};

enum class OperationKind : std::uint8_t { put = 1, erase = 2, deadline = 3 };

// One change of one key. `was_there` and `had_deadline` tell of the entry that it replaces; counts
// are made of them.
struct Operation {
  std::uint32_t family = 0;
  OperationKind kind = OperationKind::put;
  bool was_there = false;
  bool had_deadline = false;
  Time deadline = kNever;    // of a put or a change of the deadline
  std::string_view key{};    // as the user knows it
  std::string_view value{};  // of a put
};

std::size_t operation_bytes(const Operation& operation);

// Takes the first operation from the bytes. False at the end, or if they make no sense.
bool take_operation(std::string_view& bytes, Operation& operation);

// A record in memory that belongs to somebody else.
struct RecordView {
  RecordType type{};
  Position position = 0;
  Time moment{};
  std::uint64_t chain = 0;
  std::uint32_t operations = 0;
  std::size_t bytes = 0;  // with the padding: the next one begins at position + bytes
  std::string_view body;  // without the padding

  Position end() const { return position + bytes; }
};

// The record at the front of `bytes`, if it is whole, has this position and follows this chain.
std::optional<RecordView> read_record(std::string_view bytes, Position position,
                                      std::uint64_t chain_before);

// The same whatever its chain: the body may be damaged.
std::optional<RecordView> read_unchained(std::string_view bytes, Position position);

// The position in the body of a cut. REQUIRES: read_record() returned it, with type cut.
Position cut_range(const RecordView& cut);

// Builds a record; its memory is used again by the next.
//
//   writer.begin(RecordType::transaction, now);
//   writer.add(operation);
//   std::string_view bytes = writer.finish(tail, chain);   // writer.chain() is the next chain
class RecordWriter {
 public:
  void begin(RecordType type, Time moment);
  void add(const Operation& operation);
  void add_bytes(std::string_view body);  // of a life record
  void add_position(Position position);   // of a cut
  std::size_t bytes() const;              // of the whole record, with the padding
  std::uint32_t operations() const { return operations_; }

  std::string_view finish(Position position, std::uint64_t chain_before);
  std::uint64_t chain() const { return chain_; }

 private:
  std::string bytes_;
  RecordType type_{};
  Time moment_{};
  std::uint32_t operations_ = 0;
  std::uint64_t chain_ = 0;
};

}  // namespace mayfly::internal
