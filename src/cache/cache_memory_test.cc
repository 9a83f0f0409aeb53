// SPDX-License-Identifier: Apache-2.0
// What an entry costs: all that a cache allocates is counted, byte by byte.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "mayfly/cache.h"

namespace {

std::size_t allocated_bytes = 0;

// The size stands in front of what is handed out, so that it is known when that comes back.
constexpr std::size_t kHeader = 16;

}  // namespace

void* operator new(std::size_t size) {
  auto* const memory = static_cast<std::size_t*>(std::malloc(size + kHeader));
  if (memory == nullptr) throw std::bad_alloc();
  *memory = size;
  allocated_bytes += size;
  return reinterpret_cast<char*>(memory) + kHeader;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* const start = reinterpret_cast<std::size_t*>(static_cast<char*>(memory) - kHeader);
  allocated_bytes -= *start;
  std::free(start);
}

void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kEntries = 200'000;

class CacheMemoryTest : public testing::Test {
 protected:
  using Numbers = Cache<std::uint64_t, std::uint64_t>;

  // Bytes of an entry beyond its key, its value and its part of the hash table.
  double bookkeeping(const Numbers& cache) const {
    const std::size_t plain = kEntries * 2 * sizeof(std::uint64_t) + cache.hash_bytes();
    return static_cast<double>(allocated_bytes - before_ - plain) / kEntries;
  }

  template <class Ttl>
  void fill(Numbers& cache, Ttl ttl) {
    for (std::uint64_t key = 0; key < kEntries; ++key) cache.put(key, key, ttl());
  }

  const std::size_t before_ = allocated_bytes;
  ManualClock clock_{Time(Millis(1'800'000'000'000))};
  Random random_{1};
};

TEST_F(CacheMemoryTest, AnEvenSpreadOfTtlsCostsAtMostSixteenBytesAnEntry) {
  Numbers cache(clock_);
  fill(cache, [&] { return Millis(1 + random_.below(3'600'000)); });
  EXPECT_LE(bookkeeping(cache), 16.0);
}

TEST_F(CacheMemoryTest, OneTtlForAllCostsAtMostSixteenBytesAnEntry) {
  Numbers cache(clock_);
  fill(cache, [&] { return Millis(60'000); });
  EXPECT_LE(bookkeeping(cache), 16.0);
}

TEST_F(CacheMemoryTest, ALongTailOfTtlsCostsAtMostSixteenBytesAnEntry) {
  Numbers cache(clock_);
  fill(cache, [&] {
    const double fraction = random_.fraction();
    return to_millis(std::chrono::duration<double>(1 / (fraction * fraction * fraction + 1e-9)));
  });
  EXPECT_LE(bookkeeping(cache), 16.0);
}

TEST_F(CacheMemoryTest, AnEntryWithoutATtlPaysForItsEmptyDeadlineOnly) {
  Numbers cache(clock_);
  fill(cache, [] { return Expiry::never(); });
  EXPECT_LE(bookkeeping(cache), 8.5);
}

TEST_F(CacheMemoryTest, MemoryComesBackAfterAMassExpiry) {
  Numbers cache(clock_);
  const std::size_t empty = allocated_bytes;
  fill(cache, [&] { return Millis(1 + random_.below(3'600'000)); });
  const std::size_t full = allocated_bytes;
  clock_.advance(1h);
  EXPECT_EQ(cache.purge(), kEntries);
  EXPECT_LE(allocated_bytes - empty, (full - empty) / 50);
}

}  // namespace
}  // namespace mayfly
