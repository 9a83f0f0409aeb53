// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/hash_cells.h"

#include <random>
#include <utility>

namespace mayfly::internal {

std::uint64_t HashCells::random_seed() {
  std::random_device device;
  const std::uint64_t seed = std::uint64_t{device()} << 32 | device();
  return seed == 0 ? kSeed : seed;
}

void HashCells::insert(std::uint32_t hash, Slot slot) {
  if ((size_ + 1) * 4 > cells_.size() * 3) resize(cells_.size() * 2);
  place({hash, slot});
  ++size_;
}

void HashCells::erase(std::uint32_t hash, Slot slot) {
  std::size_t hole = hash & mask_;
  while (cells_[hole].slot != slot) hole = (hole + 1) & mask_;

  // A later cell may fill the hole if it does not come before its own home by that. The distances
  // are counted round the end of the table.
  for (std::size_t i = (hole + 1) & mask_; cells_[i].slot != kNoSlot; i = (i + 1) & mask_) {
    const std::size_t from_home = (i - cells_[i].hash) & mask_;
    const std::size_t from_hole = (i - hole) & mask_;
    if (from_home < from_hole) continue;
    cells_[hole] = cells_[i];
    hole = i;
  }
  cells_[hole] = Cell();
  --size_;
  if (cells_.size() > kLeast && size_ * 8 < cells_.size()) resize(cells_.size() / 2);
}

void HashCells::place(Cell cell) {
  std::size_t i = cell.hash & mask_;
  while (cells_[i].slot != kNoSlot) i = (i + 1) & mask_;
  cells_[i] = cell;
}

void HashCells::resize(std::size_t cells) {
  const std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells));
  mask_ = static_cast<std::uint32_t>(cells - 1);
  for (const Cell cell : old) {
    if (cell.slot != kNoSlot) place(cell);
  }
}

bool HashCells::is_sound() const {
  std::size_t count = 0;
  for (const Cell cell : cells_) {
    if (cell.slot == kNoSlot) continue;
    ++count;
    if (find(cell.hash, [&](Slot slot) { return slot == cell.slot; }) != cell.slot) return false;
  }
  return count == size_ && count < cells_.size();
}

}  // namespace mayfly::internal
