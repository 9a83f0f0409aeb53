// SPDX-License-Identifier: Apache-2.0
// What the commands of hashes share: their key is word 1, they name fields and times in the same
// way, and they report and propagate changes in the same way.
//
//   HGETEX key EX 60 FIELDS 2 name mail
//              '---' |      '---------'
//                |   |      counted_words()
//                |   fields_position()
//                ExpiryOption::read()
//
// Clients see events in this order: fields found expired (`hexpired`), what the command did, and
// `del` if no field is left. So a handler changes first, and then calls finish_write().

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/expire_time.h"

namespace mayfly {

// Names of fields, as the request has them.
using FieldNames = std::vector<std::string_view>;

inline constexpr std::string_view kWrongCount =
    "ERR numfields should be greater than 0 and match the provided number of fields";

inline constexpr std::int64_t kNoField = -2;  // the reply about a field that does not exist

// ---- Reading requests ----

// Where the word FIELDS is, searched from word `first` on. An error reply and nothing if it is
// missing, or the last word.
std::optional<std::size_t> fields_position(Call& call, std::size_t first);

// The words after FIELDS, which is word `at`, and its count; each field takes `width` of them. An
// error reply and nothing if the count is no integer or, with the text `error`, wrong.
std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error);

// The fields of a command without options: FIELDS must be word 2, or the reply is `error`.
std::optional<Words> only_fields(Call& call, std::string_view error);

// The hash; an empty one is made if there is none. Check has_failed().
Slot hash_to_fill(Call& call);

// ---- Replying ----

// The value as a bulk, or null if there is none.
void reply_value(Reply& reply, const std::optional<Member>& field);

// ---- Reporting and propagating ----

// Ends a command that changed `times` fields: reports expired fields, `event`, and `del` if no
// field is left.
void finish_write(Call& call, MembersRef& hash, std::string_view event, std::size_t times);

// What a command did to the fields that it named.
enum class FieldChange {
  set_deadline,     // `hexpire`, HPEXPIREAT
  remove_deadline,  // `hpersist`, HPERSIST
  expire,           // `hexpired`, HDEL: the deadline was in the past
  remove,           // `hdel`, HDEL
};

// Ends a command: reports and propagates the change of `fields`, of which there may be none. Only
// fields that were changed are propagated, without conditions: a replica may still hold a field
// that has expired here, and must not give it a new deadline. `deadline` is for set_deadline.
void finish_fields(Call& call, MembersRef& hash, const FieldNames& fields, FieldChange change,
                   Time deadline = kNever);

void propagate_removal(Call& call, const FieldNames& fields);

// The field as it is now: HSET, or HSETEX with a time if it has a deadline.
void propagate_value(Call& call, std::string_view field, std::string_view value, Time deadline);

}  // namespace mayfly
