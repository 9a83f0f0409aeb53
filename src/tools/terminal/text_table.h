// SPDX-License-Identifier: Apache-2.0
// TextTable: aligned columns for a terminal.
//
//   TextTable table({{"strategy", ""}, {"insert", "ns"}});
//   table.add_row({{"wheel"}, {"8.6", Emphasis::strong}});
//   fmt::print("{}", table.render(colours));
//
// The first column is aligned to the left, numbers to the right. Widths are counted in characters
// as they are seen, not in bytes.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

enum class Emphasis { none, strong, weak, good, bad };

// Turns emphasis into escape sequences, or into nothing where they would be litter.
class Colours {
 public:
  explicit Colours(bool on) : is_on_(on) {}

  std::string apply(std::string_view text, Emphasis emphasis) const;

 private:
  bool is_on_;
};

class TextTable {
 public:
  struct Column {
    std::string title;
    std::string unit;
  };
  struct Cell {
    std::string text;
    Emphasis emphasis = Emphasis::none;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as there are columns.
  void add_row(std::vector<Cell> cells);

  // Title, units and rows, each line with `indent` spaces before it.
  std::string render(const Colours& colours, std::size_t indent = 2) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// How many characters wide a text in UTF-8 is, when each takes one column.
std::size_t display_width(std::string_view text);

// The text with spaces before or behind it, `width` characters in all.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace mayfly
