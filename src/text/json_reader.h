// SPDX-License-Identifier: Apache-2.0
// Reads a document of JSON (RFC 8259), strictly: what is wrong is said with its place.
//
//   const Result<JsonValue> line = read_json(R"({"key": "a", "deadline_ms": 1700000000000})");
//   if (!line) return line.error();                      // "column 9: expected ':' ..."
//   if (const JsonValue* key = line->find("key")) use(key->text);
//
// Not taken, since it is more often a mistake than meant: a member that comes twice, half of a
// surrogate pair, bytes that are no UTF-8, and more than kJsonDepthMax arrays and objects in each
// other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

inline constexpr std::size_t kJsonDepthMax = 32;

struct JsonValue {
  enum class Kind : unsigned char { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool truth = false;
  std::string text;               // of a string; of a number, as it was written
  std::string name;               // of a member of an object
  std::vector<JsonValue> values;  // of an array; the members of an object, in their order

  bool is(Kind other) const { return kind == other; }

  // The member of that name, if this is an object that has one.
  const JsonValue* find(std::string_view member) const;

  // The number, if it is one that fits: 1e3 is whole, 0.5 is not.
  std::optional<std::int64_t> whole_number() const;
  std::optional<double> number() const;
};

// "a string", "an object" and so on.
std::string_view kind_text(JsonValue::Kind kind);

// All of `text` is one value. Code::invalid says in which column, counted in bytes from 1.
Result<JsonValue> read_json(std::string_view text);

}  // namespace mayfly
