// SPDX-License-Identifier: Apache-2.0
// Slot: the number by which an expiry index knows an entry.
//
// The owner of the entries numbers them from 0, densely, and reuses the numbers of those that are
// gone: an index into an array of its own will do. Four bytes instead of a pointer's eight are half
// of what an index costs, and a number stays good when the array moves. An owner that keeps the
// index's cells in a table of its own calls attach() again when that table grows (expiry_index.h).

#pragma once

#include <cstddef>
#include <cstdint>

#include "mayfly/internal/language.h"  // refuses an older language in one line

namespace mayfly {

using Slot = std::uint32_t;

// Slots are below this number, so that an index may mark one with its highest bit.
inline constexpr Slot kSlotLimit = Slot{1} << 31;  // 2.1 thousand million

inline constexpr Slot kNoSlot = ~Slot{0};

// All tables by slot have chunks of so many slots.
inline constexpr std::size_t kChunkSlots = 256;

// Where the entries of all slots are: `chunks[slot / 256]` points to 256 entries of `stride` bytes
// each, and each entry begins with the value that a column is to find there.
struct SlotTable {
  std::byte* const* chunks = nullptr;
  std::size_t extent = 0;  // slots below it have a place
  std::size_t stride = 0;
};

}  // namespace mayfly
