// SPDX-License-Identifier: Apache-2.0
// The commands that set, remove and count fields of hashes.
//
// A field that is due does not exist. A command that names such a field removes it: clients see
// `hexpired` before the command's own event. Commands that visit all fields only skip it.

#include <cmath>
#include <string>

#include "commands/command.h"
#include "commands/hash/hash_steps.h"
#include "commands/members/member_steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// Sets the pairs from word 2 on. Returns how many fields are new, or nothing after an error.
std::optional<std::int64_t> set_fields(Call& call) {
  if (call.count() % 2 != 0) {
    call.fail_arity();
    return std::nullopt;
  }
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return std::nullopt;

  MembersRef hash = call.members(slot);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.count(); i += 2) {
    if (hash.put(call.word(i), call.word(i + 1))) ++added;
  }
  finish_write(call, hash, "hset", call.count() / 2 - 1, {call.words().subspan(2), 2});
  return added;
}

// HSET key field value [field value ...]
void hset(Call& call) {
  if (const auto added = set_fields(call)) call.reply().integer(*added);
}

// HMSET key field value [field value ...]
void hmset(Call& call) {
  if (set_fields(call)) call.reply().ok();
}

// HSETNX key field value
//
// If fields have deadlines it is propagated as an HSET: a replica may still hold the field, since
// it expires nothing by itself.
void hsetnx(Call& call) {
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  MembersRef hash = call.members(slot);
  const bool had_deadlines = hash.has_deadlines();
  if (hash.find(call.word(2))) return call.reply().integer(0);

  hash.put(call.word(2), call.word(3));
  finish_write(call, hash, "hset", 1, call.words().subspan(2, 1));
  if (had_deadlines) propagate_value(call, call.word(2), call.word(3), kNever);
  call.reply().integer(1);
}

// HDEL key field [field ...]
void hdel(Call& call) { remove_named(call, kHashWords); }

// HINCRBY key field increment
//
// The field keeps its deadline. If fields have deadlines the result is propagated: a replica may
// still hold a field that has expired here.
void hincrby(Call& call) {
  const std::optional<std::int64_t> step = call.integer(3);
  if (!step) return;
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  MembersRef hash = call.members(slot);
  const bool had_deadlines = hash.has_deadlines();
  const std::optional<Member> found = hash.find(call.word(2));
  const std::optional<std::int64_t> before = found ? parse_integer(found->value) : 0;
  if (!before) return call.fail("ERR hash value is not an integer");
  std::int64_t after = 0;
  if (__builtin_add_overflow(*before, *step, &after)) {
    return call.fail("ERR increment or decrement would overflow");
  }

  const Time deadline = found ? found->deadline : kNever;
  const std::string text = std::to_string(after);
  hash.put_keeping_deadline(call.word(2), text);
  finish_write(call, hash, "hincrby", 1, call.words().subspan(2, 1));
  if (had_deadlines) propagate_value(call, call.word(2), text, deadline);
  call.reply().integer(after);
}

// HINCRBYFLOAT key field increment
//
// The result is propagated: a sum of floats may differ on another machine.
void hincrbyfloat(Call& call) {
  const std::optional<long double> step = parse_float(call.word(3));
  if (!step) return call.fail("ERR value is not a valid float");
  if (!std::isfinite(*step)) return call.fail("ERR value is NaN or Infinity");
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  MembersRef hash = call.members(slot);
  const std::optional<Member> found = hash.find(call.word(2));
  const std::optional<long double> before = found ? parse_float(found->value) : 0;
  if (!before) return call.fail("ERR hash value is not a float");
  const long double after = *before + *step;
  if (!std::isfinite(after)) return call.fail("ERR increment would produce NaN or Infinity");

  const Time deadline = found ? found->deadline : kNever;
  const std::string text = format_float(after);
  hash.put_keeping_deadline(call.word(2), text);
  finish_write(call, hash, "hincrbyfloat", 1, call.words().subspan(2, 1));
  propagate_value(call, call.word(2), text, deadline);
  call.reply().bulk(text);
}

}  // namespace

std::span<const Command> hash_write_commands() {
  static constexpr std::uint64_t kAdd = flag::write | flag::denyoom | flag::fast;
  static constexpr KeyRange kUpdate = one_key(access::rw | access::update);
  static constexpr KeyRange kCount = one_key(access::rw | access::access | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"hset", hset, -4, kAdd, kUpdate, "hash", "2.0.0",
       "key (field value)...", "Sets fields of a hash. Creates the hash if it does not exist."},
      {"hmset", hmset, -4, kAdd, kUpdate, "hash", "2.0.0",
       "key (field value)...", "Sets fields of a hash, as HSET does, and replies OK."},
      {"hsetnx", hsetnx, 4, kAdd, one_key(access::rw | access::insert), "hash", "2.0.0",
       "key field value", "Sets a field of a hash if the field does not exist."},
      {"hdel", hdel, -3, flag::write | flag::fast, one_key(access::rw | access::remove), "hash",
       "2.0.0", "key field...", "Removes fields of a hash. Removes the hash with its last field."},
      {"hincrby", hincrby, 4, kAdd, kCount, "hash", "2.0.0",
       "key field increment:int", "Adds an integer to a field. A missing field counts as 0."},
      {"hincrbyfloat", hincrbyfloat, 4, kAdd, kCount, "hash", "2.6.0",
       "key field increment:double", "Adds a number to a field. A missing field counts as 0."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
