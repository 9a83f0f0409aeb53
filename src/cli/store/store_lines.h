// SPDX-License-Identifier: Apache-2.0
// The language of `mayfly txn` and `mayfly shell`: a line for each thing that is to be done.
//
//   put greeting hello world --ttl 15m   words, as line_words.h splits them
//   {"op": "put", "key": "a", "value": {"base64": "/w=="}, "ttl": "15m", "cf": "sessions"}

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/line_words.h"
#include "cli/store/store_file.h"
#include "mayfly/store_txn.h"

namespace mayfly {

enum class Verb { put, set_if_absent, del, expire, persist, touch, incr };

// What can be written, for help and for guesses.
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
  std::string family;  // empty: the one that lines are for at the moment
  std::string key;
  std::string value;
  Expiry expires;
  std::int64_t delta = 1;
};

// The operation on a line; nothing if its first word is no verb of these. Words are written as the
// file's ByteWords say; JSON has its own way to write bytes.
Result<std::optional<Operation>> parse_operation(std::string_view line, const StoreFile& file);

// How much incr is to add: 5, +5 or -5.
Result<std::int64_t> parse_delta(std::string_view word);

// "'pt' is no command: did you mean 'put'?"
Error unknown_verb(std::string_view verb, std::span<const std::string_view> known);

struct Applied {
  bool is_found = true;     // false: there is no such key
  bool is_changed = false;  // false: all is as it was
  std::int64_t sum = 0;     // of incr
  Time deadline = kNever;   // of expire, persist and touch: the one that it has now
};

// Does it. What went wrong is also kept by the transaction, which cannot be committed then.
Result<Applied> apply(const Operation& operation, WriteTxn& txn, Family family);

}  // namespace mayfly
