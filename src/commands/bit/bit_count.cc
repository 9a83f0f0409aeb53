// SPDX-License-Identifier: Apache-2.0
// BITCOUNT and BITPOS: counting and finding bits, in all of a string or between two offsets.

#include <algorithm>

#include "commands/bit/bit_words.h"
#include "commands/bit/bits.h"
#include "commands/command.h"

namespace mayfly {
namespace {

// A part of a string as a request gives it: two offsets, both included, of bytes or of bits.
// Negative ones count from the end.
struct BitPart {
  std::int64_t first = 0;
  std::int64_t last = -1;
  bool has_last = false;
  bool is_in_bits = false;
};

// Bits from `begin` to `end`, which is not included.
struct BitRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// [first [last [BYTE | BIT]]] from word `i` on. The unit is read before the second offset.
std::optional<BitPart> read_bit_part(Call& call, std::size_t i) {
  BitPart part;
  if (call.count() > i + 3) {
    call.fail_syntax();
    return std::nullopt;
  }
  if (call.count() > i) {
    const std::optional<std::int64_t> first = call.integer(i);
    if (!first) return std::nullopt;
    part.first = *first;
  }
  part.is_in_bits = call.is(i + 2, "bit");
  if (call.count() == i + 3 && !part.is_in_bits && !call.is(i + 2, "byte")) {
    call.fail_syntax();
    return std::nullopt;
  }
  if (call.count() > i + 1) {
    const std::optional<std::int64_t> last = call.integer(i + 1);
    if (!last) return std::nullopt;
    part.last = *last;
    part.has_last = true;
  }
  return part;
}

BitRange bit_range(const BitPart& part, std::size_t bytes) {
  const std::int64_t unit = part.is_in_bits ? 1 : 8;
  const auto size = static_cast<std::int64_t>(bytes) * (part.is_in_bits ? 8 : 1);
  std::int64_t first = part.first;
  std::int64_t last = part.last;
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last = std::max<std::int64_t>(last + size, 0);
  last = std::min(last, size - 1);
  if (first > last) return {};
  return {static_cast<std::uint64_t>(first * unit), static_cast<std::uint64_t>((last + 1) * unit)};
}

// The whole bytes of a range. Up to seven bits before them, and after them, are left.
struct WholeBytes {
  std::uint64_t begin;  // in bits, as the range
  std::uint64_t end;
  std::string_view bytes;
};
WholeBytes whole_bytes(std::string_view bytes, BitRange range) {
  const std::uint64_t begin = std::min((range.begin + 7) / 8 * 8, range.end);
  const std::uint64_t end = std::max(range.end / 8 * 8, begin);
  return {begin, end, bytes.substr(begin / 8, (end - begin) / 8)};
}

std::int64_t count_bits(std::string_view bytes, BitRange range) {
  const WholeBytes whole = whole_bytes(bytes, range);
  std::uint64_t count = count_ones(whole.bytes);
  for (std::uint64_t bit = range.begin; bit < whole.begin; ++bit) count += bit_at(bytes, bit);
  for (std::uint64_t bit = whole.end; bit < range.end; ++bit) count += bit_at(bytes, bit);
  return static_cast<std::int64_t>(count);
}

// The first bit of the range that is `on`, or the end of the range.
std::uint64_t find_bit(std::string_view bytes, BitRange range, bool on) {
  const WholeBytes whole = whole_bytes(bytes, range);
  for (std::uint64_t bit = range.begin; bit < whole.begin; ++bit) {
    if (bit_at(bytes, bit) == on) return bit;
  }
  std::uint64_t bit = whole.begin + first_bit(whole.bytes, on);
  while (bit >= whole.end && bit < range.end && bit_at(bytes, bit) != on) ++bit;
  return bit;
}

// BITCOUNT key [first [last [BYTE | BIT]]]
void bitcount(Call& call) {
  const std::optional<BitPart> part = read_bit_part(call, 2);
  if (!part) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  // BITPOS has no such rule.
  const bool is_reversed = part->first < 0 && part->last < 0 && part->first > part->last;
  const std::string_view bytes = call.database().string(slot);
  call.reply().integer(is_reversed ? 0 : count_bits(bytes, bit_range(*part, bytes.size())));
}

// BITPOS key 0|1 [first [last [BYTE | BIT]]]
//
// A missing string is all zeros. So is what follows a string, if the request does not say where to
// stop.
void bitpos(Call& call) {
  const std::optional<std::int64_t> on = call.integer(2);
  if (!on) return;
  if (*on != 0 && *on != 1) return call.fail("ERR The bit argument must be 1 or 0.");
  const std::optional<BitPart> part = read_bit_part(call, 3);
  if (!part) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(*on == 1 ? -1 : 0);

  const std::string_view bytes = call.database().string(slot);
  const BitRange range = bit_range(*part, bytes.size());
  if (range.begin == range.end) return call.reply().integer(-1);
  const std::uint64_t found = find_bit(bytes, range, *on == 1);
  const bool is_there = found < range.end || (*on == 0 && !part->has_last);
  call.reply().integer(is_there ? static_cast<std::int64_t>(found) : -1);
}

}  // namespace

std::span<const Command> bit_count_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr Command kRows[] = {
      {"bitcount", bitcount, -2, flag::readonly, kGet, "bitmap", "2.6.0",
       "key [start:int [end:int [unit:(BYTE | BIT)]]]",
       "Counts the bits that are set in a string, or in a part of it."},
      {"bitpos", bitpos, -3, flag::readonly, kGet, "bitmap", "2.8.7",
       "key bit:int [start:int [end:int [unit:(BYTE | BIT)]]]",
       "Returns the position of the first bit that is set, or clear, in a string."},
  };
  return kRows;
}

}  // namespace mayfly
