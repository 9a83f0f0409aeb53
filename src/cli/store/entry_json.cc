// SPDX-License-Identifier: Apache-2.0
#include "cli/store/entry_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "cli/ttl_words.h"
#include "text/byte_text.h"

namespace mayfly {

JsonMembers::JsonMembers(const JsonValue& value, std::span<const std::string_view> known)
    : value_(value) {
  if (!value.is(JsonValue::Kind::object)) {
    status_ = Error{Code::invalid,
                    fmt::format("expected an object {{...}}, not {}", kind_text(value.kind))};
    return;
  }
  for (const JsonValue& member : value.values) {
    if (std::ranges::find(known, member.name) != known.end()) continue;
    const std::string_view meant = nearest(member.name, known);
    fail(member.name, meant.empty() ? fmt::format("unknown member (use {})", listed(known))
                                    : fmt::format("unknown member (did you mean \"{}\"?)", meant));
    return;
  }
}

const JsonValue* JsonMembers::find(std::string_view name) const {
  return status_ ? value_.find(name) : nullptr;
}

void JsonMembers::fail(std::string_view name, const std::string& what) {
  status_ = Error{Code::invalid, fmt::format("\"{}\": {}", name, what)};
}

std::optional<std::string> JsonMembers::bytes(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is(JsonValue::Kind::string)) return found->text;
  const JsonValue* const coded = found->values.size() == 1 ? found->find("base64") : nullptr;
  if (coded == nullptr || !coded->is(JsonValue::Kind::string)) {
    fail(name, fmt::format("expected a string or {{\"base64\": \"...\"}}, not {}",
                           kind_text(found->kind)));
    return std::nullopt;
  }
  Result<std::string> decoded = from_base64(coded->text);
  if (decoded) return std::move(*decoded);
  fail(name, decoded.error().message);
  return std::nullopt;
}

std::string JsonMembers::needed_bytes(std::string_view name) {
  std::optional<std::string> found = bytes(name);
  if (!found && status_) fail(name, "missing");
  return found ? std::move(*found) : std::string();
}

std::optional<std::string> JsonMembers::text(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is(JsonValue::Kind::string)) return found->text;
  fail(name, fmt::format("expected a string, not {}", kind_text(found->kind)));
  return std::nullopt;
}

std::optional<std::int64_t> JsonMembers::whole_number(std::string_view name) {
  const JsonValue* const found = find(name);
  if (found == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = found->whole_number();
  if (!number) fail(name, "expected an integer");
  return number;
}

std::optional<Expiry> JsonMembers::expires(Time now) {
  for (const std::string_view name : {"deadline_ms", "deadline", "ttl"}) {
    const JsonValue* const found = find(name);
    if (found == nullptr) continue;
    if (found->is(JsonValue::Kind::null)) return Expiry::never();
    if (name == "deadline_ms") {
      const std::optional<std::int64_t> ms = whole_number(name);
      if (!ms) return std::nullopt;
      return Expiry(Time(Millis(*ms)));
    }
    if (name == "ttl" && found->is(JsonValue::Kind::number)) {
      const std::optional<double> seconds = found->number();
      if (seconds && *seconds > 0) {
        return Expiry(to_millis(std::chrono::duration<double>(*seconds)));
      }
      fail(name, seconds ? "TTL must be greater than 0" : "number out of range");
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
