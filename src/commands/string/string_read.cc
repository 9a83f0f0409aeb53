// SPDX-License-Identifier: Apache-2.0
// The commands that reply with strings, and those that then change or remove the key.

#include <algorithm>
#include <optional>

#include "commands/command.h"
#include "commands/steps.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/ttl_policy.h"

namespace mayfly {
namespace {

void get(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  reply_string(call, slot);
}

// A key of another type counts as missing.
void mget(Call& call) {
  call.reply().array(call.count() - 1);
  for (const std::string_view key : call.words().subspan(1)) {
    const Slot slot = call.find_to_read(key);
    const bool is_string = slot != kNoSlot && call.is_string(slot);
    reply_string(call, is_string ? slot : kNoSlot);
  }
}

void strlen_command(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  const std::size_t size = slot == kNoSlot ? 0 : call.database().string(slot).size();
  call.reply().integer(static_cast<std::int64_t>(size));
}

// The bytes from `first` to `last`, both included; negative numbers count from the end.
std::string_view substring(std::string_view text, std::int64_t first, std::int64_t last) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (first < 0 && last < 0 && first > last) return {};
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last = std::max<std::int64_t>(last + size, 0);
  last = std::min(last, size - 1);
  if (first > last) return {};
  return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1));
}

// GETRANGE key first last
void getrange(Call& call) {
  const std::optional<std::int64_t> first = call.integer(2);
  if (!first) return;
  const std::optional<std::int64_t> last = call.integer(3);
  if (!last) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::string);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().bulk({});
  call.reply().bulk(substring(call.database().string(slot), *first, *last));
}

// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] [JITTER percent]
void getex(Call& call) {
  ExpiryOption option;
  for (std::size_t i = 2; i < call.count();) {
    const std::size_t taken = option.read(call, i, call.count(), "persist");
    if (taken == 0) return call.fail_syntax();
    i += taken;
  }
  if (!option.finish(call)) return;
  const std::optional<Time> deadline = option.deadline(call, 1);
  if (call.has_failed()) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_read(key, ValueType::string);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();

  std::optional<Time> until;
  if (deadline) until = ruled_deadline(call, key, *deadline, option.jitter);
  const bool loses = option.is_instead && call.database().deadline(slot) != kNever;
  if (call.has_failed() || (loses && !may_persist(call, key))) return;
  call.reply().bulk(call.database().string(slot));
  if (until) set_key_deadline(call, slot, key, *until);
  if (option.is_instead) clear_key_deadline(call, slot, key);
}

// GETDEL key
void getdel(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_read(key, ValueType::string);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().string(slot));
  remove_key(call, slot, key);
  call.propagate_as("DEL", key);
}

// DELIFEQ key value: removes the key if that is its value.
void delifeq(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::string);
  if (call.has_failed()) return;
  const bool is_equal = slot != kNoSlot && call.database().string(slot) == call.word(2);
  if (is_equal) {
    remove_key(call, slot, key);
    call.propagate_as("DEL", key);
  }
  call.reply().integer(is_equal);
}

}  // namespace

std::span<const Command> string_read_commands() {
  static constexpr std::uint64_t kRead = flag::readonly;
  static constexpr std::uint64_t kQuickRead = flag::readonly | flag::fast;
  static constexpr std::uint64_t kQuickChange = flag::write | flag::fast;
  static constexpr KeyRange kGot = one_key(access::ro | access::access);
  static constexpr KeyRange kRemoved = one_key(access::rw | access::access | access::remove);
  // clang-format off
  static constexpr Command kRows[] = {
      {"get", get, 2, kQuickRead, kGot, "string", "1.0.0",
       "key",
       "Returns the string at a key."},
      {"mget", mget, -2, kQuickRead, all_keys(access::ro | access::access), "string", "1.0.0",
       "key...",
       "Returns the strings at several keys, and null for each that is missing."},
      {"strlen", strlen_command, 2, kQuickRead, one_key(access::ro), "string", "2.2.0",
       "key",
       "Returns the length of a string in bytes."},
      {"getrange", getrange, 4, kRead, kGot, "string", "2.4.0",
       "key start:int end:int",
       "Returns a part of a string, between two offsets."},
      {"substr", getrange, 4, kRead, kGot, "string", "1.0.0",
       "key start:int end:int",
       "An older name of GETRANGE."},
      {"getex", getex, -2, kQuickChange | flag::asks_rules,
       one_key(access::rw | access::access | access::update),
       "string", "6.2.0",
       "key [expiration:(EX seconds:int | PX milliseconds:int | EXAT unix-time-seconds:time | "
       "PXAT unix-time-milliseconds:time | PERSIST)] [JITTER percent:double]",
       "Returns a string and sets or removes the TTL of its key."},
      {"getdel", getdel, 2, kQuickChange, kRemoved, "string", "6.2.0",
       "key",
       "Returns a string and removes its key."},
      {"delifeq", delifeq, 3, kQuickChange, kRemoved, "string", "9.0.0",
       "key value",
       "Removes a key if its string has the given value."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
