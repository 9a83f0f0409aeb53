// SPDX-License-Identifier: Apache-2.0
// SizeColumn: a number of bytes for each slot, in two bytes. Nothing is allocated until it is used.
//
// A size is a multiple of 16, or of a power of two above, with 12 significant bits: off by at most
// 8 bytes or 1 in 8,192. round() says what will be read for a size.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mayfly/slot.h"

namespace mayfly {

class SizeColumn {
 public:
  static std::uint64_t round(std::uint64_t bytes) { return decode(encode(bytes)); }

  // REQUIRES: it was set.
  std::uint64_t operator[](Slot slot) const {
    return decode((*chunks_[slot / kChunk])[slot % kChunk]);
  }

  void set(Slot slot, std::uint64_t bytes) {
    const std::size_t chunk = slot / kChunk;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>();
    (*chunks_[chunk])[slot % kChunk] = encode(bytes);
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  static constexpr unsigned kUnitBits = 4;
  static constexpr unsigned kDigits = 12;
  using Chunk = std::array<std::uint16_t, kChunk>;

  // Four bits of exponent, twelve of the number: 16 bytes to 2 GiB.
  static std::uint16_t encode(std::uint64_t bytes) {
    const std::uint64_t units = (bytes + (1u << kUnitBits) / 2) >> kUnitBits;
    const auto width = static_cast<unsigned>(std::bit_width(units));
    unsigned shift = width > kDigits ? width - kDigits : 0;
    if (shift > 15) return UINT16_MAX;
    std::uint64_t digits = (units + (std::uint64_t{1} << shift) / 2) >> shift;
    if (digits >> kDigits != 0) {
      digits >>= 1;
      ++shift;
    }
    return shift > 15 ? UINT16_MAX : static_cast<std::uint16_t>(shift << kDigits | digits);
  }

  static std::uint64_t decode(std::uint16_t code) {
    return std::uint64_t{code & ((1u << kDigits) - 1)} << (code >> kDigits) << kUnitBits;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace mayfly
