// SPDX-License-Identifier: Apache-2.0
// Reading fields and times, and telling what became of fields.

#include "commands/hash/hash_expire.h"

#include <utility>

namespace mayfly {
namespace {

// `name` key [deadline] FIELDS count field ...; a deadline of kNever is left out.
void propagate_fields(Call& call, std::string_view name, Time deadline, const FieldNames& fields) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words;
  words.reserve(5 + fields.size());
  words.emplace_back(name);
  words.emplace_back(call.word(1));
  if (deadline != kNever) words.push_back(in_millis(deadline));
  words.emplace_back("FIELDS");
  words.push_back(std::to_string(fields.size()));
  words.insert(words.end(), fields.begin(), fields.end());
  call.propagate_list(std::move(words));
}

constexpr std::string_view event_of(Became became) {
  switch (became) {
    case Became::given_deadline:
      return "hexpire";
    case Became::persistent:
      return "hpersist";
    case Became::expired:
      return "hexpired";
    case Became::removed:
      break;
  }
  return "hdel";
}

}  // namespace

std::optional<std::size_t> fields_position(Call& call, std::size_t first) {
  for (std::size_t i = first; i + 1 < call.count(); ++i) {
    if (call.is(i, "fields")) return i;
  }
  call.fail(kWrongCount);
  return std::nullopt;
}

std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error) {
  const std::optional<std::int64_t> count = call.integer(at + 1);
  if (!count) return std::nullopt;
  const Words words = call.words().subspan(at + 2);
  const auto fields = static_cast<std::int64_t>(words.size() / width);
  if (*count > 0 && *count == fields && words.size() % width == 0) return words;
  call.fail(error);
  return std::nullopt;
}

std::optional<Words> only_fields(Call& call, std::string_view error) {
  if (!call.integer(3)) return std::nullopt;  // which Valkey looks at first
  if (call.is(2, "fields")) return counted_words(call, 2, 1, error);
  call.fail(error);
  return std::nullopt;
}

std::size_t read_expiry_option(const Call& call, std::size_t i, std::size_t end,
                               std::string_view instead, ExpiryOption& option) {
  if (call.is(i, instead)) {
    option.is_instead = true;
    return option.form ? 0 : i + 1;
  }
  const std::optional<TimeForm> form = time_option(call.word(i));
  if (!form || i + 1 >= end || option.is_instead) return 0;
  const bool is_other = option.form && (option.form->is_seconds != form->is_seconds ||
                                        option.form->is_absolute != form->is_absolute);
  if (is_other) return 0;
  option.form = form;
  option.time = i + 1;
  return i + 2;
}

std::optional<Time> field_deadline(Call& call, std::size_t i, TimeForm form) {
  return deadline_argument(call, i, form, 0);
}

bool is_past(Call& call, Time deadline) {
  return call.keyspace().policy() == Policy::reclaim && !call.keyspace().options().keeps_expired &&
         is_due(deadline, call.now());
}

void tell_fields(Call& call, HashRef& hash, const FieldNames& fields, Became became,
                 Time deadline) {
  if (fields.empty()) {
    call.settle(hash, call.word(1));
    return;
  }
  tell_change(call, hash, event_of(became), fields.size());
  if (became == Became::given_deadline) {
    propagate_fields(call, "HPEXPIREAT", deadline, fields);
  } else if (became == Became::persistent) {
    propagate_fields(call, "HPERSIST", kNever, fields);
  } else {
    propagate_removal(call, fields);
  }
}

void reply_no_fields(Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) call.reply().integer(kNoField);
}

}  // namespace mayfly
