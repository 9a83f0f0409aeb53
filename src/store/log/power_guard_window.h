// SPDX-License-Identifier: Apache-2.0
// PowerGuardWindow: which pages still have to be saved so that one recovery point can be restored.

#pragma once

#include <cstdint>
#include <vector>

namespace mayfly {

class PowerGuardWindow {
 public:
  // A window of no generation, which needs nothing.
  PowerGuardWindow() = default;

  // `start` tells captures of the same generation apart.
  PowerGuardWindow(std::uint64_t generation, std::uint64_t start, std::uint64_t last_page)
      : generation_(generation), start_(start), is_covered_(last_page + 1) {}

  bool is(std::uint64_t generation, std::uint64_t start) const {
    return generation_ == generation && start_ == start;
  }

  bool needs(std::uint64_t page) const { return page < is_covered_.size() && !is_covered_[page]; }

  // The page has been saved, or is not part of the recovery point.
  void cover(std::uint64_t page) {
    if (page < is_covered_.size()) is_covered_[page] = true;
  }

 private:
  std::uint64_t generation_ = 0;
  std::uint64_t start_ = 0;
  std::vector<bool> is_covered_;
};

}  // namespace mayfly
