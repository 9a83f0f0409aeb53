// SPDX-License-Identifier: Apache-2.0
// JsonMembers: reads an entry as `mayfly dump` writes it, and `load` and `txn` read it.
//
//   {"cf":"sessions","key":"a","value":{"base64":"/w=="},"deadline_ms":4102444740000}
//
// Bytes are a string, or {"base64": "..."} if they are not UTF-8. The expiry time is "deadline_ms",
// "deadline" (a date) or "ttl" (seconds, or text: "15m"). The first of these that is present
// counts; null means that the entry does not expire.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/expiry.h"
#include "mayfly/result.h"
#include "text/json_reader.h"

namespace mayfly {

inline constexpr std::string_view kEntryMembers[] = {"cf",  "key",         "value",
                                                     "ttl", "deadline_ms", "deadline"};

// After the first error, all functions return nothing; status() has the error.
class JsonMembers {
 public:
  // `value` must outlive it. An unknown member is an error: a misspelt "ttl" must not store an
  // entry that never expires.
  JsonMembers(const JsonValue& value, std::span<const std::string_view> known);

  std::optional<std::string> bytes(std::string_view name);
  std::string needed_bytes(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> whole_number(std::string_view name);

  // The expiry time; nothing if there is no such member. It may be past.
  std::optional<Expiry> expires(Time now);

  const Status& status() const { return status_; }

 private:
  const JsonValue* find(std::string_view name) const;
  void fail(std::string_view name, const std::string& what);

  const JsonValue& value_;
  Status status_ = Done{};
};

}  // namespace mayfly
