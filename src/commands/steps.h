// SPDX-License-Identifier: Apache-2.0
// Steps that several families of commands share: replacing and removing values, and deadlines of
// keys. Each reports and propagates what it does. `key` must not point into the database.

#pragma once

#include <string_view>

#include "commands/call.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

// Replies with the string at `slot`, or null if that is kNoSlot.
void reply_string(Call& call, Slot slot);

// How long a key lives, and for which time before that it is stale.
struct KeyLife {
  Time deadline = kNever;
  Millis stale = Millis(0);
};

// That of the key at `slot`; none if that is kNoSlot.
KeyLife life_of(Call& call, Slot slot);

// Sets a key to a string. `slot` is where the key is, or kNoSlot. A string is replaced in place; a
// value of another type is removed. Notifies of `new` if the key is new.
Slot replace_value(Call& call, Slot slot, std::string_view key, std::string_view value,
                   const KeyLife& life = {});

// A key was set to a string: notifies of `set`.
void report_set(Call& call, std::string_view key);

// Propagates that as a SET with an absolute time.
void propagate_set(Call& call, std::string_view key, std::string_view value, const KeyLife& life);

// Removes a key and notifies of `del`.
void remove_key(Call& call, Slot slot, std::string_view key);

// Removes a key because its new deadline is in the past. It is counted and reported as `expired`,
// and propagated as DEL or UNLINK.
void expire_at_once(Call& call, Slot slot, std::string_view key, Time deadline);

// Gives a key a deadline and notifies of `expire`; it is propagated as an absolute time. A deadline
// in the past expires the key at once.
void set_key_deadline(Call& call, Slot slot, std::string_view key, Time deadline);

// Removes the deadline and notifies of `persist`. Returns false if there was none.
bool clear_key_deadline(Call& call, Slot slot, std::string_view key);

}  // namespace mayfly
