// SPDX-License-Identifier: Apache-2.0
// The sparse form of a HyperLogLog's registers: runs of equal registers, in order.
//
//   00nnnnnn            n + 1 registers that are 0
//   01nnnnnn nnnnnnnn   n + 1 registers that are 0, high bits first
//   1rrrrrnn            n + 1 registers of rank r + 1
//
// Valid runs add up to 16384 registers. What comes from outside may not: every function here takes
// any bytes, and says so if they are not valid. Where the second byte of a run is missing at the
// end, it counts as 0, as it does in Redis.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/hyperloglog/hll_registers.h"

namespace mayfly {

inline constexpr unsigned kSparseRankMax = 32;  // a higher one needs the dense form

struct SparseRun {
  unsigned rank = 0;
  std::size_t registers = 0;
  std::size_t bytes = 0;
  bool is_wide = false;  // zeros, in the form with two bytes
};

// The run at offset `at`. REQUIRES: at < runs.size().
SparseRun sparse_run(std::string_view runs, std::size_t at);

// Calls visit(first register, run) for each run. False if they do not add up to 16384 registers;
// it never calls `visit` with a register beyond.
template <class Visit>
bool each_sparse_run(std::string_view runs, Visit visit) {
  std::size_t first = 0;
  for (std::size_t at = 0; at < runs.size();) {
    const SparseRun run = sparse_run(runs, at);
    if (first + run.registers > kHllRegisters) return false;
    visit(first, run);
    first += run.registers;
    at += run.bytes;
  }
  return first == kHllRegisters;
}

// Where a register is.
struct SparsePlace {
  std::size_t at = 0;      // offset of its run
  std::size_t before = 0;  // offset of the run before it, or 0 if that is the first
  std::size_t first = 0;   // the first register of its run
  SparseRun run;
};

// Nothing if the runs end before it. Cost: O(bytes), eight at a time.
std::optional<SparsePlace> find_sparse(std::string_view runs, std::size_t index);

// The runs that replace the run of `place`, so that register `index` has another rank.
struct SparseSplit {
  std::array<char, 5> bytes{};
  std::size_t size = 0;

  void add_zeros(std::size_t registers);                  // nothing for 0
  void add_ranked(unsigned rank, std::size_t registers);  // nothing for 0; at most 4
};
SparseSplit split_sparse(const SparsePlace& place, std::size_t index, unsigned rank);

// Joins runs of the same rank among the five that begin at offset `at`, as Redis does after every
// change. Returns the new size.
std::size_t join_sparse(char* runs, std::size_t size, std::size_t at);

}  // namespace mayfly
