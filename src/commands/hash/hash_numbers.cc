// SPDX-License-Identifier: Apache-2.0
// HINCRBY and HINCRBYFLOAT: fields as counters. A field keeps its deadline while it is counted up.
//
// What is propagated is the result, unless whoever hears it must come to the same one: a sum of
// floats may differ on another machine, and a replica may still hold a field that is due here.

#include <cmath>
#include <string>

#include "commands/call.h"
#include "commands/hash/hash_changes.h"
#include "commands/hash/hash_handlers.h"
#include "resp/numbers.h"

namespace mayfly {

// HINCRBY key field increment
void hincrby(Call& call) {
  const std::optional<std::int64_t> step = call.integer(3);
  if (!step) return;
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  HashRef hash = call.database().hash(slot);
  const bool had_deadlines = hash.has_deadlines();
  const std::optional<HashField> found = hash.find(call.word(2));
  const std::optional<std::int64_t> before = found ? parse_integer(found->value) : 0;
  if (!before) return call.fail("ERR hash value is not an integer");
  std::int64_t after = 0;
  if (__builtin_add_overflow(*before, *step, &after)) {
    return call.fail("ERR increment or decrement would overflow");
  }

  const Time deadline = found ? found->deadline : kNever;
  const std::string text = std::to_string(after);
  hash.put_keeping_deadline(call.word(2), text);
  tell_change(call, hash, "hincrby", 1);
  if (had_deadlines) propagate_value(call, call.word(2), text, deadline);
  call.reply().integer(after);
}

// HINCRBYFLOAT key field increment
void hincrbyfloat(Call& call) {
  const std::optional<long double> step = parse_float(call.word(3));
  if (!step) return call.fail("ERR value is not a valid float");
  if (!std::isfinite(*step)) return call.fail("ERR value is NaN or Infinity");
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  HashRef hash = call.database().hash(slot);
  const std::optional<HashField> found = hash.find(call.word(2));
  const std::optional<long double> before = found ? parse_float(found->value) : 0;
  if (!before) return call.fail("ERR hash value is not a float");
  const long double after = *before + *step;
  if (!std::isfinite(after)) return call.fail("ERR increment would produce NaN or Infinity");

  const Time deadline = found ? found->deadline : kNever;
  const std::string text = format_float(after);
  hash.put_keeping_deadline(call.word(2), text);
  tell_change(call, hash, "hincrbyfloat", 1);
  propagate_value(call, call.word(2), text, deadline);
  call.reply().bulk(text);
}

}  // namespace mayfly
