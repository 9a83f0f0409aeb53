// SPDX-License-Identifier: Apache-2.0
#include "commands/bit/bit_combine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>

#include "commands/bit/bit_words.h"

namespace mayfly {
namespace {

// The strings are combined in parts that are small enough to stay in the processor's cache.
constexpr std::size_t kPartWords = 512;
constexpr std::size_t kWordSize = sizeof(std::uint64_t);
using PartWords = std::array<std::uint64_t, kPartWords>;

// A part of the sources: `words` words from byte `at` on.
struct BitopPart {
  std::span<const std::string_view> sources;
  std::size_t at;
  std::size_t words;
};

// The words of one source in a part. Beyond its end they are zero.
class PartOfSource {
 public:
  PartOfSource(const BitopPart& part, std::size_t number) {
    const std::string_view source = part.sources[number];
    const std::size_t size = part.words * kWordSize;
    const std::string_view there = source.substr(std::min(part.at, source.size()), size);
    bytes_ = there.data();
    if (there.size() == size) return;
    std::fill_n(copied_.begin(), part.words, 0);
    if (!there.empty()) std::memcpy(copied_.data(), bytes_, there.size());
    bytes_ = reinterpret_cast<const char*>(copied_.data());
  }
  std::uint64_t operator[](std::size_t i) const { return load_bits(bytes_ + i * kWordSize); }

 private:
  const char* bytes_;
  PartWords copied_;
};

void put_word(char* result, std::size_t i, std::uint64_t word) {
  std::memcpy(result + i * kWordSize, &word, kWordSize);
}

// Sources from number `from` on, combined one after the other. The first two are read together: a
// pass over the memory less.
template <class Combine>
void fold_sources(const BitopPart& part, std::size_t from, char* result, Combine combine) {
  const PartOfSource first(part, from);
  if (from + 1 == part.sources.size()) {
    for (std::size_t i = 0; i < part.words; ++i) put_word(result, i, first[i]);
    return;
  }
  const PartOfSource second(part, from + 1);
  for (std::size_t i = 0; i < part.words; ++i) put_word(result, i, combine(first[i], second[i]));
  for (std::size_t number = from + 2; number < part.sources.size(); ++number) {
    const PartOfSource next(part, number);
    for (std::size_t i = 0; i < part.words; ++i) {
      put_word(result, i, combine(load_bits(result + i * kWordSize), next[i]));
    }
  }
}

// combine(first, those that are in one of the others).
template <class Combine>
void compare_with_others(const BitopPart& part, char* result, Combine combine) {
  fold_sources(part, 1, result, std::bit_or());
  const PartOfSource first(part, 0);
  for (std::size_t i = 0; i < part.words; ++i) {
    put_word(result, i, combine(first[i], load_bits(result + i * kWordSize)));
  }
}

void invert_source(const BitopPart& part, char* result) {
  const PartOfSource source(part, 0);
  for (std::size_t i = 0; i < part.words; ++i) put_word(result, i, ~source[i]);
}

// Bits that are in exactly one.
void find_single(const BitopPart& part, char* result) {
  PartWords any;
  PartWords repeated;
  std::fill_n(any.begin(), part.words, 0);
  std::fill_n(repeated.begin(), part.words, 0);
  for (std::size_t number = 0; number < part.sources.size(); ++number) {
    const PartOfSource source(part, number);
    for (std::size_t i = 0; i < part.words; ++i) {
      repeated[i] |= any[i] & source[i];
      any[i] |= source[i];
    }
  }
  for (std::size_t i = 0; i < part.words; ++i) put_word(result, i, any[i] & ~repeated[i]);
}

// Writes `words` words.
void combine_part(BitOp op, const BitopPart& part, char* result) {
  switch (op) {
    case BitOp::bit_and:
      return fold_sources(part, 0, result, std::bit_and());
    case BitOp::bit_or:
      return fold_sources(part, 0, result, std::bit_or());
    case BitOp::bit_xor:
      return fold_sources(part, 0, result, std::bit_xor());
    case BitOp::bit_not:
      return invert_source(part, result);
    case BitOp::diff:
      return compare_with_others(part, result, [](auto a, auto b) { return a & ~b; });
    case BitOp::diff1:
      return compare_with_others(part, result, [](auto a, auto b) { return b & ~a; });
    case BitOp::andor:
      return compare_with_others(part, result, std::bit_and());
    case BitOp::one:
      return find_single(part, result);
  }
}

}  // namespace

void combine_bits(BitOp op, std::span<const std::string_view> sources, char* result,
                  std::size_t size, bool in_place) {
  for (std::size_t at = 0; at < size; at += kPartWords * kWordSize) {
    const std::size_t bytes = std::min(kPartWords * kWordSize, size - at);
    const BitopPart part{sources, at, (bytes + kWordSize - 1) / kWordSize};
    if (!in_place && bytes % kWordSize == 0) {
      combine_part(op, part, result + at);
      continue;
    }
    PartWords combined;
    combine_part(op, part, reinterpret_cast<char*>(combined.data()));
    std::memcpy(result + at, combined.data(), bytes);
  }
}

}  // namespace mayfly
