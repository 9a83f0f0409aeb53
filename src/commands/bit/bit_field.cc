// SPDX-License-Identifier: Apache-2.0
// BITFIELD: integers of 1 to 64 bits anywhere in a string, highest bit first.
//
// All operations are read and checked before the first one is run.

#include <algorithm>
#include <optional>
#include <vector>

#include "commands/bit/bits.h"
#include "commands/command.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

__extension__ typedef __int128 Wide;               // holds the sum of any two numbers of 64 bits
__extension__ typedef unsigned __int128 WideBits;  // holds the bytes of any field

enum class BitfieldAction { get, set, increment };
enum class Overflow { wrap, saturate, fail };

struct FieldType {
  bool is_signed = false;
  unsigned width = 0;  // 1 to 64, unsigned ones to 63

  Wide least() const { return is_signed ? -(Wide{1} << (width - 1)) : 0; }
  Wide most() const { return (Wide{1} << (is_signed ? width - 1 : width)) - 1; }
};

struct BitfieldOp {
  BitfieldAction action = BitfieldAction::get;
  FieldType type;
  std::uint64_t bit = 0;
  std::int64_t value = 0;  // to set or to add
  Overflow overflow = Overflow::wrap;
};

// i1 to i64, u1 to u63.
std::optional<FieldType> read_field_type(Call& call, std::string_view word) {
  FieldType type{.is_signed = word.starts_with('i')};
  const std::optional<std::int64_t> width =
      type.is_signed || word.starts_with('u') ? parse_integer(word.substr(1)) : std::nullopt;
  if (width && *width >= 1 && *width <= (type.is_signed ? 64 : 63)) {
    type.width = static_cast<unsigned>(*width);
    return type;
  }
  call.fail(
      "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but "
      "i64 is.");
  return std::nullopt;
}

std::optional<Overflow> read_overflow(Call& call, std::size_t i) {
  if (call.is(i, "wrap")) return Overflow::wrap;
  if (call.is(i, "sat")) return Overflow::saturate;
  if (call.is(i, "fail")) return Overflow::fail;
  call.fail("ERR Invalid OVERFLOW type specified");
  return std::nullopt;
}

// The type, the offset and the value of the operation named by word `i`.
bool read_operands(Call& call, std::size_t i, BitfieldOp& operation) {
  const std::optional<FieldType> type = read_field_type(call, call.word(i + 1));
  if (!type) return false;
  const std::optional<std::uint64_t> bit = bit_offset(call, i + 2, type->width);
  if (!bit) return false;
  operation.type = *type;
  operation.bit = *bit;
  if (operation.action == BitfieldAction::get) return true;
  const std::optional<std::int64_t> value = call.integer(i + 3);
  if (!value) return false;
  operation.value = *value;
  return true;
}

std::optional<BitfieldAction> action_at(const Call& call, std::size_t i) {
  const std::size_t left = call.count() - i - 1;
  if (call.is(i, "get") && left >= 2) return BitfieldAction::get;
  if (call.is(i, "set") && left >= 3) return BitfieldAction::set;
  if (call.is(i, "incrby") && left >= 3) return BitfieldAction::increment;
  return std::nullopt;
}

// All operations from word 2 on; nothing after an error reply.
std::optional<std::vector<BitfieldOp>> read_operations(Call& call) {
  std::vector<BitfieldOp> operations;
  Overflow overflow = Overflow::wrap;
  for (std::size_t i = 2; i < call.count();) {
    if (call.is(i, "overflow") && i + 1 < call.count()) {
      const std::optional<Overflow> read = read_overflow(call, i + 1);
      if (!read) return std::nullopt;
      overflow = *read;
      i += 2;
      continue;
    }
    const std::optional<BitfieldAction> action = action_at(call, i);
    if (!action) {
      call.fail_syntax();
      return std::nullopt;
    }
    BitfieldOp operation;
    operation.action = *action;
    operation.overflow = overflow;
    if (!read_operands(call, i, operation)) return std::nullopt;
    operations.push_back(operation);
    i += *action == BitfieldAction::get ? 3 : 4;
  }
  return operations;
}

// The lowest bits of a number as a value of the type.
std::int64_t truncate_field(FieldType type, std::uint64_t bits) {
  const unsigned unused = 64 - type.width;
  if (type.is_signed) return static_cast<std::int64_t>(bits << unused) >> unused;
  return static_cast<std::int64_t>(bits << unused >> unused);
}

// The bytes that have the bits of a field: at most nine. The field ends `unused` bits before the
// end of the last one.
struct FieldBytes {
  std::uint64_t first;
  unsigned count;
  unsigned unused;
};
FieldBytes field_bytes(const BitfieldOp& operation) {
  const unsigned bits = static_cast<unsigned>(operation.bit % 8) + operation.type.width;
  const unsigned count = (bits + 7) / 8;
  return {operation.bit / 8, count, count * 8 - bits};
}

