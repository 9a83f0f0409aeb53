// SPDX-License-Identifier: Apache-2.0
// DeadlineBlock: how many entries expire in each part of one block of time, and how many bytes.
//
//   a block, 65,536 ms    | 512 cells of 128 ms: entries                          |
//                         | 64 groups of 8 cells: bytes                           |
//
// A block with few used cells is a sorted list of them; with many it is two arrays. Counts are
// exact to the cell. Bytes are exact to the group: inside of one they are spread like its entries.
//
//   add, remove, below   O(log used cells) while there are few; else O(1), below() O(cells)
//   memory               16 bytes a used cell, at most 2.5 KiB a block

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mayfly {

// A number of entries and their bytes.
struct DeadlineSum {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;

  DeadlineSum& operator+=(const DeadlineSum& other) {
    entries += other.entries;
    bytes += other.bytes;
    return *this;
  }
  DeadlineSum& operator-=(const DeadlineSum& other) {
    entries -= other.entries;
    bytes -= other.bytes;
    return *this;
  }
  bool operator==(const DeadlineSum&) const = default;
};

class DeadlineBlock {
 public:
  static constexpr std::size_t kCells = 512;
  static constexpr std::size_t kGroupCells = 8;
  static constexpr std::size_t kGroups = kCells / kGroupCells;

  DeadlineBlock();
  ~DeadlineBlock();
  DeadlineBlock(DeadlineBlock&&) noexcept;
  DeadlineBlock& operator=(DeadlineBlock&&) noexcept;

  void add(std::size_t cell, std::uint64_t bytes);

  // REQUIRES: an entry with so many bytes was added to this cell, and not removed since.
  void remove(std::size_t cell, std::uint64_t bytes);

  const DeadlineSum& total() const { return total_; }

  // Of all cells before `cell`.
  DeadlineSum below(std::size_t cell) const;

  std::size_t allocated_bytes() const;
  std::string check_invariants() const;

 private:
  struct Cell {
    std::uint32_t number = 0;
    std::uint32_t entries = 0;
    std::uint64_t bytes = 0;
  };
  struct Arrays;
  static constexpr std::size_t kListed = 128;  // cells at most in the list

  DeadlineSum of_group(std::size_t group) const;
  void turn_into_arrays();

  DeadlineSum total_;
  std::vector<Cell> list_;          // in order; empty if there are arrays
  std::unique_ptr<Arrays> arrays_;  // null while the cells are listed
};

}  // namespace mayfly
