// SPDX-License-Identifier: Apache-2.0
// Changes of keys: the lines of `mayfly txn` and `mayfly shell`, and how they are applied.
//
//   put greeting hello world --ttl 15m   see line_words.h
//   {"op": "put", "key": "a", "value": {"base64": "/w=="}, "ttl": "15m", "cf": "sessions"}

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/store/line_words.h"
#include "cli/store/store_file.h"
#include "mayfly/store_txn.h"

namespace mayfly {

enum class Verb { put, set_if_absent, del, expire, persist, touch, incr };

// The changes, for help and for guesses.
struct VerbForm {
  Verb verb;
  std::string_view name;
  std::string_view usage;
  std::string_view what;
};
std::span<const VerbForm> verb_forms();

// One change of a key.
struct Operation {
  Verb verb = Verb::put;
  std::string family;  // empty: the current one
  std::string key;
  std::string value;
  Expiry expires;
  When when = When::always;  // of expire
  std::int64_t delta = 1;    // of incr
};

// The change on a line; nothing if its first word is not one of these verbs. Bytes are written as
// ByteWords says; JSON has its own form.
Result<std::optional<Operation>> parse_operation(std::string_view line, const StoreFile& file);

// The amount of incr: 5, +5 or -5.
Result<std::int64_t> parse_delta(std::string_view word);

// "unknown command 'pt'; did you mean 'put'?"
Error unknown_verb(std::string_view verb, std::span<const std::string_view> known);

struct Applied {
  bool is_found = true;     // false: the key does not exist
  bool is_changed = false;  // false: nothing was changed
  std::int64_t sum = 0;     // of incr
  Time deadline = kNever;   // of expire, persist and touch: the new one
};

// Applies a change. An error is also kept by the transaction, which can no longer be committed.
Result<Applied> apply(const Operation& operation, WriteTxn& txn, Family family);

// The same as a command or the shell does it. A key that was imported as a hash or the like is
// deleted as a whole; other changes of it are refused.
Result<Applied> apply_to_key(const Operation& operation, WriteTxn& txn, Family family,
                             std::string_view family_name, const StoreFile& file);

// Prints the result of a change at `now`. Exit::not_found: the key does not exist, or set-if-absent
// found one.
Exit print_applied(const Operation& operation, const Applied& applied, Time now,
                   const StoreFile& file);

}  // namespace mayfly
