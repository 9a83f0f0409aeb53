// SPDX-License-Identifier: Apache-2.0
#include "cli/entry_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "cli/ttl_words.h"
#include "tools/byte_text.h"

namespace mayfly {

using Kind = JsonValue::Kind;

Members::Members(const JsonValue& value, std::span<const std::string_view> known) : value_(value) {
  if (!value.is(Kind::object)) {
    status_ = Error{Code::invalid,
                    fmt::format("an object is needed, {{...}}, not {}", kind_text(value.kind))};
    return;
  }
  for (const JsonValue& member : value.values) {
    if (std::ranges::find(known, member.name) != known.end()) continue;
    const std::string_view meant = nearest(member.name, known);
    fail(member.name, meant.empty() ? fmt::format("there is no such member, but {}", listed(known))
                                    : fmt::format("did you mean \"{}\"?", meant));
    return;
  }
}

const JsonValue* Members::find(std::string_view name) const {
  return status_ ? value_.find(name) : nullptr;
}

void Members::fail(std::string_view name, const std::string& what) {
  status_ = Error{Code::invalid, fmt::format("\"{}\": {}", name, what)};
}

std::optional<std::string> Members::bytes(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is(Kind::string)) return found->text;
  const JsonValue* const coded = found->values.size() == 1 ? found->find("base64") : nullptr;
  if (coded == nullptr || !coded->is(Kind::string)) {
    fail(name,
         fmt::format("write a string or {{\"base64\": \"...\"}}, not {}", kind_text(found->kind)));
    return std::nullopt;
  }
  Result<std::string> decoded = from_base64(coded->text);
  if (decoded) return std::move(*decoded);
  fail(name, decoded.error().message);
  return std::nullopt;
}

std::string Members::needed_bytes(std::string_view name) {
  std::optional<std::string> found = bytes(name);
  if (!found && status_) fail(name, "it is missing");
  return found ? std::move(*found) : std::string();
}

std::optional<std::string> Members::text(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is(Kind::string)) return found->text;
  fail(name, fmt::format("write a string, not {}", kind_text(found->kind)));
  return std::nullopt;
}

std::optional<std::int64_t> Members::whole_number(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = found->whole_number();
  if (!number) fail(name, "write a whole number");
  return number;
}

std::optional<Expiry> Members::expires(Time now) {
  for (const std::string_view name : {"deadline_ms", "deadline", "ttl"}) {
    const JsonValue* const found = find(name);
    if (found == nullptr) continue;
    if (found->is(Kind::null)) return Expiry::never();
    if (name == "deadline_ms") {
      const std::optional<std::int64_t> ms = whole_number(name);
      if (!ms) return std::nullopt;
      return Expiry(Time(Millis(*ms)));
    }
    if (name == "ttl" && found->is(Kind::number)) {
      const std::optional<double> seconds = found->number();
      if (seconds && *seconds > 0) {
        return Expiry(to_millis(std::chrono::duration<double>(*seconds)));
      }
      fail(name, seconds ? "a time to live must be above 0" : "the number does not fit");
      return std::nullopt;
    }
    const std::optional<std::string> written = text(name);
    if (!written) return std::nullopt;
    const Result<Time> moment = parse_moment(*written, now);
    if (moment) return Expiry(*moment);
    fail(name, moment.error().message);
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace mayfly
