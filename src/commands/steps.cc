// SPDX-License-Identifier: Apache-2.0
#include "commands/steps.h"

#include <string>

#include "commands/ttl/expire_time.h"

namespace mayfly {

void reply_string(Call& call, Slot slot) {
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().string(slot));
}

Slot replace_value(Call& call, Slot slot, std::string_view key, std::string_view value) {
  if (slot == kNoSlot || !call.is_string(slot)) return call.put_string(key, value);
  call.database().set_string(slot, value);
  call.database().set_deadline(slot, kNever);
  return slot;
}

void report_set(Call& call, std::string_view key) {
  call.changed(key);
  call.notify(Event::string, "set", key);
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
