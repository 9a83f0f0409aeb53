// SPDX-License-Identifier: Apache-2.0
// The simulation of lateness; strategies.h describes it.

#include <algorithm>
#include <cassert>

#include "bench/cache/strategies.h"
#include "bench/report/statistics.h"
#include "mayfly/expiry_index.h"
#include "mayfly/random.h"

namespace mayfly::bench {
namespace {

template <ExpiryIndex Index>
class Simulation {
 public:
  explicit Simulation(const Traffic& traffic)
      : traffic_(traffic), in_order_(traffic.deadlines), random_(traffic.seed) {
    std::sort(in_order_.begin(), in_order_.end());
    is_present_.resize(traffic.deadlines.size());
    while (put_ < traffic.keys) put_one();
  }

  Lateness run() {
    for (Millis passed{1}; passed <= traffic_.length; passed += Millis(1)) {
      now_ = kBenchStart + passed;
      sweep();
      read_one();
      if (passed % kShareStep == Millis::zero()) record_share();
      put_one();
    }
    return conclude();
  }

 private:
  void put_one() {
    index_.schedule(static_cast<Slot>(put_), traffic_.deadlines[put_]);
    is_present_[put_] = true;
    ++put_;
  }

  void sweep() {
    while (is_due(index_.next_deadline(), now_)) {
      taken_.clear();
      index_.take_due(now_, kSweepLimit, taken_);
      for (const Due& due : taken_) record_removal(due.slot);
    }
  }

  void read_one() {
    const auto slot = static_cast<Slot>(random_.below(put_));
    if (!is_present_[slot] || !is_due(traffic_.deadlines[slot], now_)) return;
    index_.cancel(slot);
    record_removal(slot);
  }

  void record_removal(Slot slot) {
    assert(is_due(traffic_.deadlines[slot], now_));
    is_present_[slot] = false;
    lateness_.push_back(now_ - traffic_.deadlines[slot]);
  }

  // Counted apart from the index, which may be wrong: what has become due, less what was removed.
  void record_share() {
    while (due_ < in_order_.size() && is_due(in_order_[due_], now_)) ++due_;
    const std::size_t late = due_ - lateness_.size();
    const std::size_t present = put_ - lateness_.size();
    result_.share.push_back(
        present == 0 ? 0 : static_cast<double>(late) / static_cast<double>(present));
  }

  Lateness conclude() {
    for (std::size_t slot = 0; slot < put_; ++slot) {
      if (!is_present_[slot] || !is_due(traffic_.deadlines[slot], now_)) continue;
      lateness_.push_back(now_ - traffic_.deadlines[slot]);
      ++result_.left;
    }
    result_.expired = lateness_.size();
    if (lateness_.empty()) return result_;
    result_.p50 = percentile(lateness_, 50);
    result_.p99 = percentile(lateness_, 99);
    result_.max = percentile(lateness_, 100);
    return result_;
  }

  const Traffic& traffic_;
  std::vector<Time> in_order_;  // the deadlines, sorted
  Random random_;
  Index index_;
  Time now_ = kBenchStart;
  std::size_t put_ = 0;  // slots from here on are still to come
  std::size_t due_ = 0;  // how many of in_order_ are due
  std::vector<bool> is_present_;
  std::vector<Due> taken_;
  std::vector<Millis> lateness_;  // of all that were removed
  Lateness result_;
};

// The common deadline of what is put at `now`. There are three within the run, and none on a whole
// second, where windows would look better than they are.
Time common_deadline(Time now, Millis length) {
  const Millis apart = length * 3 / 10 + Millis(350);
  return kBenchStart + ((now - kBenchStart) / apart + 1) * apart;
}

}  // namespace

Traffic make_traffic(std::size_t keys, Millis length, Distribution distribution,
                     std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = keys + static_cast<std::size_t>(length.count());
  Traffic traffic{.keys = keys, .length = length, .seed = seed, .deadlines = {}};
  traffic.deadlines.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Time now = kBenchStart + Millis(i < keys ? 0 : i - keys + 1);
    switch (distribution) {
      case Distribution::uniform:
        traffic.deadlines.push_back(now + uniform_ttl(random, length * 2 / 3));
        break;
      case Distribution::same_deadline:
        traffic.deadlines.push_back(common_deadline(now, length));
        break;
      case Distribution::long_tailed:
        traffic.deadlines.push_back(now + long_tailed_ttl(random, length / 200));
        break;
    }
  }
  return traffic;
}

template <class Index>
Lateness simulate_lateness(const Traffic& traffic) {
  return Simulation<Index>(traffic).run();
}

template Lateness simulate_lateness<LazyIndex>(const Traffic&);
template Lateness simulate_lateness<DeadlineHeap>(const Traffic&);
template Lateness simulate_lateness<Sampler>(const Traffic&);
template Lateness simulate_lateness<WindowQueue>(const Traffic&);
template Lateness simulate_lateness<TimerWheel>(const Traffic&);
template Lateness simulate_lateness<VolatileSet>(const Traffic&);
template Lateness simulate_lateness<DeadlineTree>(const Traffic&);

}  // namespace mayfly::bench
