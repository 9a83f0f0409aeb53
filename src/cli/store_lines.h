// SPDX-License-Identifier: Apache-2.0
// The language of `mayfly txn` and `mayfly shell`: a line for each thing that is to be done.
//
//   put greeting hello world             the value is the rest of the line, "hello world"
//   put "a key" "two\nlines" --ttl 15m   quotes as redis-cli has them: \n, \xHH, \"
//   {"op": "put", "key": "a", "value": {"base64": "/w=="}, "ttl": "15m", "cf": "sessions"}

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/store_file.h"
#include "mayfly/store_txn.h"

namespace mayfly {

// Takes words off the front of a line.
class LineWords {
 public:
  explicit LineWords(std::string_view line) : rest_(line) { skip_spaces(); }

  bool at_end() const { return rest_.empty(); }

  // The next word: up to a space or, if it begins with a quote, up to the one that ends it.
  // Code::invalid if there is none; `what` says what is missing.
  Result<std::string> next(std::string_view what);

  // All that is left, without spaces at its end; nothing in it has a meaning.
  std::string_view rest() const { return rest_; }

  // Takes `--name WORD` off the end, if it is there. What is in quotes is no option.
  Result<std::optional<std::string>> take_last_option(std::string_view name);

  // Code::invalid if there is more.
  Status finish() const;

 private:
  bool is_quoted() const { return rest_.starts_with('"') || rest_.starts_with('\''); }
  void skip_spaces();

  std::string_view rest_;
};

// As LineWords reads it back, with quotes only if it needs them.
std::string quoted_if_needed(std::string_view bytes);
std::string quoted(std::string_view bytes);

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
  Expires expires;
  std::int64_t delta = 1;
};

// The operation on a line; nothing if its first word is no verb of these. Words are written as the
// file's ByteWords say; JSON has its own way to write bytes.
Result<std::optional<Operation>> parse_operation(std::string_view line, const StoreFile& file);

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
