// SPDX-License-Identifier: Apache-2.0
// What the commands of hashes have in common: their key is word 1, and what they change is told and
// propagated in one way.
//
// Users see events in this order: what was found due (`hexpired`), what the command did, and `del`
// if that left no field. So a handler changes first, and then tells all of it by tell_change().

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "keyspace/members/hash_ref.h"

namespace mayfly {

// Names of fields, as the request has them.
using FieldNames = std::vector<std::string_view>;

// The hash under the key; an empty one is made if there is none. Check has_failed().
Slot hash_to_fill(Call& call);

// The value as a bulk, or null if there is none.
void reply_value(Reply& reply, const std::optional<HashField>& found);

// Ends a command that changed `times` fields: tells what was found due, `event`, and `del` if
// nothing is left.
void tell_change(Call& call, HashRef& hash, std::string_view event, std::size_t times);

// HDEL key field ...
template <class Fields>
Propagated hdel_request(std::string_view key, const Fields& fields) {
  Propagated words = {"HDEL", std::string(key)};
  words.insert(words.end(), fields.begin(), fields.end());
  return words;
}
void propagate_removal(Call& call, const FieldNames& fields);

// The field as it is now: HSET, or HSETEX with a time if it has a deadline.
void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline);

}  // namespace mayfly
