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
//   memory        at most 2.5 KiB for each 65.5 s in which something expires; some 100 bytes if
//                 that is one entry

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

  // Replaces the bytes of an entry.
  void change(Time deadline, std::uint64_t old_bytes, std::uint64_t new_bytes);

  const DeadlineSum& total() const { return total_; }

  // For each moment the sum of entries with deadline < moment. REQUIRES: moments in order, each
  // rounded up.
  std::vector<DeadlineSum> until(std::span<const Time> moments) const;

  std::size_t allocated_bytes() const;
  std::string check_invariants() const;

 private:
  struct Block {
    std::int64_t number = 0;
    DeadlineBlock cells;
  };

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
