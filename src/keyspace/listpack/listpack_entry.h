// SPDX-License-Identifier: Apache-2.0
// The entries of a listpack: the form in which lists and streams are kept, and in which Redis and
// Valkey write small collections.
//
//   a listpack | bytes in all 4 | entries 2 | entry | entry ... | FF |
//
//   an entry   | how it is encoded, and its size or a part of it 1-5 | the rest | back 1-5 |
//
// `back` is how many bytes of its entry lie before it, so that entries can be read from the end:
// seven bits a byte, the least last, and the highest bit of all bytes but the first is set. A text
// that is an integer in its canonical spelling is kept as an integer.
//
// These functions trust the bytes. What comes from outside is checked first: persist/encodings.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keyspace/members/int_set.h"

namespace mayfly {

inline constexpr std::size_t kListpackHeader = 6;
inline constexpr std::size_t kListpackEmpty = 7;           // header and end
inline constexpr std::size_t kListpackEntryOverhead = 10;  // the most, of a text
inline constexpr std::size_t kListpackCountUnknown = 65'535;
inline constexpr char kListpackEnd = '\xFF';

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

// A text as an entry will hold it: parsed once, for its size and for writing.
class ListpackText {
 public:
  explicit ListpackText(std::string_view text);
  explicit ListpackText(std::int64_t number) : number_(number), is_number_(true) {}

  // Of the whole entry.
  std::size_t bytes() const;

  // Writes the entry; returns its end.
  char* write(char* to) const;

  bool is_number() const { return is_number_; }
  std::int64_t number() const { return number_; }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::int64_t number_ = 0;
  bool is_number_ = false;
};

// What an entry holds.
struct ListpackValue {
  std::string_view text = {};  // points into the entry
  std::int64_t number = 0;
  bool is_number = false;

  // As text; a number is formatted into `scratch`.
  std::string_view as_text(char (&scratch)[24]) const;

  // Whether it is this text.
  bool equals(const ListpackText& other) const;
};

// Reads the entry at `at` and returns where the next one begins.
inline const char* read_entry(const char* at, ListpackValue& value);

// Where the next entry begins, and where the entry that ends at `end` begins.
inline const char* next_entry(const char* at);
inline const char* previous_entry(const char* end);

// ---- Short texts are read inline, since walks over many entries are frequent ----

namespace internal {

// The same for entries of all kinds.
const char* read_any_entry(const char* at, ListpackValue& value);
const char* next_of_any_entry(const char* at);
const char* previous_of_any_entry(const char* end);

}  // namespace internal

inline const char* read_entry(const char* at, ListpackValue& value) {
  const std::size_t first = static_cast<unsigned char>(*at);
  if ((first & 0xC0) != 0x80) return internal::read_any_entry(at, value);
  const std::size_t size = first & 0x3F;
  value.text = {at + 1, size};
  value.is_number = false;
  return at + size + 2;
}

inline const char* next_entry(const char* at) {
  const std::size_t first = static_cast<unsigned char>(*at);
  if ((first & 0xC0) != 0x80) return internal::next_of_any_entry(at);
  return at + (first & 0x3F) + 2;
}

inline const char* previous_entry(const char* end) {
  const std::size_t back = static_cast<unsigned char>(end[-1]);
  return back < 128 ? end - 1 - back : internal::previous_of_any_entry(end);
}

}  // namespace mayfly
