// SPDX-License-Identifier: Apache-2.0
// What the heap does with the entries that changes leave behind.

#include "mayfly/deadline_heap.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace deadline_heap_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(DeadlineHeapTest, LeavesAStaleEntryBehindAndIgnoresItWhenItSurfaces) {
  DeadlineHeap heap;
  heap.schedule(0, at(1));
  heap.schedule(1, at(10));
  heap.schedule(1, at(30));
  EXPECT_EQ(heap.heap_size(), 3u);

  std::vector<Due> due;
  EXPECT_EQ(heap.take_due(at(20), 10, due), 1u);
  EXPECT_EQ(due[0].slot, 0u);
  EXPECT_EQ(heap.next_deadline(), at(30));
}

TEST(DeadlineHeapTest, AMoveThereAndBackLeavesOneLiveEntry) {
  DeadlineHeap heap;
  heap.schedule(7, at(10));
  heap.schedule(1, at(5));
  heap.schedule(7, at(20));
  heap.schedule(7, at(10));
  EXPECT_EQ(heap.count_due(at(15)), 2u);

  std::vector<Due> due;
  EXPECT_EQ(heap.take_due(at(100), 10, due), 2u);
}

TEST(DeadlineHeapTest, IsCompactedWhenStaleEntriesOutnumberLiveOnes) {
  DeadlineHeap heap;
  for (Slot slot = 0; slot < 1'000; ++slot) heap.schedule(slot, at(1'000 + slot));
  for (Slot round = 0; round < 20; ++round) {
    for (Slot slot = 0; slot < 1'000; ++slot) heap.schedule(slot, at(9'000 + round + slot));
    EXPECT_LE(heap.heap_size(), 2'000u);
  }
  for (Slot slot = 0; slot < 990; ++slot) heap.cancel(slot);
  EXPECT_LE(heap.heap_size(), 64u);
  EXPECT_EQ(heap.check_invariants(), "");
}

}  // namespace deadline_heap_test
}  // namespace mayfly
