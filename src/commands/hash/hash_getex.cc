// SPDX-License-Identifier: Apache-2.0
// HGETEX and HGETDEL: reading fields and, in one step, giving them a deadline, taking it away, or
// removing them.

#include "commands/hash/hash_expire.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

// The options of HGETEX before word `end`; an error reply and nothing if they are not right.
std::optional<ExpiryOption> read_options(Call& call, std::size_t end) {
  ExpiryOption option;
  for (std::size_t i = 2; i < end;) {
    i = read_expiry_option(call, i, end, "persist", option);
    if (i == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return option;
}

void reply_nulls(Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) call.reply().null();
}

void persist(Call& call, HashRef& hash, Words fields) {
  FieldNames changed;
  for (const std::string_view field : fields) {
    const std::optional<HashField> found = hash.find(field);
    if (!found || found->deadline == kNever) continue;
    hash.set_deadline(field, kNever);
    changed.push_back(field);
  }
  tell_fields(call, hash, changed, Became::persistent);
}

void set_deadlines(Call& call, HashRef& hash, Words fields, Time deadline) {
  const bool past = is_past(call, deadline);
  FieldNames changed;
  for (const std::string_view field : fields) {
    const bool done = past ? hash.expire(field) : hash.set_deadline(field, deadline);
    if (done) changed.push_back(field);
  }
  const Became became = past ? Became::expired : Became::given_deadline;
  tell_fields(call, hash, changed, became, deadline);
}

}  // namespace

// HGETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] FIELDS numfields field [field ...]
//
// Replies with the values as they were before, those of fields that go now among them.
void hgetex(Call& call) {
  const std::optional<std::size_t> at = fields_position(call, 2);
  if (!at) return;
  const std::optional<ExpiryOption> option = read_options(call, *at);
  if (!option) return;
  const std::optional<Words> fields = counted_words(call, *at, 1, kWrongCount);
  if (!fields) return;
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  std::optional<Time> deadline;
  if (option->form) deadline = field_deadline(call, option->time, *option->form);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  HashRef hash = call.database().hash(slot);
  for (const std::string_view field : *fields) reply_value(call.reply(), hash.find(field));
  if (option->is_instead) return persist(call, hash, *fields);
  if (deadline) return set_deadlines(call, hash, *fields, *deadline);
  call.settle(hash, call.word(1));
}

// HGETDEL key FIELDS numfields field [field ...]
//
// It is propagated as HDEL of what it removed, which replicas of any version know.
void hgetdel(Call& call) {
  const std::optional<Words> fields = only_fields(call, kWrongCount);
  if (!fields) return;
  const Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  HashRef hash = call.database().hash(slot);
  FieldNames removed;
  for (const std::string_view field : *fields) {
    const std::optional<HashField> found = hash.find(field);
    reply_value(call.reply(), found);
    if (!found) continue;
    hash.erase(field);
    removed.push_back(field);
  }
  tell_fields(call, hash, removed, Became::removed);
}

}  // namespace mayfly
