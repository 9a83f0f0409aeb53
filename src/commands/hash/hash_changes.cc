// SPDX-License-Identifier: Apache-2.0
// Telling and propagating what became of a hash.

#include "commands/hash/hash_changes.h"

#include <utility>

#include "commands/expire_time.h"

namespace mayfly {

Slot hash_to_fill(Call& call) {
  const Slot slot = call.hash_to_write(call.word(1));
  return slot != kNoSlot || call.has_failed() ? slot : call.make_hash(call.word(1));
}

void reply_value(Reply& reply, const std::optional<HashField>& found) {
  if (found) return reply.bulk(found->value);
  reply.null();
}

void tell_change(Call& call, HashRef& hash, std::string_view event, std::size_t times) {
  const std::string_view key = call.word(1);
  const bool is_gone = hash.settle();
  call.changed(key, static_cast<std::int64_t>(times));
  call.notify(Event::hash, event, key);
  if (is_gone) call.notify(Event::generic, "del", key);
}

void propagate_removal(Call& call, const FieldNames& fields) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  call.propagate_list(hdel_request(call.word(1), fields));
}

void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline) {
  const std::string key(call.word(1));
  if (deadline == kNever) {
    return call.propagate_as("HSET", key, field, value);
  }
  call.propagate_as("HSETEX", key, "PXAT", in_millis(deadline), "FIELDS", "1", field, value);
}

}  // namespace mayfly
