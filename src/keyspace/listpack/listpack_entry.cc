// SPDX-License-Identifier: Apache-2.0
#include "keyspace/listpack/listpack_entry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace mayfly {
namespace {

constexpr std::size_t kIntegerTextMax = 20;  // "-9223372036854775808"

// How integers that do not fit into the first byte are encoded, and in how many bytes.
struct IntegerForm {
  unsigned first;
  std::size_t bytes;
};
constexpr std::array kIntegerForms = {IntegerForm{0xF1, 2}, IntegerForm{0xF2, 3},
                                      IntegerForm{0xF3, 4}, IntegerForm{0xF4, 8}};

bool is_small(std::int64_t value) { return value >= 0 && value <= 127; }
bool is_13_bit(std::int64_t value) { return value >= -4096 && value <= 4095; }

const IntegerForm& form_of_integer(std::int64_t value) {
  for (const IntegerForm& form : kIntegerForms) {
    const std::int64_t rest = value >> (form.bytes * 8 - 1);
    if (rest == 0 || rest == -1) return form;
  }
  return kIntegerForms.back();
}

std::size_t back_bytes(std::size_t size) {
  std::size_t bytes = 1;
  while (size > 127) {
    size >>= 7;
    ++bytes;
  }
  return bytes;
}

// How far it is to the begin of the entry, to be read from its own end.
char* write_back(char* to, std::size_t size) {
  if (size <= 127) return write_byte(to, size);
  std::size_t shift = 7 * (back_bytes(size) - 1);
  to = write_byte(to, size >> shift);
  while (shift > 0) {
    shift -= 7;
    to = write_byte(to, (size >> shift & 127) | 128);
  }
  return to;
}

std::size_t head_bytes(std::size_t text_size) {
  if (text_size < 64) return 1;
  return text_size < 4096 ? 2 : 5;
}

template <class Number>
Number load_little(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

unsigned byte_at(const char* at) { return static_cast<unsigned char>(*at); }

// The bytes of an entry without `back`.
std::size_t content_bytes(const char* at) {
  const unsigned first = byte_at(at);
  if (first < 0x80) return 1;
  if (first < 0xC0) return 1 + (first & 0x3F);
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 2 + ((first & 0x0F) << 8 | byte_at(at + 1));
  if (first == 0xF0) return 5 + std::size_t{load_little<std::uint32_t>(at + 1)};
  return 1 + kIntegerForms[std::min<std::size_t>(first - 0xF1, 3)].bytes;
}

std::int64_t read_integer(const char* at) {
  switch (byte_at(at)) {
    case 0xF1:
      return load_little<std::int16_t>(at + 1);
    case 0xF2: {
      const unsigned low = load_little<std::uint16_t>(at + 1);
      return static_cast<std::int32_t>((byte_at(at + 3) << 16 | low) << 8) >> 8;
    }
    case 0xF3:
      return load_little<std::int32_t>(at + 1);
    default:
      return load_little<std::int64_t>(at + 1);
  }
}

}  // namespace

ListpackText::ListpackText(std::string_view text) : text_(text) {
  const bool may_be_one = !text.empty() && text.size() <= kIntegerTextMax && text[0] <= '9';
  if (!may_be_one) return;
  if (const std::optional<std::int64_t> number = parse_exact_integer(text)) {
    number_ = *number;
    is_number_ = true;
  }
}

std::size_t ListpackText::bytes() const {
  if (!is_number_) {
    const std::size_t content = head_bytes(text_.size()) + text_.size();
    return content + back_bytes(content);
  }
  if (is_small(number_)) return 2;
  return is_13_bit(number_) ? 3 : 2 + form_of_integer(number_).bytes;
}

char* ListpackText::write(char* const to) const {
  char* at = to;
  if (is_number_) {
    const auto bits = static_cast<std::uint64_t>(number_);
    if (is_small(number_)) {
      at = write_byte(at, bits);
    } else if (is_13_bit(number_)) {
      at = write_byte(write_byte(at, 0xC0 | (bits >> 8 & 0x1F)), bits);
    } else {
      const IntegerForm& form = form_of_integer(number_);
      at = write_little(write_byte(at, form.first), bits, form.bytes);
    }
    return write_back(at, static_cast<std::size_t>(at - to));
  }
  if (text_.size() < 64) {
    at = write_byte(at, 0x80 | text_.size());
  } else if (text_.size() < 4096) {
    at = write_byte(write_byte(at, 0xE0 | text_.size() >> 8), text_.size());
  } else {
    at = write_little(write_byte(at, 0xF0), text_.size(), 4);
  }
  if (!text_.empty()) std::memcpy(at, text_.data(), text_.size());
  at += text_.size();
  return write_back(at, static_cast<std::size_t>(at - to));
}

std::string_view ListpackValue::as_text(char (&scratch)[24]) const {
  if (!is_number) return text;
  const std::to_chars_result end = std::to_chars(scratch, scratch + sizeof scratch, number);
  return {scratch, static_cast<std::size_t>(end.ptr - scratch)};
}

bool ListpackValue::equals(const ListpackText& other) const {
  if (is_number != other.is_number()) return false;
  return is_number ? number == other.number() : text == other.text();
}

namespace internal {

const char* read_any_entry(const char* at, ListpackValue& value) {
  const unsigned first = byte_at(at);
  const std::size_t content = content_bytes(at);
  value.is_number = first < 0x80 || (first >= 0xC0 && first < 0xE0) || first > 0xF0;
  if (first < 0x80) {
    value.number = first;
  } else if (!value.is_number) {
    const std::size_t head = first < 0xC0 ? 1 : first == 0xF0 ? 5 : 2;
    value.text = {at + head, content - head};
  } else if (first < 0xE0) {
    const std::uint32_t bits = (first & 0x1F) << 8 | byte_at(at + 1);
    value.number = static_cast<std::int32_t>(bits << 19) >> 19;
  } else {
    value.number = read_integer(at);
  }
  return at + content + back_bytes(content);
}

const char* next_of_any_entry(const char* at) {
  const std::size_t content = content_bytes(at);
  return at + content + back_bytes(content);
}

const char* previous_of_any_entry(const char* end) {
  std::size_t content = 0;
  unsigned shift = 0;
  const char* at = end;
  for (;;) {
    const unsigned byte = byte_at(--at);
    content |= std::size_t{byte & 127} << shift;
    if (byte < 128) break;
    shift += 7;
  }
  return at - content;
}

}  // namespace internal

}  // namespace mayfly
