// SPDX-License-Identifier: Apache-2.0
// DeadlineSums: how many entries, and how many bytes, expire until a moment. Of any number of
// entries, without a look at them.
//
//   DeadlineSums sums;
//   sums.add(deadline, 100);
//   sums.until(moments)                  // entries and bytes with a deadline before each moment
//
// Time is cut into blocks of 65.5 s, and blocks into cells of 128 ms. Moments are multiples of a
// cell: round_up() makes them so. Then the numbers of entries are exact. Bytes are exact for
// multiples of 1,024 ms, and interpolated between them.
//
//   add, remove   O(1)
//   until         O(blocks in use): 1,300 for each day in which something expires
//   memory        for each 65.5 s in which something expires some 100 bytes, and 12 for each entry
//                 or 768; 2.5 KiB if that is thousands of entries

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "keyspace/forecast/deadline_block.h"
#include "mayfly/time.h"

namespace mayfly {

class DeadlineSums {
 public:
  static constexpr Millis kCell{128};

  // The first moment at or after `moment` that is the end of a cell.
  static Time round_up(Time moment);

  void add(Time deadline, std::uint64_t bytes);

  // REQUIRES: an entry with this deadline and so many bytes was added, and not removed since.
  void remove(Time deadline, std::uint64_t bytes);

  // Gives an entry another deadline and other bytes. kNever: it is added, or removed.
  struct Entry {
    Time deadline;
    std::uint64_t bytes;
  };
  void replace(Entry before, Entry after) {
    if (before.bytes == after.bytes && is_same_cell(before.deadline, after.deadline)) return;
    change(before, after);
  }

  const DeadlineSum& total() const { return total_; }

  // For each moment the sum of entries with deadline < moment. REQUIRES: moments in order, each
  // rounded up.
  std::vector<DeadlineSum> until(std::span<const Time> moments) const;

  // For each moment how many bytes these sums themselves free until then. REQUIRES: the same.
  std::vector<std::size_t> freed_until(std::span<const Time> moments) const;

  std::size_t allocated_bytes() const;
  std::string check_invariants() const;

 private:
  static constexpr int kCellBits = 7;  // of milliseconds
  static_assert(kCell.count() == 1 << kCellBits);

  static bool is_same_cell(Time a, Time b) {
    const std::int64_t bits = a.time_since_epoch().count() ^ b.time_since_epoch().count();
    return bits >> kCellBits == 0 && (a == kNever) == (b == kNever);
  }

  struct Block {
    std::int64_t number = 0;
    DeadlineBlock cells;
  };

  void change(Entry before, Entry after);
  Block* find(std::int64_t number);
  Block& find_or_make(std::int64_t number);
  void erase(Block& block);

  DeadlineSum total_;
  std::vector<Block> blocks_;                                // in no order
  std::unordered_map<std::int64_t, std::uint32_t> numbers_;  // number -> place in blocks_
  // The places of blocks that were used last, by the low bits of their numbers; maybe wrong.
  std::array<std::uint32_t, 64> recent_{};
};

}  // namespace mayfly
