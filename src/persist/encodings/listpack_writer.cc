// SPDX-License-Identifier: Apache-2.0
#include "persist/encodings/listpack_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>

#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kIntegerSizeMax = 20;  // "-9223372036854775808"
constexpr std::size_t kCountUnknown = 65'535;

// How integers that do not fit into the first byte are encoded, and in how many bytes.
struct IntegerForm {
  unsigned first;
  std::size_t bytes;
};
constexpr std::array kIntegerForms = {IntegerForm{0xF1, 2}, IntegerForm{0xF2, 3},
                                      IntegerForm{0xF3, 4}, IntegerForm{0xF4, 8}};

bool fits(std::int64_t value, std::size_t bytes) {
  const std::int64_t rest = value >> (bytes * 8 - 1);
  return rest == 0 || rest == -1;
}

// How far it is to the begin of the entry, to be read from its own end.
char* write_back(char* to, std::size_t size) {
  unsigned shift = 0;
  while (size >> shift > 127) shift += 7;
  to = write_byte(to, size >> shift);
  while (shift > 0) {
    shift -= 7;
    to = write_byte(to, (size >> shift & 127) | 128);
  }
  return to;
}

}  // namespace

void ListpackWriter::add(std::string_view text) {
  const bool looks_like_one = !text.empty() && text.size() <= kIntegerSizeMax && text[0] <= '9';
  if (looks_like_one) {
    if (const std::optional<std::int64_t> value = parse_integer(text)) return add_integer(*value);
  }
  add_text(text);
}

void ListpackWriter::add_integer(std::int64_t value) {
  char* const begin = room_for(kIntegerSizeMax);
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value <= 127) return end_entry(begin, write_byte(begin, bits));
  if (value >= -4096 && value <= 4095) {
    char* const second = write_byte(begin, 0xC0 | (bits >> 8 & 0x1F));
    return end_entry(begin, write_byte(second, bits));
  }
  const auto* const form = std::find_if(kIntegerForms.begin(), kIntegerForms.end(),
                                        [&](IntegerForm one) { return fits(value, one.bytes); });
  end_entry(begin, write_little(write_byte(begin, form->first), bits, form->bytes));
}

void ListpackWriter::add_text(std::string_view text) {
  char* const begin = room_for(text.size());
  char* at = begin;
  if (text.size() < 64) {
    at = write_byte(at, 0x80 | text.size());
  } else if (text.size() < 4096) {
    at = write_byte(at, 0xE0 | text.size() >> 8);
    at = write_byte(at, text.size());
  } else {
    at = write_little(write_byte(at, 0xF0), text.size(), 4);
  }
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  end_entry(begin, at + text.size());
}

char* ListpackWriter::room_for(std::size_t bytes) {
  const std::size_t needed = size_ + bytes + kOverheadMax + 1;  // and what ends the listpack
  if (bytes_.size() < needed) bytes_.resize(std::max(needed, bytes_.size() * 2));
  return bytes_.data() + size_;
}

void ListpackWriter::end_entry(char* begin, char* end) {
  size_ = static_cast<std::size_t>(write_back(end, static_cast<std::size_t>(end - begin)) -
                                   bytes_.data());
  ++count_;
}

std::string_view ListpackWriter::finish() {
  char* const end = room_for(0);
  const auto size = static_cast<std::size_t>(write_byte(end, 0xFF) - bytes_.data());
  assert(size < std::size_t{1} << 30);
  write_little(write_little(bytes_.data(), size, 4), std::min(count_, kCountUnknown), 2);
  return {bytes_.data(), size};
}

}  // namespace mayfly
