// SPDX-License-Identifier: Apache-2.0
#include "commands/hyperloglog/hll.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "commands/hyperloglog/hll_sparse.h"

namespace mayfly {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "HYLL";
constexpr std::size_t kFormAt = 4;
constexpr std::size_t kEstimateAt = 8;
constexpr std::size_t kOutdatedAt = 15;
constexpr char kDenseForm = 0;
constexpr char kSparseForm = 1;
constexpr int kOutdatedBit = 0x80;

void mark_outdated(char* bytes) {
  bytes[kOutdatedAt] = static_cast<char>(bytes[kOutdatedAt] | kOutdatedBit);
}

std::string_view runs_of(std::string_view bytes) { return bytes.substr(kHllHeaderBytes); }

// By A. Appleby, in the public domain; with the seed of Redis.
std::uint64_t murmur_hash(std::string_view text) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  constexpr std::uint64_t kSeed = 0xadc83b19;
  constexpr int kShift = 47;
  std::uint64_t hash = kSeed ^ text.size() * kFactor;
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    word *= kFactor;
    word ^= word >> kShift;
    hash = (hash ^ word * kFactor) * kFactor;
    text.remove_prefix(sizeof word);
  }
  if (!text.empty()) {
    std::uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    hash = (hash ^ rest) * kFactor;
  }
  hash ^= hash >> kShift;
  hash *= kFactor;
  return hash ^ hash >> kShift;
}

// ---- Single registers of a dense value ----

// Four registers are in three bytes. They are read with the byte before them, which is there: the
// header comes first.
constexpr std::size_t kGroupRegisters = 4;
constexpr std::size_t kGroupBytes = 3;

std::size_t group_offset(std::size_t index) {
  return kHllHeaderBytes + index / kGroupRegisters * kGroupBytes - 1;
}
unsigned group_shift(std::size_t index) {
  return static_cast<unsigned>(8 + index % kGroupRegisters * 6);
}

std::uint32_t load_group(const char* bytes, std::size_t index) {
  std::uint32_t group = 0;
  std::memcpy(&group, bytes + group_offset(index), sizeof group);
  return group;
}

HllChange raise_dense(HllString& hll, HllElement element) {
  const unsigned shift = group_shift(element.index);
  std::uint32_t group = load_group(hll.bytes().data(), element.index);
  if ((group >> shift & 0x3F) >= element.rank) return HllChange::none;
  group = (group & ~(0x3Fu << shift)) | element.rank << shift;
  char* const bytes = hll.resize(kHllDenseBytes);
  std::memcpy(bytes + group_offset(element.index), &group, sizeof group);
  mark_outdated(bytes);
  return HllChange::raised;
}

// ---- Registers of a sparse value ----

HllChange raise_as_dense(HllString& hll, HllElement element) {
  return make_dense(hll) ? raise_dense(hll, element) : HllChange::damaged;
}

HllChange raise_sparse(HllString& hll, HllElement element, std::size_t sparse_bytes_max) {
  if (element.rank > kSparseRankMax) return raise_as_dense(hll, element);
  const std::string_view runs = runs_of(hll.bytes());
  const std::optional<SparsePlace> place = find_sparse(runs, element.index);
  if (!place) return HllChange::damaged;
  if (place->run.rank >= element.rank) return HllChange::none;

  const SparseSplit split = split_sparse(*place, element.index, element.rank);
  const std::size_t end = place->at + place->run.bytes;
  const std::size_t after = runs.size() - end;
  const std::size_t size = place->at + split.size + after;
  if (size > runs.size() && kHllHeaderBytes + size > sparse_bytes_max) {
    return raise_as_dense(hll, element);
  }
  char* const data = hll.resize(kHllHeaderBytes + std::max(size, runs.size())) + kHllHeaderBytes;
  std::memmove(data + place->at + split.size, data + end, after);
  std::memcpy(data + place->at, split.bytes.data(), split.size);
  mark_outdated(hll.resize(kHllHeaderBytes + join_sparse(data, size, place->before)));
  return HllChange::raised;
}

}  // namespace

// ---- Reading ----

