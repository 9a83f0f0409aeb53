// SPDX-License-Identifier: Apache-2.0
// A recursive descent through the syntax of a command.

#include "commands/syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "commands/words.h"

namespace mayfly {
namespace {

using enum ArgumentKind;

// Brackets, bars, dots and words.
std::vector<std::string_view> split(std::string_view syntax) {
  constexpr std::string_view kMarks = "[]()|";
  std::vector<std::string_view> words;
  while (!syntax.empty()) {
    std::size_t length = 1;
    if (syntax.starts_with("...")) {
      length = 3;
    } else if (kMarks.find(syntax.front()) == std::string_view::npos) {
      length = std::min({syntax.find_first_of("[]()| "), syntax.find("..."), syntax.size()});
    }
    if (syntax.front() != ' ') words.push_back(syntax.substr(0, std::max<std::size_t>(length, 1)));
    syntax.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return words;
}

constexpr char kQuote = '\'';

// A token without its quotes.
std::string_view plain(std::string_view word) {
  if (word.front() != kQuote) return word;
  word.remove_prefix(1);
  return word.substr(0, word.find(kQuote));
}

// "NX" is named nx, and the token of an empty string has no letters.
std::string name_of_token(std::string_view token) {
  return token == "\"\"" ? "empty-string" : lowered(token);
}

bool is_token(std::string_view word) {
  constexpr std::string_view kSigns = "=~*$";
  const bool is_sign = word.size() == 1 && kSigns.find(word.front()) != std::string_view::npos;
  return is_sign || word.front() == kQuote ||
         std::isupper(static_cast<unsigned char>(word.front())) != 0;
}

bool is_mark(std::string_view word) {
  return word == "..." || std::string_view("[]()|").find(word) != std::string_view::npos;
}

struct Type {
  std::string_view name;
  ArgumentKind kind;
};
constexpr Type kTypes[] = {{"int", integer},     {"double", number},  {"key", key},
                           {"pattern", pattern}, {"time", unix_time}, {"count", integer}};

class Parser {
 public:
  explicit Parser(std::string_view syntax) : words_(split(syntax)) {}

  std::vector<Argument> all() {
    std::vector<Argument> arguments = sequence();
    if (at_ < words_.size()) fail("unexpected", words_[at_]);
    return arguments;
  }

  const std::string& error() const { return error_; }

 private:
  std::string_view next() const { return at_ < words_.size() ? words_[at_] : std::string_view(); }

  void fail(std::string_view what, std::string_view word) {
    if (error_.empty()) error_.append(what).append(" '").append(word).append("'");
    at_ = words_.size();
  }

  bool take(std::string_view word) {
    if (next() != word) return false;
    ++at_;
    return true;
  }

  void expect(std::string_view word) {
    if (!take(word)) fail("missing", word);
  }

  // Everything up to a bar or the end of a group.
  std::vector<Argument> sequence() {
    std::vector<Argument> arguments;
    while (at_ < words_.size() && next() != "]" && next() != ")" && next() != "|") {
      arguments.push_back(item());
    }
    return arguments;
  }

  Argument item() {
    Argument argument;
    if (take("[")) {
      argument = alternatives({});
      argument.is_optional = true;
      expect("]");
    } else if (is_token(next())) {
      argument = token_with_values();
    } else {
      return value();
    }
    if (take("...")) {
      argument.is_repeated = true;
      argument.repeats_token = !argument.token.empty();
    }
    return argument;
  }

  // A token alone, or with all values and groups that follow it.
  Argument token_with_values() {
    Argument argument;
    argument.token = plain(words_[at_++]);
    std::vector<Argument> values;
    while (at_ < words_.size() && (next() == "(" || (!is_mark(next()) && !is_token(next())))) {
      values.push_back(value());
    }
    if (values.empty()) {
      argument.kind = token;
      argument.name = name_of_token(argument.token);
    } else if (values.size() == 1 && values.front().token.empty()) {
      values.front().token = argument.token;
      return std::move(values.front());
    } else {
      argument.kind = block;
      argument.name = lowered(argument.token);
      argument.parts = std::move(values);
    }
    return argument;
  }

  // A named value or a group, and whether it is repeated.
  Argument value() {
    Argument argument;
    std::string_view name;
    if (!is_mark(next())) {
      name = words_[at_++];
      argument = named(name);
    }
    if (name.empty() || name.ends_with(':')) {
      expect("(");
      argument = alternatives(name.substr(0, name.find(':')));
      expect(")");
    }
    if (take("...")) argument.is_repeated = true;
    return argument;
  }

  Argument named(std::string_view word) {
    Argument argument;
    const std::size_t colon = word.find(':');
    argument.name = word.substr(0, colon);
    if (word == "key") argument.kind = key;
    if (colon == std::string_view::npos || colon + 1 == word.size()) return argument;
    const std::string_view name = word.substr(colon + 1);
    const auto type = std::ranges::find(kTypes, name, &Type::name);
    if (type == std::end(kTypes)) {
      fail("unknown type", name);
    } else {
      argument.kind = type->kind;
      argument.is_count = name == "count";
    }
    return argument;
  }

  // What stands between brackets: a choice, a block, or the one argument that it has.
  Argument alternatives(std::string_view name) {
    std::vector<Argument> choices;
    do {
      choices.push_back(one(sequence(), name.empty() ? "arguments" : name));
    } while (take("|"));
    if (choices.size() == 1) return named_block(std::move(choices.front()), name);
    Argument argument;
    argument.kind = choice;
    argument.name = name.empty() ? "option" : name;
    argument.parts = std::move(choices);
    return argument;
  }

  // A token with several values is a block. In a group with a name the block takes the group's
  // name, and its first value takes the token.
  static Argument named_block(Argument argument, std::string_view name) {
    const bool is_renamed = !name.empty() && argument.kind == block && !argument.token.empty() &&
                            argument.parts.front().token.empty();
    if (!is_renamed) return argument;
    argument.name = name;
    argument.parts.front().token = std::exchange(argument.token, {});
    return argument;
  }

  Argument one(std::vector<Argument> arguments, std::string_view name) {
    if (arguments.empty()) fail("an empty group", name);
    if (arguments.size() == 1) return std::move(arguments.front());
    Argument argument;
    argument.kind = block;
    argument.name = name;
    argument.parts = std::move(arguments);
    return argument;
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  std::string error_;
};

WordCount count_one(const Argument& argument) {
  WordCount count{1, 1};
  if (argument.kind == block) count = count_words(argument.parts);
  if (argument.kind == choice) {
    count = count_words({argument.parts.front()});
    for (const Argument& part : argument.parts) {
      const WordCount other = count_words({part});
      count.least = std::min(count.least, other.least);
      count.most = count.most && other.most ? std::optional(std::max(*count.most, *other.most))
                                            : std::nullopt;
    }
  }
  if (argument.kind != token && !argument.token.empty()) {
    ++count.least;
    if (count.most) ++*count.most;
  }
  if (argument.is_optional) count.least = 0;
  if (argument.is_repeated) count.most = std::nullopt;
  return count;
}

}  // namespace

Result<std::vector<Argument>> parse_syntax(std::string_view syntax) {
  Parser parser(syntax);
  std::vector<Argument> arguments = parser.all();
  if (parser.error().empty()) return arguments;
  return Error{Code::invalid, parser.error()};
}

WordCount count_words(const std::vector<Argument>& arguments) {
  WordCount sum;
  for (const Argument& argument : arguments) {
    const WordCount count = count_one(argument);
    sum.least += count.least;
    sum.most = sum.most && count.most ? std::optional(*sum.most + *count.most) : std::nullopt;
  }
  return sum;
}

std::string_view kind_name(ArgumentKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace mayfly
