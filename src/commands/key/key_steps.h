// SPDX-License-Identifier: Apache-2.0
// Steps on whole keys that several families of commands take: looking without touching, removing,
// and deadlines, even those that are over before they are set.

#pragma once

#include <string_view>

#include "commands/call.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

// As Call::find_to_read(), but to look at a key in this way is no use of it: TTL, TYPE, EXISTS.
Slot find_untouched(Call& call, std::string_view key);

// Removes a key and tells `del`. `key` must not point into the database.
void remove_key(Call& call, Slot slot, std::string_view key);

// Whether a deadline is over for the one who sets it. A primary decides so, once: what it sends to
// its replicas is obeyed to the letter.
bool is_over(Call& call, Time deadline);

// What setting a deadline that is over comes to: the key expires here and now. It is counted and
// told as `expired`, and a DEL or UNLINK goes to the replicas. `key` must not point into the
// database.
void expire_at_once(Call& call, Slot slot, std::string_view key);

// Gives a key a deadline and tells `expire`; replicas get it as an absolute time. One that is over
// expires the key at once.
void set_key_deadline(Call& call, Slot slot, std::string_view key, Time deadline);

// Takes its deadline away and tells `persist`. Returns false, and tells nothing, if it has none.
bool clear_key_deadline(Call& call, Slot slot, std::string_view key);

}  // namespace mayfly
