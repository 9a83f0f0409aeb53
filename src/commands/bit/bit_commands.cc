// SPDX-License-Identifier: Apache-2.0
// SETBIT and GETBIT, and the steps that all commands on bits share.

#include <algorithm>

#include "commands/bit/bits.h"
#include "commands/command.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::string_view kNoBitOffset = "ERR bit offset is not an integer or out of range";

// SETBIT key offset 0|1: returns the old bit.
void setbit(Call& call) {
  const std::optional<std::uint64_t> bit = bit_offset(call, 2);
  if (!bit) return;
  const auto on = call.integer(3, 0, 1, "ERR bit is not an integer or out of range");
  if (!on) return;
  const std::string_view key = call.word(1);
  const BitsToWrite bits = bits_to_write(call, key, *bit);
  if (call.has_failed()) return;

  unsigned char& byte = bits.bytes[*bit / 8];
  const unsigned mask = bit_mask(*bit);
  const bool was_on = (byte & mask) != 0;
  byte = static_cast<unsigned char>(*on == 1 ? byte | mask : byte & ~mask);
  if (bits.has_grown || was_on != (*on == 1)) report_bits(call, key, 1);
  call.reply().integer(was_on);
}

// GETBIT key offset
void getbit(Call& call) {
  const std::optional<std::uint64_t> bit = bit_offset(call, 2);
  if (!bit) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  call.reply().integer(slot != kNoSlot && bit_at(call.database().string(slot), *bit));
}

}  // namespace

std::optional<std::uint64_t> bit_offset(Call& call, std::size_t i, std::uint64_t width) {
  std::string_view word = call.word(i);
  const bool is_counted = width > 0 && word.starts_with('#');
  if (is_counted) word.remove_prefix(1);
  const std::optional<std::int64_t> number = parse_integer(word);
  const std::uint64_t step = is_counted ? width : 1;
  const std::uint64_t end = call.string_bytes_max() * 8;
  if (number && *number >= 0 && static_cast<std::uint64_t>(*number) <= (end - 1) / step) {
    return static_cast<std::uint64_t>(*number) * step;
  }
  call.fail(kNoBitOffset);
  return std::nullopt;
}

BitsToWrite bits_to_write(Call& call, std::string_view key, std::uint64_t last) {
  Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return {};
  const bool is_new = slot == kNoSlot;
  const std::size_t needed = last / 8 + 1;
  if (needed > kNodeBytesMax) {  // a field may end beyond the longest string allowed
    call.fail(kNoBitOffset);
    return {};
  }
  if (is_new) {
    // A short string is made as long as it must be: one that is made longer gets room to grow.
    static constexpr char kZeros[64] = {};
    slot = call.put_string(key, {kZeros, needed <= sizeof kZeros ? needed : 0});
  }
  const std::size_t before = call.database().string(slot).size();
  const std::size_t size = std::max<std::size_t>(before, needed);
  char* const bytes = call.database().resize_string(slot, size);
  return {reinterpret_cast<unsigned char*>(bytes), is_new || size > before};
}

void report_bits(Call& call, std::string_view key, std::int64_t changes) {
  call.changed(key, changes);
  call.notify(Event::string, "setbit", key);
}

std::span<const Command> bit_commands() {
  static constexpr Command kRows[] = {
      {"setbit", setbit, 4, flag::write | flag::denyoom,
       one_key(access::rw | access::access | access::update), "bitmap", "2.2.0",
       "key offset:int value:int", "Sets or clears a bit of a string and returns the old one."},
      {"getbit", getbit, 3, flag::readonly | flag::fast, one_key(access::ro | access::access),
       "bitmap", "2.2.0", "key offset:int", "Returns a bit of a string."},
  };
  return kRows;
}

}  // namespace mayfly
