// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of JSON: what it takes can be written, and is then read as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/json.h"
#include "text/json_reader.h"

namespace {

using mayfly::Json;
using mayfly::JsonValue;
using Kind = JsonValue::Kind;

// Numbers are written as strings, since they are kept as they were written.
void write(Json& json, const JsonValue& value) {
  const bool is_object = value.is(Kind::object);
  switch (value.kind) {
    case Kind::boolean:
      return json.value(value.truth);
    case Kind::number:
      static_cast<void>(value.whole_number());
      static_cast<void>(value.number());
      return json.value(std::string_view(value.text));
    case Kind::string:
      return json.value(std::string_view(value.text));
    case Kind::array:
    case Kind::object:
      json.open(is_object ? '{' : '[');
      for (const JsonValue& item : value.values) {
        if (is_object) json.key(item.name);
        write(json, item);
      }
      return json.close(is_object ? '}' : ']');
    case Kind::null:
      return json.value(std::optional<bool>());
  }
}

bool is_same(const JsonValue& a, const JsonValue& b) {
  const bool is_number = a.is(Kind::number) && b.is(Kind::string);
  if (a.kind != b.kind && !is_number) return false;
  if (a.truth != b.truth || a.text != b.text || a.name != b.name) return false;
  if (a.values.size() != b.values.size()) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!is_same(a.values[i], b.values[i])) return false;
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = mayfly::read_json({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  Json json;
  write(json, *value);
  const auto again = mayfly::read_json(json.text());
  if (!again || !is_same(*value, *again)) std::abort();
  return 0;
}
