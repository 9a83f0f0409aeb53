// SPDX-License-Identifier: Apache-2.0
// The commands that read hashes: fields by name, and all of them.

#include "commands/command.h"
#include "commands/hash/hash_steps.h"
#include "commands/members/member_steps.h"

namespace mayfly {
namespace {

// Calls `answer` with the field that word 2 names, or with nothing if there is none.
template <class Answer>
void read_field(Call& call, Answer answer) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return answer(call.reply(), std::optional<Member>());

  MembersRef hash = call.members(slot);
  answer(call.reply(), hash.find(call.word(2)));
  call.finish(hash, call.word(1));
}

// Replies with `head(count)`, and then calls `answer` with each field.
template <class Head, class Answer>
void read_all(Call& call, Head head, Answer answer) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return head(0);

  const MembersRef hash = call.members(slot);
  head(hash.size());
  hash.each([&](const Member& field) {
    answer(field);
    return true;
  });
}

// HGET key field
void hget(Call& call) { read_field(call, reply_value); }

// HSTRLEN key field
void hstrlen(Call& call) {
  read_field(call, [](Reply& reply, const std::optional<Member>& field) {
    reply.integer(field ? static_cast<std::int64_t>(field->value.size()) : 0);
  });
}

// HEXISTS key field
void hexists(Call& call) {
  read_field(
      call, [](Reply& reply, const std::optional<Member>& field) { reply.integer(field ? 1 : 0); });
}

// HMGET key field [field ...]
void hmget(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  const Words fields = call.words().subspan(2);
  Reply& reply = call.reply();
  reply.array(fields.size());
  if (slot == kNoSlot) {
    for (std::size_t i = 0; i < fields.size(); ++i) reply.null();
    return;
  }
  MembersRef hash = call.members(slot);
  for (const std::string_view field : fields) reply_value(reply, hash.find(field));
  call.finish(hash, call.word(1));
}

// HGETALL key
void hgetall(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.map(count); },
      [&](const Member& field) {
        reply.bulk(field.name);
        reply.bulk(field.value);
      });
}

// HKEYS key
void hkeys(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.array(count); },
      [&](const Member& field) { reply.bulk(field.name); });
}

// HVALS key
void hvals(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.array(count); },
      [&](const Member& field) { reply.bulk(field.value); });
}

// HLEN key
void hlen(Call& call) { count_members(call, ValueType::hash); }

}  // namespace

std::span<const Command> hash_read_commands() {
  static constexpr std::uint64_t kFast = flag::readonly | flag::fast;
  static constexpr KeyRange kLook = one_key(access::ro);
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"hget", hget, 3, kFast, kGet, "hash", "2.0.0",
       "key field", "Returns the value of a field."},
      {"hmget", hmget, -3, kFast, kGet, "hash", "2.0.0",
       "key field...", "Returns the values of several fields."},
      {"hgetall", hgetall, 2, flag::readonly, kGet, "hash", "2.0.0",
       "key", "Returns all fields with their values."},
      {"hkeys", hkeys, 2, flag::readonly, kGet, "hash", "2.0.0",
       "key", "Returns the names of all fields."},
      {"hvals", hvals, 2, flag::readonly, kGet, "hash", "2.0.0",
       "key", "Returns the values of all fields."},
      {"hlen", hlen, 2, kFast, kLook, "hash", "2.0.0",
       "key", "Returns the number of fields. Expired fields do not count."},
      {"hstrlen", hstrlen, 3, kFast, kLook, "hash", "3.2.0",
       "key field", "Returns the length of a field's value in bytes."},
      {"hexists", hexists, 3, kFast, kLook, "hash", "2.0.0",
       "key field", "Returns whether a field exists."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
