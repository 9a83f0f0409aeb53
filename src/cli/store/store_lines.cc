// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "cli/advice.h"
#include "cli/import/imported_keys.h"
#include "cli/store/entry_json.h"
#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"

namespace mayfly {
namespace {

constexpr std::string_view kTtlOption[] = {"--ttl"};

constexpr VerbForm kForms[] = {
    {Verb::put, "put", "put KEY VALUE [--ttl TIME]", "store a value; it may contain spaces"},
    {Verb::set_if_absent, "set-if-absent", "set-if-absent KEY VALUE [--ttl TIME]",
     "store a value if the key does not exist"},
    {Verb::del, "del", "del KEY", "delete a key"},
    {Verb::expire, "expire", "expire KEY TIME", "set its TTL or expiry time: 90s, 15m, 7d, a date"},
    {Verb::persist, "persist", "persist KEY", "remove its TTL"},
    {Verb::touch, "touch", "touch KEY TIME", "extend its TTL"},
    {Verb::incr, "incr", "incr KEY [BY] [--ttl TIME]",
     "add to a counter (default 1); --ttl is for new keys"},
};

bool takes_value(Verb verb) { return verb == Verb::put || verb == Verb::set_if_absent; }
bool needs_time(Verb verb) { return verb == Verb::expire || verb == Verb::touch; }
bool takes_time(Verb verb) { return takes_value(verb) || needs_time(verb) || verb == Verb::incr; }

// Reads the arguments of a verb.
class OperationReader {
 public:
  OperationReader(LineWords& words, Operation& operation, const StoreFile& file)
      : words_(words), operation_(operation), file_(file) {
    if (takes_time(operation.verb)) words_.set_options(kTtlOption);
  }

  Status read() {
    if (const Status status = read_options(); !status) return status;
    const Result<std::string> key = words_.next("KEY");
    if (!key) return key.error();
    const Result<std::string> bytes = file_.bytes().decode(*key);
    if (!bytes) return bytes.error();
    operation_.key = *bytes;
    is_last_ = needs_time(operation_.verb);
    if (const Status status = read_options(); !status) return status;
    if (const Status status = read_rest(); !status) return status;
    is_last_ = true;
    if (const Status status = read_options(); !status) return status;
    return words_.finish();
  }

 private:
  Status read_rest() {
    if (takes_value(operation_.verb)) return read_value();
    if (needs_time(operation_.verb) && !has_time_) return read_time(words_.next_text("TIME"));
    if (operation_.verb == Verb::incr) return read_delta();
    return Done{};
  }

  // Reads options at this place; the only one is --ttl. As the last argument its time may contain
  // spaces.
  Status read_options() {
    while (true) {
      const Result<std::optional<LineOption>> option = words_.next_option();
      if (!option) return option.error();
      if (!*option) return Done{};
      if (has_time_) return Error{Code::invalid, "--ttl was given 2 times (use it once)"};
      const Status status =
          read_time(is_last_ && !(*option)->value ? words_.next_text("TIME")
                                                  : words_.value_of(**option, "a time"));
      if (!status) return status;
    }
  }

  Status read_time(const Result<std::string>& text) {
    if (!text) return text.error();
    const Result<Expiry> expires = parse_expires(*text, file_.now());
    if (!expires) return expires.error();
    operation_.expires = *expires;
    has_time_ = true;
    return Done{};
  }

  Status read_value() {
    if (words_.at_end())
      return Error{Code::invalid, "VALUE is missing (write \"\" for an empty value)"};
    const Result<std::string> text = words_.next_text("VALUE");
    if (!text) return text.error();
    const Result<std::string> value = file_.bytes().decode(*text);
    if (!value) return value.error();
    operation_.value = *value;
    return Done{};
  }

  Status read_delta() {
    if (words_.at_end()) return Done{};
    const Result<std::string> word = words_.next("BY");
    if (!word) return word.error();
    const Result<std::int64_t> delta = parse_delta(*word);
    if (!delta) return delta.error();
    operation_.delta = *delta;
    return Done{};
  }

