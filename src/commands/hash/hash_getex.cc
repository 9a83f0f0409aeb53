// SPDX-License-Identifier: Apache-2.0
// The commands that return values of fields and change the fields: HGETEX and HGETDEL.

#include "commands/command.h"
#include "commands/hash/hash_steps.h"

namespace mayfly {
namespace {

// The options of HGETEX before word `end`; an error reply and nothing if they are wrong.
std::optional<ExpiryOption> read_hgetex_option(Call& call, std::size_t end) {
  ExpiryOption option;
  for (std::size_t i = 2; i < end;) {
    const std::size_t taken = option.read(call, i, end, "persist");
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  return option;
}

// Returns whether the field had a deadline.
bool remove_deadline(MembersRef& hash, std::string_view field) {
  const std::optional<Member> found = hash.find(field);
  return found && found->deadline != kNever && hash.set_deadline(field, kNever);
}

void reply_nulls(Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) call.reply().null();
}

void set_deadlines(Call& call, MembersRef& hash, Words fields, Time deadline) {
  const bool is_past = call.context().expires_at_once(deadline);
  MemberNames changed;
  for (const std::string_view field : fields) {
    const bool is_done =
        is_past ? hash.expire(field, deadline) : hash.set_deadline(field, deadline);
    if (is_done) changed.push_back(field);
  }
  const MemberChange change = is_past ? MemberChange::expire : MemberChange::set_deadline;
  finish_members(call, hash, changed, change, deadline);
}

// HGETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] FIELDS numfields field [field ...]
//
// Replies with the values before the change, even those of fields that expire at once.
void hgetex(Call& call) {
  const std::optional<std::size_t> at = list_position(call, kHashWords, 2);
  if (!at) return;
  const std::optional<ExpiryOption> option = read_hgetex_option(call, *at);
  if (!option) return;
  const std::optional<Words> fields = counted_words(call, *at, 1, kHashWords.wrong_count);
  if (!fields) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  const std::optional<Time> deadline = option->deadline(call, 0);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  MembersRef hash = call.members(slot);
  for (const std::string_view field : *fields) reply_value(call.reply(), hash.find(field));
  if (deadline) return set_deadlines(call, hash, *fields, *deadline);
  MemberNames changed;
  for (const std::string_view field : *fields) {
    if (option->is_instead && remove_deadline(hash, field)) changed.push_back(field);
  }
  finish_members(call, hash, changed, MemberChange::remove_deadline);
}

// HGETDEL key FIELDS numfields field [field ...]
//
// It is propagated as HDEL of what it removed, which replicas of any version know.
void hgetdel(Call& call) {
  const std::optional<Words> fields = only_members(call, kHashWords.wrong_count);
  if (!fields) return;
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  MembersRef hash = call.members(slot);
  MemberNames removed;
  for (const std::string_view field : *fields) {
    const std::optional<Member> found = hash.find(field);
    reply_value(call.reply(), found);
    if (!found) continue;
    hash.erase(field);
    removed.push_back(field);
  }
  finish_members(call, hash, removed, MemberChange::remove);
}

}  // namespace

std::span<const Command> hash_getex_commands() {
  static constexpr std::uint32_t kWrite = flag::write | flag::fast;
  static constexpr std::string_view kFields = "key FIELDS numfields:count field...";
  // clang-format off
  static constexpr Command kRows[] = {
      {"hgetex", hgetex, -5, kWrite, one_key(access::rw | access::access), "hash", "9.0.0",
       "key [expiration:(EX seconds:int | PX milliseconds:int | EXAT unix-time-seconds:time | "
       "PXAT unix-time-milliseconds:time | PERSIST)] FIELDS numfields:count field...",
       "Returns values of fields, and sets or removes their TTLs."},
      {"hgetdel", hgetdel, -5, kWrite, one_key(access::rw | access::access | access::remove),
       "hash", "9.1.0", kFields, "Returns values of fields, and removes the fields."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
