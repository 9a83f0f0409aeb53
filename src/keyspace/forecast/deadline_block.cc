// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/deadline_block.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace mayfly {

struct DeadlineBlock::Arrays {
  std::array<std::uint32_t, kCells> entries{};
  std::array<std::uint64_t, kGroups> bytes{};
};

DeadlineBlock::DeadlineBlock() = default;
DeadlineBlock::~DeadlineBlock() = default;
DeadlineBlock::DeadlineBlock(DeadlineBlock&&) noexcept = default;
DeadlineBlock& DeadlineBlock::operator=(DeadlineBlock&&) noexcept = default;

void DeadlineBlock::add(std::size_t cell, std::uint64_t bytes) {
  total_ += {1, bytes};
  if (arrays_) {
    ++arrays_->entries[cell];
    arrays_->bytes[cell / kGroupCells] += bytes;
    return;
  }
  auto at = std::ranges::lower_bound(list_, cell, {}, &Cell::number);
  if (at == list_.end() || at->number != cell) {
    at = list_.insert(at, Cell{.number = static_cast<std::uint32_t>(cell)});
  }
  ++at->entries;
  at->bytes += bytes;
  if (list_.size() > kListed) turn_into_arrays();
}

void DeadlineBlock::remove(std::size_t cell, std::uint64_t bytes) {
  total_ -= {1, bytes};
  if (arrays_) {
    --arrays_->entries[cell];
    arrays_->bytes[cell / kGroupCells] -= bytes;
    return;
  }
  const auto at = std::ranges::lower_bound(list_, cell, {}, &Cell::number);
  assert(at != list_.end() && at->number == cell && at->entries > 0 && at->bytes >= bytes);
  at->bytes -= bytes;
  if (--at->entries == 0) list_.erase(at);
}

void DeadlineBlock::turn_into_arrays() {
  arrays_ = std::make_unique<Arrays>();
  for (const Cell& cell : list_) {
    arrays_->entries[cell.number] = cell.entries;
    arrays_->bytes[cell.number / kGroupCells] += cell.bytes;
  }
  list_ = {};
}

// REQUIRES: there are arrays.
DeadlineSum DeadlineBlock::of_group(std::size_t group) const {
  DeadlineSum sum{.bytes = arrays_->bytes[group]};
  for (std::size_t i = 0; i < kGroupCells; ++i) {
    sum.entries += arrays_->entries[group * kGroupCells + i];
  }
  return sum;
}

DeadlineSum DeadlineBlock::below(std::size_t cell) const {
  DeadlineSum sum;
  if (!arrays_) {
    for (const Cell& listed : list_) {
      if (listed.number >= cell) break;
      sum += {listed.entries, listed.bytes};
    }
    return sum;
  }
  const std::size_t group = cell / kGroupCells;
  for (std::size_t i = 0; i < group; ++i) sum += of_group(i);
  if (cell % kGroupCells == 0) return sum;
  std::uint64_t entries = 0;
  for (std::size_t i = group * kGroupCells; i < cell; ++i) entries += arrays_->entries[i];
  const DeadlineSum whole = of_group(group);
  if (entries > 0) {
    const double part = static_cast<double>(entries) / static_cast<double>(whole.entries);
    sum += {entries, static_cast<std::uint64_t>(part * static_cast<double>(whole.bytes))};
  }
  return sum;
}

std::size_t DeadlineBlock::allocated_bytes() const {
  return list_.capacity() * sizeof(Cell) + (arrays_ ? sizeof(Arrays) : 0);
}

std::string DeadlineBlock::check_invariants() const {
  if (below(kCells) != total_) return "a block whose cells differ from its total";
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (list_[i].entries == 0) return "an empty cell in a list";
    if (i > 0 && list_[i - 1].number >= list_[i].number) return "cells out of order";
  }
  for (std::size_t i = 0; arrays_ && i < kGroups; ++i) {
    const DeadlineSum sum = of_group(i);
    if (sum.entries == 0 && sum.bytes != 0) return "bytes without an entry";
  }
  return "";
}

}  // namespace mayfly