  LineWords& words_;
  Operation& operation_;
  const StoreFile& file_;
  bool has_time_ = false;
  bool is_last_ = false;  // nothing but options can follow
};

const VerbForm* form_named(std::string_view word) {
  const auto found = std::ranges::find(kForms, command_meant(word), &VerbForm::name);
  return found == std::end(kForms) ? nullptr : found;
}

std::vector<std::string_view> member_names(Verb verb) {
  std::vector<std::string_view> names = {"op", "cf", "key"};
  if (takes_value(verb)) names.push_back("value");
  if (takes_time(verb)) {
    names.insert(names.end(), {"ttl", "deadline_ms", "deadline"});
  }
  if (verb == Verb::incr) names.push_back("by");
  return names;
}

Result<const VerbForm*> form_of(const JsonValue& object) {
  const JsonValue* const op = object.find("op");
  if (op == nullptr || !op->is(JsonValue::Kind::string)) {
    return Error{Code::invalid, "\"op\" is missing (write {\"op\": \"put\", \"key\": ...})"};
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
  JsonMembers members(*object, member_names(operation.verb));
  operation.family = members.text("cf").value_or("");
  operation.key = members.needed_bytes("key");
  if (takes_value(operation.verb)) operation.value = members.needed_bytes("value");
  operation.delta = members.whole_number("by").value_or(1);
  const Time now = file.now();
  const std::optional<Expiry> expires = members.expires(now);
  if (!members.status()) return members.status().error();
  operation.expires = expires.value_or(Expiry());
  if (expires && is_due(expires->deadline(now, kNever, Millis::max()), now)) {
    return Error{Code::invalid, "the expiry time must be in the future"};
  }
  if (needs_time(operation.verb) && !expires) {
    return Error{Code::invalid, "\"ttl\" or \"deadline_ms\" is missing"};
  }
  return operation;
}

// expire, touch and persist.
Applied apply_deadline(const Operation& operation, WriteTxn& txn, Family family) {
  const auto before = txn.deadline(operation.key, family);
  if (!before || !*before) return {.is_found = false};
  if (operation.verb == Verb::expire) {
    txn.expire(operation.key, operation.expires, operation.when, family);
  } else if (operation.verb == Verb::touch) {
    txn.touch(operation.key, operation.expires, family);
  } else {
    txn.persist(operation.key, family);
  }
  const auto after = txn.deadline(operation.key, family);
  if (!after) return {};  // the transaction keeps the error
  return {.is_changed = *before != *after, .deadline = after->value_or(txn.now())};
}

}  // namespace

Result<std::int64_t> parse_delta(std::string_view word) {
  std::int64_t delta = 0;
  const std::string_view digits = word.substr(word.starts_with('+') ? 1 : 0);
  const char* const end = digits.data() + digits.size();
  const auto [stopped, failure] = std::from_chars(digits.data(), end, delta);
  if (failure == std::errc() && stopped == end && !word.starts_with("+-")) return delta;
  return Error{Code::invalid, fmt::format("'{}' is not a 64-bit integer", word)};
}

std::span<const VerbForm> verb_forms() { return kForms; }

Error unknown_verb(std::string_view verb, std::span<const std::string_view> known) {
  if (const std::string_view advice = advice_for(verb); !advice.empty()) {
    return {Code::invalid, fmt::format("unknown command '{}'; {}", verb, advice)};
  }
  const std::string_view meant = nearest(verb, known);
  if (!meant.empty()) {
    return {Code::invalid, fmt::format("unknown command '{}'; did you mean '{}'?", verb, meant)};
  }
  return {Code::invalid,
          fmt::format("unknown command '{}'; choose one of {}", verb, listed(known))};
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
  if (const Status status = OperationReader(words, operation, file).read(); !status) {
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
      applied.sum = txn.increment(operation.key, operation.delta, operation.expires, family);
      applied.is_changed = true;
      break;
    case Verb::expire:
    case Verb::touch:
    case Verb::persist:
      applied = apply_deadline(operation, txn, family);
      break;
  }
  if (const Status status = txn.status(); !status) return status.error();
  return applied;
}

Result<Applied> apply_to_key(const Operation& operation, WriteTxn& txn, Family family,
                             std::string_view family_name, const StoreFile& file) {
  Result<Applied> applied = apply(operation, txn, family);
  if (!applied || applied->is_found) return applied;
  const auto imported = ImportedKey::find(txn, family_name, operation.key);
  if (!imported) return imported.error();
  if (!*imported) return applied;
  if (operation.verb != Verb::del) return (*imported)->refusal(file);
  (*imported)->erase(txn);
  if (const Status status = txn.status(); !status) return status.error();
  return Applied{.is_changed = true};
}

Exit print_applied(const Operation& operation, const Applied& applied, Time now,
                   const StoreFile& file) {
  const std::string& key = operation.key;
  if (!applied.is_found) return not_found(key, file);
  switch (operation.verb) {
    case Verb::put:
    case Verb::del:
      print_done(key, operation.verb == Verb::put ? "stored" : "deleted", file);
      break;
    case Verb::set_if_absent:
      print_inserted(key, applied.is_changed, file);
      return applied.is_changed ? Exit::ok : Exit::not_found;
    case Verb::incr:
      print_sum(key, applied.sum, file);
      break;
    case Verb::expire:
    case Verb::touch:
    case Verb::persist:
      print_changed(key, applied.is_changed, applied.deadline, now, file);
      break;
  }
  return Exit::ok;
}

}  // namespace mayfly
