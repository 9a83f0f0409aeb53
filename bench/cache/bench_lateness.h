// SPDX-License-Identifier: Apache-2.0
// How long does an entry outlive its deadline, and how much of what is present is due?
//
// A simulation in virtual time, one step a millisecond. At first there are `keys` entries; then, in
// each millisecond, one more is put, each strategy does what it is meant to do by then (it is swept
// when its next_deadline() has come), and one entry is read at random, which removes it if it is
// due. Sweeping takes no virtual time, so what is seen is what a strategy puts off, not its speed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/cache/bench_results.h"
#include "bench/cache/bench_workload.h"
#include "mayfly/time.h"

namespace mayfly {

// What happens in a simulation, the same for every strategy.
struct Traffic {
  std::size_t keys;             // present when it begins
  Millis length;                // of virtual time
  std::uint64_t seed;           // of the reads
  std::vector<Time> deadlines;  // by slot; slots from `keys` on are put one a millisecond
};

// TTLs are those of the workload, scaled so that most entries die within the run: uniform up to
// two thirds of it; one deadline for all that are put in the same three tenths; half of the
// long-tailed ones below a fiftieth of it.
Traffic make_traffic(std::size_t keys, Millis length, Distribution distribution,
                     std::uint64_t seed);

// Entries that are due and still there at the end count with the lateness they have by then.
// Instantiated in bench_lateness.cc for all strategies.
template <class Index>
LatenessResult simulate_lateness(const Traffic& traffic);

}  // namespace mayfly
