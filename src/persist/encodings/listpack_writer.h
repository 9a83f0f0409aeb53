// SPDX-License-Identifier: Apache-2.0
// ListpackWriter: texts as a listpack, the form in which Redis and Valkey keep small collections.
//
//   | bytes in all 4 | texts 2 | text | text ... | FF |
//
//   a text     | how it is encoded, and its size or a part of it 1-5 | the rest | back 1-5 |
//
// `back` is how many bytes of its text lie before it, so that a listpack can be read from its end:
// seven bits a byte, the least last, and the highest bit of all bytes but the first is set.
// Integers in their canonical spelling are kept as such: readers that compare texts count on it.
//
//   ListpackWriter writer;
//   writer.add("name");  writer.add("Ann");
//   sink.write(writer.finish());
//   writer.clear();  ...                                // its memory serves the next one

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mayfly {

// Write to `to` and return the end of what was written.
inline char* write_byte(char* to, std::uint64_t byte) {
  *to = static_cast<char>(byte);
  return to + 1;
}
inline char* write_little(char* to, std::uint64_t value, std::size_t bytes) {  // little-endian
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to, &value, bytes);
  return to + bytes;
}

class ListpackWriter {
 public:
  static constexpr std::size_t kEmptySize = 7;
  static constexpr std::size_t kOverheadMax = 10;  // of a text

  ListpackWriter() { clear(); }

  void clear() {
    size_ = kHeaderSize;
    count_ = 0;
  }

  // REQUIRES: the listpack stays below 1 GiB; others read no longer one.
  void add(std::string_view text);

  // Good until the next call. Counts of 65,535 and more are written as 65,535, which means unknown.
  std::string_view finish();

 private:
  static constexpr std::size_t kHeaderSize = 6;

  void add_integer(std::int64_t value);
  void add_text(std::string_view text);
  char* room_for(std::size_t bytes);
  void end_entry(char* begin, char* end);

  std::string bytes_;  // only the first size_ of them count
  std::size_t size_ = kHeaderSize;
  std::size_t count_ = 0;
};

}  // namespace mayfly
