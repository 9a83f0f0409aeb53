// SPDX-License-Identifier: Apache-2.0
// A greedy compressor: a hash table holds the last position of each sequence of three bytes.
//
// It makes the choices of liblzf, so that short texts give the bytes that Redis and Valkey write:
// the first position is never referred to, matches end before the last two bytes (longest_match),
// and it gives up when less than a few bytes of `out` are left.

#include "persist/lzf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mayfly {
namespace {

constexpr std::size_t kLiteralsMax = 32;
constexpr std::size_t kMatchMin = 3;
constexpr std::size_t kMatchMax = 264;
constexpr std::size_t kShortMatchMax = 8;  // longer matches have a byte for their length
constexpr std::size_t kOffsetMax = 8192;
constexpr unsigned kTableBitsMin = 6;
constexpr unsigned kTableBitsMax = 14;  // 16,384 entries: 64 KiB

constexpr unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

std::uint32_t three_bytes(const char* at) {
  return byte_of(at[0]) << 16 | byte_of(at[1]) << 8 | byte_of(at[2]);
}

// The last position of sequences with the same hash. A short text uses a small part of the table,
// because clearing all of it would take longer than compressing.
class Positions {
 public:
  explicit Positions(std::size_t text_size)
      : bits_(std::clamp(static_cast<unsigned>(std::bit_width(text_size)) + 1, kTableBitsMin,
                         kTableBitsMax)) {
    std::fill_n(last_.begin(), std::size_t{1} << bits_, 0);
  }

  // Sets the position of this sequence. Returns that of the last one with the same hash, or 0.
  std::size_t exchange(std::uint32_t sequence, std::size_t position) {
    std::uint32_t& entry = last_[(sequence * 0x9E3779B1u) >> (32 - bits_)];
    return std::exchange(entry, static_cast<std::uint32_t>(position));
  }

 private:
  unsigned bits_;
  std::array<std::uint32_t, std::size_t{1} << kTableBitsMax> last_;
};

// Appends to the output until it is full.
class Output {
 public:
  explicit Output(std::span<char> out) : out_(out) {}

  bool literals(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kLiteralsMax);
      if (out_.size() - size_ < count + 1) return false;
      put(count - 1);
      std::memcpy(out_.data() + size_, bytes.data(), count);
      size_ += count;
      bytes.remove_prefix(count);
    }
    return true;
  }

  bool match(std::size_t offset, std::size_t size) {
    if (out_.size() - size_ <= 4) return false;
    --offset;
    put(std::min(size - 2, kShortMatchMax - 1) << 5 | offset >> 8);
    if (size > kShortMatchMax) put(size - kShortMatchMax - 1);
    put(offset & 0xFF);
    return true;
  }

  std::size_t size() const { return size_; }

 private:
  void put(std::size_t byte) { out_[size_++] = static_cast<char>(byte); }

  std::span<char> out_;
  std::size_t size_ = 0;
};

// The most bytes that a match may have with so many left. liblzf leaves two of them out, but not
// where a match of 19 fits just so.
std::size_t longest_match(std::size_t left) {
  const std::size_t most = left - 2;
  return most > 16 ? std::clamp<std::size_t>(most, 19, kMatchMax) : most;
}

std::size_t match_size(const char* a, const char* b, std::size_t most) {
  std::size_t size = kMatchMin;
  for (; size + sizeof(std::uint64_t) <= most; size += sizeof(std::uint64_t)) {
    std::uint64_t x;
    std::uint64_t y;
    std::memcpy(&x, a + size, sizeof x);
    std::memcpy(&y, b + size, sizeof y);
    if (x != y) return size + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (size < most && a[size] == b[size]) ++size;
  return size;
}

}  // namespace

std::size_t lzf_compress(std::string_view text, std::span<char> out) {
  Positions positions(text.size());
  Output output(out);
  std::size_t literals = 0;  // where those begin that are not written yet
  std::size_t at = 0;
  while (at + kMatchMin <= text.size()) {
    const char* const here = text.data() + at;
    const std::uint32_t sequence = three_bytes(here);
    const std::size_t before = positions.exchange(sequence, at);
    const std::size_t offset = at - before;
    if (three_bytes(here - offset) != sequence || before == 0 || offset > kOffsetMax) {
      ++at;
      continue;
    }
    const std::size_t size = match_size(here - offset, here, longest_match(text.size() - at));
    if (!output.literals(text.substr(literals, at - literals))) return 0;
    if (!output.match(offset, size)) return 0;
    at += size;
    literals = at;
    // Two positions of the match are enough: to enter all of them takes longer and gains little.
    for (std::size_t back = at - 2; back < at && back + kMatchMin <= text.size(); ++back) {
      positions.exchange(three_bytes(text.data() + back), back);
    }
  }
  const std::size_t pending = at - literals;
  if (output.size() + pending + pending / kLiteralsMax + 4 > out.size()) return 0;
  if (!output.literals(text.substr(literals))) return 0;
  return output.size();
}

bool lzf_decompress(std::string_view packed, std::span<char> out) {
  std::size_t size = 0;
  const char* at = packed.data();
  const char* const end = at + packed.size();
  while (at < end) {
    const unsigned first = byte_of(*at++);
    std::size_t count = first >> 5;
    if (count == 0) {
      count = first + 1;
      if (static_cast<std::size_t>(end - at) < count || out.size() - size < count) return false;
      std::memcpy(out.data() + size, at, count);
      at += count;
      size += count;
      continue;
    }
    if (end - at < (count == 7 ? 2 : 1)) return false;
    if (count == 7) count += byte_of(*at++);
    count += 2;
    const std::size_t offset = ((first & 0x1F) << 8 | byte_of(*at++)) + 1;
    if (offset > size || out.size() - size < count) return false;
    char* const to = out.data() + size;
    if (offset >= count) {
      std::memcpy(to, to - offset, count);
    } else {
      const char* const from = to - offset;
      for (std::size_t i = 0; i < count; ++i) to[i] = from[i];  // a repetition: they overlap
    }
    size += count;
  }
  return size == out.size();
}

}  // namespace mayfly
