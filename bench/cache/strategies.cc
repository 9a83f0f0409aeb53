// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/strategies.h"

#include <algorithm>
#include <type_traits>

#include "bench/cache/bench_cache.h"
#include "bench/cache/bench_index.h"
#include "mayfly/cache.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/volatile_set.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace {

template <class Index>
constexpr Strategy strategy(std::string_view name, std::string_view title, std::string_view idea,
                            std::string_view colour) {
  return {.name = name,
          .title = title,
          .idea = idea,
          .colour = colour,
          .sweeps = !std::is_same_v<Index, LazyIndex>,
          .is_default = std::is_same_v<Cache<int, int>, Cache<int, int, Index>>,
          .measure_index = measure_index<Index>,
          .measure_cache = measure_cache<Index>,
          .simulate = simulate_lateness<Index>};
}

constexpr Strategy kStrategies[] = {
    strategy<LazyIndex>("lazy", "lazy only", "no index: only reads remove", "#8a8a8a"),
    strategy<DeadlineHeap>("heap", "heap", "binary heap, stale entries left behind", "#e69f00"),
    strategy<Sampler>("sampling", "sampling", "20 at random, ten times a second", "#cc79a7"),
    strategy<WindowQueue>("windows", "windows", "deadlines rounded up to seconds", "#56b4e9"),
    strategy<TimerWheel>("wheel", "wheel", "hierarchical timer wheel", "#0072b2"),
    strategy<VolatileSet>("volatile-set", "volatile set", "buckets that split by time", "#009e73"),
    strategy<DeadlineTree>("tree", "tree", "ordered set, the reference", "#d55e00"),
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& strategy_named(std::string_view name) {
  return *std::ranges::find(kStrategies, name, &Strategy::name);
}

}  // namespace mayfly
