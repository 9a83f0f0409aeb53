// SPDX-License-Identifier: Apache-2.0
// What does an expiry index cost by itself, apart from the map that it serves?

#include <algorithm>
#include <vector>

#include "bench/cache/costs.h"
#include "bench/cache/strategies.h"
#include "mayfly/expiry_index.h"

namespace mayfly::bench {
namespace {

// How long an index is polled with nothing due, once a virtual millisecond.
constexpr Millis kIdleTime = std::chrono::seconds(10);

// A wheel files entries by their distance from the time that it knows.
template <ExpiryIndex Index>
void set_time(Index& index, const Workload& workload, std::vector<Due>& out) {
  index.take_due(workload.start - kIdleTime, kSweepLimit, out);
}

template <ExpiryIndex Index>
void insert_all(Index& index, const Workload& workload) {
  for (std::size_t i = 0; i < workload.size(); ++i) {
    index.schedule(static_cast<Slot>(i), workload.first[i]);
  }
}

// The same in random order, so that what expires together does not lie together in memory.
template <ExpiryIndex Index>
void insert_scattered(Index& index, const Workload& workload) {
  for (const Slot slot : workload.order) index.schedule(slot, workload.first[slot]);
}

template <ExpiryIndex Index>
double change_some(Index& index, const Workload& workload) {
  return nanoseconds_for_each(workload.some(),
                              [&](Slot slot) { index.schedule(slot, workload.second[slot]); });
}

template <ExpiryIndex Index>
double cancel_some(Index& index, const Workload& workload) {
  return nanoseconds_for_each(workload.some(), [&](Slot slot) { index.cancel(slot); });
}

// As many cycles as there are entries, so that what an index puts off (the heap its compaction) is
// paid within the measurement.
template <ExpiryIndex Index>
double cycle_one_more(Index& index, const Workload& workload) {
  const auto extra = static_cast<Slot>(workload.size());
  std::size_t next = 0;  // deadlines are read in a row, so that reading them costs nothing
  return nanoseconds_for_each(workload.order, [&](Slot) {
    const std::size_t i = next++;
    index.schedule(extra, workload.first[i]);
    index.schedule(extra, workload.second[i]);
    index.cancel(extra);
  });
}

// The ten seconds before the start of the workload, in which nothing is due.
template <ExpiryIndex Index>
double poll_while_idle(Index& index, const Workload& workload, std::vector<Due>& out) {
  return nanoseconds_each(static_cast<std::size_t>(kIdleTime.count()), [&] {
    for (Time now = workload.start - kIdleTime; now < workload.start; now += Millis(1)) {
      if (is_due(index.next_deadline(), now)) index.take_due(now, kSweepLimit, out);
    }
  });
}

// Takes everything at a moment when all of it is due. Returns how many there were: none if the
// index leaves all to the readers.
template <ExpiryIndex Index>
std::size_t expire_all(Index& index, Time now, std::vector<Due>& out) {
  std::size_t taken = 0;
  while (is_due(index.next_deadline(), now)) {
    out.clear();
    taken += index.take_due(now, kSweepLimit, out);
  }
  return taken;
}

}  // namespace

template <class Index>
Metrics measure_index(const Workload& workload) {
  const std::size_t size = workload.size();
  std::vector<Due> out;
  out.reserve(kSweepLimit);
  Metrics metrics;
  metrics.reserve(8);  // nothing else is allocated while memory is measured

  const std::int64_t before = allocated_bytes();
  Index index;
  set_time(index, workload, out);
  metrics.emplace_back("insert_ns", nanoseconds_each(size, [&] { insert_all(index, workload); }));
  const std::int64_t bytes = allocated_bytes() - before;
  metrics.emplace_back("bytes", static_cast<double>(bytes) / static_cast<double>(size));

  metrics.emplace_back("idle_ns", poll_while_idle(index, workload, out));
  metrics.emplace_back("cycle_ns", cycle_one_more(index, workload));
  metrics.emplace_back("change_ns", change_some(index, workload));
  metrics.emplace_back("cancel_ns", cancel_some(index, workload));

  index.clear();
  set_time(index, workload, out);
  insert_scattered(index, workload);
  // Slack has to pass before an index must take everything; one without a bound needs no grace,
  // since all that it could try is due.
  const Millis grace = index.slack() == kNoBound ? Millis::zero() : index.slack();
  std::size_t taken = 0;
  const double all_ns =
      nanoseconds_each(1, [&] { taken = expire_all(index, workload.end + grace, out); });
  if (taken > 0) {
    metrics.emplace_back("expire_per_second", 1e9 * static_cast<double>(taken) / all_ns);
  }
  return metrics;
}

template Metrics measure_index<LazyIndex>(const Workload&);
template Metrics measure_index<DeadlineHeap>(const Workload&);
template Metrics measure_index<Sampler>(const Workload&);
template Metrics measure_index<WindowQueue>(const Workload&);
template Metrics measure_index<TimerWheel>(const Workload&);
template Metrics measure_index<VolatileSet>(const Workload&);
template Metrics measure_index<DeadlineTree>(const Workload&);

}  // namespace mayfly::bench
