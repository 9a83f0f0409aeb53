// SPDX-License-Identifier: Apache-2.0
// An entry as an object of JSON: as `mayfly dump` writes it, and `load` and `txn` read it.
//
//   {"cf":"sessions","key":"a","value":{"base64":"/w=="},"deadline_ms":4102444740000}
//
// Bytes are a string, or {"base64": "..."} if they are no UTF-8. When an entry ends is said by
// "deadline_ms", by "deadline" (a date) or by "ttl" (a number of seconds, or text: "15m"). The
// first of these that is there counts, and null is never.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/expiry.h"
#include "mayfly/result.h"
#include "tools/json/json_reader.h"

namespace mayfly {

inline constexpr std::string_view kEntryMembers[] = {"cf",  "key",         "value",
                                                     "ttl", "deadline_ms", "deadline"};

// Takes members out of an object. The first mistake is kept, and makes the rest do nothing.
class Members {
 public:
  // `value` must outlive it. What is no object, or has a member that is not one of `known`, is a
  // mistake: a misspelt deadline must not make an entry that lives for ever.
  Members(const JsonValue& value, std::span<const std::string_view> known);

  std::optional<std::string> bytes(std::string_view name);
  std::string needed_bytes(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> whole_number(std::string_view name);

  // When it is to end; nothing if nothing is said about it. What is due at `now` is fine here.
  std::optional<Expiry> expires(Time now);

  const Status& status() const { return status_; }

 private:
  const JsonValue* find(std::string_view name) const;
  void fail(std::string_view name, const std::string& what);

  const JsonValue& value_;
  Status status_ = Done{};
};

}  // namespace mayfly
