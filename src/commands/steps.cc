// SPDX-License-Identifier: Apache-2.0
#include "commands/steps.h"

#include <string>

#include "commands/ttl/expire_time.h"

namespace mayfly {

void reply_string(Call& call, Slot slot) {
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().string(slot));
}

KeyLife life_of(Call& call, Slot slot) {
  if (slot == kNoSlot) return {};
  return {call.database().deadline(slot), call.database().stale_time(slot)};
}

Slot replace_value(Call& call, Slot slot, std::string_view key, std::string_view value,
                   const KeyLife& life) {
  if (slot == kNoSlot || !call.is_string(slot)) {
    slot = call.put_string(key, value);
  } else {
    call.database().set_string(slot, value);
  }
  call.database().set_deadline(slot, life.deadline, life.stale);
  return slot;
}

void report_set(Call& call, std::string_view key) {
  call.changed(key);
  call.notify(Event::string, "set", key);
}

void propagate_set(Call& call, std::string_view key, std::string_view value, const KeyLife& life) {
  if (life.deadline == kNever) return call.propagate_as("SET", key, value);
  const std::string fresh_until = in_millis(life.deadline - life.stale);
  if (life.stale == Millis(0)) return call.propagate_as("SET", key, value, "PXAT", fresh_until);
  call.propagate_as("SET", key, value, "PXAT", fresh_until, "PSTALE",
                    std::to_string(life.stale.count()));
}

void remove_key(Call& call, Slot slot, std::string_view key) {
  call.database().erase(slot);
  call.changed(key);
  call.notify(Event::generic, "del", key);
}

void expire_at_once(Call& call, Slot slot, std::string_view key, Time deadline) {
  call.database().report_expiring(call.context(), slot, deadline, FoundBy::past);
  call.database().erase(slot);
  call.keyspace().stats().count_past_key();
  call.changed(key);
  call.propagate_as(call.host().removal_name(), key);
  call.notify(Event::expired, "expired", key);
}

void set_key_deadline(Call& call, Slot slot, std::string_view key, Time deadline) {
  if (call.context().expires_at_once(deadline)) return expire_at_once(call, slot, key, deadline);
  call.database().set_deadline(slot, deadline);
  call.changed(key);
  call.propagate_as("PEXPIREAT", key, in_millis(deadline));
  call.notify(Event::generic, "expire", key);
}

bool clear_key_deadline(Call& call, Slot slot, std::string_view key) {
  if (call.database().deadline(slot) == kNever) return false;
  call.database().set_deadline(slot, kNever);
  call.changed(key);
  call.propagate_as("PERSIST", key);
  call.notify(Event::generic, "persist", key);
  return true;
}

}  // namespace mayfly
