// SPDX-License-Identifier: Apache-2.0
// Steps on whole keys: what is done, and what is told of it.

#include "commands/key/key_steps.h"

#include <string>

#include "commands/expire_time.h"

namespace mayfly {

Slot find_untouched(Call& call, std::string_view key) {
  const Slot slot = call.database().find(key);
  call.host().count_lookup(slot != kNoSlot);
  if (slot == kNoSlot) call.notify(Event::miss, "keymiss", key);
  return slot;
}

void remove_key(Call& call, Slot slot, std::string_view key) {
  call.database().erase(slot);
  call.changed(key);
  call.notify(Event::generic, "del", key);
}

bool is_over(Call& call, Time deadline) {
  return call.keyspace().policy() == Policy::reclaim && !call.keyspace().options().keeps_expired &&
         is_due(deadline, call.now());
}

void expire_at_once(Call& call, Slot slot, std::string_view key) {
  call.database().erase(slot);
  ++call.keyspace().stats().expired_keys;
  call.changed(key);
  call.propagate_as(call.host().removal_name(), key);
  call.notify(Event::expired, "expired", key);
}

void set_key_deadline(Call& call, Slot slot, std::string_view key, Time deadline) {
  if (is_over(call, deadline)) return expire_at_once(call, slot, key);
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
