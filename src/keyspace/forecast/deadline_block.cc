// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/deadline_block.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mayfly {

void DeadlineBlock::Cell::set_bytes(std::uint64_t bytes) {
  bytes_low = static_cast<std::uint32_t>(bytes);
  bytes_high = static_cast<std::uint16_t>(bytes >> 32);
}

void DeadlineBlock::add_narrow(std::size_t cell, std::uint64_t bytes) {
  if (!narrow_) return add_listed(cell, bytes);
  std::uint8_t& entries = narrow_->entries[cell];
  std::uint32_t& sum = narrow_->bytes[cell / kGroupCells];
  if (entries == UINT8_MAX || bytes > UINT32_MAX - sum) {
    widen();
    ++wide_->entries[cell];
    wide_->bytes[cell / kGroupCells] += bytes;
    return;
  }
  ++entries;
  sum += static_cast<std::uint32_t>(bytes);
}

void DeadlineBlock::add_listed(std::size_t cell, std::uint64_t bytes) {
  auto at = std::ranges::lower_bound(list_, cell, {}, &Cell::number);
  if (at == list_.end() || at->number != cell) {
    constexpr std::size_t kStep = 4;  // of growth: lists are short
    const auto index = at - list_.begin();
    if (list_.size() == list_.capacity()) list_.reserve(list_.size() + kStep);
    at = list_.insert(list_.begin() + index, Cell{.number = static_cast<std::uint16_t>(cell)});
  }
  ++at->entries;
  at->set_bytes(at->bytes() + bytes);
  // With many entries arrays are faster, and small for each.
  constexpr std::size_t kBusyCells = 4;
  constexpr std::uint64_t kBusyEntries = 128;
  const bool is_busy = list_.size() > kBusyCells && total_.entries > kBusyEntries;
  if (is_busy || list_.size() > kListed) turn_into_arrays();
}

void DeadlineBlock::remove_narrow(std::size_t cell, std::uint64_t bytes) {
  if (narrow_) {
    --narrow_->entries[cell];
    narrow_->bytes[cell / kGroupCells] -= static_cast<std::uint32_t>(bytes);
    return;
  }
  const auto at = std::ranges::lower_bound(list_, cell, {}, &Cell::number);
  assert(at != list_.end() && at->number == cell && at->entries > 0 && at->bytes() >= bytes);
  at->set_bytes(at->bytes() - bytes);
  if (--at->entries == 0) list_.erase(at);
}

void DeadlineBlock::turn_into_arrays() {
  auto wide = std::make_unique<Wide>();
  for (const Cell& cell : list_) {
    wide->entries[cell.number] = cell.entries;
    wide->bytes[cell.number / kGroupCells] += cell.bytes();
  }
  list_ = std::vector<Cell>();  // gives its memory back
  const bool is_narrow =
      std::ranges::max(wide->entries) <= UINT8_MAX && std::ranges::max(wide->bytes) <= UINT32_MAX;
  if (!is_narrow) {
    wide_ = std::move(wide);
    return;
  }
  narrow_ = std::make_unique<Narrow>();
  const auto to_byte = [](std::uint32_t n) { return static_cast<std::uint8_t>(n); };
  const auto to_word = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  std::ranges::transform(wide->entries, narrow_->entries.begin(), to_byte);
  std::ranges::transform(wide->bytes, narrow_->bytes.begin(), to_word);
}

void DeadlineBlock::widen() {
  wide_ = std::make_unique<Wide>();
  std::ranges::copy(narrow_->entries, wide_->entries.begin());
  std::ranges::copy(narrow_->bytes, wide_->bytes.begin());
  narrow_.reset();
}

// REQUIRES: there are arrays. The same holds for the next one.
std::uint64_t DeadlineBlock::entries_in(std::size_t cell) const {
  return wide_ ? wide_->entries[cell] : narrow_->entries[cell];
}

DeadlineSum DeadlineBlock::of_group(std::size_t group) const {
  DeadlineSum sum{.bytes = wide_ ? wide_->bytes[group] : narrow_->bytes[group]};
  for (std::size_t i = 0; i < kGroupCells; ++i) sum.entries += entries_in(group * kGroupCells + i);
  return sum;
}

DeadlineSum DeadlineBlock::below(std::size_t cell) const {
  DeadlineSum sum;
  if (!wide_ && !narrow_) {
    for (const Cell& listed : list_) {
      if (listed.number >= cell) break;
      sum += {listed.entries, listed.bytes()};
    }
    return sum;
  }
  const std::size_t group = cell / kGroupCells;
  for (std::size_t i = 0; i < group; ++i) sum += of_group(i);
  if (cell % kGroupCells == 0) return sum;
  std::uint64_t entries = 0;
  for (std::size_t i = group * kGroupCells; i < cell; ++i) entries += entries_in(i);
  const DeadlineSum whole = of_group(group);
  if (entries > 0) {
    const double part = static_cast<double>(entries) / static_cast<double>(whole.entries);
    sum += {entries, static_cast<std::uint64_t>(part * static_cast<double>(whole.bytes))};
  }
  return sum;
}

std::size_t DeadlineBlock::allocated_bytes() const {
  return list_.capacity() * sizeof(Cell) + (narrow_ ? sizeof(Narrow) : 0) +
         (wide_ ? sizeof(Wide) : 0);
}

std::string DeadlineBlock::check_invariants() const {
  if (below(kCells) != total_) return "a block whose cells differ from its total";
  if (int{!list_.empty()} + int{narrow_ != nullptr} + int{wide_ != nullptr} > 1) {
    return "a block in two forms";
  }
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (list_[i].entries == 0) return "an empty cell in a list";
    if (i > 0 && list_[i - 1].number >= list_[i].number) return "cells out of order";
  }
  for (std::size_t i = 0; (narrow_ || wide_) && i < kGroups; ++i) {
    const DeadlineSum sum = of_group(i);
    if (sum.entries == 0 && sum.bytes != 0) return "bytes without an entry";
  }
  return "";
}

}  // namespace mayfly
