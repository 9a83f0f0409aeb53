// SPDX-License-Identifier: Apache-2.0
// The commands that count: strings that are read as numbers, changed and written back.

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "commands/string/string_handlers.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// The deadline of a number that is there stays.
void write_number(Call& call, Slot slot, std::string_view key, std::string_view digits) {
  if (slot == kNoSlot) {
    call.put_string(key, digits);
  } else {
    call.database().set_string(slot, digits);
  }
  call.changed(key);
}

void add(Call& call, std::int64_t step) {
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_write(key);
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

}  // namespace

void incr(Call& call) { add(call, 1); }

void decr(Call& call) { add(call, -1); }

void incrby(Call& call) {
  if (const std::optional<std::int64_t> step = call.integer(2)) add(call, *step);
}

void decrby(Call& call) {
  const std::optional<std::int64_t> step = call.integer(2);
  if (!step) return;
  // The one number without an opposite.
  if (*step == std::numeric_limits<std::int64_t>::min()) {
    return call.fail("ERR decrement would overflow");
  }
  add(call, -*step);
}

// Propagated as the result: other machines may add differently.
void incrbyfloat(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_write(key);
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

}  // namespace mayfly
