// SPDX-License-Identifier: Apache-2.0
// Slot: the number by which an expiry index knows an entry.
//
// The owner of the entries numbers them from 0, densely, and reuses the numbers of those that are
// gone: an index into an array of its own will do. Four bytes instead of a pointer's eight are half
// of what an index costs, and a number stays good when the array moves. An owner that keeps the
// index's cells in a table of its own calls attach() again when that table grows (expiry_index.h).

#pragma once

#include <cstdint>

namespace mayfly {

using Slot = std::uint32_t;

// Slots are below this number, so that an index may mark one with its highest bit.
inline constexpr Slot kSlotLimit = Slot{1} << 31;  // 2.1 thousand million

inline constexpr Slot kNoSlot = ~Slot{0};

}  // namespace mayfly
