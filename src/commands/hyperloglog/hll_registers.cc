// SPDX-License-Identifier: Apache-2.0
// Packing registers, and the estimate.

#include "commands/hyperloglog/hll_registers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mayfly {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kRegistersAtOnce = 8;
constexpr std::size_t kPackedAtOnce = 6;

// The lower part of each half, quarter and eighth of a word, and the upper part where it stands
// when the registers are spread.
constexpr std::uint64_t kLowRegister = 0x003F003F003F003F;
constexpr std::uint64_t kLowPair = 0x00000FFF00000FFF;
constexpr std::uint64_t kLowFour = 0x0000000000FFFFFF;
constexpr std::uint64_t kHighRegister = kLowRegister << 8;
constexpr std::uint64_t kHighPair = kLowPair << 16;
constexpr std::uint64_t kHighFour = kLowFour << 32;

// 48 bits, six for each of eight registers, to a byte each: in three steps of halving.
std::uint64_t spread_ranks(std::uint64_t bits) {
  bits = (bits & kLowFour) | (bits << 8 & kHighFour);
  bits = (bits & kLowPair) | (bits << 4 & kHighPair);
  return (bits & kLowRegister) | (bits << 2 & kHighRegister);
}

std::uint64_t pack_ranks(std::uint64_t ranks) {
  ranks = (ranks & kLowRegister) | (ranks & kHighRegister) >> 2;
  ranks = (ranks & kLowPair) | (ranks & kHighPair) >> 4;
  return (ranks & kLowFour) | (ranks & kHighFour) >> 8;
}

// Six bytes. Two loads: one of six bytes would go through the stack.
std::uint64_t load_packed(const char* at) {
  std::uint32_t low = 0;
  std::uint16_t high = 0;
  std::memcpy(&low, at, sizeof low);
  std::memcpy(&high, at + sizeof low, sizeof high);
  return low | std::uint64_t{high} << 32;
}

// Counts registers eight at a time. Neighbours often have the same value, and counting them in the
// same place would let each wait for the one before: so there are four places.
class RankCounter {
 public:
  void add(std::uint64_t ranks) {
    if (ranks == 0) {
      parts_[0][0] += kRegistersAtOnce;
      return;
    }
    for (std::size_t i = 0; i < kRegistersAtOnce; ++i) ++parts_[i % 4][ranks >> 8 * i & 0x3F];
  }
  HllHistogram sum() const {
    HllHistogram histogram{};
    for (const HllHistogram& part : parts_) {
      for (std::size_t i = 0; i < part.size(); ++i) histogram[i] += part[i];
    }
    return histogram;
  }

 private:
  std::array<HllHistogram, 4> parts_{};
};

// The sum over k of x^(2^k) * 2^(k-1), and x.
double ertl_sigma(double x) {
  if (x == 1.0) return std::numeric_limits<double>::infinity();
  double sum = x;
  double weight = 1.0;
  double before = 0.0;
  do {
    x *= x;
    before = sum;
    sum += x * weight;
    weight += weight;
  } while (sum != before);
  return sum;
}

// A third of 1 - x - the sum over k of (1 - x^(2^-k))^2 * 2^-k.
double ertl_tau(double x) {
  if (x == 0.0 || x == 1.0) return 0.0;
  double sum = 1.0 - x;
  double weight = 1.0;
  double before = 0.0;
  do {
    x = std::sqrt(x);
    before = sum;
    weight *= 0.5;
    sum -= (1.0 - x) * (1.0 - x) * weight;
  } while (sum != before);
  return sum / 3.0;
}

}  // namespace

void HllRegisters::raise(std::size_t first, std::size_t count, unsigned rank) {
  const auto byte = static_cast<std::uint8_t>(rank);
  for (std::size_t i = first; i < first + count; ++i) ranks_[i] = std::max(ranks_[i], byte);
}

void HllRegisters::merge_dense(const char* packed) {
  std::array<std::uint8_t, kHllRegisters> other;
  for (std::size_t i = 0; i < kHllRegisters / kRegistersAtOnce; ++i) {
    const std::uint64_t ranks = spread_ranks(load_packed(packed + i * kPackedAtOnce));
    std::memcpy(other.data() + i * kRegistersAtOnce, &ranks, sizeof ranks);
  }
  for (std::size_t i = 0; i < kHllRegisters; ++i) ranks_[i] = std::max(ranks_[i], other[i]);
}

void HllRegisters::pack(char* packed) const {
  for (std::size_t i = 0; i < kHllRegisters / kRegistersAtOnce; ++i) {
    std::uint64_t ranks = 0;
    std::memcpy(&ranks, ranks_.data() + i * kRegistersAtOnce, sizeof ranks);
    const std::uint64_t bits = pack_ranks(ranks);
    std::memcpy(packed + i * kPackedAtOnce, &bits, kPackedAtOnce);
  }
}

HllHistogram HllRegisters::histogram() const {
  RankCounter counter;
  for (std::size_t i = 0; i < kHllRegisters; i += kRegistersAtOnce) {
    std::uint64_t ranks = 0;
    std::memcpy(&ranks, ranks_.data() + i, sizeof ranks);
    counter.add(ranks);
  }
  return counter.sum();
}

HllHistogram histogram_of_dense(const char* packed) {
  RankCounter counter;
  for (std::size_t i = 0; i < kHllPackedBytes; i += kPackedAtOnce) {
    counter.add(spread_ranks(load_packed(packed + i)));
  }
  return counter.sum();
}

std::uint64_t estimate_distinct(const HllHistogram& histogram) {
  constexpr double kAlpha = 0.721347520444481703680;  // 1 / (2 ln 2)
  constexpr auto kCount = static_cast<double>(kHllRegisters);
  double sum = kCount * ertl_tau((kCount - histogram[kHllRankMax]) / kCount);
  for (unsigned rank = kHllRankMax - 1; rank > 0; --rank) {
    sum = (sum + histogram[rank]) * 0.5;
  }
  sum += kCount * ertl_sigma(histogram[0] / kCount);
  const double estimate = kAlpha * kCount * kCount / sum;
  if (!(estimate < 0x1p63)) return std::uint64_t{1} << 63;
  return static_cast<std::uint64_t>(std::llround(estimate));
}

}  // namespace mayfly
