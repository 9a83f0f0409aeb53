// SPDX-License-Identifier: Apache-2.0
// HllRegisters: the 16384 registers of a HyperLogLog, a byte each, and the estimate that they give.
//
// A register has the highest rank among the elements that fell to it; 0 means none did. The dense
// form of a value has six bits for each, lowest bits first: four registers take three bytes.
//
// Cost: merge_dense() and pack() work on eight registers at a time, in one word.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mayfly {

inline constexpr unsigned kHllIndexBits = 14;
inline constexpr std::size_t kHllRegisters = std::size_t{1} << kHllIndexBits;
inline constexpr unsigned kHllRankMax = 64 - kHllIndexBits + 1;  // no hash gives a higher one
inline constexpr std::size_t kHllPackedBytes = kHllRegisters * 6 / 8;

// How many registers have each value. Six bits can have values that no hash gives.
using HllHistogram = std::array<std::uint32_t, 64>;

class HllRegisters {
 public:
  unsigned operator[](std::size_t i) const { return ranks_[i]; }

  // Registers from `first` on have at least this rank now. REQUIRES: there are so many.
  void raise(std::size_t first, std::size_t count, unsigned rank);

  // Each register has at least the rank that it has in `packed`.
  void merge_dense(const char* packed);

  // Writes all registers in the dense form.
  void pack(char* packed) const;

  HllHistogram histogram() const;

 private:
  std::array<std::uint8_t, kHllRegisters> ranks_{};
};

HllHistogram histogram_of_dense(const char* packed);

// How many distinct elements there were, about. This is the improved raw estimator of O. Ertl, "New
// cardinality estimation algorithms for HyperLogLog sketches" (arXiv:1702.01284, algorithm 6), with
// the order of operations of Redis: replies must be equal to the last digit. 2^63 if the registers
// are such as no elements give.
std::uint64_t estimate_distinct(const HllHistogram& histogram);

}  // namespace mayfly