std::int64_t load_field(std::string_view bytes, const BitfieldOp& operation) {
  const FieldBytes field = field_bytes(operation);
  WideBits bits = 0;
  for (std::uint64_t i = field.first; i < field.first + field.count; ++i) {
    bits = bits << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
  }
  return truncate_field(operation.type, static_cast<std::uint64_t>(bits >> field.unused));
}

void store_field(unsigned char* bytes, const BitfieldOp& operation, std::int64_t value) {
  const FieldBytes field = field_bytes(operation);
  const WideBits mask = ((WideBits{1} << operation.type.width) - 1) << field.unused;
  const WideBits bits = WideBits{static_cast<std::uint64_t>(value)} << field.unused & mask;
  for (unsigned i = 0; i < field.count; ++i) {
    const unsigned shift = (field.count - 1 - i) * 8;
    unsigned char& byte = bytes[field.first + i];
    byte = static_cast<unsigned char>((byte & ~(mask >> shift)) | bits >> shift);
  }
}

// The value that SET or INCRBY store; nothing if it overflows and OVERFLOW is FAIL.
std::optional<std::int64_t> new_value(const BitfieldOp& operation, std::int64_t before) {
  const FieldType type = operation.type;
  Wide result = operation.value;
  if (operation.action == BitfieldAction::increment) {
    result += before;
  } else if (!type.is_signed) {
    result = static_cast<std::uint64_t>(operation.value);  // so that -1 is too large, not too small
  }
  if (result >= type.least() && result <= type.most()) return static_cast<std::int64_t>(result);
  if (operation.overflow == Overflow::fail) return std::nullopt;
  if (operation.overflow == Overflow::wrap)
    return truncate_field(type, static_cast<std::uint64_t>(result));
  return static_cast<std::int64_t>(result > type.most() ? type.most() : type.least());
}

void read_bitfield(Call& call, const std::vector<BitfieldOp>& operations) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  const std::string_view bytes =
      slot == kNoSlot ? std::string_view() : call.database().string(slot);
  call.reply().array(operations.size());
  for (const BitfieldOp& operation : operations) call.reply().integer(load_field(bytes, operation));
}

// The string grows for all operations first, even for those that fail.
void write_bitfield(Call& call, const std::vector<BitfieldOp>& operations, std::uint64_t last) {
  const std::string_view key = call.word(1);
  const BitsToWrite bits = bits_to_write(call, key, last);
  if (call.has_failed()) return;
  const std::string_view bytes = call.database().string(call.database().stored_slot(key));

  std::int64_t changes = 0;
  call.reply().array(operations.size());
  for (const BitfieldOp& operation : operations) {
    const std::int64_t before = load_field(bytes, operation);
    if (operation.action == BitfieldAction::get) {
      call.reply().integer(before);
      continue;
    }
    const std::optional<std::int64_t> result = new_value(operation, before);
    if (!result) {
      call.reply().null();
      continue;
    }
    store_field(bits.bytes, operation, *result);
    if (bits.has_grown || *result != before) ++changes;
    call.reply().integer(operation.action == BitfieldAction::set ? before : *result);
  }
  if (bits.has_grown) changes = std::max<std::int64_t>(changes, 1);
  if (changes > 0) report_bits(call, key, changes);
}

void run_bitfield(Call& call, bool may_write) {
  const std::optional<std::vector<BitfieldOp>> operations = read_operations(call);
  if (!operations) return;
  bool writes = false;
  std::uint64_t last = 0;
  for (const BitfieldOp& operation : *operations) {
    if (operation.action == BitfieldAction::get) continue;
    writes = true;
    last = std::max(last, operation.bit + operation.type.width - 1);
  }
  if (!writes) return read_bitfield(call, *operations);
  if (!may_write) return call.fail("ERR BITFIELD_RO only supports the GET subcommand");
  write_bitfield(call, *operations, last);
}

// BITFIELD key [GET type offset | [OVERFLOW WRAP | SAT | FAIL]
//               SET type offset value | INCRBY type offset number] ...
void bitfield(Call& call) { run_bitfield(call, true); }

// BITFIELD_RO key [GET type offset] ...
void bitfield_ro(Call& call) { run_bitfield(call, false); }

}  // namespace

std::span<const Command> bit_field_commands() {
  static constexpr Command kRows[] = {
      {"bitfield", bitfield, -2, flag::write | flag::denyoom,
       one_key(access::rw | access::access | access::update), "bitmap", "3.2.0",
       "key [operation:(GET encoding offset:int | ([OVERFLOW overflow:(WRAP | SAT | FAIL)] "
       "change:(SET encoding offset:int value:int | INCRBY encoding offset:int "
       "increment:int)))...]",
       "Reads and writes integers of any width in a string."},
      {"bitfield_ro", bitfield_ro, -2, flag::readonly | flag::fast,
       one_key(access::ro | access::access), "bitmap", "6.0.0", "key [GET encoding offset:int]...",
       "Reads integers of any width in a string."},
  };
  return kRows;
}

}  // namespace mayfly
