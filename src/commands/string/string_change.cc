// SPDX-License-Identifier: Apache-2.0
// The commands that change strings in place: APPEND, SETRANGE, and those that count.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "commands/call.h"
#include "commands/command.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// Whether a string may have `size` + `more` bytes; if not, there is an error reply. Neither number
// is negative, and `more` is the size of a word: their sum cannot overflow.
bool check_size(Call& call, std::uint64_t size, std::uint64_t more) {
  if (size + more <= call.string_bytes_max()) return true;
  call.fail("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  return false;
}

std::size_t size_of(Call& call, Slot slot) {
  return slot == kNoSlot ? 0 : call.database().string(slot).size();
}

// Writes `bytes` into the string at `slot`, which grows if needed.
void write_at(Call& call, Slot slot, std::size_t offset, std::string_view bytes) {
  const std::size_t size = std::max(size_of(call, slot), offset + bytes.size());
  char* const data = call.database().resize_string(slot, size);
  if (!bytes.empty()) std::memcpy(data + offset, bytes.data(), bytes.size());
}

void append(Call& call) {
  const std::string_view key = call.word(1);
  const std::string_view bytes = call.word(2);
  const Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return;
  const std::size_t size = size_of(call, slot);
  if (!check_size(call, size, bytes.size())) return;

  if (slot == kNoSlot) {
    call.put_string(key, bytes);
  } else {
    write_at(call, slot, size, bytes);
  }
  call.changed(key);
  call.notify(Event::string, "append", key);
  call.reply().integer(static_cast<std::int64_t>(size + bytes.size()));
}

// SETRANGE key offset value: the gap between the end and the offset is filled with zeros.
void setrange(Call& call) {
  const std::optional<std::int64_t> number = call.integer(2);
  if (!number) return;
  if (*number < 0) return call.fail("ERR offset is out of range");
  const auto offset = static_cast<std::size_t>(*number);
  const std::string_view key = call.word(1);
  const std::string_view bytes = call.word(3);
  Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return;

  if (!bytes.empty()) {
    if (!check_size(call, offset, bytes.size())) return;
    if (slot == kNoSlot) slot = call.put_string(key, {});
    write_at(call, slot, offset, bytes);
    call.changed(key);
    call.notify(Event::string, "setrange", key);
  }
  call.reply().integer(static_cast<std::int64_t>(size_of(call, slot)));
}

// An existing key keeps its deadline.
void write_number(Call& call, Slot slot, std::string_view key, std::string_view digits) {
  if (slot == kNoSlot) {
    call.put_string(key, digits);
  } else {
    call.database().set_string(slot, digits);
  }
  call.changed(key);
}

void add_integer(Call& call, std::int64_t step) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return;

  std::int64_t value = 0;
  if (slot != kNoSlot) {
    const std::optional<std::int64_t> number = parse_integer(call.database().string(slot));
    if (!number) return call.fail("ERR value is not an integer or out of range");
    value = *number;
  }
  if (__builtin_add_overflow(value, step, &value)) {
    return call.fail("ERR increment or decrement would overflow");
  }
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  write_number(call, slot, key, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  call.notify(Event::string, "incrby", key);
  call.reply().integer(value);
}

std::optional<long double> float_of(Call& call, std::string_view text) {
  const std::optional<long double> number = parse_float(text);
  if (!number) call.fail("ERR value is not a valid float");
  return number;
}

void incr(Call& call) { add_integer(call, 1); }

void decr(Call& call) { add_integer(call, -1); }

void incrby(Call& call) {
  if (const std::optional<std::int64_t> step = call.integer(2)) add_integer(call, *step);
}

void decrby(Call& call) {
  const std::optional<std::int64_t> step = call.integer(2);
  if (!step) return;
  // The one number that cannot be negated.
  if (*step == std::numeric_limits<std::int64_t>::min()) {
    return call.fail("ERR decrement would overflow");
  }
  add_integer(call, -*step);
}

// Propagated as the result: other machines may round differently.
void incrbyfloat(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return;

  std::optional<long double> value = 0;
  if (slot != kNoSlot) value = float_of(call, call.database().string(slot));
  if (!value) return;
  const std::optional<long double> step = float_of(call, call.word(2));
  if (!step) return;
  const long double sum = *value + *step;
  if (!std::isfinite(sum)) return call.fail("ERR increment would produce NaN or Infinity");

  const std::string digits = format_float(sum);
  write_number(call, slot, key, digits);
  call.notify(Event::string, "incrbyfloat", key);
  call.propagate_as("SET", key, digits, "KEEPTTL");
  call.reply().bulk(digits);
}

}  // namespace

std::span<const Command> string_change_commands() {
  static constexpr std::uint64_t kQuickWrite = flag::write | flag::denyoom | flag::fast;
  static constexpr KeyRange kChanged = one_key(access::rw | access::access | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"append", append, 3, kQuickWrite, one_key(access::rw | access::insert), "string", "2.0.0",
       "key value",
       "Appends bytes to a string. A missing key is created."},
      {"setrange", setrange, 4, flag::write | flag::denyoom, one_key(access::rw | access::update),
       "string", "2.2.0",
       "key offset:int value",
       "Overwrites a part of a string from an offset on."},
      {"incr", incr, 2, kQuickWrite, kChanged, "string", "1.0.0",
       "key",
       "Adds 1 to an integer. A missing key counts as 0."},
      {"decr", decr, 2, kQuickWrite, kChanged, "string", "1.0.0",
       "key",
       "Subtracts 1 from an integer. A missing key counts as 0."},
      {"incrby", incrby, 3, kQuickWrite, kChanged, "string", "1.0.0",
       "key increment:int",
       "Adds to an integer. A missing key counts as 0."},
      {"decrby", decrby, 3, kQuickWrite, kChanged, "string", "1.0.0",
       "key decrement:int",
       "Subtracts from an integer. A missing key counts as 0."},
      {"incrbyfloat", incrbyfloat, 3, kQuickWrite, kChanged, "string", "2.6.0",
       "key increment:double",
       "Adds to a number with a fraction. A missing key counts as 0."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
