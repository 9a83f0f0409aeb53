// SPDX-License-Identifier: Apache-2.0
#include "cli/store_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "cli/entry_json.h"
#include "cli/ttl_words.h"
#include "resp/inline_words.h"
#include "tools/byte_text.h"

namespace mayfly {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

constexpr VerbForm kForms[] = {
    {Verb::put, "put", "put KEY VALUE [--ttl TIME]", "store a value; it may have spaces in it"},
    {Verb::set_if_absent, "set-if-absent", "set-if-absent KEY VALUE [--ttl TIME]",
     "the same, unless the key has one"},
    {Verb::del, "del", "del KEY", "delete a key"},
    {Verb::expire, "expire", "expire KEY TIME", "say when it is to expire: 90s, 15m, 7d, a date"},
    {Verb::persist, "persist", "persist KEY", "let it live for ever"},
    {Verb::touch, "touch", "touch KEY TIME", "put its deadline off"},
    {Verb::incr, "incr", "incr KEY [N]", "add to a number; a key that is not there counts as 0"},
};

bool takes_value(Verb verb) { return verb == Verb::put || verb == Verb::set_if_absent; }
bool needs_time(Verb verb) { return verb == Verb::expire || verb == Verb::touch; }

std::size_t end_of_word(std::string_view text) {
  return std::min(text.find_first_of(kSpaces), text.size());
}

// How long the quoted word at the front is, with its quotes; nothing if it has no end.
std::optional<std::size_t> quoted_size(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    }
  }
  return std::nullopt;
}

Result<std::string> next_bytes(LineWords& words, std::string_view what, const StoreFile& file) {
  const Result<std::string> word = words.next(what);
  if (!word) return word.error();
  return file.bytes().decode(*word);
}

// The value of put, which may have spaces in it, and the option behind it.
Status read_value(LineWords& words, Operation& operation, const StoreFile& file) {
  const Result<std::optional<std::string>> ttl = words.take_last_option("--ttl");
  if (!ttl) return ttl.error();
  if (*ttl) {
    const Result<Expires> expires = parse_expires(**ttl, file.now());
    if (!expires) return expires.error();
    operation.expires = *expires;
  }
  if (words.at_end()) return Error{Code::invalid, "VALUE is missing; an empty one is \"\""};
  const bool has_quotes = words.rest().starts_with('"') || words.rest().starts_with('\'');
  const Result<std::string> value =
      has_quotes ? next_bytes(words, "VALUE", file) : file.bytes().decode(words.rest());
  if (!value) return value.error();
  operation.value = *value;
  return has_quotes ? words.finish() : Status(Done{});
}

Status read_time(LineWords& words, Operation& operation, const StoreFile& file) {
  const Result<std::string> time = words.next("TIME");
  if (!time) return time.error();
  const Result<Expires> expires = parse_expires(*time, file.now());
  if (!expires) return expires.error();
  operation.expires = *expires;
  return words.finish();
}

Status read_delta(LineWords& words, Operation& operation) {
  if (words.at_end()) return Done{};
  const Result<std::string> word = words.next("N");
  if (!word) return word.error();
  std::string_view digits = *word;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const char* const end = digits.data() + digits.size();
  const auto [stopped, failure] = std::from_chars(digits.data(), end, operation.delta);
  if (failure != std::errc() || stopped != end) {
    return Error{Code::invalid, fmt::format("'{}' is not a whole number that fits", *word)};
  }
  return words.finish();
}

Status read_words(LineWords& words, Operation& operation, const StoreFile& file) {
  const Result<std::string> key = next_bytes(words, "KEY", file);
  if (!key) return key.error();
  operation.key = *key;
  if (takes_value(operation.verb)) return read_value(words, operation, file);
  if (needs_time(operation.verb)) return read_time(words, operation, file);
  if (operation.verb == Verb::incr) return read_delta(words, operation);
  return words.finish();
}

const VerbForm* form_named(std::string_view name) {
  const auto found = std::ranges::find(kForms, name, &VerbForm::name);
  return found == std::end(kForms) ? nullptr : found;
}

