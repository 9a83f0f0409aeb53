// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "persist/crc64.h"
#include "persist/lzf.h"
#include "persist/rdb/rdb_format.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// Nobody writes longer strings, and we could not hold them.
constexpr std::uint64_t kStringMax = std::numeric_limits<std::uint32_t>::max();

// Three bytes of LZF stand for 264 at most, and two for 8.
constexpr std::uint64_t kLzfRatio = 88;

// Of strings that come from a source of unknown size: doubled as bytes arrive.
constexpr std::size_t kFirstRoom = 1 << 20;  // 1 MiB

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

}  // namespace

RdbReader::RdbReader(ByteSource& source) : source_(source), size_(source.size()) {
  // A small source needs no large block. (It may be longer than it says; the block does, then.)
  capacity_ = size_ == 0 ? kBlock : std::min<std::size_t>(kBlock, std::max<std::size_t>(size_, 64));
  block_ = std::make_unique_for_overwrite<char[]>(capacity_);
  at_ = end_ = summed_ = block_.get();
}

void RdbReader::fail(Code code, std::string_view message) {
  if (failed()) return;
  failure_offset_ = offset();
  failure_ = std::make_unique<Error>(Error{code, std::string(message)});
  at_ = end_;  // so that every read comes to fetch()
}

std::uint64_t RdbReader::left() const {
  if (size_ == 0) return kUnknown;
  return std::max(size_, offset()) - offset();
}

std::size_t RdbReader::receive(char* room, std::size_t size) {
  const Result<std::size_t> count = source_.read({room, size});
  if (!count) fail(count.error().code, count.error().message);
  return count ? *count : 0;
}

void RdbReader::sum() {
  crc_ = crc64(crc_, {summed_, static_cast<std::size_t>(at_ - summed_)});
  summed_ = at_;
}

std::uint64_t RdbReader::checksum() {
  if (!failed()) sum();
  return crc_;
}

bool RdbReader::fetch(std::size_t size) {
  if (failed()) return false;
  sum();
  const std::size_t tail = available();
  base_ += static_cast<std::uint64_t>(at_ - block_.get());
  if (held_ > 0 || size > capacity_) {
    capacity_ = kBlock;
    retired_.push_back(std::exchange(block_, std::make_unique_for_overwrite<char[]>(capacity_)));
  }
  if (tail > 0) std::memmove(block_.get(), at_, tail);
  at_ = summed_ = block_.get();
  end_ = at_ + tail;
  while (available() < size) {
    const std::size_t used = available();
    const std::size_t count = receive(block_.get() + used, capacity_ - used);
    if (failed()) return false;
    if (count == 0) {
      at_ = end_;  // the failure is where bytes are missing
      fail(Code::corrupt, "the file ends in the middle");
      return false;
    }
    end_ += count;
  }
  return true;
}

void RdbReader::release() {
  held_ = 0;
  arena_.clear();
  if (!retired_.empty()) retired_.clear();
  if (!large_.empty()) large_.clear();
}

std::uint64_t RdbReader::length_after(std::uint8_t first) {
  switch (first >> 6) {
    case rdb::kLength6:
      return first & 0x3F;
    case rdb::kLength14:
      return static_cast<std::uint64_t>(first & 0x3F) << 8 | byte();
    default:
      if (first == 0x80) return __builtin_bswap32(fixed<std::uint32_t>());
      if (first == 0x81) return __builtin_bswap64(fixed<std::uint64_t>());
      fail(Code::corrupt, fmt::format("a length cannot begin with the byte {:#04x}", first));
      return 0;
  }
}

std::uint64_t RdbReader::length() { return length_after(byte()); }

std::uint64_t RdbReader::count(std::uint64_t least_bytes) {
  const std::uint64_t count = length();
  if (count > left() / least_bytes) {
    fail(Code::corrupt, fmt::format("{} elements cannot be in the {} bytes left", count, left()));
    return 0;
  }
  return count;
}

std::string_view RdbReader::raw(std::uint64_t size) {
  if (size > available()) {
    if (size > left() || size > kStringMax) {
      fail(Code::corrupt, size > left()
                              ? fmt::format("a string of {} bytes with {} left", size, left())
                              : fmt::format("a string of {} bytes", size));
      return {};
    }
    if (size > kBlock / 2) return long_raw(static_cast<std::size_t>(size));
    if (!fetch(static_cast<std::size_t>(size))) return {};
  }
  const std::string_view text(at_, static_cast<std::size_t>(size));
  at_ += size;
  held_ += text.size();
  return text;
}

std::string_view RdbReader::long_raw(std::size_t size) {
  if (failed()) return {};
  std::size_t room = size_ != 0 ? size : std::min(size, kFirstRoom);
  auto text = std::make_unique_for_overwrite<char[]>(room);
  std::size_t used = available();
  std::memcpy(text.get(), at_, used);
  at_ = end_;
  sum();
  while (used < size) {
    if (used == room) {
      room = std::min(size, room * 2);
      auto larger = std::make_unique_for_overwrite<char[]>(room);
      std::memcpy(larger.get(), text.get(), used);
      text = std::move(larger);
    }
    const std::size_t count = receive(text.get() + used, room - used);
    if (count == 0) fail(Code::corrupt, "the file ends in the middle of a string");
    if (failed()) return {};
    crc_ = crc64(crc_, {text.get() + used, count});
    used += count;
    base_ += count;
  }
  held_ += size;
  large_.push_back(std::move(text));
  return {large_.back().get(), size};
}

std::string_view RdbReader::string() {
  const std::uint8_t first = byte();
  return first >> 6 == rdb::kSpecial ? special(first & 0x3F) : raw(length_after(first));
}

std::string_view RdbReader::special(std::uint8_t form) {
  held_ += 1;
  switch (form) {
    case rdb::kInt8:
      return arena_.text(fixed<std::int8_t>());
    case rdb::kInt16:
      return arena_.text(fixed<std::int16_t>());
    case rdb::kInt32:
      return arena_.text(fixed<std::int32_t>());
    case rdb::kLzf:
      return lzf();
    default:
      fail(Code::corrupt, fmt::format("a string cannot have the form {}", form));
      return {};
  }
}

std::string_view RdbReader::lzf() {
  const std::uint64_t packed_size = length();
  const std::uint64_t size = length();
  if (size == 0 || size > kStringMax || size / kLzfRatio > packed_size) {
    fail(Code::corrupt, fmt::format("{} bytes cannot be compressed to {}", size, packed_size));
    return {};
  }
  const std::string_view packed = raw(packed_size);
  if (failed()) return {};
  char* const text = arena_.room(static_cast<std::size_t>(size));
  held_ += static_cast<std::size_t>(size);
  if (!lzf_decompress(packed, {text, static_cast<std::size_t>(size)})) {
    fail(Code::corrupt, "a compressed string cannot be decompressed");
    return {};
  }
  return {text, static_cast<std::size_t>(size)};
}

void RdbReader::skip(std::uint64_t size) {
  if (size > left()) {
    fail(Code::corrupt, fmt::format("{} bytes more with {} left", size, left()));
    return;
  }
  while (size > 0 && (available() > 0 || fetch(1))) {
    const std::uint64_t step = std::min<std::uint64_t>(size, available());
    at_ += step;
    size -= step;
  }
}

void RdbReader::skip_string() {
  const std::uint8_t first = byte();
  if (first >> 6 == rdb::kSpecial) {
    special(first & 0x3F);  // the rare one: decompressed for the sake of its check
  } else {
    skip(length_after(first));
  }
}

}  // namespace mayfly
