// SPDX-License-Identifier: Apache-2.0
// Does the counter see every allocation, with what the allocator adds, and every release?

#include "bench/report/allocation_counter.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace mayfly {
namespace {

TEST(AllocationCounter, CountsABlockWithItsHeaderAndGivesItBack) {
  const std::int64_t before = allocated_bytes();
  auto block = std::make_unique<std::vector<char>>(1000);
  const std::int64_t with_block = allocated_bytes();
  block.reset();

  EXPECT_GE(with_block - before, 1000 + 8 + static_cast<std::int64_t>(sizeof(std::vector<char>)));
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, CountsEachNodeOfAContainer) {
  const std::int64_t before = allocated_bytes();
  std::map<int, int> numbers;
  for (int i = 0; i < 1000; ++i) numbers[i] = i;
  const std::int64_t bytes = allocated_bytes() - before;

  EXPECT_GE(bytes, 1000 * 48);  // a node has 40 bytes, and glibc gives 48 for it
  numbers.clear();
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, CountsBlocksWithAnAlignmentOfTheirOwn) {
  struct alignas(128) Wide {
    char bytes[128];
  };
  const std::int64_t before = allocated_bytes();
  auto wide = std::make_unique<Wide[]>(10);
  EXPECT_GE(allocated_bytes() - before, 1280);
  wide.reset();
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, LeavesOutWhatOtherThreadsAllocate) {
  std::vector<char> theirs;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::thread thread([&] { theirs.resize(1 << 20); });
  before = allocated_bytes();
  thread.join();
  after = allocated_bytes();
  EXPECT_LT(after - before, 1 << 20);
}

}  // namespace
}  // namespace mayfly
