// SPDX-License-Identifier: Apache-2.0
// The commands on the bits of strings: single bits, and the rows of all of them.

#include <algorithm>

#include "commands/bit/bit_handlers.h"
#include "commands/command.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// SETBIT key offset 0|1: returns the bit as it was.
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
  if (bits.has_grown || was_on != (*on == 1)) tell_bits(call, key, 1);
  call.reply().integer(was_on);
}

// GETBIT key offset
void getbit(Call& call) {
  const std::optional<std::uint64_t> bit = bit_offset(call, 2);
  if (!bit) return;
  const Slot slot = call.string_to_read(call.word(1));
  if (call.has_failed()) return;
  call.reply().integer(slot != kNoSlot && bit_at(call.database().string(slot), *bit));
}

constexpr std::uint32_t kRead = flag::readonly;
constexpr std::uint32_t kQuickRead = flag::readonly | flag::fast;
constexpr std::uint32_t kWrite = flag::write | flag::denyoom;

constexpr KeyRange kGot{1, 1, 1, access::ro | access::access};
constexpr KeyRange kChanged{1, 1, 1, access::rw | access::access | access::update};
constexpr KeyRange kJoined{2, -1, 1, access::ow | access::access | access::update};

constexpr std::string_view kBitmap = "bitmap";

// clang-format off
constexpr Command kCommands[] = {
    {"setbit", setbit, 4, kWrite, kChanged, kBitmap, "2.2.0",
     "key offset:int value:int",
     "Sets or clears a bit of a string and returns it as it was."},
    {"getbit", getbit, 3, kQuickRead, kGot, kBitmap, "2.2.0",
     "key offset:int",
     "Returns a bit of a string."},
    {"bitcount", bitcount, -2, kRead, kGot, kBitmap, "2.6.0",
     "key [start:int [end:int [unit:(BYTE | BIT)]]]",
     "Counts the bits that are set in a string, or in a part of it."},
    {"bitpos", bitpos, -3, kRead, kGot, kBitmap, "2.8.7",
     "key bit:int [start:int [end:int [unit:(BYTE | BIT)]]]",
     "Finds the first bit that is set, or clear, in a string."},
    {"bitop", bitop, -4, kWrite, kJoined, kBitmap, "2.6.0",
     "operation:(AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE) destkey:key key...",
     "Combines strings bit by bit and stores the result."},
    {"bitfield", bitfield, -2, kWrite, kChanged, kBitmap, "3.2.0",
     "key [operation:(GET encoding offset:int | ([OVERFLOW overflow:(WRAP | SAT | FAIL)] "
     "change:(SET encoding offset:int value:int | INCRBY encoding offset:int increment:int)))...]",
     "Reads and writes integers of any width in a string."},
    {"bitfield_ro", bitfield_ro, -2, kQuickRead, kGot, kBitmap, "6.0.0",
     "key [GET encoding offset:int]...",
     "Reads integers of any width in a string."},
};
// clang-format on

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
  call.fail("ERR bit offset is not an integer or out of range");
  return std::nullopt;
}

BitsToWrite bits_to_write(Call& call, std::string_view key, std::uint64_t last) {
  Slot slot = call.string_to_write(key);
  if (call.has_failed()) return {};
  const bool is_new = slot == kNoSlot;
  if (is_new) slot = call.put_string(key, {});
  const std::size_t before = call.database().string(slot).size();
  const std::size_t size = std::max<std::size_t>(before, last / 8 + 1);
  char* const bytes = call.database().resize_string(slot, size);
  return {reinterpret_cast<unsigned char*>(bytes), is_new || size > before};
}

void tell_bits(Call& call, std::string_view key, std::int64_t changes) {
  call.changed(key, changes);
  call.notify(Event::string, "setbit", key);
}

std::span<const Command> bit_commands() { return kCommands; }

}  // namespace mayfly