std::vector<std::string_view> members_of(Verb verb) {
  std::vector<std::string_view> names = {"op", "cf", "key"};
  if (takes_value(verb)) names.push_back("value");
  if (takes_value(verb) || needs_time(verb)) {
    names.insert(names.end(), {"ttl", "deadline_ms", "deadline"});
  }
  if (verb == Verb::incr) names.push_back("by");
  return names;
}

Result<const VerbForm*> form_of(const JsonValue& object) {
  const JsonValue* const op = object.find("op");
  if (op == nullptr || !op->is(JsonValue::Kind::string)) {
    return Error{Code::invalid, "\"op\" is missing: write {\"op\": \"put\", \"key\": ...}"};
  }
  if (const VerbForm* const form = form_named(op->text)) return form;
  std::vector<std::string_view> names;
  for (const VerbForm& form : kForms) names.push_back(form.name);
  return unknown_verb(op->text, names);
}

Result<Operation> parse_object(std::string_view line, const StoreFile& file) {
  const Result<JsonValue> object = read_json(line);
  if (!object) return object.error();
  const Result<const VerbForm*> form = form_of(*object);
  if (!form) return form.error();
  Operation operation;
  operation.verb = (*form)->verb;
  Members members(*object, members_of(operation.verb));
  operation.family = members.text("cf").value_or("");
  operation.key = members.needed_bytes("key");
  if (takes_value(operation.verb)) operation.value = members.needed_bytes("value");
  operation.delta = members.whole_number("by").value_or(1);
  const Time now = file.now();
  const std::optional<Expires> expires = members.expires(now);
  if (!members.status()) return members.status().error();
  operation.expires = expires.value_or(Expires());
  if (expires && is_due(expires->deadline(now, kNever, Millis::max()), now)) {
    return Error{Code::invalid, "the time is past, or no time at all; it must be later than now"};
  }
  if (needs_time(operation.verb) && !expires) {
    return Error{Code::invalid, "\"ttl\" or \"deadline_ms\" is missing"};
  }
  return operation;
}

// Changes the deadline of a key that is there.
Applied change_deadline(const Operation& operation, WriteTxn& txn, Family family) {
  const auto before = txn.deadline(operation.key, family);
  if (!before || !*before) return {.is_found = false};
  if (operation.verb == Verb::expire) {
    txn.expire(operation.key, operation.expires, When::always, family);
  } else if (operation.verb == Verb::touch) {
    txn.touch(operation.key, operation.expires, family);
  } else {
    txn.persist(operation.key, family);
  }
  const auto after = txn.deadline(operation.key, family);
  if (!after) return {};  // which the transaction remembers
  return {.is_changed = *before != *after, .deadline = after->value_or(txn.now())};
}

}  // namespace

void LineWords::skip_spaces() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
  rest_ = rest_.substr(0, rest_.find_last_not_of(kSpaces) + 1);
}

Result<std::string> LineWords::next(std::string_view what) {
  if (at_end()) return Error{Code::invalid, fmt::format("{} is missing", what)};
  const std::optional<std::size_t> size = is_quoted() ? quoted_size(rest_) : end_of_word(rest_);
  if (!size) return Error{Code::invalid, fmt::format("the quote of {} has no end", what)};
  const std::string_view word = rest_.substr(0, *size);
  std::string text(word);
  if (is_quoted()) {
    std::vector<std::string_view> words;
    std::string unquoted;
    const bool ends = *size == rest_.size() || kSpaces.find(rest_[*size]) != kSpaces.npos;
    if (!ends || !split_inline(word, words, unquoted)) {
      return Error{Code::invalid,
                   fmt::format("behind the quote that ends {} there must be a space", what)};
    }
    text = words.front();
  }
  rest_.remove_prefix(*size);
  skip_spaces();
  return text;
}

