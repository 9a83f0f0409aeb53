// SPDX-License-Identifier: Apache-2.0
#include "commands/hash/hash_steps.h"

#include <utility>

#include "commands/members/member_words.h"

namespace mayfly {
namespace {

// `name` key [deadline] FIELDS count field ...; a deadline of kNever is left out.
void propagate_fields(Call& call, std::string_view name, Time deadline, const FieldNames& fields) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words;
  words.reserve(5 + fields.size());
  words.emplace_back(name);
  words.emplace_back(call.word(1));
  if (deadline != kNever) words.push_back(in_millis(deadline));
  words.emplace_back("FIELDS");
  words.push_back(std::to_string(fields.size()));
  words.insert(words.end(), fields.begin(), fields.end());
  call.propagate_list(std::move(words));
}

}  // namespace

std::optional<std::size_t> fields_position(Call& call, std::size_t first) {
  for (std::size_t i = first; i + 1 < call.count(); ++i) {
    if (call.is(i, "fields")) return i;
  }
  call.fail(kWrongCount);
  return std::nullopt;
}

std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error) {
  const std::optional<std::int64_t> count = call.integer(at + 1);
  if (!count) return std::nullopt;
  const Words words = call.words().subspan(at + 2);
  const auto fields = static_cast<std::int64_t>(words.size() / width);
  if (*count > 0 && *count == fields && words.size() % width == 0) return words;
  call.fail(error);
  return std::nullopt;
}

std::optional<Words> only_fields(Call& call, std::string_view error) {
  if (!call.integer(3)) return std::nullopt;  // Valkey checks the count first
  if (call.is(2, "fields")) return counted_words(call, 2, 1, error);
  call.fail(error);
  return std::nullopt;
}

Slot hash_to_fill(Call& call) {
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (slot != kNoSlot || call.has_failed()) return slot;
  return call.make_members(ValueType::hash, call.word(1));
}

void reply_value(Reply& reply, const std::optional<Member>& field) {
  if (field) return reply.bulk(field->value);
  reply.null();
}

void finish_write(Call& call, MembersRef& hash, std::string_view event, std::size_t times) {
  const std::string_view key = call.word(1);
  const bool is_gone = hash.finish();
  call.changed(key, static_cast<std::int64_t>(times));
  call.notify(Event::hash, event, key);
  if (is_gone) call.notify(Event::generic, "del", key);
}

void finish_fields(Call& call, MembersRef& hash, const FieldNames& fields, FieldChange change,
                   Time deadline) {
  if (fields.empty()) return call.finish(hash, call.word(1));
  switch (change) {
    case FieldChange::set_deadline:
      finish_write(call, hash, "hexpire", fields.size());
      return propagate_fields(call, "HPEXPIREAT", deadline, fields);
    case FieldChange::remove_deadline:
      finish_write(call, hash, "hpersist", fields.size());
      return propagate_fields(call, "HPERSIST", kNever, fields);
    case FieldChange::expire:
    case FieldChange::remove:
      const bool is_expiry = change == FieldChange::expire;
      finish_write(call, hash, is_expiry ? "hexpired" : "hdel", fields.size());
      return propagate_removal(call, fields);
  }
}

void propagate_removal(Call& call, const FieldNames& fields) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  call.propagate_list(removal_request(ValueType::hash, call.word(1), fields));
}

void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline) {
  const std::string_view key = call.word(1);
  if (deadline == kNever) return call.propagate_as("HSET", key, field, value);
  call.propagate_as("HSETEX", key, "PXAT", in_millis(deadline), "FIELDS", "1", field, value);
}

}  // namespace mayfly
