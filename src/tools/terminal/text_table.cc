// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/text_table.h"

#include <algorithm>
#include <cassert>

namespace mayfly {
namespace {

constexpr std::string_view kGap = "  ";

std::string_view sequence(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::none:
      return "";
    case Emphasis::strong:
      return "\x1b[1m";
    case Emphasis::weak:
      return "\x1b[2m";
    case Emphasis::good:
      return "\x1b[32m";
    case Emphasis::bad:
      return "\x1b[1;31m";
  }
  return "";
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::string Colours::apply(std::string_view text, Emphasis emphasis) const {
  if (!is_on_ || emphasis == Emphasis::none) return std::string(text);
  std::string result(sequence(emphasis));
  result += text;
  result += "\x1b[0m";
  return result;
}

void TextTable::add_row(std::vector<Cell> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(display_width(columns_[i].title), display_width(columns_[i].unit));
    for (const auto& row : rows_) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

std::string TextTable::render(const Colours& colours, std::size_t indent) const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  // Padding comes before emphasis, which has no width.
  const auto add_line = [&](auto cell_of) {
    text.append(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = cell_of(i);
      if (i > 0) text += kGap;
      text += colours.apply(i == 0 ? pad_right(cell.text, width[i]) : pad_left(cell.text, width[i]),
                            cell.emphasis);
    }
    end_line(text);
  };
  add_line([&](std::size_t i) { return Cell{columns_[i].title}; });
  const bool has_units =
      std::ranges::any_of(columns_, [](const Column& column) { return !column.unit.empty(); });
  if (has_units) {
    add_line([&](std::size_t i) { return Cell{columns_[i].unit, Emphasis::weak}; });
  }
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) { return row[i]; });
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  // Every byte of a character but the first is 10xxxxxx.
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  std::string result(width > used ? width - used : 0, ' ');
  result += text;
  return result;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  std::string result(text);
  result.append(width > used ? width - used : 0, ' ');
  return result;
}

}  // namespace mayfly
