// SPDX-License-Identifier: Apache-2.0
// LineWords: splits a line of `mayfly txn` and `mayfly shell` into arguments.
//
//   put greeting hello world --ttl 15m       a value is the rest of the line, up to an option
//   put "a key" "two\nlines, \x00"           quotes as in redis-cli; a quoted argument is never
//                                            an option
//   put note -- use --force                  after -- nothing is an option: "use --force"
//
// An argument that starts with a dash and a letter looks like an option: --tl, -t. An unknown
// option is an error, so that a mistyped option never becomes part of a value. Numbers (-5) and a
// single dash are not options.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

struct LineOption {
  std::string_view name;               // with its dashes; one of set_options()
  std::optional<std::string> value{};  // after '='
};

class LineWords {
 public:
  explicit LineWords(std::string_view line) : rest_(line) { skip_spaces(); }

  // The options of the command; none by default.
  void set_options(std::span<const std::string_view> options) { options_ = options; }

  bool at_end() const { return rest_.empty(); }

  // The rest of the line, without trailing spaces.
  std::string_view rest() const { return rest_; }

  // The next argument. Code::invalid if there is none (`what` names it in the message), or if it
  // looks like an option.
  Result<std::string> next(std::string_view what);

  // The text up to an option or the end, with its spaces; or one quoted argument.
  Result<std::string> next_text(std::string_view what);

  // The option at this place; nothing if there is none. Code::invalid if it is unknown.
  Result<std::optional<LineOption>> next_option();

  // The value of the option: --limit 5 or --limit=5.
  Result<std::string> value_of(const LineOption& option, std::string_view what);

  // Code::invalid if there are more arguments.
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

// As LineWords reads it back; the first one adds quotes only if needed.
std::string quoted_if_needed(std::string_view bytes);
std::string quoted(std::string_view bytes);

}  // namespace mayfly
