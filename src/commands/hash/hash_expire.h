// SPDX-License-Identifier: Apache-2.0
// What the commands of field expiry have in common: how they spell fields and times.
//
//   HGETEX key EX 60 FIELDS 2 name mail
//              '---' |      '---------'
//                |   |      counted_words()
//                |   fields_position()
//                read_expiry_option()

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "commands/expire_time.h"
#include "commands/hash/hash_changes.h"

namespace mayfly {

inline constexpr std::string_view kWrongCount =
    "ERR numfields should be greater than 0 and match the provided number of fields";
inline constexpr std::string_view kSyntaxError = "ERR syntax error";

// Where the word FIELDS stands, looked for from word `first` on. An error reply and nothing if it
// is missing, or the last word.
std::optional<std::size_t> fields_position(Call& call, std::size_t first);

// The words after FIELDS, which is at word `at`, and its count; `width` of them are for each field.
// An error reply and nothing if the count is no integer or, with the text `error`, not right.
std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error);

// The fields of a command that has no options: FIELDS must be word 2, or the reply is `error`.
std::optional<Words> only_fields(Call& call, std::string_view error);

// EX, PX, EXAT or PXAT with a time, or one word instead: KEEPTTL of HSETEX, PERSIST of HGETEX.
struct ExpiryOption {
  std::optional<TimeForm> form;
  std::size_t time = 0;     // the word that has the time, if there is a form
  bool is_instead = false;  // the other word was said
};

// Reads the option at word `i`; all options stand before word `end`. Returns the word after it, or
// 0 if it is none or does not go with what was read before. The same one again replaces itself.
std::size_t read_expiry_option(const Call& call, std::size_t i, std::size_t end,
                               std::string_view instead, ExpiryOption& option);

// Word `i` as the deadline of fields: it may be zero, not negative. An error reply and nothing if
// it is not right.
std::optional<Time> field_deadline(Call& call, std::size_t i, TimeForm form);

// Whether fields that are given this deadline are removed at once. Where what is due must be kept
// (on a replica, and while loading) they are given it all the same.
bool is_past(Call& call, Time deadline);

// What became of fields that a command named.
enum class Became {
  given_deadline,  // `hexpire`, HPEXPIREAT
  persistent,      // `hpersist`, HPERSIST
  expired,         // `hexpired`, HDEL: the time given was past
  removed,         // `hdel`, HDEL
};

// Ends a command: tells and propagates what became of `fields`, of which there may be none. They
// are those that were changed, and no condition is propagated: a replica that still holds a field
// that is due here must not give it a new life. `deadline` is for given_deadline.
void tell_fields(Call& call, HashRef& hash, const FieldNames& fields, Became became,
                 Time deadline = kNever);

// What is said of a field, unless a command has something better to say.
inline constexpr std::int64_t kNoField = -2;
inline constexpr std::int64_t kNoDeadline = -1;

// Says that of every field; for a key that is not there.
void reply_no_fields(Call& call, std::size_t count);

}  // namespace mayfly
