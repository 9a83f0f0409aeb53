// SPDX-License-Identifier: Apache-2.0
// LineWords: the words of a line of `mayfly txn` and `mayfly shell`.
//
//   put greeting hello world --ttl 15m       a value is the rest of the line, up to an option
//   put "a key" "two\nlines, \x00"           quotes as redis-cli has them; what is in quotes is
//                                            never an option
//   put note -- use --force                  behind -- nothing is an option: "use --force"
//
// A word that begins with a dash and a letter looks like an option: --tl, -t. One that the command
// does not know is an error, so that a mistyped option never becomes a part of a value. Numbers
// (-5) and dashes alone (-) are no options.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

struct LineOption {
  std::string_view name;               // with its dashes; one of those that the command knows
  std::optional<std::string> value{};  // behind '='
};

// Takes words off the front of a line.
class LineWords {
 public:
  explicit LineWords(std::string_view line) : rest_(line) { skip_spaces(); }

  // The options that the command knows; it has none before.
  void set_options(std::span<const std::string_view> options) { options_ = options; }

  bool at_end() const { return rest_.empty(); }

  // All that is left, without spaces at its end.
  std::string_view rest() const { return rest_; }

  // The next word: up to a space or, if it begins with a quote, up to the one that ends it.
  // Code::invalid if there is none (`what` says what is missing), or if it looks like an option.
  Result<std::string> next(std::string_view what);

  // Words as they stand, with the spaces between them, up to an option or the end; or one word in
  // quotes.
  Result<std::string> next_text(std::string_view what);

  // The option that stands here; nothing if something else does. Code::invalid if it looks like one
  // and the command does not know it.
  Result<std::optional<LineOption>> next_option();

  // What stands behind the option: --limit 5 or --limit=5.
  Result<std::string> value_of(const LineOption& option, std::string_view what);

  // Code::invalid if there is more.
  Status finish() const;

 private:
  bool is_quoted() const { return rest_.starts_with('"') || rest_.starts_with('\''); }
  bool at_option() const;
  void skip_spaces();
  std::optional<std::string_view> known_option(std::string_view word) const;
  Error unknown_option(std::string_view word) const;
  Result<std::string> take_quoted(std::string_view what);

  std::string_view rest_;
  std::span<const std::string_view> options_;
  bool is_behind_dashes_ = false;
};

// As LineWords reads it back, with quotes only if it needs them.
std::string quoted_if_needed(std::string_view bytes);
std::string quoted(std::string_view bytes);

}  // namespace mayfly
