// SPDX-License-Identifier: Apache-2.0
// Everything goes through one buffer, and small parts are written into it without a call.

#include "persist/rdb/rdb_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>

#include "keyspace/eviction.h"
#include "keyspace/keyspace.h"
#include "persist/crc64.h"
#include "persist/lzf.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kBufferSize = 65'536;  // 64 KiB
constexpr std::size_t kLengthMax = 9;        // bytes of a length
constexpr std::size_t kIntegerTextMax = 11;  // "-2147483648"
constexpr std::size_t kPlainMax = 20;        // longer strings are compressed
constexpr std::size_t kSavedMin = 4;         // bytes that make it worthwhile
constexpr std::size_t kKeptMax = 1 << 20;    // room for LZF beyond 1 MiB is given back at once

// The greatest byte first, as lengths are written and nothing else.
char* write_big(char* to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i > 0; --i) to = write_byte(to, value >> (i - 1) * 8);
  return to;
}

char* write_length(char* to, std::uint64_t length) {
  if (length < 1 << 6) return write_byte(to, rdb::kLength6 << 6 | length);
  if (length < 1 << 14) return write_big(to, rdb::kLength14 << 14 | length, 2);
  if (length <= 0xFFFFFFFF) return write_big(write_byte(to, rdb::kLengthLong << 6), length, 4);
  return write_big(write_byte(to, rdb::kLengthLong << 6 | 1), length, 8);
}

constexpr std::uint64_t special(unsigned encoding) { return rdb::kSpecial << 6 | encoding; }

}  // namespace

RdbWriter::RdbWriter(ByteSink& sink, const RdbOptions& options)
    : sink_(sink),
      options_(options),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferSize)),
      at_(buffer_.get()),
      end_(buffer_.get() + kBufferSize) {}

// ---- Handing over ----

void RdbWriter::hand_over(std::string_view bytes) {
  handed_ += bytes.size();
  if (!status_) return;
  if (options_.checksums) crc_ = crc64(crc_, bytes);
  status_ = sink_.write(bytes);
}

void RdbWriter::hand_over_buffer() {
  if (at_ != buffer_.get()) hand_over({buffer_.get(), used()});
  at_ = buffer_.get();
}

Status RdbWriter::flush() {
  hand_over_buffer();
  return status_;
}

// ---- Parts ----

void RdbWriter::put_byte(unsigned byte) {
  reserve(1);
  at_ = write_byte(at_, byte);
}

void RdbWriter::put_length(std::uint64_t length) {
  reserve(kLengthMax);
  at_ = write_length(at_, length);
}

void RdbWriter::put_int64(std::int64_t value) {
  reserve(sizeof value);
  at_ = write_little(at_, static_cast<std::uint64_t>(value), sizeof value);
}

// Moments before 1970 were over long ago; and -1 means that there is none.
void RdbWriter::put_deadline(Time deadline) {
  const std::int64_t ms = deadline.time_since_epoch().count();
  put_int64(deadline == kNever ? -1 : std::max<std::int64_t>(0, ms));
}

void RdbWriter::put_bytes(std::string_view bytes) {
  if (bytes.size() <= room()) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    return;
  }
  hand_over_buffer();
  // What is long is not copied. In pieces, so that the checksum brings into the cache what the sink
  // reads, and the sink can sync in between.
  for (; bytes.size() >= kBufferSize; bytes.remove_prefix(kBufferSize)) {
    hand_over(bytes.substr(0, kBufferSize));
  }
  if (!bytes.empty()) put_bytes(bytes);
}

bool RdbWriter::put_as_integer(std::string_view text) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value) return false;
  reserve(1 + sizeof *value);
  const auto put = [&](unsigned encoding, std::size_t bytes) {
    at_ =
        write_little(write_byte(at_, special(encoding)), static_cast<std::uint64_t>(*value), bytes);
    return true;
  };
  if (*value == static_cast<std::int8_t>(*value)) return put(rdb::kInt8, 1);
  if (*value == static_cast<std::int16_t>(*value)) return put(rdb::kInt16, 2);
  if (*value == static_cast<std::int32_t>(*value)) return put(rdb::kInt32, 4);
  return false;
}

bool RdbWriter::put_compressed(std::string_view text) {
  const std::size_t most = text.size() - kSavedMin;
  if (compressed_room_ < most) {
    compressed_room_ = std::max(most, kBufferSize);
    compressed_ = std::make_unique_for_overwrite<char[]>(compressed_room_);
  }
  const std::size_t size = lzf_compress(text, {compressed_.get(), most});
  if (size > 0) {
    put_byte(static_cast<unsigned>(special(rdb::kLzf)));
    put_length(size);
    put_length(text.size());
    put_bytes({compressed_.get(), size});
  }
  if (compressed_room_ > kKeptMax) {
    compressed_.reset();
    compressed_room_ = 0;
  }
  return size > 0;
}

void RdbWriter::put_string(std::string_view text) {
  if (text.size() > kPlainMax) {
    if (options_.compresses && put_compressed(text)) return;
  } else if (!text.empty() && text.size() <= kIntegerTextMax && text[0] <= '9') {
    if (put_as_integer(text)) return;
  }
  put_length(text.size());
  put_bytes(text);
}

// ---- The file ----

void RdbWriter::header(int version) {
  put_bytes(version >= rdb::kDeadlinesVersion ? fmt::format("VALKEY{:03}", version)
                                              : fmt::format("REDIS{:04}", version));
}

void RdbWriter::aux(std::string_view name, std::string_view value) {
  put_byte(static_cast<unsigned>(rdb::Opcode::aux));
  put_string(name);
  put_string(value);
}

void RdbWriter::function(std::string_view code) {
  put_byte(static_cast<unsigned>(rdb::Opcode::function2));
  put_string(code);
}

void RdbWriter::select(int database, std::size_t keys, std::size_t deadlines) {
  put_byte(static_cast<unsigned>(rdb::Opcode::select_db));
  put_length(static_cast<std::uint64_t>(database));
  put_byte(static_cast<unsigned>(rdb::Opcode::resize_db));
  put_length(keys);
  put_length(deadlines);
}

Status RdbWriter::finish() {
  put_byte(static_cast<unsigned>(rdb::Opcode::eof));
  hand_over_buffer();
  put_int64(static_cast<std::int64_t>(crc_));  // 0 if nobody asked for it
  return flush();
}

// ---- Keys ----

void RdbWriter::entry(Database& database, Slot slot, bool access) {
  if (const Time deadline = database.deadline(slot); deadline != kNever) {
    const Millis stale = database.stale_time(slot);
    if (stale > Millis(0)) aux(rdb::kStaleField, std::to_string(stale.count()));
    put_byte(static_cast<unsigned>(rdb::Opcode::expire_ms));
    put_deadline(deadline);
  }
  if (access) put_access(database, slot);
  type(type_of(database, slot, options_));
  put_string(database.key(slot));
  value(database, slot);
}

void RdbWriter::put_access(Database& database, Slot slot) {
  const Keyspace& keyspace = database.keyspace();
  const std::uint32_t word = database.node(slot).access;
  if (keyspace.options().uses_lfu) {
    put_byte(static_cast<unsigned>(rdb::Opcode::freq));
    put_byte(lfu_frequency(word, options_.now));
  } else {
    put_byte(static_cast<unsigned>(rdb::Opcode::idle));
    put_length(idle_seconds(word, options_.now));
  }
}

}  // namespace mayfly
