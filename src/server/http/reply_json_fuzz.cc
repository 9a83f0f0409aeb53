// SPDX-License-Identifier: Apache-2.0
// Fuzzes replies as JSON: any bytes become JSON or nothing, a reply that a client can read becomes
// JSON that says the same, and words of JSON stay the same words.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "resp/reply_parser.h"
#include "server/http/reply_json.h"
#include "text/json_reader.h"

namespace {

using mayfly::JsonValue;
using mayfly::ReplyValue;
using Json = JsonValue::Kind;
using Kind = ReplyValue::Kind;

constexpr std::size_t kMost = 1 << 16;

bool is_word(const JsonValue* value, std::string_view text) {
  if (value == nullptr) return false;
  const auto word = mayfly::word_of_json(*value);
  return word && *word == text;
}

bool is_same(const ReplyValue& reply, const JsonValue& json);

bool is_same_map(const ReplyValue& reply, const JsonValue& json) {
  const JsonValue* const pairs = json.find("$map");
  const auto& found = pairs == nullptr ? json.values : pairs->values;
  if (!json.is(Json::object) || 2 * found.size() != reply.items.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ReplyValue& key = reply.items[2 * i];
    const ReplyValue& value = reply.items[2 * i + 1];
    const bool is_right = pairs == nullptr
                              ? found[i].name == key.text && is_same(value, found[i])
                              : found[i].values.size() == 2 && is_same(key, found[i].values[0]) &&
                                    is_same(value, found[i].values[1]);
    if (!is_right) return false;
  }
  return true;
}

bool is_same_list(const ReplyValue& reply, const JsonValue& json) {
  if (!json.is(Json::array) || json.values.size() != reply.items.size()) return false;
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    if (!is_same(reply.items[i], json.values[i])) return false;
  }
  return true;
}

bool is_same(const ReplyValue& reply, const JsonValue& json) {
  switch (reply.kind) {
    case Kind::simple:
    case Kind::bulk:
    case Kind::verbatim:
      return !json.is(Json::number) && is_word(&json, reply.text);
    case Kind::error:
      return is_word(json.find("error"), reply.text);
    case Kind::integer:
      return json.whole_number() == reply.integer || is_word(json.find("$int"), reply.text);
    case Kind::big_number:
      return is_word(&json, reply.text) || is_word(json.find("$int"), reply.text);
    case Kind::number:
      return is_word(&json, reply.text) && json.is(Json::number) <= std::isfinite(reply.number);
    case Kind::null:
      return json.is(Json::null);
    case Kind::boolean:
      return json.is(Json::boolean) && json.truth == (reply.integer != 0);
    case Kind::map:
      return is_same_map(reply, json);
    default:
      return is_same_list(reply, json);
  }
}

// The reply at the front, if it has no attributes, which the server does not send.
std::optional<ReplyValue> first_reply(std::string_view bytes) {
  if (bytes.find('|') != bytes.npos) return std::nullopt;
  mayfly::ReplyParser parser;
  if (parser.parse(bytes) != mayfly::Parsed::request) return std::nullopt;
  return parser.value();
}

// What the reader refuses though it is JSON: nothing of that is in the server's replies.
bool is_beyond_reader(const mayfly::Error& error) {
  return error.message.find("nested deeper") != error.message.npos ||
         error.message.find("duplicate member") != error.message.npos;
}

void check_word(std::string_view bytes) {
  const auto value = mayfly::read_json(bytes);
  if (!value) return;
  const auto word = mayfly::word_of_json(*value);
  if (!word) return;
  std::string json;
  mayfly::append_json_bytes(json, *word);
  const auto again = mayfly::read_json(json);
  if (!again || !is_word(&*again, *word)) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_word(bytes);
  std::string json;
  const bool is_written = mayfly::append_reply_json(json, bytes, kMost);
  const std::optional<ReplyValue> reply = first_reply(bytes);
  if (!is_written) {
    if (reply && json.size() < kMost) std::abort();
    return 0;
  }
  const auto value = mayfly::read_json(json);
  if (!value) {
    if (!is_beyond_reader(value.error())) std::abort();
    return 0;
  }
  if (reply && !is_same(*reply, *value)) std::abort();
  return 0;
}
