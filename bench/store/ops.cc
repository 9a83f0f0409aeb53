// SPDX-License-Identifier: Apache-2.0
#include "bench/store/ops.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "mayfly/random.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kPoolBytes = 64 * 1024;  // stays in a processor's second cache
constexpr unsigned kGenerations = 8;
constexpr std::uint64_t kDeadlines = 450'000;  // an hour, in steps of 8 ms

static_assert(Millis(kDeadlines * kGenerations) == std::chrono::hours(1));
static_assert((kStoreBenchHalfDue - kStoreBenchStart).count() % kGenerations == kGenerations - 1);

std::uint64_t mix(std::uint64_t number) { return Random(number).next(); }

StoreOp::Kind mixed_kind(Random& random) {
  const std::uint64_t roll = random.below(10);
  if (roll < 7) return StoreOp::Kind::get;
  return roll < 9 ? StoreOp::Kind::put : StoreOp::Kind::erase;
}

std::vector<std::uint32_t> key_numbers(const OpsRequest& request, Random& random) {
  std::vector<std::uint32_t> numbers(request.count);
  if (request.order == KeyOrder::random) {
    for (auto& number : numbers) number = static_cast<std::uint32_t>(random.below(request.keys));
    return numbers;
  }
  const std::size_t first = request.order == KeyOrder::appended ? request.keys : 0;
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
  if (request.order == KeyOrder::shuffled) {
    for (std::size_t left = numbers.size(); left > 1; --left) {
      std::swap(numbers[left - 1], numbers[random.below(left)]);
    }
  }
  return numbers;
}

}  // namespace

ValuePool::ValuePool(std::size_t value_bytes, std::uint64_t seed) : value_bytes_(value_bytes) {
  Random random(seed);
  bytes_.resize(kPoolBytes + value_bytes);
  for (char& byte : bytes_) byte = static_cast<char>(random.next());
}

std::vector<StoreOp> make_ops(const OpsRequest& request) {
  assert(request.keys > 0 && request.generation < kGenerations);
  Random random(request.seed);
  const std::vector<std::uint32_t> numbers = key_numbers(request, random);
  std::vector<StoreOp> ops;
  ops.reserve(numbers.size());
  for (const std::uint32_t number : numbers) {
    const std::uint64_t place = mix(number * std::uint64_t{kGenerations} + request.generation);
    ops.push_back({.key = bench_key(number),
                   .value = static_cast<std::uint32_t>(place % kPoolBytes),
                   .deadline = request.ttl ? bench_deadline(number, request.generation) : kNever,
                   .kind = request.mixed ? mixed_kind(random) : StoreOp::Kind::put});
  }
  return ops;
}

std::array<char, kBenchKeyBytes> bench_key(std::size_t number) {
  assert(number < 100'000'000);
  std::array<char, kBenchKeyBytes> key = {'k', 'e', 'y', ':'};
  for (std::size_t place = kBenchKeyBytes; place > 4; number /= 10) {
    key[--place] = static_cast<char>('0' + number % 10);
  }
  return key;
}

// Three rounds of a Feistel cipher over 28 bits; what comes out beyond the eight digits that a key
// has goes round again.
std::array<char, kBenchKeyBytes> token_key(std::size_t number) {
  constexpr std::uint64_t kHalf = (1 << 14) - 1;
  do {
    std::uint64_t left = number >> 14 & kHalf;
    std::uint64_t right = number & kHalf;
    for (std::uint64_t round = 1; round <= 3; ++round) {
      const std::uint64_t next = left ^ (mix(right + (round << 32)) & kHalf);
      left = std::exchange(right, next);
    }
    number = left << 14 | right;
  } while (number >= 100'000'000);
  return bench_key(number);
}

Time bench_deadline(std::size_t number, unsigned generation) {
  const std::uint64_t step = 1 + mix(~number) % (kDeadlines - 1);
  return kStoreBenchStart + Millis(step * kGenerations + generation);
}

}  // namespace mayfly::bench
