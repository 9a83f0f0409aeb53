// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/deadline_sums.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mayfly {
namespace {

constexpr int kBlockBits = 16;         // 65,536 ms
constexpr std::size_t kHashNode = 40;  // of a block's number
constexpr std::int64_t kCellMs = DeadlineSums::kCell.count();
static_assert(DeadlineBlock::kCells * kCellMs == 1 << kBlockBits);

std::int64_t ms_of(Time moment) { return moment.time_since_epoch().count(); }
std::int64_t block_of(Time moment) { return ms_of(moment) >> kBlockBits; }
std::size_t cell_of(Time moment) {
  constexpr std::uint64_t kBlockMask = (1 << kBlockBits) - 1;
  return (static_cast<std::uint64_t>(ms_of(moment)) & kBlockMask) / std::uint64_t{kCellMs};
}

}  // namespace

Time DeadlineSums::round_up(Time moment) {
  constexpr std::int64_t kMask = kCellMs - 1;
  if (ms_of(moment) > ms_of(kNever) - kMask) return kNever;
  return Time(Millis((ms_of(moment) + kMask) & ~kMask));
}

inline DeadlineSums::Block* DeadlineSums::find(std::int64_t number) {
  std::uint32_t& recent = recent_[static_cast<std::size_t>(number) % recent_.size()];
  if (recent < blocks_.size() && blocks_[recent].number == number) return &blocks_[recent];
  const auto found = numbers_.find(number);
  if (found == numbers_.end()) return nullptr;
  recent = found->second;
  return &blocks_[recent];
}

inline DeadlineSums::Block& DeadlineSums::find_or_make(std::int64_t number) {
  if (Block* const found = find(number)) return *found;
  numbers_.emplace(number, static_cast<std::uint32_t>(blocks_.size()));
  return blocks_.emplace_back(Block{.number = number, .cells = {}});
}

// The last block takes its place.
void DeadlineSums::erase(Block& block) {
  const auto place = static_cast<std::uint32_t>(&block - blocks_.data());
  numbers_.erase(block.number);
  if (place + 1 != blocks_.size()) {
    block = std::move(blocks_.back());
    numbers_[block.number] = place;
  }
  blocks_.pop_back();
  if (blocks_.size() * 4 < blocks_.capacity()) blocks_.shrink_to_fit();
}

void DeadlineSums::add(Time deadline, std::uint64_t bytes) {
  total_ += {1, bytes};
  find_or_make(block_of(deadline)).cells.add(cell_of(deadline), bytes);
}

void DeadlineSums::remove(Time deadline, std::uint64_t bytes) {
  total_ -= {1, bytes};
  Block* const block = find(block_of(deadline));
  assert(block != nullptr);
  block->cells.remove(cell_of(deadline), bytes);
  if (block->cells.total().entries == 0) erase(*block);
}

void DeadlineSums::change(Entry before, Entry after) {
  if (before.deadline == kNever) return add(after.deadline, after.bytes);
  if (after.deadline == kNever) return remove(before.deadline, before.bytes);
  total_.bytes += after.bytes - before.bytes;
  Block* from = find(block_of(before.deadline));
  assert(from != nullptr);
  if (block_of(after.deadline) == from->number) {
    from->cells.add(cell_of(after.deadline), after.bytes);
    from->cells.remove(cell_of(before.deadline), before.bytes);
    return;
  }
  from->cells.remove(cell_of(before.deadline), before.bytes);
  if (from->cells.total().entries == 0) erase(*from);
  find_or_make(block_of(after.deadline)).cells.add(cell_of(after.deadline), after.bytes);
}

std::vector<DeadlineSum> DeadlineSums::until(std::span<const Time> moments) const {
  std::vector<std::int64_t> ends;  // the blocks in which the moments lie
  for (const Time moment : moments) ends.push_back(block_of(moment));
  // First what expires between two moments, then the sums of that.
  std::vector<DeadlineSum> sums(moments.size());
  for (const Block& block : blocks_) {
    const auto first = std::ranges::lower_bound(ends, block.number);
    auto i = static_cast<std::size_t>(first - ends.begin());
    DeadlineSum before;
    for (; i < ends.size() && ends[i] == block.number; ++i) {
      const DeadlineSum below = block.cells.below(cell_of(moments[i]));
      sums[i] += below;
      sums[i] -= before;
      before = below;
    }
    if (i == ends.size()) continue;
    sums[i] += block.cells.total();
    sums[i] -= before;
  }
  for (std::size_t i = 1; i < sums.size(); ++i) sums[i] += sums[i - 1];
  return sums;
}

std::vector<std::size_t> DeadlineSums::freed_until(std::span<const Time> moments) const {
  std::vector<std::size_t> freed(moments.size());
  for (const Block& block : blocks_) {
    const auto i = std::ranges::upper_bound(moments, block.number, {}, block_of) - moments.begin();
    if (static_cast<std::size_t>(i) == freed.size()) continue;
    freed[static_cast<std::size_t>(i)] += sizeof(Block) + kHashNode + block.cells.allocated_bytes();
  }
  for (std::size_t i = 1; i < freed.size(); ++i) freed[i] += freed[i - 1];
  return freed;
}

std::size_t DeadlineSums::allocated_bytes() const {
  std::size_t bytes = blocks_.capacity() * sizeof(Block) + numbers_.size() * kHashNode;
  for (const Block& block : blocks_) bytes += block.cells.allocated_bytes();
  return bytes;
}

std::string DeadlineSums::check_invariants() const {
  DeadlineSum sum;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (std::string wrong = blocks_[i].cells.check_invariants(); !wrong.empty()) return wrong;
    if (blocks_[i].cells.total().entries == 0) return "an empty block";
    const auto found = numbers_.find(blocks_[i].number);
    if (found == numbers_.end() || found->second != i) return "a block that is not found";
    sum += blocks_[i].cells.total();
  }
  if (numbers_.size() != blocks_.size()) return "a number without a block";
  return sum == total_ ? "" : "blocks that differ from their total";
}

}  // namespace mayfly
