// SPDX-License-Identifier: Apache-2.0
// The syntax of a command, as its row in the table has it, and the arguments it describes.
//
//   key value [condition:(NX | XX)] [GET] [expiration:(EX seconds:int | KEEPTTL)]
//   key FIELDS numfields:count (field value)...
//
//   word                  a value; `:int`, `:double`, `:time`, `:pattern` or `:key` is its type,
//                         and a value named `key` is a key. `:count` is an integer that says how
//                         often the repeated argument behind it occurs.
//   WORD                  a token: the word itself. It belongs to the values that follow it. So are
//                         the signs = ~ * and $, and words in quotes: 'm' is the token m.
//   [ ... ]               optional
//   ( ... )               a group; with `|` a choice. Both may have a name: `condition:(NX | XX)`,
//                         `circle:(BYRADIUS radius:double unit)`
//   ...                   what stands before it may be repeated
//
// COMMAND DOCS gives the arguments to clients (redis-cli shows them as hints). A test checks each
// row's arity against them, and sends requests made from them.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

enum class ArgumentKind { text, integer, number, key, pattern, unix_time, token, choice, block };

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::text;
  std::string token;  // the word before it, or, of a token, the word itself
  bool is_optional = false;
  bool is_repeated = false;
  bool repeats_token = false;   // with its value: GET a GET b
  bool is_count = false;        // of what is repeated behind it
  std::vector<Argument> parts;  // of a choice or a block
};

// An error for text that is not of the form above.
Result<std::vector<Argument>> parse_syntax(std::string_view syntax);

// How many words the arguments take; no `most` if there is no limit.
struct WordCount {
  int least = 0;
  std::optional<int> most = 0;
};
WordCount count_words(const std::vector<Argument>& arguments);

// The type as COMMAND DOCS names it.
std::string_view kind_name(ArgumentKind kind);

}  // namespace mayfly