bool is_hll(std::string_view bytes) {
  if (bytes.size() < kHllHeaderBytes || !bytes.starts_with(kMagic)) return false;
  if (bytes[kFormAt] == kDenseForm) return bytes.size() == kHllDenseBytes;
  return bytes[kFormAt] == kSparseForm;
}

bool is_dense_hll(std::string_view bytes) { return bytes[kFormAt] == kDenseForm; }

std::optional<std::uint64_t> cached_estimate(std::string_view bytes) {
  if ((bytes[kOutdatedAt] & kOutdatedBit) != 0) return std::nullopt;
  std::uint64_t estimate = 0;
  std::memcpy(&estimate, bytes.data() + kEstimateAt, sizeof estimate);
  return estimate;
}

std::optional<std::uint64_t> estimate_hll(std::string_view bytes) {
  if (is_dense_hll(bytes)) {
    return estimate_distinct(histogram_of_dense(bytes.data() + kHllHeaderBytes));
  }
  HllHistogram histogram{};
  const bool is_valid = each_sparse_run(runs_of(bytes), [&](std::size_t, const SparseRun& run) {
    histogram[run.rank] += static_cast<std::uint32_t>(run.registers);
  });
  if (!is_valid) return std::nullopt;
  return estimate_distinct(histogram);
}

bool merge_hll(HllRegisters& registers, std::string_view bytes) {
  if (is_dense_hll(bytes)) {
    registers.merge_dense(bytes.data() + kHllHeaderBytes);
    return true;
  }
  return each_sparse_run(runs_of(bytes), [&](std::size_t first, const SparseRun& run) {
    if (run.rank > 0) registers.raise(first, run.registers, run.rank);
  });
}

std::string check_hll(std::string_view bytes) {
  if (!is_hll(bytes)) return "no header, or a wrong length";
  HllRegisters registers;
  if (!merge_hll(registers, bytes)) return "the runs do not have 16384 registers";
  for (std::size_t i = 0; i < kHllRegisters; ++i) {
    if (registers[i] > kHllRankMax) return "a rank that no element has";
  }
  const std::optional<std::uint64_t> cached = cached_estimate(bytes);
  if (cached && cached != estimate_hll(bytes)) return "the cached estimate is wrong";
  return {};
}

// ---- Writing ----

std::string empty_hll() {
  std::string bytes(kMagic);
  bytes.resize(kHllHeaderBytes);
  bytes[kFormAt] = kSparseForm;
  SparseSplit zeros;
  zeros.add_zeros(kHllRegisters);
  return bytes.append(zeros.bytes.data(), zeros.size);
}

void cache_estimate(HllString& hll, std::uint64_t estimate) {
  char* const bytes = hll.resize(hll.bytes().size());
  std::memcpy(bytes + kEstimateAt, &estimate, sizeof estimate);
}

void invalidate_estimate(HllString& hll) { mark_outdated(hll.resize(hll.bytes().size())); }

HllElement hll_element(std::string_view element) {
  const std::uint64_t hash = murmur_hash(element);
  // The rank is the position of the lowest bit that is set, among those that are not the index.
  const std::uint64_t rest = hash >> kHllIndexBits | std::uint64_t{1} << (kHllRankMax - 1);
  return {hash & (kHllRegisters - 1), static_cast<unsigned>(std::countr_zero(rest)) + 1};
}

HllChange raise_hll(HllString& hll, HllElement element, std::size_t sparse_bytes_max) {
  if (is_dense_hll(hll.bytes())) return raise_dense(hll, element);
  return raise_sparse(hll, element, sparse_bytes_max);
}

bool make_dense(HllString& hll) {
  const std::string_view before = hll.bytes();
  if (is_dense_hll(before)) return true;
  HllRegisters registers;
  if (!merge_hll(registers, before)) return false;
  std::string dense(before.substr(0, kHllHeaderBytes));
  dense[kFormAt] = kDenseForm;
  dense.resize(kHllDenseBytes);
  registers.pack(dense.data() + kHllHeaderBytes);
  hll.assign(dense);
  return true;
}

void store_registers(HllString& hll, const HllRegisters& registers) {
  assert(is_dense_hll(hll.bytes()));
  registers.pack(hll.resize(kHllDenseBytes) + kHllHeaderBytes);
}

}  // namespace mayfly
