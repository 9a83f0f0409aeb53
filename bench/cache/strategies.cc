// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/strategies.h"

namespace mayfly::bench {
namespace {

template <class Index>
constexpr Strategy strategy(std::string_view name, std::string_view idea) {
  return {name, idea, measure_index<Index>, measure_cache<Index>, simulate_lateness<Index>};
}

constexpr Strategy kStrategies[] = {
    strategy<LazyIndex>("lazy", "no index: only reads remove expired entries"),
    strategy<DeadlineHeap>("heap", "binary heap, stale entries are left in it"),
    strategy<Sampler>("sampling", "20 entries at random, ten times a second"),
    strategy<WindowQueue>("windows", "deadlines rounded up to seconds"),
    strategy<TimerWheel>("wheel", "hierarchical timer wheel"),
    strategy<VolatileSet>("volatile-set", "buckets that split by time; the default of Cache"),
    strategy<DeadlineTree>("tree", "ordered set, the reference"),
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

}  // namespace mayfly::bench
