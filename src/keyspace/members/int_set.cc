// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/int_set.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace mayfly {
namespace {

template <class Int>
std::int64_t load(const char* from) {
  Int value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::int64_t read(const char* from, std::size_t width) {
  if (width == 2) return load<std::int16_t>(from);
  return width == 4 ? load<std::int32_t>(from) : load<std::int64_t>(from);
}

// Little endian: the lowest bytes of a value are its narrow form.
void write(char* to, std::size_t width, std::int64_t value) { std::memcpy(to, &value, width); }

std::size_t width_for(std::int64_t value) {
  if (value == static_cast<std::int16_t>(value)) return 2;
  return value == static_cast<std::int32_t>(value) ? 4 : 8;
}

}  // namespace

std::optional<std::int64_t> parse_exact_integer(std::string_view text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  const char first = text.front();
  if (first != '-' && (first < '0' || first > '9')) return std::nullopt;
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return IntText(number).view() == text ? std::optional(number) : std::nullopt;
}

std::int64_t IntSetView::at(std::size_t i) const {
  assert(i < count());
  return read(blob_.data() + 1 + i * width(), width());
}

std::size_t IntSetView::position_of(std::int64_t value) const {
  std::size_t low = 0;
  std::size_t high = count();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (at(middle) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool IntSetView::contains(std::int64_t value) const {
  const std::size_t position = position_of(value);
  return position < count() && at(position) == value;
}

std::optional<Member> IntSetView::find(std::string_view name) const {
  const std::optional<std::int64_t> value = parse_exact_integer(name);
  if (!value || !contains(*value)) return std::nullopt;
  return Member{.name = name};
}

std::string IntSetView::check_invariants() const {
  if (blob_.empty()) return "no width";
  if (width() != 2 && width() != 4 && width() != 8) return "an invalid width";
  if ((blob_.size() - 1) % width() != 0) return "a part of a value";
  for (std::size_t i = 1; i < count(); ++i) {
    if (at(i - 1) >= at(i)) return "values out of order";
  }
  return "";
}

std::size_t int_set_create(char* out) {
  *out = 2;
  return kIntSetEmptySize;
}

std::size_t int_set_size_with(std::string_view blob, std::int64_t value) {
  const IntSetView view(blob);
  return 1 + (view.count() + 1) * std::max(view.width(), width_for(value));
}

std::size_t int_set_insert(char* blob, std::size_t size, std::int64_t value) {
  const IntSetView view({blob, size});
  const std::size_t old_width = view.width();
  const std::size_t width = std::max(old_width, width_for(value));
  const std::size_t count = view.count();
  const std::size_t position = view.position_of(value);
  if (width != old_width) {  // from the end: no value is overwritten before it is read
    for (std::size_t i = count; i > 0; --i) {
      write(blob + 1 + (i - 1) * width, width, read(blob + 1 + (i - 1) * old_width, old_width));
    }
    *blob = static_cast<char>(width);
  }
  char* const at = blob + 1 + position * width;
  std::memmove(at + width, at, (count - position) * width);
  write(at, width, value);
  return 1 + (count + 1) * width;
}

std::size_t int_set_erase(char* blob, std::size_t size, std::int64_t value) {
  const IntSetView view({blob, size});
  assert(view.contains(value));
  char* const at = blob + 1 + view.position_of(value) * view.width();
  const auto after = static_cast<std::size_t>(blob + size - at) - view.width();
  std::memmove(at, at + view.width(), after);
  return size - view.width();
}

}  // namespace mayfly
