// SPDX-License-Identifier: Apache-2.0
// Random: a small generator with a seed, so that whatever uses chance can be repeated exactly.
//
// SplitMix64 by Sebastiano Vigna: one word of state, one multiplication chain a number. Not for
// secrets.

#pragma once

#include <cstdint>

#include "mayfly/internal/language.h"  // refuses an older language in one line

namespace mayfly {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  // A number below `bound`, evenly enough for sampling. REQUIRES: bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  // A number from 0 up to, but not including, 1.
  constexpr double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace mayfly
