// SPDX-License-Identifier: Apache-2.0
// RdbReader: takes bytes, numbers and strings of an RDB file from a source.
//
//   RdbReader reader(source);
//   const std::uint64_t count = reader.length();
//   const std::string_view name = reader.string();
//   if (reader.failed()) return reader.error("...");
//
// The first thing that goes wrong is kept, and whatever is read after it is zero or empty: a caller
// may read several things and check once, but before it relies on a number it must ask.
//
// Strings are views into the buffer where they lie there, and into memory of the reader's where
// they had to be decompressed or written out. All of them are good until release(). Nothing is
// allocated on the word of a length: with a source of known size a string cannot be longer than
// what is left, and otherwise room grows as bytes arrive.
//
//   cost   a copy of the bytes into the buffer, and the checksum, block by block

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_arena.h"
#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"

namespace mayfly {

class RdbReader {
 public:
  // The source must outlive it.
  explicit RdbReader(ByteSource& source);

  std::uint8_t byte() {
    if (at_ == end_ && !fetch(1)) return 0;
    return static_cast<std::uint8_t>(*at_++);
  }

  // Numbers with their least byte first.
  template <class Number>
  Number fixed() {
    Number number{};
    if (available() < sizeof number && !fetch(sizeof number)) return number;
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    return number;
  }

  // A length; the special forms are an error here.
  std::uint64_t length();

  // A length that counts things of at least `least_bytes` bytes each: an error if they cannot all
  // be there.
  std::uint64_t count(std::uint64_t least_bytes);

  // A string in any of its forms.
  std::string_view string();

  // So many bytes as they are.
  std::string_view raw(std::uint64_t size);

  // Reads over them without holding them.
  void skip(std::uint64_t size);
  void skip_string();

  // Ends the life of all views, and lets the memory be used again.
  void release();

  // How many bytes were read.
  std::uint64_t offset() const {
    return failed() ? failure_offset_ : base_ + static_cast<std::uint64_t>(at_ - block_.get());
  }

  // The checksum of all that was read.
  std::uint64_t checksum();

  // The failure's offset is that of offset() from then on.
  bool failed() const { return failure_ != nullptr; }
  const Error& error() const { return *failure_; }

  // Latches a failure of the caller's, unless there is one already.
  void fail(Code code, std::string_view message);

  // Bytes that may still come, or the greatest number if nobody knows.
  std::uint64_t left() const;

  // Bytes that the views given out since release() keep alive, roughly.
  std::size_t held() const { return held_; }

 private:
  std::size_t available() const { return static_cast<std::size_t>(end_ - at_); }
  std::uint64_t length_after(std::uint8_t first);
  std::string_view special(std::uint8_t form);
  std::string_view lzf();

  // Makes so many bytes available, at most kBlock; false after a failure.
  bool fetch(std::size_t size);
  std::size_t receive(char* room, std::size_t size);  // 0 at the end and after a failure
  std::string_view long_raw(std::size_t size);
  void sum();  // up to at_

  static constexpr std::size_t kBlock = 256 * 1024;

  ByteSource& source_;
  const std::uint64_t size_;  // of the source; 0 if unknown
  std::unique_ptr<char[]> block_;
  std::size_t capacity_ = 0;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* summed_ = nullptr;  // the checksum covers what is before it
  std::uint64_t base_ = 0;        // the offset of the block's first byte
  std::uint64_t crc_ = 0;
  std::size_t held_ = 0;
  std::vector<std::unique_ptr<char[]>> retired_;  // blocks that views may point into
  std::vector<std::unique_ptr<char[]>> large_;    // strings too long for a block
  TextArena arena_;
  std::unique_ptr<Error> failure_;
  std::uint64_t failure_offset_ = 0;
};

}  // namespace mayfly
