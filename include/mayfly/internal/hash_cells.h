// SPDX-License-Identifier: Apache-2.0
// HashCells: finds slots by hash. The half of a hash map that does not know what a key is.
//
//   | hash 4 | slot 4 |   | - |   | hash | slot |   | hash | slot |   ...     2^k cells of 8 bytes
//
// Open addressing with linear probing: a slot stands in the first free cell from the one its hash
// names. Removing one moves the following ones back, so that no tombstones are left. The whole hash
// is kept in the cell; so a probe hardly ever looks at a key that is not the one sought, and
// growing looks at none.
//
//   find, insert, erase   O(1) expected; the table doubles when 3/4 full, and halves when 1/8 full
//   memory                8 bytes a cell, 11 to 21 a slot

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mayfly/slot.h"

namespace mayfly::internal {

class HashCells {
 public:
  static constexpr std::uint64_t kSeed = 0x2D358DCCAA6C78A5u;  // where no secret is needed
  static std::uint64_t random_seed();                          // never 0

  // Spreads a hash of any quality over 32 bits. All parts of the product are used, because each by
  // itself sends some families of numbers to the same few cells: those that differ only in their
  // highest bits, or multiples of 64, or all small ones. The seed is a secret: without it nobody
  // can choose hashes that fall into the same cells.
  static std::uint32_t spread(std::uint64_t hash, std::uint64_t seed = kSeed) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{hash ^ seed} * 0x9E3779B97F4A7C15u;
    const auto folded = static_cast<std::uint64_t>(product ^ product >> 64);
    return static_cast<std::uint32_t>(folded ^ folded >> 32);
  }

  // The slot with this hash for which `is_it(slot)` holds, or kNoSlot.
  template <class IsIt>
  Slot find(std::uint32_t hash, IsIt is_it) const {
    for (std::uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Cell cell = cells_[i];
      if (cell.slot == kNoSlot) return kNoSlot;
      if (cell.hash == hash && is_it(cell.slot)) return cell.slot;
    }
  }

  // REQUIRES: the slot is not there.
  void insert(std::uint32_t hash, Slot slot);

  // REQUIRES: the slot is there, under this hash.
  void erase(std::uint32_t hash, Slot slot);

  [[gnu::always_inline]] void prefetch(std::uint32_t hash) const {
    __builtin_prefetch(&cells_[hash & mask_], 1);
  }
  void clear() { *this = HashCells(); }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return cells_.size() * sizeof(Cell); }

  // Whether every slot is found from the cell its hash names. For tests.
  bool is_sound() const;

 private:
  struct Cell {
    std::uint32_t hash = 0;
    Slot slot = kNoSlot;
  };

  static constexpr std::size_t kLeast = 16;

  void resize(std::size_t cells);
  void place(Cell cell);

  std::vector<Cell> cells_ = std::vector<Cell>(kLeast);  // never full: a probe ends
  std::uint32_t mask_ = kLeast - 1;                      // of the index; at most 2^32 cells
  std::size_t size_ = 0;
};

}  // namespace mayfly::internal
