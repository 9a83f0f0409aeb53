// SPDX-License-Identifier: Apache-2.0
#include "commands/hyperloglog/hll_sparse.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace mayfly {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kNarrowZerosMost = 64;
constexpr std::size_t kRankedMost = 4;
constexpr std::uint64_t kEachByte = 0x0101010101010101;
constexpr std::uint64_t kEvenBytes = 0x00FF00FF00FF00FF;

unsigned byte_of(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

char ranked_byte(unsigned rank, std::size_t registers) {
  return static_cast<char>(0x80u | (rank - 1) << 2 | static_cast<unsigned>(registers - 1));
}

struct SparseLength {
  std::size_t registers;
  std::size_t bytes;
};

SparseLength sparse_length(std::string_view runs, std::size_t at) {
  const unsigned byte = static_cast<unsigned char>(runs[at]);
  if ((byte & 0x80) != 0) return {(byte & 3) + 1, 1};
  if ((byte & 0x40) == 0) return {byte + 1, 1};
  const std::size_t registers = ((byte & 0x3F) << 8 | byte_of(runs, at + 1)) + 1;
  return {registers, at + 1 < runs.size() ? 2u : 1u};
}

// ---- Eight bytes at a time ----

constexpr std::size_t kBlockBytes = sizeof(std::uint64_t);
constexpr std::size_t kBlocksFrom = 192;  // fewer bytes are read faster run by run

// The sum of the bytes of `a` and of `b`.
std::size_t sum_bytes(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sums =
      (a & kEvenBytes) + (a >> 8 & kEvenBytes) + (b & kEvenBytes) + (b >> 8 & kEvenBytes);
  return static_cast<std::size_t>(sums * 0x0001000100010001 >> 48);
}

// Which bytes are the second ones of wide runs, as a mask. Bit i of `look` says that byte i looks
// like the first byte of one; it is none if it is a second byte itself.
constexpr std::uint64_t second_bytes(bool begins_with_second, unsigned look) {
  std::uint64_t mask = 0;
  bool is_second = begins_with_second;
  for (unsigned i = 0; i < kBlockBytes; ++i) {
    if (is_second) mask |= std::uint64_t{0xFF} << 8 * i;
    is_second = !is_second && (look >> i & 1) != 0;
  }
  return mask;
}

constexpr auto kSecondBytes = [] {
  std::array<std::array<std::uint64_t, 256>, 2> masks{};
  for (unsigned look = 0; look < 256; ++look) {
    masks[0][look] = second_bytes(false, look);
    masks[1][look] = second_bytes(true, look);
  }
  return masks;
}();

struct SparseBlock {
  std::size_t registers = 0;
  bool is_cut = false;  // the second byte of the last run is in the next block; so are its low bits
};

SparseBlock read_block(const char* at, bool begins_with_second) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t ranked = word >> 7 & kEachByte;
  const std::uint64_t looks_wide = word >> 6 & ~ranked & kEachByte;
  const std::uint64_t narrow = (word & ~(ranked * 0x3C) & kEachByte * 0x3F) + kEachByte;
  if (looks_wide == 0 && !begins_with_second) return {sum_bytes(narrow, 0)};

  const std::uint64_t look = looks_wide * 0x0102040810204080 >> 56;  // a bit of each byte
  const std::uint64_t second = kSecondBytes[begins_with_second ? 1 : 0][look];
  const std::uint64_t wide = looks_wide * 0xFF & ~second;
  const std::size_t low =
      sum_bytes((narrow & ~wide & ~second) | (word & second), kEachByte & second);
  const std::size_t high = sum_bytes(word & wide & kEachByte * 0x3F, 0);
  return {low + (high << 8), wide >> 63 != 0};
}

// A run that is before that of register `index`, not far from it; or the first one.
SparsePlace near_sparse(std::string_view runs, std::size_t index) {
  // Where a block begins. The run that it begins with may be cut.
  struct Begin {
    std::size_t at = 0;
    std::size_t first = 0;
    bool is_cut = false;
  };
  Begin begin;
  Begin before;
  while (begin.at + kBlockBytes <= runs.size()) {
    const SparseBlock block = read_block(runs.data() + begin.at, begin.is_cut);
    if (index < begin.first + block.registers) break;
    before = begin;
    begin = {begin.at + kBlockBytes, begin.first + block.registers, block.is_cut};
  }
  SparsePlace place;
  place.at = before.at;
  place.first = before.first;
  if (before.is_cut) {  // back to where the run begins
    --place.at;
    place.first -= (byte_of(runs, place.at) & 0x3F) << 8;
  }
  return place;
}

}  // namespace

SparseRun sparse_run(std::string_view runs, std::size_t at) {
  const unsigned byte = byte_of(runs, at);
  const SparseLength length = sparse_length(runs, at);
  const bool is_ranked = (byte & 0x80) != 0;
  return {.rank = is_ranked ? (byte >> 2 & 0x1F) + 1 : 0,
          .registers = length.registers,
          .bytes = length.bytes,
          .is_wide = (byte & 0xC0) == 0x40};
}

std::optional<SparsePlace> find_sparse(std::string_view runs, std::size_t index) {
  SparsePlace place;
  if (runs.size() >= kBlocksFrom) place = near_sparse(runs, index);
  while (place.at < runs.size()) {
    const SparseLength length = sparse_length(runs, place.at);
    if (index < place.first + length.registers) {
      place.run = sparse_run(runs, place.at);
      return place;
    }
    place.before = place.at;
    place.first += length.registers;
    place.at += length.bytes;
  }
  return std::nullopt;
}

void SparseSplit::add_zeros(std::size_t registers) {
  if (registers == 0) return;
  const std::size_t count = registers - 1;
  if (registers > kNarrowZerosMost) {
    bytes[size++] = static_cast<char>(0x40 | count >> 8);
  }
  bytes[size++] = static_cast<char>(count & 0xFF);
}

void SparseSplit::add_ranked(unsigned rank, std::size_t registers) {
  if (registers > 0) bytes[size++] = ranked_byte(rank, registers);
}

SparseSplit split_sparse(const SparsePlace& place, std::size_t index, unsigned rank) {
  assert(rank >= 1 && rank <= kSparseRankMax);
  const std::size_t left = index - place.first;
  const std::size_t right = place.run.registers - left - 1;
  SparseSplit split;
  const auto add_rest = [&](std::size_t registers) {
    if (place.run.rank == 0) return split.add_zeros(registers);
    split.add_ranked(place.run.rank, registers);
  };
  add_rest(left);
  split.add_ranked(rank, 1);
  add_rest(right);
  return split;
}

std::size_t join_sparse(char* runs, std::size_t size, std::size_t at) {
  constexpr int kSteps = 5;  // a join is a step, too
  for (int step = 0; step < kSteps && at < size; ++step) {
    const SparseRun run = sparse_run({runs, size}, at);
    const SparseRun next = at + 1 < size ? sparse_run({runs, size}, at + 1) : SparseRun{};
    const std::size_t registers = run.registers + next.registers;
    if (run.rank == 0 || next.rank != run.rank || registers > kRankedMost) {
      at += run.bytes;
      continue;
    }
    runs[at] = ranked_byte(run.rank, registers);
    std::memmove(runs + at + 1, runs + at + 2, size - at - 2);
    --size;
  }
  return size;
}

}  // namespace mayfly
