// SPDX-License-Identifier: Apache-2.0
#include "commands/hash/hash_steps.h"

namespace mayfly {

Slot hash_to_fill(Call& call) {
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (slot != kNoSlot || call.has_failed()) return slot;
  return call.make_members(ValueType::hash, call.word(1));
}

void reply_value(Reply& reply, const std::optional<Member>& field) {
  if (field) return reply.bulk(field->value);
  reply.null();
}

void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline) {
  const std::string_view key = call.word(1);
  if (deadline == kNever) return call.propagate_as("HSET", key, field, value);
  call.propagate_as("HSETEX", key, "PXAT", in_millis(deadline), "FIELDS", "1", field, value);
}

}  // namespace mayfly