Result<std::optional<std::string>> LineWords::take_last_option(std::string_view name) {
  std::string_view before = rest_;
  if (is_quoted()) {
    const std::optional<std::size_t> size = quoted_size(rest_);
    if (!size) return std::optional<std::string>();  // which is found out when it is read
    before.remove_prefix(*size);
  }
  const std::size_t last = before.find_last_of(kSpaces);
  const std::string_view word = before.substr(last == before.npos ? 0 : last + 1);
  const std::string_view ahead = before.substr(0, before.size() - word.size());
  const std::size_t ahead_end = ahead.find_last_not_of(kSpaces) + 1;
  const bool is_apart = ahead.substr(0, ahead_end).ends_with(name) &&
                        (ahead_end == name.size() ||
                         kSpaces.find(ahead[ahead_end - name.size() - 1]) != kSpaces.npos);
  std::optional<std::string> found;
  std::size_t taken = 0;
  if (word == name) {
    return Error{Code::invalid, fmt::format("behind {} a time is missing; a value that ends so "
                                            "needs quotes",
                                            name)};
  }
  if (word.starts_with(name) && word[name.size()] == '=') {
    found = word.substr(name.size() + 1);
    taken = word.size();
  } else if (is_apart) {
    found = word;
    taken = before.size() - (ahead_end - name.size());
  }
  rest_.remove_suffix(taken);
  skip_spaces();
  return found;
}

Status LineWords::finish() const {
  if (at_end()) return Done{};
  return Error{Code::invalid, fmt::format("'{}' is too much", rest_)};
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else if (letter == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_utf8(bytes))) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += letter;
    }
  }
  return text + "\"";
}

std::string quoted_if_needed(std::string_view bytes) {
  const bool is_plain = std::ranges::none_of(bytes, [](char letter) {
    return static_cast<unsigned char>(letter) <= 0x20 || letter == 0x7F;
  });
  const bool is_word = !bytes.empty() && bytes[0] != '"' && bytes[0] != '\'';
  return is_plain && is_word && is_utf8(bytes) ? std::string(bytes) : quoted(bytes);
}

std::span<const VerbForm> verb_forms() { return kForms; }

Error unknown_verb(std::string_view verb, std::span<const std::string_view> known) {
  const std::string_view meant = nearest(verb, known);
  if (!meant.empty()) {
    return {Code::invalid, fmt::format("'{}' is no command: did you mean '{}'?", verb, meant)};
  }
  return {Code::invalid, fmt::format("'{}' is no command; say {}", verb, listed(known))};
}

Result<std::optional<Operation>> parse_operation(std::string_view line, const StoreFile& file) {
  LineWords words(line);
  if (words.rest().starts_with('{')) {
    Result<Operation> operation = parse_object(words.rest(), file);
    if (!operation) return operation.error();
    return std::optional(std::move(*operation));
  }
  const Result<std::string> verb = words.next("a command");
  if (!verb) return verb.error();
  const VerbForm* const form = form_named(*verb);
  if (form == nullptr) return std::optional<Operation>();
  Operation operation;
  operation.verb = form->verb;
  if (const Status status = read_words(words, operation, file); !status) {
    return Error{status.error().code,
                 fmt::format("{}: {} ({})", form->name, status.error().message, form->usage)};
  }
  return std::optional(std::move(operation));
}

Result<Applied> apply(const Operation& operation, WriteTxn& txn, Family family) {
  Applied applied;
  switch (operation.verb) {
    case Verb::put:
      txn.put(operation.key, operation.value, operation.expires, family);
      applied.is_changed = true;
      break;
    case Verb::set_if_absent:
      applied.is_changed =
          txn.put_if_absent(operation.key, operation.value, operation.expires, family);
      break;
    case Verb::del:
      applied.is_found = applied.is_changed = txn.erase(operation.key, family);
      break;
    case Verb::incr:
      applied.sum = txn.increment(operation.key, operation.delta, {}, family);
      applied.is_changed = true;
      break;
    case Verb::expire:
    case Verb::touch:
    case Verb::persist:
      applied = change_deadline(operation, txn, family);
      break;
  }
  if (const Status status = txn.status(); !status) return status.error();
  return applied;
}

}  // namespace mayfly
