// SPDX-License-Identifier: Apache-2.0
// DeadlineBlock: how many entries expire in each part of one block of time, and how many bytes.
//
//   a block, 65,536 ms    | 512 cells of 128 ms: entries                          |
//                         | 64 groups of 8 cells: bytes                           |
//
// A block with few used cells is a sorted list of them. With more it is two arrays of small
// numbers, and with large numbers two arrays of large ones. Counts are exact to the cell. Bytes are
// exact to the group: inside of one they are spread like its entries.
//
//   add, remove, below   O(log used cells) while there are few; else O(1), below() O(cells)
//   memory               12 bytes a used cell while there are few; else 768 bytes, or 2.5 KiB if a
//                        cell has more than 255 entries or a group more than 4 GiB

#pragma once

#include <array>
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

  void add(std::size_t cell, std::uint64_t bytes) {
    total_ += {1, bytes};
    if (!wide_) return add_narrow(cell, bytes);
    ++wide_->entries[cell];
    wide_->bytes[cell / kGroupCells] += bytes;
  }

  // REQUIRES: an entry with so many bytes was added to this cell, and not removed since.
  void remove(std::size_t cell, std::uint64_t bytes) {
    total_ -= {1, bytes};
    if (!wide_) return remove_narrow(cell, bytes);
    --wide_->entries[cell];
    wide_->bytes[cell / kGroupCells] -= bytes;
  }

  const DeadlineSum& total() const { return total_; }

  // Of all cells before `cell`.
  DeadlineSum below(std::size_t cell) const;

  std::size_t allocated_bytes() const;
  std::string check_invariants() const;

 private:
  struct Cell {
    std::uint16_t number = 0;
    std::uint16_t bytes_high = 0;
    std::uint32_t bytes_low = 0;
    std::uint32_t entries = 0;

    std::uint64_t bytes() const { return std::uint64_t{bytes_high} << 32 | bytes_low; }
    void set_bytes(std::uint64_t bytes);
  };
  template <class Entries, class Bytes>
  struct Arrays {
    std::array<Entries, kCells> entries{};
    std::array<Bytes, kGroups> bytes{};
  };
  using Narrow = Arrays<std::uint8_t, std::uint32_t>;
  using Wide = Arrays<std::uint32_t, std::uint64_t>;
  static constexpr std::size_t kListed = 32;  // cells at most in the list

  void add_narrow(std::size_t cell, std::uint64_t bytes);  // narrow, or listed
  void remove_narrow(std::size_t cell, std::uint64_t bytes);
  void add_listed(std::size_t cell, std::uint64_t bytes);
  void turn_into_arrays();
  void widen();
  std::uint64_t entries_in(std::size_t cell) const;
  DeadlineSum of_group(std::size_t group) const;

  DeadlineSum total_;
  std::vector<Cell> list_;  // in order; empty if there are arrays
  std::unique_ptr<Narrow> narrow_;
  std::unique_ptr<Wide> wide_;  // or this one
};

}  // namespace mayfly
